"""Explorables: one module out of several, the state that a notebook stores, and the page that mounts it in chromium."""

import json
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

sys.path.insert(0, str(Path(__file__).parent / "explorables"))
from test_book import THEME, point_at_theme
from test_browser import (
    DESK,
    PHONE,
    VIEWS,
    HangsError,
    barriers,
    opened,
    scroll_through,
    served,
    sideways,
    twice,
)
from wavelet import Wave

sys.path.insert(0, str(THEME))
import build
import check
import large_states
import notebooks
import widget_modules

from reservoir_book import explorables
from reservoir_book.explorables import Explorable

ROOT = Path(__file__).parent.parent

# ---- one module out of several ---------------------------------------------------------------------------------------

MODULES = {
    "deep.mjs": "export const half = 0.5, two = 2;\nexport function twice(x) { return two * x; }\nconst own = 1;\n",
    "middle.mjs": "import { half as h, twice } from './deep.mjs';\nexport { twice } from './deep.mjs';\n"
    "const own = twice(h);\nexport class Box { value() { return own; } }\nexport { own as one };\n",
    "worker.mjs": "import { two } from './deep.mjs';\nexport default (worker) => { worker.found = two; };\n",
    "view.mjs": "import * as deep from './deep.mjs';\nimport {\n  Box,\n  one, twice,\n} from './middle.mjs';\n"
    "import script from './worker.mjs?worker';\n"
    "const own = 'main';\nconst self = {};\nnew Function('self', script)(self);\n"
    "export default {\n  all: [deep.half, deep.two, new Box().value(), one, twice(21), own, self.found],\n};\n",
}


def bundle(folder: Path, modules: dict[str, str]) -> subprocess.CompletedProcess:
    """Write modules to a folder and bundle its view.mjs."""
    for name, text in modules.items():
        (folder / name).write_text(text, encoding="utf-8")
    return node("theme/bundle.mjs", folder / "view.mjs")


def node(*arguments: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run(["node", *arguments], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.book
def test_a_bundle_does_what_its_modules_do(tmp_path):
    assert bundle(tmp_path, MODULES).returncode == 0
    whole = (tmp_path / "bundle.js").rename(tmp_path / "alone.mjs")
    for name in MODULES:
        (tmp_path / name).unlink()
    show = "const m = await import(process.argv[1]); console.log(JSON.stringify(m.default))"
    done = node("--input-type=module", "-e", show, whole.as_uri())
    assert done.stdout == '{"all":[0.5,2,1,1,42,"main",2]}\n', done.stderr


@pytest.mark.book
@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"deep.mjs": None}, r'view.mjs:1: Could not resolve "./deep.mjs"'),
        ({"view.mjs": "import x from 'katex';\nexport default {};"}, "view.mjs:1: katex is not a relative path"),
        ({"worker.mjs": "import x from 'katex';\nexport default x;"}, "worker.mjs:1:.* katex is not a relative path"),
        ({"view.mjs": "export const a = 1;"}, "view.mjs has no default export"),
        ({"deep.mjs": "export const = 1;"}, "deep.mjs:1: Expected identifier"),
    ],
    ids=["missing", "from elsewhere", "a worker from elsewhere", "no default", "syntax"],
)  # fmt: skip
def test_what_cannot_be_bundled_is_named(tmp_path, changed, named):
    done = bundle(tmp_path, {k: v for k, v in (MODULES | changed).items() if v is not None})
    assert done.returncode == 1 and re.search(named, done.stderr), done.stderr
    assert not (tmp_path / "bundle.js").exists()


@pytest.mark.book
def test_the_bundles_are_those_of_the_sources():
    done = node("theme/bundle.mjs", "--check")
    assert done.returncode == 0, done.stderr


def test_no_bundle_says_where_it_was_made():
    """Comments name sources below the root, so that every clone makes the same bytes."""
    bundles = sorted((ROOT / "reservoir_book" / "explorables").glob("*/bundle.js"))
    texts = {path.parent.name: path.read_text(encoding="utf-8") for path in bundles}
    assert texts and not [
        name for name, text in texts.items() if str(ROOT) in text or re.search(r"^// (\w+:)?/", text, re.M)
    ]


