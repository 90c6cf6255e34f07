// The book as a whole: its pages in reading order, their numbers, and how one page addresses another.

/** `03-transformer.ipynb` is chapter 3 and `A1-claims.ipynb` appendix A1; other files have no number. */
export function chapterNumber(file) {
  const found = /(?:^|\/)(\d+|[A-Z]\d*)-[^/]*$/.exec(file ?? '');
  if (!found) return undefined;
  return /^\d/.test(found[1]) ? String(Number(found[1])) : found[1];
}

function tocFiles(entries = []) {
  return entries.flatMap((entry) => [entry.file ?? null, ...tocFiles(entry.children)]);
}

/**
 * The site from mystmd's `/config.json`: `{title, description, entries, publication}`, where an entry is a page `{slug, title, number, level}` or,
 * without a slug, the title of a part. The first entry is the landing page. `publication` says where the book is
 * published: `{repository, tag, address}`, each empty while it is not.
 */
export function readSite(config, publication = {}) {
  const project = config.projects?.[0];
  if (!project) throw new Error('config.json names no project: myst.yml needs a `project` with a `toc`');
  const files = tocFiles(project.toc);
  const landing = { slug: project.index, title: project.title ?? config.title, level: 1, landing: true };
  const rest = project.pages.map((page, index) => ({
    slug: page.slug,
    title: page.short_title ?? page.title,
    level: page.level,
    number: page.slug ? chapterNumber(files[index + 1]) : undefined,
  }));
  return { title: config.title ?? project.title, description: config.description ?? project.description, entries: [landing, ...rest], publication };
}

/** Where a page lies below the site's root: '' for the landing page, `transformer/` for another. */
export function pagePath(site, slug) {
  return slug === site.entries[0].slug ? '' : `${slug.replaceAll('.', '/')}/`;
}

/**
 * The way from a page up to the site's root: './' or '../'. All addresses are written relative to it, so one build works
 * under any base path.
 */
export function rootFrom(site, slug) {
  return '../'.repeat(pagePath(site, slug).split('/').length - 1) || './';
}

/** The addresses of all pages, for those who crawl the web; none while the book has no address. */
export function sitemap({ entries, publication: { address } }) {
  const urls = address ? entries.filter(({ slug }) => slug).map(({ slug }) => `  <url><loc>${address}${pagePath({ entries }, slug)}</loc></url>\n`).join('') : '';
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls}</urlset>\n`;
}

export function robots({ publication: { address } }) {
  return `User-agent: *\nAllow: /\n${address ? `Sitemap: ${address}sitemap.xml\n` : ''}`;
}

/** The pages before and after one, in reading order; undefined at the ends. */
export function neighbours(site, slug) {
  const pages = site.entries.filter((entry) => entry.slug);
  const at = pages.findIndex((entry) => entry.slug === slug);
  return at === -1 ? {} : { previous: pages[at - 1], next: pages[at + 1] };
}
