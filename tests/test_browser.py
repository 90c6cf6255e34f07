"""The rendered pages in chromium: no error, no request elsewhere, figures drawn, dark, a phone's width, a keyboard."""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import TimeoutError as HangsError
from playwright.sync_api import sync_playwright
from test_book import THEME, copy_of_the_fixture, served

sys.path.insert(0, str(THEME))
import build

pytestmark = pytest.mark.browser
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1440, "height": 900}
VIEWS = ({"viewport": DESK, "color_scheme": "light"}, {"viewport": PHONE, "color_scheme": "dark"})
PATIENCE = 120.0  # seconds that a page may be looked at
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def page_names(site: Path) -> list[str]:
    """All pages of a site but those that only lead on; of the library's modules, made alike, the largest alone."""
    names = sorted(path.parent.relative_to(site).as_posix() for path in site.rglob("index.html"))
    names = [name for name in names if name not in build.MOVED]
    if not (configuration := site / "config.json").exists():  # a page that a test has written by hand
        return names
    (project,) = json.loads(configuration.read_text(encoding="utf-8"))["projects"]
    modules = {page["slug"] for page in project["pages"] if page.get("level", 1) > 3 and "slug" in page}
    largest = max(modules, key=lambda name: (site / name / "index.html").stat().st_size, default="")
    return [name for name in names if name not in modules - {largest}]


@pytest.fixture(scope="module")
def fixture_book(fixture_site) -> Iterator[str]:
    with served(fixture_site) as address:
        yield address


class Chromium:
    """A browser whose place another one takes when it hangs.

    Some versions of chromium stop painting for good once in a hundred views, on an idle machine, whatever the page. A
    test that runs into the time limit is run once more (`conftest.py`), in a new one; what hangs twice is at fault.
    Not every call has a limit: `page.evaluate` waits for ever. So a browser that takes too long for a page is killed.
    """

    def __init__(self, playwright, path: str):
        self._launch = lambda: playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        self._browser, self._kept = self._launch(), None

    @classmethod
    @contextmanager
    def launched(cls, path: str) -> Iterator["Chromium"]:
        with sync_playwright() as playwright:
            browser = cls(playwright, path)
            yield browser
            browser.close()

    def new_context(self, **options):
        return self._browser.new_context(**options)

    def new_page(self, **options):
        return self._browser.new_page(**options)

    def kept_context(self):
        """One context for many pages, which then share what was fetched and compiled."""
        self._kept = self._kept or self.new_context(reduced_motion="reduce")
        return self._kept

    def replace(self) -> None:
        self._browser.close()
        self._browser, self._kept = self._launch(), None

    def close(self) -> None:
        self._browser.close()

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """End the browser if what is done with it takes longer, so that whoever waits for its answer gets an error.

        Raises:
            HangsError: it did.
        """
        killed = threading.Event()

        def kill() -> None:
            killed.set()
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    if "chrom" in process.name():
                        process.kill()

        timer = threading.Timer(seconds, kill)
        timer.start()
        try:
            yield
        except PlaywrightError as error:
            if killed.is_set():
                raise HangsError(f"chromium took more than {seconds:g} s for a page") from error
            raise
        finally:
            timer.cancel()


@contextmanager
def opened(
    browser: Chromium, address: str, *, patience: float = PATIENCE, keep: bool = False, **options
) -> Iterator:
    """A page at `address` with everything that goes wrong on it in `page.troubles`.

    With `keep` it shares a context with other such pages, and `options` are those of `view_as`.
    """
    try:
        with browser.limited(patience):
            more = {"viewport": DESK, "color_scheme": "light", "reduced_motion": "reduce"} | options
            context = browser.kept_context() if keep else browser.new_context(**more)
            # Two cores that do something else as well are no page's fault.
            context.set_default_timeout(60_000)
            page = None
            try:
                page = context.new_page()
                if keep:
                    view_as(page, **options)
                page.troubles = watch(page, address)
                page.goto(address, wait_until="load")
                yield page
            finally:
                if not keep:
                    context.close()
                elif page:
                    page.close()
    except HangsError:
        browser.replace()
        raise


def view_as(page, *, viewport: dict, color_scheme: str) -> None:
    """Give a page a window and a colour scheme, before it is loaded or after."""
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=color_scheme, reduced_motion="reduce")


