"""Diagrams: each is drawn from its description, in the colours of the origins, with a text beside it."""

import re
import xml.etree.ElementTree as ET

import pytest

from reservoir.datasets.shipped import shipped
from reservoir_book import pictures
from reservoir_book.plots import ORIGINS

NAMES = sorted(path.stem for path in (shipped() / "diagrams").glob("*.toml"))
VALUES = {"encoder": 6, "decoder": 6, "features": "2,000", "blocks": 12, "keep": 50}
VALUES |= dict(trained="30.4", frozen="28.7", share="60%", masked="16.8", rival="23.7")
VALUES |= dict(body="46", whole="58", fourier="148", attention="152")
SVG = "{http://www.w3.org/2000/svg}"


def drawn(name: str) -> ET.Element:
    return ET.fromstring(pictures.diagram(name, **VALUES).svg)


def test_there_are_enough():
    assert len(NAMES) >= 14


@pytest.mark.parametrize("name", NAMES)
def test_a_diagram_is_as_wide_as_a_phone_and_says_in_words_what_it_shows(name: str):
    root, shown = drawn(name), pictures.diagram(name, **VALUES)
    assert root.get("viewBox").startswith(f"0 0 {pictures.WIDTH} ")
    assert root.get("role") == "img" and root.get("aria-label") == shown.alt
    assert len(shown.alt.split()) > 25 and "{" not in shown.alt
    assert shown._repr_mimebundle_() == {"image/svg+xml": shown.svg, "text/plain": shown.alt}


@pytest.mark.parametrize("name", NAMES)
def test_every_colour_is_an_origin_or_comes_from_the_page(name: str):
    looks = {e.get(key) for e in drawn(name).iter() for key in ("fill", "stroke") if e.get(key)}
    assert all(look in ORIGINS.values() or look == "none" or look.startswith("var(--") for look in looks)


@pytest.mark.parametrize("name", NAMES)
def test_words_and_shapes_stay_inside(name: str):
    root = drawn(name)
    width, height = map(float, root.get("viewBox").split()[2:])
    for e in root.iter(f"{SVG}text"):
        long, x = 6.4 * len(e.text), float(e.get("x"))  # pixels of a letter, on average, in a wide font
        left = {"start": x, "middle": x - long / 2, "end": x - long}[e.get("text-anchor")]
        assert left >= -2 and left + long <= width + 2 and 0 < float(e.get("y")) <= height, e.text
    for e in root.iter(f"{SVG}rect"):
        assert float(e.get("x", 0)) + float(e.get("width")) <= width
        assert float(e.get("y", 0)) + float(e.get("height")) <= height


@pytest.mark.parametrize("name", NAMES)
def test_the_legend_names_each_origin_that_is_shown(name: str):
    root = drawn(name)
    shown = {origin for origin, colour in ORIGINS.items() for e in root.iter() if e.get("stroke") == colour}
    words = {e.text for e in root.iter(f"{SVG}text")}
    assert {pictures.CALLED[origin] for origin in shown} <= words


def test_a_picture_inside_a_page_has_no_ids_to_collide():
    assert not any(re.search(r'\bid="', pictures.diagram(name, **VALUES).svg) for name in NAMES)


def test_an_unknown_diagram_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"name must be one of .*transformer.*, got 'cube'"):
        pictures.diagram("cube")


@pytest.mark.parametrize(
    "line, named", [("box five: x", "the shape 'box five: x'"), ("a -> nowhere", "the arrow 'a -> nowhere'")]
)
def test_a_line_that_cannot_be_read_is_named(tmp_path, monkeypatch, line: str, named: str):
    (tmp_path / "diagrams").mkdir()
    shapes, arrows = (line, "") if "->" not in line else ("plain 1 1 9 9 a:", line)
    text = f"alt = 'x'\nheight = 9\nshapes = '''{shapes}'''\narrows = '''{arrows}'''"
    (tmp_path / "diagrams" / "wrong.toml").write_text(text)
    monkeypatch.setattr(pictures, "shipped", lambda: tmp_path)
    with pytest.raises(ValueError, match=named):
        pictures.diagram("wrong")
