// Anything in the content that the theme cannot show faithfully stops the build, and says where it stands.

export class ContentError extends Error {
  /** @param {object} page the page being rendered  @param {object} node where it went wrong  @param {string} message */
  constructor(page, node, message) {
    const line = node?.position?.start?.line;
    const place = page.location.replace(/^\//, '');
    super(`${place}${line ? `:${line}` : ''}: ${message}`);
    this.name = 'ContentError';
  }
}
