"""Text to train and test on: parallel corpora, test sets, and plain text for language models."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise

from reservoir.datasets import Pairs, grammar
from reservoir.datasets.grammar import Draws
from reservoir.datasets.shipped import DataError
from reservoir_lab import corpora
from reservoir_lab.corpora import manifest
from reservoir_lab.corpora.fetching import fetch
from reservoir_lab.corpora.own import FILES, Files, own_pairs, own_text
from reservoir_lab.corpora.pairs import ParallelCorpus, read_pairs, test_set
from reservoir_lab.corpora.reading import read_bytes, read_lines, read_text

MULTI30K_TESTS = {
    "test2016": "test_2016_flickr",
    "test2017": "test_2017_flickr",
    "coco2017": "test_2017_mscoco",
    "test2018": "test_2018_flickr",
}
PAPERS = (
    "wmt18-tr-en",
    "iwslt14-de-en",
    "wmt14-en-de",
)  # each is a function of `reservoir_lab.corpora.papers`
NEWS = (
    *("news-test2008", "newssyscomb2009", "newstest2009", "newstest2010", "newstest2011", "newstest2012"),
    *("newstest2015", "newstest2016", "newstest2017", "newstest2018"),
)
"""The test sets of WMT that make a small corpus of long sentences; those of 2013 and 2014 validate and test."""
ARTICLES_HELD_OUT = 500  # of Wikipedia, in each of valid and test
TATOEBA_HELD_OUT = 2000  # pairs in each of valid and test


@dataclass(frozen=True)
class Text:
    """Running text for a language model, in three parts; `notes` say how it was read."""

    name: str
    train: str
    valid: str
    test: str
    _: KW_ONLY
    notes: tuple[str, ...] = ()


def parallel(name: str, *, src: str, tgt: str, seed: int = 0, files: Files | None = None) -> ParallelCorpus:
    """Return a parallel corpus, fetched if need be.

    Args:
        name: "miniature" (generated, needs no download), "multi30k" (Elliott et al. 2016; tests test2016, test2017,
            coco2017, test2018), "tatoeba-de-en", "news-de-en" (the test sets of WMT, 2013 to validate and 2014 to
            test), one of the papers' corpora, "wmt18-tr-en", "iwslt14-de-en" or "wmt14-en-de"
            (`reservoir_lab.corpora.papers` says how each is made), or "files:PATH" for a text of your own:
            a folder with train.de, train.en, and, if you like, valid.de, valid.en and any number of test*.de, test*.en
            (also packed, .gz, .xz or .zip); or a table, CSV or TSV, with the columns de and en.
        src, tgt: languages to translate from and to, "de" and "en" for example.
        seed: what the generated and the split corpora depend on; the others come split.
        files: how files of your own are split, and whether blank lines are refused.

    Raises:
        DataError: the name or a language is unknown, or the data cannot be had or read.
    """
    if src == tgt:
        raise DataError(f"src and tgt must be two languages, got {src!r} twice")
    if name.startswith(FILES):
        return _files(name, src, tgt, files or Files())
    seeded = {"miniature": _miniature, "multi30k": _multi30k, "tatoeba-de-en": _tatoeba, "news-de-en": _news}
    if name not in (*seeded, *PAPERS):
        raise manifest.unknown("parallel corpus", name, [*seeded, *PAPERS, "files:PATH"])
    languages = ("tr", "en") if name == "wmt18-tr-en" else ("de", "en")
    for argument, language in (("src", src), ("tgt", tgt)):
        if language not in languages:
            raise DataError(
                f"{name} has the languages {languages[0]!r} and {languages[1]!r}, got {argument}={language!r}"
            )
    if name in PAPERS:  # which need sacremoses
        return getattr(corpora.papers, name.replace("-", "_"))(src, tgt)
    return seeded[name](name, src, tgt, seed)


def text(name: str, *, files: Files | None = None) -> Text:
    """Return running text: "wikitext-2" (by words, split as published), "tiny-shakespeare", "enwik8",
    "wikipedia-2014", "miniature", or "files:PATH" for a text of your own: a file, or a folder with train.txt and, if
    you like, valid.txt and test.txt; `files` says how it is split where they are missing.

    Shakespeare is cut at the line ends that follow 90 and 95 %. The first 100 MB of a Wikipedia dump of 2006, mark-up
    and all, are cut after 90 and 95 million bytes, as is usual; a character that is cut in two is held by Python's
    "surrogateescape", which `ByteVocabulary` understands. The articles of 2014 are kept whole: the last 500 are the
    test, the 500 before them validate. The miniature's English has one sentence per line.

    Raises:
        DataError: the name is unknown, or the data cannot be had or read.
    """
    if name.startswith(FILES):
        parts, notes = own_text(name, files or Files())
        return Text(name, parts["train"], parts["valid"], parts["test"], notes=tuple(notes))
    known = ("wikitext-2", "tiny-shakespeare", "enwik8", "wikipedia-2014", "miniature")
    if name not in known:
        raise manifest.unknown("text", name, [*known, "files:PATH"])
    if name == "miniature":
        splits = grammar.tagged()
        texts = (splits.train, splits.valid, splits.test)
        train, valid, test = ("".join(f"{one.en}\n" for one in part) for part in texts)
        return Text(name, train, valid, test)
    folder = fetch(name)
    if name == "wikitext-2":
        train, valid, test = (read_text(folder / f"{part}.txt") for part in ("train", "valid", "test"))
        return Text(name, train, valid, test)
    if name == "enwik8":
        content = read_bytes(folder / "enwik8.zip", member="enwik8")
        ends = [len(content) * percent // 100 for percent in (0, 90, 95, 100)]
        train, valid, test = (content[i:j].decode("utf-8", "surrogateescape") for i, j in pairwise(ends))
        return Text(name, train, valid, test)
    if name == "wikipedia-2014":
        return Text(name, *_articles(read_lines(folder / "enwiki2014-AA-AB.txt.xz")))
    whole = read_text(folder / "input.txt")
    first, second = (whole.find("\n", len(whole) * percent // 100) + 1 for percent in (90, 95))
    return Text(name, whole[:first], whole[first:second], whole[second:])


def _articles(lines: list[str]) -> tuple[str, str, str]:
    """The texts between "<doc …>" and "</doc>", a paragraph a line, in three parts."""
    starts = [number for number, line in enumerate(lines) if line.startswith("<doc ")]
    cuts = [
        0,
        *(starts[max(0, len(starts) - last)] for last in (2 * ARTICLES_HELD_OUT, ARTICLES_HELD_OUT)),
        None,
    ]
    marks = ("<doc ", "</doc>")
    train, valid, test = (
        "".join(f"{line}\n" for line in lines[i:j] if line and not line.startswith(marks))
        for i, j in pairwise(cuts)
    )
    return train, valid, test


def _miniature(name: str, src: str, tgt: str, seed: int) -> ParallelCorpus:
    splits = grammar.tagged(seed)

    def pairs(part: list[grammar.Sentence]) -> Pairs:
        return Pairs(
            [getattr(sentence, src) for sentence in part], [getattr(sentence, tgt) for sentence in part]
        )

    return ParallelCorpus(
        name, src, tgt, pairs(splits.train), pairs(splits.valid), {"test": pairs(splits.test)}
    )


def _multi30k(name: str, src: str, tgt: str, seed: int) -> ParallelCorpus:
    folder = fetch(name)

    def pairs(part: str) -> Pairs:
        return read_pairs(folder / f"{part}.{src}.gz", folder / f"{part}.{tgt}.gz")

    tests = {test: pairs(part) for test, part in MULTI30K_TESTS.items()}
    return ParallelCorpus(name, src, tgt, pairs("train"), pairs("val"), tests)


def _tatoeba(name: str, src: str, tgt: str, seed: int) -> ParallelCorpus:
    """Split by English sentence, one translation of each in valid and test, and none of either language in train."""
    path = fetch(name) / "deu-eng.zip"
    translations = defaultdict(list)
    for number, line in enumerate(read_lines(path, member="deu.txt"), start=1):
        en, tab, de = line.partition("\t")
        if not tab:
            raise DataError(f"{path}, deu.txt, line {number}: there is no tab between English and German")
        translations[en].append(de)
    order = Draws(seed).shuffled(list(translations))
    held_out: list[tuple[str, str]] = []
    german: set[str] = set()
    for en in order:
        if len(held_out) == 2 * TATOEBA_HELD_OUT:
            break
        # A German sentence may translate several English ones ("Lauf!"); it is held out once.
        if translations[en][0] not in german:
            held_out.append((translations[en][0], en))
            german.add(translations[en][0])
    english = {en for _, en in held_out}
    train = [(de, en) for en in order if en not in english for de in translations[en] if de not in german]

    def pairs(part: list[tuple[str, str]]) -> Pairs:
        de, en = [de for de, _ in part], [en for _, en in part]
        return Pairs(de, en) if src == "de" else Pairs(en, de)

    test, valid = held_out[:TATOEBA_HELD_OUT], held_out[TATOEBA_HELD_OUT:]
    return ParallelCorpus(name, src, tgt, pairs(train), pairs(valid), {"test": pairs(test)})


def _news(name: str, src: str, tgt: str, seed: int) -> ParallelCorpus:
    """The sentences that translators of the news tasks were tested on; of doubles with a held-out side, none trains."""
    valid, test = (test_set(f"newstest{year}", src=src, tgt=tgt) for year in (2013, 2014))
    held_out = {*valid.src, *valid.tgt, *test.src, *test.tgt}
    parts = [test_set(one, src=src, tgt=tgt) for one in NEWS]
    rows = [pair for part in parts for pair in zip(part.src, part.tgt, strict=True) if not held_out & {*pair}]
    train = Pairs([source for source, _ in rows], [target for _, target in rows])
    return ParallelCorpus(name, src, tgt, train, valid, {"newstest2014": test})


def _files(name: str, src: str, tgt: str, files: Files) -> ParallelCorpus:
    found, notes = own_pairs(name, src, tgt, files)
    parts = {
        part: Pairs([row[0] for row in rows.rows], [row[1] for row in rows.rows])
        for part, rows in found.items()
    }
    return ParallelCorpus(
        name,
        src,
        tgt,
        parts.pop("train"),
        parts.pop("valid"),
        parts,
        notes=tuple(notes),
        places={part: rows.where for part, rows in found.items()},
    )
