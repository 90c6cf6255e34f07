"""The playground in chromium: a run watched to its end, and everything that a reader may do to it meanwhile."""

import json
import os
import re
import sys
import zipfile
from pathlib import Path

import nbformat
import psutil
import pytest
from test_book import ROOT
from test_browser import PHONE, barriers, opened, served, sideways
from test_explorables import begun, book_of, words

from reservoir.datasets import Vocabulary
from reservoir.models import from_pretrained
from reservoir.training import Decoding, translate
from reservoir_book.explorables import Playground

pytestmark = pytest.mark.browser
CHAPTER = ROOT / "chapters" / "P-playground.ipynb"
QUICK = "w32_e1_d1_n50"
TEXT = """# The playground

:::{admonition} Before
:label: playground-attention
[Set it up](#playground-attention).
:::
"""
BELOW = """:::{admonition} After
:label: playground-reservoir
[Set it up](#playground-reservoir).
:::
"""


def site_of(folder: Path) -> Path:
    """A page with the playground of its chapter, which begins with the translator here, and two links to set it up."""
    notebook = nbformat.read(CHAPTER, as_version=4)
    shown = [cell for cell in notebook.cells if "Playground.of_presets(" in cell.source]
    for one in notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values():
        if "setup" in one["state"]:
            one["state"]["setup"] = ""
    text = nbformat.v4.new_markdown_cell
    notebook.cells = [text(TEXT), *shown, text(BELOW)]
    return book_of(notebook, folder)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    if built := os.environ.get("PLAYGROUND_SITE"):
        return Path(built)
    return site_of(tmp_path_factory.mktemp("playground") / "source")


@pytest.fixture(scope="module")
def address(site):
    with served(site) as address:
        yield f"{address}/waves/"


def button(place, name: str):
    return place.get_by_role("button", name=name, exact=True)


def until_it_says(page, *said: str) -> str:
    page.wait_for_function(
        "words => words.some(one => document.querySelector('.ex-words').textContent.includes(one))", arg=said
    )
    return page.locator(".ex-words").inner_text()


def facts(place) -> dict[str, list[str]]:
    rows = place.locator(".pg-facts tbody tr").all()
    return {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}


def test_a_run_goes_to_its_end_and_its_download_says_the_same_in_python(browser, address, tmp_path):
    with opened(browser, f"{address}?playground.setup={QUICK}") as page:
        place = begun(page)
        assert "What do you expect?" in page.locator(".ex-words").inner_text()
        place.locator("input[type=text]").fill("Der Hund schläft.")
        button(place, "Train").click()
        said = until_it_says(page, "on the test split")
        assert "After 50 steps" in said and button(place, "Train").count() == 0
        found = facts(place)
        assert found["steps"] == ["50 of 50"] and re.fullmatch(r"[\d.]+", found["BLEU, test"][0])
        assert place.get_by_role("progressbar").get_attribute("aria-valuenow") == "100"
        page.wait_for_function(
            "() => document.querySelector('[role=status]').textContent.includes('test split')"
        )
        shown = place.locator(".pg-answer").inner_text()
        with page.expect_download() as download:
            button(place, "Download the model").click()
        download.value.save_as(tmp_path / "model.zip")
        assert page.troubles == []
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "reservoir-playground"
    vocabulary = Vocabulary.from_file(folder / "tokenizer.json")
    sentences = vocabulary.encode_batch(["Der Hund schläft."])
    (written,) = translate(from_pretrained(folder), sentences, decoding=Decoding(beam=1))
    # One that does not end is cut off at another length in Python.
    assert vocabulary.decode(written).startswith(shown.removeprefix("→ ")[:20])


def settled(page, place):
    """The steps done, once what was on its way from the worker has come (slow on a busy machine)."""
    for _ in range(25):
        (before,) = facts(place)["steps"]
        page.wait_for_timeout(400)
        if facts(place)["steps"] == [before]:
            return before
    raise AssertionError(f"still training 10 seconds after a pause, at step {before}")