@pytest.mark.book
def test_a_stale_bundle_is_noticed(tmp_path):
    assert bundle(tmp_path, MODULES).returncode == 0
    (tmp_path / "deep.mjs").write_text(MODULES["deep.mjs"].replace("0.5", "0.75"))
    done = node("theme/bundle.mjs", "--check", tmp_path / "view.mjs")
    assert done.returncode == 1 and "bundle.js is stale: run make explorables" in done.stderr
    assert "0.75" not in (tmp_path / "bundle.js").read_text()


# ---- the Python class ------------------------------------------------------------------------------------------------


def test_an_explorable_says_what_it_is_in_plain_text():
    wave = Wave(label="A wave", text="Two waves.")
    data, _ = wave._repr_mimebundle_()
    assert data["text/plain"] == "A wave. Two waves."
    assert data["image/svg+xml"].startswith("<svg")
    assert wave.key == "wavelet" and "as default" in wave._esm and ".ex-controls" in wave._css


def test_what_is_missing_or_unknown_is_named():
    with pytest.raises(TypeError, match=r"Nothing must name the folder of its view\.mjs"):
        type("Nothing", (Explorable,), {})
    with pytest.raises(ValueError, match="Wave needs a text"):
        Wave(label="A wave")
    with pytest.raises(TypeError, match=r"Wave has no setting wavs; it has .*waves"):
        Wave(label="A wave", text="x", wavs=3)
    with pytest.raises(FileNotFoundError, match=r"bundle\.js does not exist: `make explorables` makes it"):
        types.new_class("Gone", (Explorable,), {"folder": "gone"})


@pytest.mark.parametrize("name", explorables.__all__)
def test_the_page_hears_of_every_setting(name):
    if isinstance(kind := getattr(explorables, name), type) and issubclass(kind, Explorable):
        assert all(setting.metadata.get("sync") for setting in kind.class_own_traits().values())


def test_the_javascript_tests_pass():
    tests = sorted(str(path) for path in (ROOT / "tests" / "js").glob("*.test.mjs"))
    done = subprocess.run(["node", "--test", *tests], capture_output=True, text=True, timeout=300)
    assert tests and done.returncode == 0, done.stdout + done.stderr


CHAPTERS = [ROOT / "index.ipynb", *sorted((ROOT / "chapters").glob("*.ipynb"))]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_the_notebooks_store_the_modules_as_they_are(chapter):
    old = sum(1 for _ in widget_modules.stale(json.loads(chapter.read_text(encoding="utf-8"))))
    assert not old, f"{chapter.name} stores {old} texts that have changed since: run make explorables"


def test_a_stale_module_is_noticed_and_brought_up_to_date(tmp_path):
    source = next(path for path in CHAPTERS if '"_esm"' in path.read_text(encoding="utf-8"))
    notebook = json.loads(source.read_text(encoding="utf-8"))
    for model in notebook["metadata"]["widgets"][widget_modules.STATE]["state"].values():
        if "_css" in model["state"]:
            model["state"]["_css"] = "old"
    path = tmp_path / source.name
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert list(widget_modules.stale(notebook))
    assert widget_modules.refresh(path) and not widget_modules.refresh(path)
    assert path.read_text(encoding="utf-8") == source.read_text(encoding="utf-8")


# ---- a small book of explorables -------------------------------------------------------------------------------------

SETUP = f"""import sys; sys.path.insert(0, {str(Path(__file__).parent / "explorables")!r})
from wavelet import Wave"""
CELLS = [
    SETUP,
    "Wave(label='The first wave', text='Two waves of sine.')",
    "one = Wave(label='The second wave', text='Three waves.', waves=3)\none",
    "one",
    "Wave(label='A heavy wave', text='Many numbers.', key='heavy', weights=bytes(60_000))",
    "#| label: fig-linked\n#| caption: What the wave draws.\n#| alt: A wave.\n"
    "from reservoir_book import plots\nplots.curve({'wave': [([0, 1], [0, 1])]}, x='x', y='y')",
    "import ipywidgets\nipywidgets.IntSlider()",
]


