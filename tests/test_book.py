"""The theme and its build: a book of every element renders, and each kind of broken content stops the build by name."""

import contextlib
import gzip
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

ROOT = Path(__file__).parent.parent
THEME = ROOT / "theme"
FIXTURE = Path(__file__).parent / "book"

sys.path[:0] = [str(THEME), str(FIXTURE)]
import build  # noqa: E402
import check  # noqa: E402
import outputs  # noqa: E402
import publish  # noqa: E402
import serve  # noqa: E402


def copy_of_the_fixture(folder: Path) -> Path:
    """The fixture book in `folder`, with its notebook written and its theme filled in."""
    shutil.copytree(FIXTURE, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__", "_build"))
    outputs.write(folder)
    point_at_theme(folder)
    return folder


def copy_of_the_book(folder: Path) -> Path:
    """The book's sources in `folder`, to be built there: what lies in the tree is left as it is."""
    folder.mkdir(parents=True)
    for name in ("myst.yml", "index.md", "index.ipynb"):
        shutil.copy(ROOT / name, folder)
    for name in ("chapters", "reference"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    point_at_theme(folder)
    return folder


def point_at_theme(folder: Path) -> None:
    configuration = folder / "myst.yml"
    text = configuration.read_text(encoding="utf-8")
    for named in ("template: THEME", "template: ./theme"):
        text = text.replace(named, f"template: {THEME}")
    configuration.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def served(site: Path, *, base: str = "") -> Iterator[str]:
    server = serve.server(site, port=0, base=base)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{base}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def site(fixture_site: Path) -> Path:
    return fixture_site


def page(site: Path, name: str) -> str:
    """The page's HTML; mystmd ties some numbers to their words with a space that does not break."""
    return (site / name / "index.html").read_text(encoding="utf-8").replace("\u00a0", " ")


PLUGIN = """
const hologram = { name: 'hologram', run: () => [{ type: 'hologram', children: [] }] };
export default { name: 'Fixture', directives: [hologram], roles: [] };
"""


@pytest.fixture
def small_book(tmp_path) -> Path:
    """A book of two short pages, for one fault at a time."""
    text = (FIXTURE / "myst.yml").read_text(encoding="utf-8")
    start, end = text.index("  toc:"), text.index("  bibliography:")
    toc = "  toc:\n    - file: index.md\n    - file: other.md\n"
    text = (text[:start] + toc + text[end:]).replace("project:\n", "project:\n  plugins: [plugin.mjs]\n")
    (tmp_path / "myst.yml").write_text(text, encoding="utf-8")
    (tmp_path / "plugin.mjs").write_text(PLUGIN, encoding="utf-8")
    point_at_theme(tmp_path)
    shutil.copy(FIXTURE / "references.bib", tmp_path)
    shutil.copy(FIXTURE / "figure.svg", tmp_path)
    (tmp_path / "index.md").write_text("# A page\n\nWords.\n", encoding="utf-8")
    (tmp_path / "other.md").write_text("# Another page\n\n## A section\n\nWords.\n", encoding="utf-8")
    return tmp_path


def refusal(book: Path, **options) -> str:
    """What the build says when it refuses `book`."""
    with pytest.raises(build.BuildError) as refused:
        build.build(book, say=lambda line: None, **options)
    assert not (book / "_build" / "html").exists(), "a refused book leaves no half of a site behind"
    return str(refused.value)


# ---------- The book of every element ----------


@pytest.mark.book
def test_every_page_is_there_and_nothing_stale(site):
    pages = {path.parent.relative_to(site).as_posix() for path in site.rglob("index.html")}
    assert pages == {".", "elements", "outputs", "last"}


@pytest.mark.book
def test_the_crawl_finds_nothing_wrong(site):
    assert check.problems(site) == []


@pytest.mark.book
@pytest.mark.parametrize(
    "markup",
    [
        '<a class="reference to-figure" href="#fig-blocks">Figure 1</a>',
        '<a class="reference to-equation" href="#scaled-dot-product">(1)</a>',
        '<a class="reference to-table" href="#tab-scores">Table 1</a>',
        '<a class="reference to-exercise" href="#ex-scale">Exercise 1</a>',
        '<figure id="fig-blocks"',
        'href="#ref-press2017tying"',
        '<li id="ref-press2017tying">',
        '<li id="fn-one" value="1">',
        'href="#fnref-one"',
        '<details class="box solution">',
        '<span class="hljs-keyword">class</span>',
        '<abbr title="bilingual evaluation understudy">BLEU</abbr>',
        'href="../last/"',
        'alt="Three boxes in a row: blue, orange, green."',
        '<th scope="col">Model</th>',
        'aria-current="page"',
    ],
)
def test_markdown_becomes_the_markup_it_means(site, markup):
    assert markup in page(site, "elements")


@pytest.mark.book
@pytest.mark.parametrize(
    "markup",
    [
        "to standard output",
        '<span class="ansi-yellow">standard error</span>',
        "1 / 0 &lt; 3",
        "a long line of text\n" * 2500,
        '<td class="words short">baseline</td>',
        'alt="A gradient."',
        "data:image/svg+xml;base64,",
        "mfrac",
        "An explorable: drag to see.",
        "input folded",
        "input gone",
        '<script type="application/json">{&quot;'.replace("&quot;", '"'),
        'data-figure="../build/',
        'aria-label="A line through 20 points"',
    ],
)
def test_each_output_is_shown(site, markup):
    assert markup in page(site, "outputs")


@pytest.mark.book
@pytest.mark.parametrize(
    "gone", ["output gone", "cell gone", "secret = 2", "secret = 6", "<style", "#| label"]
)
def test_what_a_cell_hides_is_left_out(site, gone):
    assert gone not in page(site, "outputs")


@pytest.mark.book
def test_a_reference_to_another_page_leads_there(site):
    assert 'href="../elements/#fig-blocks"' in page(site, "last")
    assert 'href="elements/#scaled-dot-product"' in page(site, "").replace('href="./', 'href="')


@pytest.mark.book
def test_no_page_names_an_address_of_its_own_host(site):
    """Relative addresses alone: the same files serve under any base path."""
    for path in site.rglob("*.html"):
        if path.name == "404.html":
            continue  # which is served at any depth
        text = path.read_text(encoding="utf-8")
        assert 'href="/' not in text and 'src="/' not in text and "localhost" not in text, path


@pytest.mark.book
def test_the_notebook_can_be_downloaded(site):
    assert 'href="../notebooks/outputs.ipynb"' in page(site, "outputs")
    twin = (site / "notebooks" / "outputs.ipynb").read_text(encoding="utf-8")
    assert json.loads(twin)["cells"] and "{cite" not in twin, "the plain twin, since MyST is read by few"


@pytest.mark.book
def test_an_unpublished_book_names_no_address(site):
    assert "canonical" not in page(site, "last") and "og:image" not in page(site, "last")
    assert "<loc>" not in (site / "sitemap.xml").read_text(encoding="utf-8")
    assert "colab" not in page(site, "outputs")


@pytest.mark.book
def test_a_published_book_says_where_it_lies(tmp_path):
    publication = publish.Publication("https://github.com/someone/a-book", "v1.0")
    site = build.build(
        copy_of_the_fixture(tmp_path / "source"), publication=publication, say=lambda line: None
    )
    here = "https://someone.github.io/a-book/"
    assert f'<link rel="canonical" href="{here}last/">' in page(site, "last")
    assert (
        f'<meta property="og:image" content="{here}card.png">' in page(site, "")
        and (site / "card.png").exists()
    )
    listed = re.findall("<loc>(.*)</loc>", (site / "sitemap.xml").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(here + name for name in ("", "elements/", "outputs/", "last/"))
    assert f"Sitemap: {here}sitemap.xml" in (site / "robots.txt").read_text(encoding="utf-8")
    assert "colab.research.google.com/github/someone/a-book/blob/notebooks/outputs.ipynb" in page(
        site, "outputs"
    )
    assert 'href="/a-book/book.css"' in (site / "404.html").read_text(encoding="utf-8")
    assert check.problems(site, base="/a-book") == []


@pytest.mark.book
@pytest.mark.parametrize("name", [".", "elements", "outputs", "last"])
def test_every_page_can_be_shared(site, name):
    """A title and a description, its own or how it begins."""
    head = page(site, name).split("<body>")[0]
    for key in ("og:title", "og:description", "og:type", "og:site_name"):
        assert re.search(rf'<meta property="{key}" content="[^"]+">', head), key


# ---------- The book itself ----------


@pytest.mark.book
def test_the_book_builds(rendered_book):
    assert "<h1>" in page(rendered_book, "")


@pytest.mark.book
def test_every_chapter_says_how_long_it_takes(rendered_book):
    """What its bar says is what its last cell printed."""
    for notebook in sorted((ROOT / "chapters").glob("*.ipynb")):
        (seconds,) = re.findall(r"took (\d+) s of processor time", notebook.read_text(encoding="utf-8"))[-1:]
        slug = re.sub(r"^\d+-", "", notebook.stem).lower()
        assert f'<li class="fact">{seconds} s to run' in page(rendered_book, slug), notebook.name
        assert "min to read" in page(rendered_book, slug)


def weight(site: Path, path: Path) -> int:
    """Bytes that a browser fetches to show a page before any figure is seen: HTML, styles, scripts."""
    document = check.Document()
    document.feed(path.read_text(encoding="utf-8"))
    loads = [check.resolve(site, path, address)[0] for address in document.loads]
    files = {path, *(file for file in loads if file.suffix in (".css", ".js"))}
    # A model's weights and a large figure are fetched when they are seen.
    files = {file for file in files if not file.name.startswith(("explorable-", "figure-"))}
    return sum(len(gzip.compress(file.read_bytes())) for file in files)


@pytest.mark.book
def test_every_page_is_light(rendered_book):
    """Plotly, fonts and the search index are fetched when they are needed, pictures when they come into view."""
    weights = {
        path.parent.relative_to(rendered_book).as_posix(): weight(rendered_book, path)
        for path in rendered_book.rglob("index.html")
        if path.parent.name not in build.MOVED  # lead on, and weigh next to nothing
    }
    assert all(200 < light < 300_000 for light in weights.values()), weights


# ---------- Content that must stop the build ----------

FAULTS = {
    "missing target": ("See [](#nowhere-at-all).", ["nowhere-at-all", "index.md"]),
    "missing citation": ("As shown [@nobody2020].", ["nobody2020", "index.md"]),
    "identifier twice": ("(twice)=\n## One\n\n(twice)=\n## Two", ["twice", "index.md"]),
    "missing page": ("Read [on](./gone-page.md).", ["gone-page.md", "index.md"]),
    "missing anchor": ("Read [on](./other.md#gone-section).", ["gone-section", "index.md"]),
    "missing image": ("![A picture](gone-picture.png)", ["gone-picture.png", "index.md"]),
    "image without a text": ("![](figure.svg)", ["figure.svg", "alternative text", "index.md"]),
    "unknown role": ("A {hologram-role}`word`.", ["hologram-role", "index.md"]),
    "unknown directive": ("```{hologram-box}\nWords.\n```", ["hologram-box", "index.md"]),
    "unknown node type": ("```{hologram}\n```", ['does not know the node type "hologram"', "index.md"]),
    "missing footnote": ("A claim[^gone-note].", ["gone-note", "index.md"]),
    "broken formula": ("Let $\\frac{a$ be.", ["index.md", "\\frac{a"]),
}


@pytest.mark.book
@pytest.mark.parametrize("fault", FAULTS)
def test_broken_content_stops_the_build_and_is_named(small_book, fault):
    text, named = FAULTS[fault]
    (small_book / "index.md").write_text(f"# A page\n\n{text}\n", encoding="utf-8")
    said = refusal(small_book)
    assert all(word.lower() in said.lower() for word in named), said


@pytest.mark.book
def test_no_server_outlives_a_build_that_failed(small_book, monkeypatch):
    """mystmd leaves the theme's server running when a page cannot be rendered."""
    groups = []
    monkeypatch.setattr(
        build, "end_group", lambda leader, end=build.end_group: (groups.append(leader), end(leader))
    )
    (small_book / "index.md").write_text("# A page\n\nRead [on](./gone-page.md).\n", encoding="utf-8")
    refusal(small_book)
    deadline = time.monotonic() + 5
    while (left := members(groups[0])) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


def members(group: int) -> list[str]:
    """The processes of a group that are still running."""
    left = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                left.append(process.name())
    return left


@pytest.mark.book
@pytest.mark.parametrize(
    ("bundle", "named"),
    [
        ({"text/html": "<script>alert(1)</script>"}, "script"),
        ({"text/html": '<img src="https://example.org/pixel.png">'}, "https://example.org/pixel.png"),
        ({"application/x-hologram": "light"}, "application/x-hologram"),
        ({"text/latex": "$\\frac{a$"}, "LaTeX"),
    ],
    ids=["script", "remote", "unknown kind", "latex"],
)
def test_an_output_that_cannot_be_shown_stops_the_build(small_book, bundle, named):
    (small_book / "other.md").unlink()
    cell = {"cell_type": "code", "id": "one", "source": "x", "metadata": {}, "execution_count": 1}
    cell["outputs"] = [outputs.data(bundle)]
    notebook = outputs.notebook() | {"cells": [cell]}
    (small_book / "other.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    configuration = small_book / "myst.yml"
    text = configuration.read_text(encoding="utf-8")
    configuration.write_text(text.replace("other.md", "other.ipynb"), encoding="utf-8")
    said = refusal(small_book)
    assert named in said and "other.ipynb" in said


@pytest.mark.book
def test_the_command_fails_with_the_message_and_no_traceback(small_book):
    (small_book / "index.md").write_text("# A page\n\nSee [](#nowhere-at-all).\n", encoding="utf-8")
    command = [sys.executable, str(THEME / "build.py"), str(small_book)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "nowhere-at-all" in done.stderr and "Traceback" not in done.stderr


# ---------- Without mystmd ----------


def test_a_folder_without_a_book_is_refused(tmp_path):
    with pytest.raises(build.BuildError, match=r"holds no myst\.yml"):
        build.build(tmp_path)


def test_builds_at_a_time_get_ports_of_their_own(tmp_path, monkeypatch):
    """mystmd looks for a free port from 3000 on, and two at a time find the same."""
    said: list[str] = []
    monkeypatch.setattr(build, "find_myst", lambda: shutil.which("echo"))
    for _ in range(2):
        assert build.run_myst(tmp_path, say=said.append) == []
    ports = [int(line.split()[line.split().index("--port") + 1]) for line in said]
    assert len(set(ports)) == 2 and not {3000, 3001} & set(ports), said


@pytest.mark.parametrize("base_url", ["book", "https://example.org/book", "/a b"])
def test_a_base_url_that_is_no_path_is_refused(tmp_path, base_url):
    (tmp_path / "myst.yml").touch()
    with pytest.raises(build.BuildError, match="base_url"):
        build.build(tmp_path, base_url=base_url)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ('<a href="other/">x</a>', "other/"),
        ('<a href="#gone">x</a>', "#gone"),
        ('<a href="page.html#gone">x</a>', "page.html#gone"),
        ('<img src="gone.png">', "gone.png"),
        ('<p id="twice"></p><p id="twice"></p>', "twice"),
        ('<script src="https://example.org/x.js"></script>', "https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "//example.org/x.css"),
    ],
)
def test_the_crawl_names_what_is_wrong(tmp_path, body, named):
    (tmp_path / "page.html").write_text('<p id="here"></p>', encoding="utf-8")
    (tmp_path / "index.html").write_text(body, encoding="utf-8")
    (problem,) = check.problems(tmp_path)
    assert problem.startswith("index.html") and named in problem


def test_the_crawl_accepts_what_is_right(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").write_text(
        '<p id="there"></p><a href="../#here">x</a>', encoding="utf-8"
    )
    body = '<p id="here"></p><a href="#here">a</a><a href="other/#there">b</a><a href="https://example.org">c</a>'
    (tmp_path / "index.html").write_text(body, encoding="utf-8")
    assert check.problems(tmp_path) == []


def test_the_themes_own_tests_pass():
    tests = sorted(str(path) for path in (THEME / "test").glob("*.test.mjs"))
    done = subprocess.run(["node", "--test", *tests], cwd=THEME, capture_output=True, text=True, timeout=120)
    assert tests and done.returncode == 0, done.stdout + done.stderr


def test_the_lock_file_names_no_registry():
    text = (THEME / "package-lock.json").read_text(encoding="utf-8")
    assert "resolved" not in text and "https://reg" + "istry" not in text


def test_the_lock_file_has_every_package_that_npm_ci_asks_for():
    """Those for other systems too, which an install on this one leaves out: npm ci refuses a lock without them."""
    packages = json.loads((THEME / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    kinds = ("dependencies", "devDependencies", "optionalDependencies")
    wanted = {name for package in packages.values() for kind in kinds for name in package.get(kind, {})}
    assert {name for name in wanted if f"node_modules/{name}" not in packages} == set()


def test_the_katex_style_is_of_the_version_that_mystmd_writes_for():
    """mystmd carries its own KaTeX, whose HTML needs the style of the same version."""
    import mystmd_py

    script = Path(mystmd_py.__file__).parent / "myst.cjs"
    wanted = json.loads((THEME / "package.json").read_text(encoding="utf-8"))["dependencies"]["katex"]
    said = re.findall(r'Current KaTeX version\s*\*/\s*version: "(.+?)"', script.read_text(encoding="utf-8"))
    assert said == [wanted]


@contextlib.contextmanager
def asked(site: Path, *, base: str = ""):
    """A function that asks a server of `site` for an address: status, headers and body."""
    with served(site, base=base) as server:

        def ask(address: str) -> tuple[int, http.client.HTTPMessage, bytes]:
            connection = http.client.HTTPConnection(urlsplit(server).netloc, timeout=10)
            with contextlib.closing(connection):
                connection.request("GET", address)
                answer = connection.getresponse()
                return answer.status, answer.headers, answer.read()

        yield ask


def test_serve_follows_no_link_out_of_the_site(tmp_path):
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    for folder in (site / "page", site / "folder", elsewhere):
        folder.mkdir(parents=True)
    for file in (site / "index.html", elsewhere / "index.html", elsewhere / "secret.txt"):
        file.write_text(f"{file.parent.name} {file.stem}")
    (site / "linked").symlink_to(elsewhere)
    (site / "file.txt").symlink_to(elsewhere / "secret.txt")
    (site / "page" / "index.html").symlink_to(elsewhere / "index.html")
    (site / "loop").symlink_to(site / "loop")
    (site / "inside.html").symlink_to(site / "index.html")
    with asked(site) as ask:
        for address in (
            "/linked/",
            "/linked/secret.txt",
            "/file.txt",
            "/page/",
            "/loop",
            "/folder/",
            "/../elsewhere/",
        ):
            status, _, body = ask(address)
            assert b"elsewhere" not in body and b"secret" not in body, address
            assert status == 404, address
        assert ask("/inside.html")[2] == b"site index"


@pytest.mark.parametrize("address", ["/%00", "/a%00b/", "/x?y=%00", "/%2500"])
def test_serve_refuses_a_null_character_without_a_traceback(tmp_path, capfd, address):
    (tmp_path / "index.html").write_text("a page")
    with asked(tmp_path) as ask:
        assert ask(address)[0] == (404 if "%25" in address else 400)
        assert ask("/")[0] == 200
    assert capfd.readouterr().err == ""


def test_serve_allows_no_other_site_to_frame_a_page(tmp_path):
    (tmp_path / "index.html").write_text("a page")
    with asked(tmp_path) as ask:
        headers = ask("/")[1]
    assert headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_serve_says_what_to_do_when_there_is_no_book(tmp_path):
    environment = os.environ | {"PORT": "8000"}
    command = [sys.executable, str(THEME / "serve.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 1 and "make book" in done.stderr