def test_it_pauses_when_asked_and_while_the_page_is_hidden(browser, address):
    hide = """hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange')); }"""
    with opened(browser, f"{address}?playground.setup=w32_e1_d1_n1000") as page:
        place = begun(page)
        button(place, "Train").click()
        for leave, back in (
            (lambda: button(place, "Pause").click(), lambda: button(place, "Go on").click()),
            (lambda: page.evaluate(hide, True), lambda: page.evaluate(hide, False)),
        ):
            until_it_says(page, "Step ")
            leave()
            button(place, "Go on").wait_for()
            before = settled(page, place)
            page.wait_for_timeout(600)
            assert facts(place)["steps"] == [before]
            back()
            button(place, "Pause").wait_for()
            page.wait_for_function(
                "before => document.querySelector('.pg-facts').textContent.includes('of 1000')"
                " && !document.querySelector('.pg-facts').textContent.includes(before)",
                arg=before,
            )
        button(place, "Pause").click()
        (before,) = facts(place)["steps"]
        button(place, "One step").click()
        button(place, "Reset").click()
        words(page)
        assert facts(place)["steps"] == ["0 of 1000"]
        assert page.troubles == []


def test_a_wild_learning_rate_stops_with_an_explanation(browser, address):
    with opened(browser, f"{address}?playground.setup={QUICK}_r1000") as page:
        place = begun(page)
        button(place, "Train").click()
        said = until_it_says(page, "choose a smaller rate")
        assert "each step goes too far" in said
        button(place, "Reset").click()
        words(page)
        assert button(place, "Train").is_enabled()


MISSING = {
    "no workers": ("delete window.Worker", "may start no worker"),
    "workers that are refused": (
        "window.Worker = class { constructor() { throw new Error('refused'); } }",
        "refused",
    ),
    "no WebAssembly": ("delete window.WebAssembly", "128-bit SIMD"),
    "no SIMD": ("WebAssembly.validate = () => false", "128-bit SIMD"),
}


@pytest.mark.parametrize("fault", MISSING)
def test_where_nothing_can_be_trained_it_shows_recorded_runs_and_says_why(browser, address, fault):
    planted, why = MISSING[fault]
    context = browser.new_context()
    context.add_init_script(planted)
    page = context.new_page()
    page.goto(address)
    place = begun(page)
    if button(place, "Train").is_enabled():  # what is missing shows when it is asked for
        button(place, "Train").click()
    said = until_it_says(page, "Nothing can be trained here")
    assert why in said and "recorded runs" in said
    assert button(place, "Train").is_disabled()
    assert place.locator("svg path.ex-line, svg .ex-line").count() >= 8
    context.close()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("w48~~~~~", "at most 4 runs"),
        ("%3Cb%3E", "is no setting of the playground"),
    ],
)
def test_a_link_that_cannot_be_is_refused_with_a_sentence(browser, address, line, said):
    with opened(browser, f"{address}?playground.setup={line}") as page:
        begun(page)
        shown = page.locator(".ex-words").inner_text()
        assert said in shown and "The link cannot be used" in shown and "own settings are" in shown
        assert page.locator(".ex b").count() == 0 and page.troubles == []


def test_it_can_be_used_by_keyboard_alone(browser, address):
    with opened(browser, f"{address}?playground.setup={QUICK}") as page:
        place = begun(page)
        place.get_by_label("Preset").focus()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Train"
        reached = []
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.textContent.trim()"))
            if "Copy a link" in reached[-1]:
                break
        assert any(one.startswith("embeddings") for one in reached) and "Copy a link to this" in reached
        place.get_by_role("radio", checked=True).focus()
        for _ in range(3):  # past the first, to the last that a translator has
            page.keyboard.press("ArrowLeft")
        words(page)  # what is shown follows with the next frame
        assert place.get_by_role("radio", checked=True).inner_text() == "masked"
        part = place.locator("[data-part='encoder.0.attention']")
        part.focus()
        page.keyboard.press("Enter")
        words(page)
        assert "masked" in part.inner_text()
        assert page.evaluate("document.activeElement.dataset.part") == "encoder.0.attention"
        place.locator("[data-part='encoder.0.norms']").focus()
        page.keyboard.press("Space")
        assert until_it_says(page, "Norms cannot be masked here, only trained or fixed.")
        button(place, "Train").focus()
        page.keyboard.press("Enter")
        until_it_says(page, "on the test split")
        button(place, "Compare with another run").focus()
        page.keyboard.press("Enter")
        place.get_by_role("button", name="Run A", exact=True).focus()
        page.keyboard.press("Enter")
        words(page)
        page.wait_for_function("() => document.activeElement.textContent === 'Run A'")
        assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
        assert page.troubles == []