def executed(cells: list[str]) -> nbformat.NotebookNode:
    """A notebook of these cells, run as `make notebooks` runs one."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("# Waves\n\nSee [](#fig-linked)."))
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return notebook


@pytest.fixture(scope="module")
def waves(tmp_path_factory) -> nbformat.NotebookNode:
    return executed(CELLS)


def book_of(notebook: nbformat.NotebookNode, folder: Path) -> Path:
    folder.mkdir()
    (folder / "index.md").write_text("# A book\n\nOf waves.\n")
    nbformat.write(notebook, folder / "waves.ipynb")
    toc = "  toc:\n    - file: index.md\n    - file: waves.ipynb\n"
    (folder / "myst.yml").write_text(
        f"version: 1\nproject:\n  title: Waves\n{toc}site:\n  template: THEME\n  title: Waves\n"
    )
    point_at_theme(folder)
    return build.build(folder, say=lambda line: None)


@pytest.fixture(scope="module")
def waves_site(waves, tmp_path_factory) -> Path:
    return book_of(waves, tmp_path_factory.mktemp("explorables") / "source")


@pytest.mark.book
def test_a_notebook_stores_what_the_page_needs(waves):
    states = waves.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    found = [each for each in states.values() if each["state"].get("key") == "wavelet"]
    assert len(found) == 2 and all(each["buffers"][0]["path"] == ["weights"] for each in found)


@pytest.mark.book
def test_a_large_state_lies_beside_the_page(waves_site):
    text = (waves_site / "waves" / "index.html").read_text(encoding="utf-8")
    (address,) = re.findall(r'data-src="([^"]+)"', text)
    file = (waves_site / "waves" / address).resolve()
    assert (
        file.read_text(encoding="utf-8").startswith("bookExplorable(") and "A heavy wave" in file.read_text()
    )
    assert len(text) < 250_000
    assert text.count("// reservoir_book/explorables/shared/svg.mjs") == 1  # a module's text stands once
    assert large_states.move_large_states(waves_site) == [] and check.problems(waves_site) == []
    file.rename(file.with_suffix(".gone"))
    assert any("explorable-" in problem for problem in check.problems(waves_site))
    file.with_suffix(".gone").rename(file)


# ---- in chromium -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def waves_page(waves_site):
    with served(waves_site) as address:
        yield f"{address}/waves/"


MOUNTED = "() => [...document.querySelectorAll('.explorable')].every(e => e.matches('.mounted, .failed'))"


def mount_all(page) -> None:
    """Scroll to each explorable in turn, since each waits until it comes near the view."""
    for place in page.locator(".explorable").all():
        place.scroll_into_view_if_needed()
    page.wait_for_function(MOUNTED)


def begun(page):
    """The only explorable of a page, once it answers."""
    place = page.locator(".explorable")
    place.scroll_into_view_if_needed()
    page.wait_for_selector(".explorable.mounted")
    return place


def failures(page) -> list[str]:
    return [
        place.get_attribute("data-key")
        for place in page.locator(".explorable").all()
        if "mounted" not in (place.get_attribute("class") or "").split()
    ]


FRAMES = """() => new Promise(done => {
    requestAnimationFrame(() => requestAnimationFrame(() => done(true)));
    setTimeout(() => done(false), 30000);
})"""


def words(page, number: int = 0) -> str:
    """What an explorable says, once the page has been painted twice."""
    if not page.evaluate(FRAMES):
        raise HangsError("two frames took more than 30 s")
    return page.locator(".ex-words").nth(number).inner_text()


@pytest.mark.browser
def test_explorables_mount_and_other_widgets_keep_their_text(browser, waves_page):
    with opened(browser, waves_page) as page:
        mount_all(page)
        assert failures(page) == [] and page.troubles == []
        assert page.locator(".explorable").count() == 4 and page.locator(".widget").count() == 1
        assert words(page) == "A wave: 2 sine waves of width 1, noise off; 5 weights, the last 4."
        assert words(page, 3).endswith("15,000 weights, the last 0.") or "15000 weights" in words(page, 3)


@pytest.mark.browser
def test_an_explorable_answers_to_the_keyboard_and_keeps_its_state_in_the_address(browser, waves_page):
    with opened(browser, waves_page) as page:
        mount_all(page)
        first = page.locator(".explorable").first
        first.locator("input[type=range]").first.focus()
        page.keyboard.press("ArrowRight")
        assert "3 sine waves" in words(page)
        for _ in range(3):
            page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")  # width is first, then the shape
        page.keyboard.press("Tab")
        first.locator("input[type=text]").fill("Ein Küchenfenster & mehr")
        first.locator("input[type=checkbox]").press("Space")
        first.locator("input[type=number]").fill("7")
        said = words(page)
        assert said.startswith("Ein Küchenfenster &") and "seed 7" in said
        page.wait_for_function("() => location.search.includes('wavelet.seed=7')")
        assert "wavelet.waves=3" in page.url and "wavelet-2" not in page.url and "width" not in page.url
        link = page.url
        page.locator(".ex-foot button").first.click()
        assert words(page) == "A wave: 2 sine waves of width 1, noise off; 5 weights, the last 4."
        page.wait_for_function("() => location.search === ''")
        assert page.troubles == []
    with opened(browser, link) as page:
        mount_all(page)
        assert words(page) == said
        assert "3 sine waves" in words(page, 1)  # the other one is as the notebook has it
        assert page.troubles == []


@pytest.mark.browser
@pytest.mark.parametrize(
    "wrong", ["wavelet.waves=x", "wavelet.waves=99", "wavelet.shape=moon", "wavelet.seed=", "%"]
)
def test_an_address_that_makes_no_sense_does_no_harm(browser, waves_page, wrong):
    with opened(browser, f"{waves_page}?{wrong}") as page:
        mount_all(page)
        assert re.search(r"A wave: [29] sine waves of width 1, noise off", words(page))
        assert page.troubles == []


@pytest.mark.browser
def test_two_views_of_one_model_move_together(browser, waves_page):
    with opened(browser, waves_page) as page:
        mount_all(page)
        page.locator(".explorable").nth(1).locator("input[type=range]").first.press("ArrowRight")
        assert "4 sine waves" in words(page, 1) and "4 sine waves" in words(page, 2)
        assert "2 sine waves" in words(page, 0)
        page.wait_for_function("() => location.search.includes('wavelet-2.waves=4')")


DOUBLED = """() => {
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  return ids.filter((id, i) => ids.indexOf(id) !== i);
}"""


@pytest.mark.browser
def test_an_explorable_moves_a_figure(browser, waves_page):
    with opened(browser, waves_page) as page:
        mount_all(page)
        scroll_through(page)
        count = "() => document.querySelector('.js-plotly-plot').data[0].y.length"
        page.wait_for_function(f"{count} === 101")
        assert page.troubles == []


@pytest.mark.browser
def test_a_link_is_copied(browser, waves_page):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], viewport=DESK)
    page = context.new_page()
    page.goto(waves_page)
    mount_all(page)
    page.locator("input[type=range]").first.press("ArrowLeft")
    page.get_by_text("Copy a link to this").first.click()
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == (
        f"{waves_page}?wavelet.waves=1#explorable-wavelet"
    )
    context.close()


@pytest.mark.browser
def test_an_explorable_works_by_touch_in_the_dark_and_fits_a_phone(browser, waves_page):
    options = {"viewport": PHONE, "color_scheme": "dark", "has_touch": True, "is_mobile": True}
    with opened(browser, waves_page, **options) as page:
        mount_all(page)
        assert sideways(page) == 0 and failures(page) == []
        page.locator(".explorable").first.get_by_text("Square", exact=True).tap()
        assert "2 square waves" in words(page)
        label = page.locator(".ex-name").first
        ink = label.evaluate("e => getComputedStyle(e).color.match(/\\d+/g).slice(0, 3).map(Number)")
        assert min(ink) > 120, "the words are light where the page is dark"
        assert page.troubles == []


@pytest.mark.browser
def test_explorables_work_from_disk(browser, waves_site):
    with opened(browser, (waves_site / "waves" / "index.html").as_uri()) as page:
        mount_all(page)
        assert failures(page) == []
        page.locator("input[type=range]").first.press("ArrowRight")
        assert "3 sine waves" in words(page)
        # Chromium lets a page from disk preload no font, and says so.
        assert not [each for each in page.troubles if "an explorable" in each or each.startswith("error")]


@pytest.mark.browser
def test_without_scripts_there_are_a_picture_and_words(browser, waves_page):
    with opened(browser, waves_page, java_script_enabled=False) as page:
        still = page.locator(".explorable-still").first
        assert "The first wave. Two waves of sine." in still.inner_text()
        assert "scripts" in still.inner_text() and still.locator("img").is_visible()


@pytest.mark.browser
def test_an_explorable_that_could_not_be_loaded_comes_when_one_looks_again(browser, waves_page):
    with opened(browser, waves_page, viewport={"width": 1200, "height": 300}) as page:
        heavy = page.locator(".explorable").nth(3)
        page.route("**/explorable-*.js", lambda route: route.abort())
        heavy.scroll_into_view_if_needed()
        page.wait_for_function("() => document.querySelectorAll('.explorable')[3].matches('.failed')")
        assert "reload the page" in heavy.inner_text()
        page.unroute("**/explorable-*.js")
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(300)
        mount_all(page)
        page.wait_for_function(
            "() => document.querySelectorAll('.explorable')[3].matches('.mounted:not(.failed)')"
        )
        assert failures(page) == [] and not [each for each in page.troubles if each.startswith("error")]


BROKEN = {
    "syntax": ("export default {{{", "could not be mounted"),
    "exception": ("export default { render() { throw new Error('planted'); } };", "planted"),
    "no render": ("export default {};", "exports no render function"),
}


@pytest.mark.browser
@pytest.mark.parametrize("fault", BROKEN)
def test_an_explorable_that_fails_says_so(browser, waves_site, tmp_path, fault):
    module, named = BROKEN[fault]
    page_text = (waves_site / "waves" / "index.html").read_text(encoding="utf-8")
    texts = re.search(r'id="explorable-texts">(.*?)</script>', page_text, re.DOTALL)
    broken = [module if "as default" in text else text for text in json.loads(texts[1])]
    folder = tmp_path / "site"
    folder.mkdir()
    for each in waves_site.iterdir():
        (shutil.copytree if each.is_dir() else shutil.copy)(each, folder / each.name)
    (folder / "waves" / "index.html").write_text(page_text.replace(texts[1], json.dumps(broken)))
    with served(folder) as address, opened(browser, f"{address}/waves/") as page:
        mount_all(page)
        assert page.locator(".explorable.failed").count() == 4
        assert page.get_by_text("could not be started").first.is_visible()
        assert any(named in trouble for trouble in page.troubles)


# ---- every explorable of the book ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(request) -> Path:
    """The book, built; or where BOOK_SITE says it lies."""
    if built := os.environ.get("BOOK_SITE"):
        return Path(built)
    return request.getfixturevalue("rendered_book")


def pages_with_explorables(site: Path) -> list[str]:
    pages = (path for path in site.rglob("index.html") if 'class="explorable"' in path.read_text("utf-8"))
    return sorted(path.parent.relative_to(site).as_posix() for path in pages)


@pytest.mark.book
def test_every_widget_of_a_chapter_is_an_explorable_on_its_page(site):
    """The test below visits the pages that have one, so one that was lost would go unnoticed there."""
    shown = 0
    for half in notebooks.pairs(ROOT):
        cells = nbformat.read(half.with_suffix(".ipynb"), as_version=4).cells
        views = [
            out for cell in cells for out in cell.get("outputs", []) if notebooks.VIEW in out.get("data", {})
        ]
        page = "." if half.stem == "index" else re.sub(r"^\d+-", "", half.stem).lower()
        text = re.sub(
            r"<template.*?</template>", "", (site / page / "index.html").read_text("utf-8"), flags=re.DOTALL
        )
        assert text.count('class="explorable"') == len(views), half.name
        shown += len(views)
    assert shown > 10


@pytest.mark.browser
def test_every_explorable_of_the_book(browser, site):
    """It mounts, answers to a key, passes axe-core, keeps what was set in the address and takes it from there again."""
    with served(site) as address:
        for name in pages_with_explorables(site):
            twice(lambda at=f"{address}/{name}/": try_explorables(browser, at), at=name)


def try_explorables(browser, at: str) -> None:
    """Those of one page: light on a desk, and what its address keeps of them dark on a phone."""
    desk, phone = VIEWS
    with opened(browser, at, keep=True, **desk) as page:
        mount_all(page)
        said = change_all(page, settled(page))
        nothing_wrong(page, at)
        page.wait_for_timeout(400)
        link = page.url
    with opened(browser, link, keep=True, **phone) as page:
        mount_all(page)
        again = settled(page)
        assert [untimed(one) for one in again] == [untimed(one) for one in said], link
        change_all(page, again)
        nothing_wrong(page, link)


def nothing_wrong(page, at: str) -> None:
    assert failures(page) == [], at
    assert sideways(page) == 0 and page.troubles == [], at
    assert page.evaluate(DOUBLED) == [], at
    assert barriers(page, ".explorable") == [], at


def settled(page) -> list[str]:
    """What each explorable says once it has nothing to add: some compute on after they have drawn."""
    before, said = [], all_words(page)
    for _ in range(100):  # a worker draws millions of weights before it answers
        page.wait_for_timeout(600)
        if page.locator(".explorable [aria-busy=true]").count():
            continue
        before, said = said, all_words(page)
        if said == before:
            break
    return said


def all_words(page) -> list[str]:
    """What each explorable says, once the page has been painted twice."""
    words(page)
    return page.locator(".ex-words").all_inner_texts()


def untimed(said: str) -> str:
    """The same without the milliseconds that it took, which are others each time."""
    return re.sub(r"\d[\d\s.,]* ms", "some ms", said)


@pytest.mark.browser
def test_the_translator_follows_what_is_typed_and_pointed_at(browser, site):
    with served(site) as address, opened(browser, f"{address}/transformer/") as page:
        place = page.locator(".explorable[data-key='attention-maps']")
        place.scroll_into_view_if_needed()
        page.wait_for_function(MOUNTED)
        pieces = place.locator(".at-pieces")
        place.locator("input[type=text]").fill("Der Hund schläft.")
        assert "The dog sleeps." in words(page)
        written = pieces.nth(1).locator("button")
        assert [each.inner_text() for each in written.all()][:3] == ["The", "dog", "sleeps"]
        written.nth(1).hover()
        assert "Writing “dog”" in words(page)
        written.nth(1).focus()
        page.keyboard.press("ArrowRight")
        assert "Writing “sleeps”" in words(page)
        pieces.nth(0).locator("button").nth(1).click()
        assert "Reading “Hund”" in words(page)
        place.locator(".at-row[data-head='2.1']").click()
        assert "head 2.1 looks most at" in words(page)
        page.wait_for_function("() => location.search.includes('attention-maps.head=2.1')")
        place.locator("input[type=text]").fill("Der Zwölfkäsehoch 42!")
        assert "has never seen" in words(page) and "no piece for" in words(page)
        place.locator("input[type=text]").fill("")
        assert words(page)
        assert page.troubles == []


@pytest.mark.browser
def test_the_stored_translator_works_beside_the_page(browser, site):
    """In a worker of its own, which the page's content security policy has to allow."""
    with served(site) as address, opened(browser, f"{address}/seeds/") as page:
        place = page.locator(".explorable[data-key='stored-translator']")
        with page.expect_worker() as started:
            place.scroll_into_view_if_needed()
        place.locator(".st-english[aria-busy=false]").wait_for(timeout=60_000)
        assert started.value.url.startswith("blob:") and started.value in page.workers
        assert place.locator(".st-english").inner_text() and page.troubles == []


def change_all(page, before: list[str]) -> list[str]:
    """Move the first control of each explorable, and return what they say then: each something else than before."""
    for number, said in enumerate(before):
        move(page, number, said)
    after = settled(page)
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        key = page.locator(".explorable").nth(number).get_attribute("data-key")
        assert new and new != old, f"the explorable {key} does not answer"
    return after


def move(page, number: int, said: str) -> None:
    """Move an explorable's first control; where a table of cells is the control, go to the next cell."""
    kinds = "input:not([type=radio]), input[type=radio]:checked, select"
    controls = f".ex-controls :is({kinds}), td > button[tabindex='0']"
    control = page.locator(".explorable").nth(number).locator(controls).first
    kind = control.get_attribute("type")
    if kind == "text":
        control.fill(control.input_value().split(" ", 1)[-1])
    else:
        control.press("ArrowUp" if kind == "number" else "ArrowRight")
        if kind in ("range", "button") and words(page, number) == said:
            control.press("ArrowLeft")
        if kind is None and words(page, number) == said:  # the last of a list, or two that say the same
            control.press("ArrowLeft")
            control.press("ArrowLeft")