def watch(page, address: str) -> list[str]:
    troubles: list[str] = []
    host = address.split("/")[2] if "//" in address else ""
    page.on(
        "console", lambda line: troubles.append(f"console: {line.text}") if line.type == "error" else None
    )
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("requestfailed", lambda request: troubles.append(f"failed: {request.url}"))

    def answered(response):
        if response.status >= 400:
            troubles.append(f"{response.status}: {response.url}")

    def asked(request):
        if request.url.split(":")[0] in ("http", "https", "ws", "wss") and request.url.split("/")[2] != host:
            troubles.append(f"elsewhere: {request.url}")

    page.on("response", answered)
    page.on("request", asked)
    return troubles


SCROLL = """async () => {
    const painted = () => new Promise(done => { requestAnimationFrame(done); setTimeout(done, 100); });
    for (let windows = 0; windows < 200; windows += 1) {
        const below = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
        scrollBy({ top: innerHeight * 1.5, behavior: 'instant' });
        await painted();
        await painted();
        if (below) break;
    }
}"""


def scroll_through(page) -> None:
    """As a reader in a hurry would, so that all that waits for coming into view does; then wait for the figures."""
    page.evaluate(SCROLL)
    # Figures are drawn when a frame shows them near the view, and some versions of chromium stop painting on an idle
    # machine, too: what is still waiting is asked for, as a preview asks.
    for figure in page.locator(".plotly-figure:not(.drawn, .failed)").element_handles():
        figure.evaluate("figure => document.dispatchEvent(new CustomEvent('book:draw', { detail: figure }))")
        page.wait_for_function("figure => figure.matches('.drawn, .failed')", arg=figure, polling=50)