def test_four_runs_stand_side_by_side_with_their_differences_in_words(browser, address):
    with opened(browser, f"{address}?playground.setup={QUICK}", patience=400.0) as page:  # four at once
        place = begun(page)
        assert button(place, "Train all").is_hidden()
        button(place, "Compare with another run").click()
        place.get_by_role("radio", name="seeded, frozen").click()
        place.locator("[data-part='embedding']").click()
        for _ in range(2):
            button(place, "Compare with another run").click()
            button(place, "New seed").click()
        words(page)
        assert button(place, "Compare with another run").is_disabled()
        button(place, "Train all").click()
        page.wait_for_function(
            "() => [...document.querySelectorAll('.pg-facts tbody tr:last-child td')]"
            ".every(one => /^\\d/.test(one.textContent))",
            timeout=300_000,
        )
        found = facts(place)
        assert len(found["stored"]) == 4 and len(set(found["stored"])) == 2
        said = page.locator(".ex-words").inner_text()
        assert all(f"Compared with run {name} it has" in said for name in "ABC") and "times fewer" in said
        place.get_by_role("button", name="Remove run B").click()
        words(page)
        assert len(facts(place)["stored"]) == 3
        page.wait_for_function("() => decodeURIComponent(location.search).split('~').length === 3")
        place.get_by_role("button", name="Run B", exact=True).click()
        place.get_by_role("button", name="Remove run A").click()
        place.locator(".pg-tab button[aria-pressed=true] >> text=Run A").wait_for()  # the one that was B
        assert page.troubles == []


def test_what_is_typed_is_translated_and_words_that_are_unknown_are_named(browser, address):
    with opened(browser, f"{address}?playground.setup={QUICK}") as page:
        place = begun(page)
        answer = place.locator(".pg-answer")
        assert "Press Train" in answer.inner_text()
        button(place, "One step").click()
        place.locator("input[type=text]").fill("Der Zwölfkäsehoch schläft.")
        page.wait_for_function(
            "() => document.querySelector('.pg-answer').textContent.includes('never seen')"
        )
        assert "“Zwölfkäsehoch”" in answer.inner_text() and "“Der”" not in answer.inner_text()
        place.locator("input[type=text]").fill("er " * 45)
        page.wait_for_function(
            "() => document.querySelector('.pg-answer').textContent.includes('only the beginning')"
        )


def test_a_change_sets_aside_what_was_learned_and_undo_brings_it_back(browser, address):
    with opened(browser, f"{address}?playground.setup={QUICK}") as page:
        place = begun(page)
        part = place.locator("[data-part='decoder.0.cross']")
        place.get_by_role("radio", name="seeded, frozen").click()
        assert button(place, "Undo").is_disabled()
        button(place, "Train").click()
        page.wait_for_function("() => document.querySelector('.pg-facts').textContent.includes('0 of 50')")
        until_it_says(page, "BLEU on validation")
        part.click()
        assert "Undo brings it back" in until_it_says(page, "is set aside until you press Train")
        assert facts(place)["steps"] == ["0 of 50"] and "frozen" in part.inner_text()
        place.locator("[data-part='encoder.0.attention']").click()  # a second change sets nothing more aside
        button(place, "Undo").click()
        words(page)
        assert 0 < int(facts(place)["steps"][0].split()[0]) and "trained" in part.inner_text()
        button(place, "Go on").click()
        assert "After 50 steps" in until_it_says(page, "on the test split")
        (score,) = facts(place)["BLEU, test"]
        button(place, "Reset").click()  # in the place of Train, which has nothing left to do
        words(page)
        assert button(place, "Train").is_enabled() and facts(place)["BLEU, test"] == ["–"]
        button(place, "Undo").click()
        words(page)
        assert facts(place)["BLEU, test"] == [score]
        part.click()
        button(
            place, "Compare with another run"
        ).click()  # the changed model goes next to the one that has learned
        words(page)
        assert facts(place)["steps"] == ["50 of 50", "0 of 50"] and facts(place)["BLEU, test"] == [score, "–"]
        button(place, "Train").click()
        until_it_says(page, "Compared with run A it has")
        alone = facts(place)["BLEU, test"]
        assert page.troubles == []
    with opened(browser, f"{address}?playground.setup={QUICK}") as page:
        place = begun(page)
        button(place, "Train").click()
        until_it_says(page, "on the test split")
        assert facts(place)["BLEU, test"] == alone[:1]  # as if nothing had come between


