"""The sources' figures: every one says where it stands and how it was read, and nothing from memory is among them."""

import os
import tomllib
from pathlib import Path

import pytest

from reservoir_lab.evidence import sources

pytestmark = pytest.mark.text

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = Path(os.environ.get("RESERVOIR_DOCUMENTS", ROOT.parent / "shared" / "sources"))

FILE = """
[source]
title = "A paper"
authors = "Somebody"

[[table]]
id = "one"
kind = "doc"
title = "Table 1"
note = ""
columns = ["row", "score", "trained", "of"]
rows = [["a", "34.66 (±0.11)", "✓", "148MB"], ["b", ".5", "✗", "-2"]]

[[claim]]
id = "best"
kind = "doc"
where = "§1"
text = "We are <the> best."
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "paper.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", sources.names())
def test_every_figure_says_how_it_was_read(name):
    found = sources.source(name)
    assert found.title and found.authors and (found.tables or found.claims)
    for entry in (*found.tables.values(), *found.claims.values()):
        assert entry.kind in sources.QUOTE_KINDS
    for table in found.tables.values():
        assert len(table.frame()) == len(table.rows) == len({row[0] for row in table.rows})
        for row in table.rows:
            assert len(row) == len(table.columns) and all(isinstance(value, str) for value in row)
    data = tomllib.loads((ROOT / "data" / "sources" / f"{name}.toml").read_text(encoding="utf-8"))
    assert len(data.get("table", ())) == len(found.tables) and len(data.get("claim", ())) == len(found.claims)


def test_what_is_only_remembered_has_no_kind():
    assert "memory" not in sources.QUOTE_KINDS


def test_entries_are_numbers_where_they_begin_with_one_and_keep_what_is_printed(tmp_path):
    table = sources.read(written(tmp_path, FILE)).tables["one"]
    frame = table.frame()
    assert list(frame["score"]) == [34.66, 0.5] and list(frame["of"]) == [148, -2]
    assert list(frame["trained"]) == [True, False]
    figure = table.figure("a", "score")
    assert (figure.printed, str(figure)) == ("34.66 (±0.11)", "34.66 (±0.11) [doc]")


def test_a_quotation_cannot_break_its_page(tmp_path):
    claim = sources.read(written(tmp_path, FILE)).claims["best"]
    assert "&lt;the&gt;" in claim._repr_html_() and "[doc]" in str(claim)


def test_what_is_not_there_gets_a_hint():
    with pytest.raises(sources.SourceError, match="'poster'"):
        sources.table("postr/big")
    with pytest.raises(sources.SourceError, match="'big'"):
        sources.table("poster/bigg")
    with pytest.raises(sources.SourceError, match="'width'"):
        sources.claim("poster/widths")
    with pytest.raises(sources.SourceError, match="'BLEU'"):
        sources.table("poster/big").figure("(0)", "BLUE")
    with pytest.raises(sources.SourceError, match="row"):
        sources.table("poster/big").figure("(7)", "BLEU")


def test_every_citation_is_in_the_bibliography():
    bibliography = (ROOT / "chapters" / "references.bib").read_text(encoding="utf-8")
    for name in sources.names():
        citation = sources.source(name).citation
        assert not citation or f"{{{citation}," in bibliography, name


@pytest.mark.parametrize("name", sources.names())
def test_quotations_are_verbatim(name):
    """Against the documents themselves, where they are at hand; what has no document has nothing of kind "doc"."""
    data = tomllib.loads((ROOT / "data" / "sources" / f"{name}.toml").read_text(encoding="utf-8"))
    if "document" not in data["source"]:
        assert "doc" not in {entry["kind"] for entry in (*data.get("claim", ()), *data.get("table", ()))}
        return
    document = DOCUMENTS / data["source"]["document"]
    if not document.is_file():
        pytest.skip(f"{document} is not at hand; RESERVOIR_DOCUMENTS names its folder")
    text = " ".join(document.read_text(encoding="utf-8").split())
    for claim in data.get("claim", ()):
        if claim["kind"] == "doc":
            for words in [claim["text"]] if isinstance(claim["text"], str) else claim["text"]:
                assert " ".join(words.split()) in text, claim["id"]
    for table in data.get("table", ()):
        if table["kind"] == "doc":
            missing = [value for row in table["rows"] for value in row[1:] if value not in text]
            assert not missing, f"{table['id']}: {missing}"