def sideways(page) -> int:
    """How many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


AXE = THEME / "node_modules" / "axe-core" / "axe.min.js"
FINDINGS = """async within => (await axe.run(within, { resultTypes: ['violations'] })).violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes[0].html}`)"""


def barriers(page, within: str = "html") -> list[str]:
    """What axe-core finds that keeps somebody from reading what a selector names: serious and critical, by rule."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(FINDINGS, within)


def inspect(browser, site: Path, folder: Path | None = None) -> None:
    """Every page of a site, light on a desk and dark on a phone: nothing goes wrong, everything is drawn, and fits.

    A page is loaded in one of the two views and then changed to the other; every second one begins on the phone. With
    a folder each view leaves a picture there, which takes as long as all the rest.
    """
    with served(site) as address:
        for number, name in enumerate(page_names(site)):
            at = f"{address}/" if name == "." else f"{address}/{name}/"
            views = VIEWS[:: -1 if number % 2 else 1]
            twice(lambda look_at=(at, name, views, folder): look(browser, *look_at), at=name)


def twice(look: Callable[[], None], *, at: str) -> None:
    """Look at a page, and once more if the browser hangs there: `opened` has put another in its place."""
    try:
        look()
    except HangsError:
        print(f"chromium hangs at {at}: another one is asked")
        look()


def look(browser, at: str, name: str, views: tuple[dict, ...], folder: Path | None) -> None:
    """One page, loaded in the first of some views and then changed to the others."""
    with opened(browser, at, keep=True, **views[0]) as page:
        for view in views:
            colour, width = view["color_scheme"], view["viewport"]["width"]
            where = f"{name}, {colour}, {width} px"
            view_as(page, **view)
            scroll_through(page)
            figures, drawn = (page.locator(f".plotly-figure{kind}").count() for kind in ("", ".drawn"))
            assert drawn == figures, where
            for _ in range(10):  # figures are drawn anew for another window
                if sideways(page):
                    page.wait_for_timeout(200)
            assert sideways(page) == 0, where
            assert page.troubles == [], where
            page.evaluate("scrollTo(0, 0)")
            assert barriers(page) == [], where
            if folder:
                called = "start" if name == "." else name.replace("/", "-")
                page.screenshot(path=folder / f"{called}-{colour}-{width}.png", full_page=True)


@pytest.fixture(scope="module")
def screenshots() -> Path | None:
    """Where BOOK_SCREENSHOTS wants pictures of all views."""
    if not (named := os.environ.get("BOOK_SCREENSHOTS")):
        return None
    folder = Path(named)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_every_page_of_the_fixture_book(browser, fixture_site, screenshots):
    inspect(browser, fixture_site, screenshots)


def test_every_page_of_the_book(browser, screenshots, rendered_book):
    inspect(browser, rendered_book, screenshots)


@pytest.mark.parametrize("old", build.MOVED)
def test_where_a_page_was_a_reader_is_led_to_where_it_is(browser, rendered_book, old):
    new = build.MOVED[old]
    with served(rendered_book) as address, opened(browser, f"{address}/{old}/") as page:
        page.wait_for_url(f"{address}/{new}/")
        assert page.locator("article h1").count() == 1 and page.troubles == []
    text = (rendered_book / old / "index.html").read_text(encoding="utf-8")
    assert f'<a href="../{new}/">' in text  # for a reader whose browser does not follow by itself


def test_the_pages_work_under_a_base_path(browser, fixture_site):
    with served(fixture_site, base="/some/base") as address, opened(browser, f"{address}/outputs/") as page:
        scroll_through(page)
        assert page.locator(".plotly-figure.drawn").count() == 2
        page.click(".pager .next")
        page.wait_for_url("**/some/base/last/")
        assert page.locator("h1").inner_text() == "The last page"
        assert page.troubles == []


def test_an_address_that_leads_nowhere_leads_back(browser, tmp_path):
    """At any depth, below a base path."""
    site = build.build(copy_of_the_fixture(tmp_path / "source"), base_url="/some/base", say=lambda line: None)
    with served(site, base="/some/base") as address:
        for path in ("gone", "gone/further/down/"):
            with opened(browser, f"{address}/{path}") as page:
                assert page.locator("h1").inner_text() == "No such page"
                assert page.evaluate("getComputedStyle(document.querySelector('.book')).display") == "grid"
                assert page.troubles and all("404" in line for line in page.troubles)
                page.click("article a")
                page.wait_for_url(f"{address}/")


@pytest.mark.parametrize("anchor", ["#%", "#%E0%A4%A", "#no-such-place", "#%23"])
def test_an_anchor_that_is_no_percent_encoding_does_no_harm(browser, fixture_book, anchor):
    with opened(browser, f"{fixture_book}/elements/{anchor}") as page:
        page.evaluate("location.hash = '#%%'")
        page.wait_for_timeout(50)
        assert page.locator(".copy").count() > 0  # what comes after the anchor in the script has run
        assert page.troubles == []


STRANGERS = """() => new Promise((done) => {
  const found = [];
  document.addEventListener('securitypolicyviolation', (event) => found.push(event.effectiveDirective));
  const script = document.createElement('script');
  script.textContent = 'window.inline = true';
  const remote = Object.assign(document.createElement('script'), { src: 'https://example.org/x.js' });
  const button = document.createElement('button');
  button.setAttribute('onclick', 'window.attribute = true');
  document.body.append(script, remote, button);
  button.click();
  new Image().src = 'https://example.org/x.png';
  fetch('https://example.org/').catch(() => {});
  setTimeout(() => done({ found: found.sort(), ran: [window.inline, window.attribute] }), 300);
})"""


@pytest.mark.parametrize("disk", [False, True], ids=["served", "from disk"])
def test_no_page_runs_or_loads_what_is_not_the_books(browser, fixture_site, fixture_book, disk):
    address = (fixture_site / "elements/index.html").as_uri() if disk else f"{fixture_book}/elements/"
    with opened(browser, address) as page:
        seen = page.evaluate(STRANGERS)
    wanted = ["connect-src", "img-src", "script-src-attr", "script-src-elem", "script-src-elem"]
    assert seen == {"found": wanted, "ran": [None, None]}


def test_the_pages_can_be_read_from_disk(browser, fixture_site):
    """A folder copied to a stick: links between pages lead to files there."""
    with opened(browser, (fixture_site / "index.html").as_uri()) as page:
        page.click("main a[href*='elements']")
        page.wait_for_url("**/elements/index.html")
        assert page.evaluate("getComputedStyle(document.querySelector('.book')).display") == "grid"
    with opened(browser, (fixture_site / "outputs" / "index.html").as_uri()) as page:
        assert page.locator(".plotly-figure[data-figure]").count() == 1  # too large for the page
        scroll_through(page)
        assert page.locator(".plotly-figure.drawn").count() == page.locator(".plotly-figure").count() == 2
        # Chromium lets a page from disk preload no font, and says so.
        assert not [each for each in page.troubles if "figure" in each or each.startswith("error")]


@contextmanager
def cut_off(page, *addresses: str) -> Iterator[None]:
    """The page's network, failing for some addresses meanwhile."""
    for address in addresses:
        page.route(address, lambda route: route.abort())
    yield
    for address in addresses:
        page.unroute(address)


@pytest.mark.parametrize("address", ["**/plotly.min.js", "**/figure-*.js"])
def test_a_figure_that_could_not_be_loaded_says_so_and_comes_when_one_looks_again(
    browser, fixture_book, address
):
    low = {"width": 1200, "height": 300}
    with opened(browser, f"{fixture_book}/outputs/", viewport=low) as page:
        large = page.locator("article .plotly-figure[data-figure]").first
        label = large.get_attribute("aria-label")
        with cut_off(page, address):
            large.scroll_into_view_if_needed()
            page.locator(".plotly-figure.failed[data-figure]").wait_for()
            assert (
                "could not be loaded; reload the page" in large.inner_text() and label in large.inner_text()
            )
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(300)
        large.scroll_into_view_if_needed()
        page.locator(".plotly-figure.drawn[data-figure]").wait_for()
        assert large.locator(".js-plotly-plot").count() == 1 and page.locator(".failed").count() == 0
        assert not [each for each in page.troubles if each.startswith("error")]


def test_a_search_whose_index_could_not_be_loaded_is_tried_again(browser, fixture_book):
    for address in ("**/pagefind.js*", "**/pagefind-entry.json*"):
        with opened(browser, f"{fixture_book}/") as page:
            with cut_off(page, address):
                page.keyboard.press("/")
                page.keyboard.type("softma")
                page.locator(".search-status >> text=could not be loaded").wait_for()
            page.keyboard.type("x")
            page.locator(".search [role=option]").first.wait_for()


def test_a_search_that_fails_after_the_field_was_cleared_says_nothing(browser, fixture_book):
    held = []
    with opened(browser, f"{fixture_book}/") as page:
        page.route("**/fragment/*", lambda route: held.append(route))
        page.keyboard.press("/")
        with page.expect_request("**/fragment/*"):
            page.keyboard.type("softmax")
        page.locator(".search input").fill("")
        page.wait_for_timeout(500)
        for route in held:
            route.abort()
        page.wait_for_timeout(500)
        assert page.locator(".search-status").inner_text() == ""


def test_the_pages_can_be_read_without_scripts(browser, fixture_book):
    with opened(browser, f"{fixture_book}/elements/", java_script_enabled=False) as page:
        assert page.locator("#sidebar").is_visible()
        assert page.locator("#scaled-dot-product .katex").is_visible()
        assert (
            page.locator(".tab-body").first.is_visible() and not page.locator(".tab-body").nth(1).is_visible()
        )
        page.click("text=Full")
        assert page.locator(".tab-body").nth(1).is_visible()


def background(page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_dark_follows_the_system_and_the_switch_wins_and_is_kept(browser, fixture_book):
    with opened(browser, f"{fixture_book}/outputs/", color_scheme="dark") as page:
        scroll_through(page)
        dark, ink = background(page), page.evaluate(FIGURE_INK)
        page.locator("#sidebar .theme-switch").click()
        light = background(page)
        assert light != dark
        page.wait_for_function(f"() => ({FIGURE_INK}) !== {ink!r}")  # the figures follow
        page.reload()
        assert background(page) == light
        page.locator("#sidebar .theme-switch").click()
        assert background(page) == dark
        assert (
            page.evaluate("localStorage.getItem('book-theme')") is None
        )  # as the system: it is followed again
        assert page.troubles == []


def test_figures_are_printed_in_ink_for_white_paper(browser, fixture_book):
    with opened(browser, f"{fixture_book}/outputs/", color_scheme="dark") as page:
        scroll_through(page)
        dark = page.evaluate(FIGURE_INK)
        page.emulate_media(media="print")
        page.wait_for_function(f"() => ({FIGURE_INK}) === 'rgb(0, 0, 0)'")
        page.emulate_media(media="screen")
        page.wait_for_function(f"() => ({FIGURE_INK}) === {dark!r}")
        assert page.troubles == []


FIGURE_INK = "getComputedStyle(document.querySelector('.plotly-figure .xtick text')).fill"


def test_plotly_is_fetched_only_when_a_figure_comes_near(browser, fixture_book):
    with opened(browser, f"{fixture_book}/outputs/", viewport={"width": 1200, "height": 500}) as page:
        page.wait_for_timeout(300)
        assert page.evaluate("typeof window.Plotly") == "undefined"
        page.locator(".plotly-figure").first.scroll_into_view_if_needed()
        page.wait_for_function("() => typeof window.Plotly === 'object'")
    with opened(browser, f"{fixture_book}/elements/") as page:
        scroll_through(page)
        assert page.evaluate("typeof window.Plotly") == "undefined"


ROWS = """() => {
  const names = ['trained', 'masks of 50 % over random layers'];
  const figure = { data: [{ type: 'scatter', mode: 'markers', x: [1, 2], y: names }], layout: {
    xaxis: { title: { text: 'answers that are right' } },
    yaxis: { categoryorder: 'array', categoryarray: names, automargin: true } } };
  const place = Object.assign(document.createElement('div'), { className: 'plotly-figure', ariaLabel: 'Rows' });
  place.style.setProperty('--height', '200px');
  place.innerHTML = '<script type="application/json"></script>';
  place.firstChild.textContent = JSON.stringify(figure);
  document.querySelector('article').prepend(place);
  document.dispatchEvent(new CustomEvent('book:draw', { detail: place }));
}"""


@pytest.mark.parametrize(("viewport", "lines"), [(DESK, 1), (PHONE, 2)])
def test_names_of_rows_are_broken_on_a_phone_alone_and_the_axis_has_room(
    browser, fixture_book, viewport, lines
):
    with opened(browser, f"{fixture_book}/outputs/", viewport=viewport) as page:
        page.evaluate(ROWS)
        page.wait_for_selector(".plotly-figure[aria-label='Rows'].drawn")
        first = page.locator("article .plotly-figure").first
        names = first.locator(".ytick text")
        assert names.count() == 2 and first.locator(".points path").count() == 2
        assert max(names.nth(0).locator("tspan").count(), 1) == 1
        assert max(names.nth(1).locator("tspan").count(), 1) == lines
        box, title = first.bounding_box(), first.locator(".xtitle").bounding_box()
        assert title["x"] + title["width"] <= box["x"] + box["width"]
        assert page.troubles == []


def test_the_contents_open_on_a_phone_and_close_again(browser, fixture_book):
    with opened(browser, f"{fixture_book}/elements/", viewport=PHONE) as page:
        assert not page.locator("#sidebar").is_visible()
        page.click("button.menu")
        assert page.locator("#sidebar").is_visible()
        page.keyboard.press("Escape")
        assert not page.locator("#sidebar").is_visible()
        page.click("button.menu")
        page.click(".outline >> text=Code")
        assert not page.locator("#sidebar").is_visible()
        assert page.url.endswith("#code")


def test_the_outline_follows_the_text(browser, fixture_book):
    with opened(browser, f"{fixture_book}/elements/") as page:
        for section in ("code", "boxes"):
            page.evaluate(f"document.getElementById('{section}').scrollIntoView()")
            page.wait_for_selector(f".outline a.here[href='#{section}']")
        assert page.locator(".outline a.here").count() == 1


def test_code_can_be_copied(browser, fixture_book):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{fixture_book}/elements/")
    listing = page.locator("#lst-mean .code")
    listing.hover()
    listing.locator(".copy").click()
    listing.locator("text=Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "def mean(xs):\n    return sum(xs) / len(xs)"
    context.close()


def test_all_code_is_shown_or_folded_and_the_choice_is_kept(browser, fixture_book):
    """By keyboard alone; solutions and listings in the text are no cells."""
    context = browser.new_context(viewport=DESK)
    page = context.new_page()
    page.goto(f"{fixture_book}/outputs/")
    seen = "() => [...document.querySelectorAll('.cell .code')].filter(e => e.checkVisibility()).length"
    page.locator("details.result").evaluate("fold => { fold.open = true; }")
    all_code, as_written = page.locator(".cell .code").count(), page.evaluate(seen)
    assert 0 < as_written < all_code
    choice = page.locator(".code-switch select")
    for key, shown in (("ArrowDown", all_code), ("End", 0), ("Home", as_written), ("End", 0)):
        choice.focus()
        page.keyboard.press(key)
        assert page.evaluate(seen) == shown, key
    page.reload()
    assert choice.input_value() == "none" and page.evaluate(seen) == 0
    page.locator("details.by-reader > summary").first.press("Enter")
    assert page.evaluate(seen) == 1
    page.goto(f"{fixture_book}/elements/")
    assert page.locator("#lst-mean .code").is_visible()
    context.close()


def test_a_prediction_hides_its_result_until_the_reader_commits(browser, fixture_book):
    with opened(browser, f"{fixture_book}/outputs/") as page:
        result = page.get_by_text("the result", exact=True)
        assert not result.is_visible() and not page.get_by_text("It is the second.").is_visible()
        assert page.get_by_text("On it goes.").is_visible()
        first, second = page.locator(".prediction .choice").all()
        first.press("Enter")
        assert result.is_visible() and page.get_by_text("It is the second.").is_visible()
        second.press("Enter")
        pressed = [choice.get_attribute("aria-pressed") for choice in (first, second)]
        assert pressed == ["false", "true"] and barriers(page) == []


def test_the_first_tab_key_reaches_the_text(browser, fixture_book):
    with opened(browser, f"{fixture_book}/elements/") as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the text"
        page.keyboard.press("Enter")
        assert page.url.endswith("#content")


def test_a_link_into_something_folded_opens_it(browser, fixture_book):
    with opened(browser, f"{fixture_book}/elements/") as page:
        page.evaluate(
            "document.querySelector('details.solution .box-body').id = 'inside'; location.hash = '#inside'"
        )
        page.wait_for_selector("details.solution[open]")


@pytest.mark.parametrize(
    ("page_name", "link", "shows"),
    [
        ("elements", "a.to-figure", "Three boxes"),
        ("elements", "a.to-equation", "Attention"),
        ("elements", "a.to-heading", "Inline math"),
        ("elements", "a.to-table", "Scores of nobody"),
        ("elements", "a.to-exercise", "Why is there a"),
        ("elements", "a.citation", "Vaswani, A."),
        ("elements", ".footnote a", "The first note"),
        ("last", "a.to-figure", "Three boxes"),
        ("last", "a.to-heading", "The first section"),
        ("last", "a.to-page", "Everything that a cell can print"),
        ("last", "a[href$='term-reservoir']", "drawn and never moved"),
    ],
)
def test_a_reference_shows_what_it_leads_to(browser, fixture_book, page_name, link, shows):
    with opened(browser, f"{fixture_book}/{page_name}/") as page:
        reference, card = page.locator(f"article {link}").first, page.locator("#preview")
        reference.scroll_into_view_if_needed()
        reference.hover()
        card.wait_for()
        assert shows in card.inner_text()
        assert reference.get_attribute("aria-describedby") == "preview"
        assert card.locator("[id]").count() == 0
        card.hover()  # the pointer may go into it, to follow a link there
        page.wait_for_timeout(400)
        assert card.is_visible()
        page.keyboard.press("Escape")
        assert not card.is_visible() and reference.get_attribute("aria-describedby") is None
        assert page.troubles == []


def test_a_preview_opens_on_focus_and_closes_without_it(browser, fixture_book):
    with opened(browser, f"{fixture_book}/last/") as page:
        card = page.locator("#preview")
        page.locator("article a.reference").first.focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Shift+Tab")
        card.wait_for()
        assert "Three boxes" in card.inner_text()
        page.keyboard.press("Tab")
        assert "The first section" in card.inner_text()


def test_a_figure_is_drawn_for_its_preview(browser, fixture_book):
    with opened(browser, f"{fixture_book}/outputs/", viewport={"width": 1200, "height": 300}) as page:
        page.keyboard.press("Tab")  # focus is seen from now on
        page.locator("article a.reference[href='#fig-plotly']").first.focus()
        page.locator("#preview .svg-container").wait_for()
    with opened(browser, f"{fixture_book}/last/") as page:
        page.locator("article a[href*='#fig-plotly']").hover()
        page.locator("#preview .plotly-figure.drawn").wait_for()
        assert page.troubles == []


def test_previews_of_other_pages_work_from_disk(browser, fixture_site):
    with opened(browser, (fixture_site / "last" / "index.html").as_uri()) as page:
        page.locator("article a.to-heading").hover()
        page.locator("#preview").wait_for()
        assert "Inline math" in page.locator("#preview").inner_text()


def test_the_first_tap_shows_a_note_and_the_second_goes_there(browser, fixture_book):
    with opened(browser, f"{fixture_book}/elements/", viewport=PHONE, has_touch=True) as page:
        page.locator(".footnote a").first.tap()
        page.locator("#preview").wait_for()
        assert "#" not in page.url
        page.locator(".footnote a").first.tap()
        assert page.url.endswith("#fn-one")


def test_search_finds_a_word_and_leads_to_its_section(browser, fixture_site):
    """By keyboard alone, and below a base path."""
    with served(fixture_site, base="/some/base") as address, opened(browser, f"{address}/last/") as page:
        page.keyboard.press("/")
        page.keyboard.type("softmax")
        page.locator(".search [role=option]").first.wait_for()
        page.keyboard.press("Escape")
        assert not page.locator(".search").is_visible()
        page.keyboard.press("Control+k")
        page.keyboard.type("unbreakable")
        page.locator(".search-section >> text=Figures and tables").wait_for()
        chosen = page.locator(".search [aria-selected=true]")
        assert page.locator(".search input").get_attribute("aria-activedescendant") == chosen.get_attribute(
            "id"
        )
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        page.wait_for_url("**/some/base/elements/#figures-and-tables")
        assert page.troubles == []


def test_search_says_when_it_finds_nothing(browser, fixture_book):
    with opened(browser, f"{fixture_book}/") as page:
        page.locator("#sidebar .search-open").click()
        page.keyboard.type("zyzzyva")
        page.locator(".search-status >> text=Nothing found").wait_for()
        assert page.troubles == []


def test_search_from_disk_says_that_it_needs_a_server(browser, fixture_site):
    with opened(browser, (fixture_site / "index.html").as_uri()) as page:
        page.keyboard.press("/")
        page.locator(".search-status >> text=needs a server").wait_for()
        page.keyboard.type("word")
        page.wait_for_timeout(300)
        assert "needs a server" in page.locator(".search-status").inner_text()


TROUBLES = {  # planted on a page -> what the inspection names
    "<script src='gone.js'></script>": "gone.js",
    "<script>throw new Error('planted')</script>": "planted",
    "<img alt=x src='https://example.invalid/x.png'>": "example.invalid",
    "<script>console.error('planted')</script>": "planted",
    "<div class='plotly-figure failed'></div>": "360 px|1440 px",
    "<div style='width: 2000px'>wide</div>": "px",
    "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>": "image-alt",
    "<p style='color: #999; background: #fff'>faint</p>": "color-contrast",
}


@pytest.mark.parametrize("planted", [*TROUBLES, ""])
def test_what_goes_wrong_or_looks_wrong_on_a_page_is_seen(browser, tmp_path, planted):
    """The inspection itself: each kind of trouble that it looks for turns it red, and nothing else does."""
    text = "<!DOCTYPE html><html lang=en><title>x</title><link rel=icon href=data:,><main><h1>x</h1></main>"
    (tmp_path / "index.html").write_text(text + planted, encoding="utf-8")
    with pytest.raises(AssertionError, match=TROUBLES[planted]) if planted else nullcontext():
        inspect(browser, tmp_path)


def test_a_page_that_never_answers_is_given_up_and_the_next_one_has_a_browser(browser, fixture_book):
    with (
        pytest.raises(HangsError, match="more than 3 s"),
        opened(browser, f"{fixture_book}/", patience=3.0) as page,
    ):
        page.evaluate("new Promise(() => {})")
    with opened(browser, f"{fixture_book}/") as page:
        assert page.evaluate("6 * 7") == 42