def test_the_page_says_what_a_reader_may_stumble_over(browser, address):
    with opened(browser, f"{address}?playground.setup={QUICK}_ptftttttttt") as page:
        place = begun(page)
        place.get_by_role("radio", name="fixed").click()
        words(page)
        assert "by a formula" in place.locator(".pg-origin").inner_text()
        place.locator("[data-part='encoder.0.norms']").click()
        words(page)
        assert "fixed: ones, zeros" in place.locator("[data-part='encoder.0.norms']").inner_text()
        assert "Fourier transform" in place.locator("[data-part='encoder.0.attention']").inner_text()
        assert "read from here up" in place.locator(".pg-net").inner_text()
        assert "BLEU, from 0 to 100" in place.locator(".pg-numbers").inner_text()
        again = place.get_by_text("The same piece again and again")
        assert again.is_hidden()
        for _ in range(5):
            button(place, "One step").click()
        again.wait_for()
        rows = place.locator(".pg-texts tbody tr").all()
        written = [row.locator("td").nth(2).inner_text() for row in rows]
        assert all(len(set(one.lower())) < len(one) / 2 for one in written)


def written_by(kind: str) -> float:
    """The megabytes that the largest process of a kind has written: without the browser's code, which pages share."""
    return max(
        sum(one.private_dirty for one in process.memory_maps()) / 1e6
        for process in psutil.Process().children(recursive=True)
        if f"--type={kind}" in process.cmdline()
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a process has written")
@pytest.mark.parametrize(
    ("setup", "steps", "workers"),
    [("~~~s1", 5, 2), ("~".join(4 * ["w96_e3_d3"]), 3, 1)],
    ids=["standard", "largest"],
)
def test_four_runs_stay_within_their_memory(browser, address, setup, steps, workers):
    """The bar is 200 MB with the browser's code, of which a renderer has had 20 to 50 MB to itself."""
    with opened(browser, f"{address}?playground.setup={setup}", patience=400.0) as page:
        place = begun(page)
        button(place, "Train all").click()
        page.wait_for_function(
            "() => [...document.querySelectorAll('.pg-facts tbody tr:nth-child(4) td')]"
            f".every(one => parseInt(one.textContent) >= {steps})",
            timeout=300_000,
        )
        assert len(page.workers) <= workers
        assert written_by("renderer") < 180


FOREIGN = """<!doctype html><meta charset="utf-8"><style>%(css)s</style><div id="place"></div>
<script type="application/json" id="state">%(state)s</script>
<script type="module">
const { state, module } = JSON.parse(document.getElementById('state').textContent);
const { default: widget } = await import(URL.createObjectURL(new Blob([module], { type: 'text/javascript' })));
const model = { get: (name) => state[name], set(name, value) { state[name] = value; }, on() {}, off() {}, save_changes() {} };
widget.render({ model, el: document.getElementById('place') });
</script>"""  # noqa: E501


def test_it_trains_in_a_frame_of_a_foreign_origin(browser, tmp_path):
    """As in Colab: the module comes as text with a cell's output, in a frame of another origin than the page."""
    playground = Playground.of_presets(setup=QUICK)
    state = {name: value for name, value in playground.get_state().items() if not name.startswith("_")}
    given = json.dumps({"state": state, "module": playground._esm}).replace("<", "\\u003c")
    pages = {
        "https://notebook.example/": '<iframe sandbox="allow-scripts allow-same-origin" height="2000" width="900"'
        ' src="https://output.example/"></iframe>',
        "https://output.example/": FOREIGN % {"css": playground._css, "state": given},
    }
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page, strange, errors = context.new_page(), [], []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def answer(route):
        if text := pages.get(route.request.url):
            route.fulfill(content_type="text/html", body=text)
        else:
            strange.append(route.request.url)
            route.abort()

    context.route("**/*", answer)
    page.goto("https://notebook.example/")
    inner = page.frames[1]
    button(inner, "Train").click()
    inner.wait_for_function(
        "() => document.querySelector('.ex-words').textContent.includes('on the test split')"
    )
    assert inner.evaluate("[crossOriginIsolated, origin]") == [False, "https://output.example"]
    assert strange == [] and errors == []  # it asked nobody for anything
    context.close()


INK = """origin => {
    const canvas = document.querySelector('.pg-canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colour = getComputedStyle(document.querySelector('.ex')).getPropertyValue(`--${origin}`).trim();
    const wanted = colour.match(/\\w\\w/g).map(hex => parseInt(hex, 16));
    let [same, strong, clear] = [0, 0, 0];
    for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] < 20) clear += 1;
        if (data[i + 3] <= 200) continue;
        strong += 1;
        same += wanted.every((one, j) => Math.abs(data[i + j] - one) < 3);
    }
    return [same, strong, clear / (data.length / 4)];
}"""


def test_weights_masks_and_attention_are_shown_in_the_colours_of_their_origins(browser, address):
    with opened(browser, f"{address}?playground.setup={QUICK}_ptsttttmttt") as page:
        place = begun(page)
        place.get_by_text("Look at weights").click()
        place.get_by_text("Press Train or One step").wait_for()
        button(place, "One step").click()
        select = place.get_by_label("Part to look at")
        for part, origin in (("encoder.0.attention", "seeded"), ("decoder.0.cross", "masked")):
            select.select_option(part)
            page.wait_for_function(
                f"() => document.querySelector('.ex-heatmap')?.classList.contains('ex-{origin}')"
            )
            heatmap = place.locator(".ex-heatmap")
            assert heatmap.locator("rect").count() > 20
            assert "sentence that you typed" in heatmap.get_attribute("aria-label")
            ink = page.evaluate(INK, origin)
            assert ink[0] == ink[1] > 10
            assert abs(ink[2] - 0.5) < 0.1 if origin == "masked" else ink[2] < 0.01
        select.select_option("decoder.0.feed_forward")
        place.locator(".ex-heatmap").wait_for(state="hidden")


def test_a_link_to_a_preset_sets_it_up(browser, address):
    with opened(browser, f"{address}#playground-reservoir") as page:
        place = begun(page)
        assert place.get_by_label("Preset").locator("option:checked").inner_text().startswith("Chapter 5")
        page.wait_for_function("() => decodeURIComponent(location.search).includes('e3')")
        words(page)
        assert 0 <= place.bounding_box()["y"] < 60  # from its top on, although the link leads further down
        page.get_by_role("link", name="Set it up").first.click()
        page.wait_for_function(
            "() => document.querySelector('.ex-words').textContent.startsWith('All attention is frozen')"
        )
    # Settings in the address say more than the name of a preset.
    with opened(browser, f"{address}?playground.setup={QUICK}#playground-reservoir") as page:
        place = begun(page)
        words(page)
        assert facts(place)["steps"] == ["0 of 50"]
    with opened(browser, f"{address}#playground-%E0") as page:
        begun(page)
        assert page.troubles == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_begins_with_a_smaller_model_and_nothing_stands_in_anybodys_way(browser, address, scheme):
    with opened(browser, address, viewport=PHONE, color_scheme=scheme) as page:
        place = begun(page)
        assert place.get_by_label("Width").input_value() == "48"
        assert place.get_by_label("Steps", exact=True).input_value() == "300"
        button(place, "One step").click()
        for one in place.locator("details").all():
            one.locator("summary").click()
        button(place, "Compare with another run").click()
        place.get_by_role("radio", name="masked").click()
        place.locator("[data-part='embedding']").click()
        page.wait_for_timeout(300)
        top = button(place, "Go on").or_(button(place, "Train")).bounding_box()["y"]
        curve = place.locator(".pg-curve .ex-chart").bounding_box()
        assert curve["y"] + curve["height"] - top < PHONE["height"]  # both are seen at once
        assert sideways(page) == 0 and barriers(page) == []
        assert page.evaluate("document.getAnimations().length") == 0  # less motion was asked for
        button(place, "Start again").click()
        words(page)
        assert place.get_by_label("Width").input_value() == "48"
        assert page.troubles == []
