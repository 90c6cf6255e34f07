"""The corpora that the papers translate: WMT18 Turkish and English, IWSLT14 and WMT14 German and English."""

from __future__ import annotations

import html
import re
from pathlib import Path

import sacremoses

from reservoir.datasets import manifest, moses
from reservoir.datasets.errors import DataError
from reservoir.datasets.fetching import fetch
from reservoir.datasets.markup import read_segments, read_tmx
from reservoir.datasets.newstest import test_set
from reservoir.datasets.prepared import prepared
from reservoir.datasets.reading import Pairs, ParallelCorpus, read_lines
from reservoir.files import file_digest

IWSLT14_TESTS = ("TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012")
WMT14_TRAINING = {  # archive -> its text, without the language at the end
    "training-parallel-europarl-v7.tgz": "training/europarl-v7.de-en",
    "training-parallel-commoncrawl.tgz": "commoncrawl.de-en",
    "training-parallel-nc-v9.tgz": "training/news-commentary-v9.de-en",
}
STEPS = "1"  # to be raised when the steps below change, so that what was prepared before is prepared again


def wmt18_tr_en(src: str, tgt: str) -> ParallelCorpus:
    """The news task of WMT18, Turkish and English: trains on SETIMES2 (Tiedemann 2012), 205,756 pairs.

    It validates on newsdev2016, the development set that came with the language, and tests on the news of 2016 to 2018.
    Nothing is tokenised. Which sentences the poster chose its models by, it does not say.
    """
    folder = fetch("wmt18-tr-en")
    sides = {"tr": "newsdev2016-tren-src.tr.sgm", "en": "newsdev2016-tren-ref.en.sgm"}
    valid = {
        language: [html.unescape(line) for line in read_segments(folder / "dev.tgz", member=f"dev/{file}")]
        for language, file in sides.items()
    }
    train = read_tmx(folder / "en-tr.tmx.gz", src=src, tgt=tgt)
    tests = {f"newstest{year}": test_set(f"newstest{year}", src=src, tgt=tgt) for year in (2016, 2017, 2018)}
    return ParallelCorpus("wmt18-tr-en", src, tgt, train, Pairs(valid[src], valid[tgt]), tests)


def iwslt14_de_en(src: str, tgt: str) -> ParallelCorpus:
    """Talks, German and English (Cettolo et al. 2014), in the steps of fairseq's prepare-iwslt14.sh.

    Mark-up is taken out, sentences are cut by Moses, pairs of more than 175 tokens on a side or with one side more than
    half again as long as the other are left out, and all is lower-cased. Every 23rd pair validates; the campaign's
    development and test sets of 2010 to 2012, one after the other, test: about 160,000, 7,300 and 6,750 pairs.
    """
    name = "iwslt14-de-en"
    path = fetch(name) / "de-en.tgz"

    def make() -> dict[str, Pairs]:
        talks = {language: _talks(path, language) for language in (src, tgt)}
        _in_step(f"{path}, train.tags.de-en", talks)
        cut = Pairs(*(moses.tokenise(lines, language) for language, lines in talks.items()))
        kept = _lower(moses.clean(cut, shortest=1, longest=175, ratio=1.5))
        tests = Pairs([], [])
        for test in IWSLT14_TESTS:
            file = f"de-en/IWSLT14.{test}.de-en"
            found = {lang: read_segments(path, member=f"{file}.{lang}.xml") for lang in (src, tgt)}
            _in_step(f"{path}, {file}", found)
            for side, (language, lines) in zip((tests.src, tests.tgt), found.items(), strict=True):
                side += moses.tokenise([_apostrophes(line) for line in lines], language)
        train, valid = _every(kept, 23)
        return {"train": train, "valid": valid, "test": _lower(tests)}

    parts = prepared(name, [file_digest(path), sacremoses.__version__, STEPS], make, src=src, tgt=tgt)
    tests = {"test": parts["test"]}
    return ParallelCorpus(name, src, tgt, parts["train"], parts["valid"], tests, tokenised=True)


def wmt14_en_de(src: str, tgt: str) -> ParallelCorpus:
    """The news task of WMT14, English and German, in the steps of fairseq's prepare-wmt14en2de.sh --icml17.

    Europarl, Common Crawl and news commentary, 4.5 million pairs: punctuation is normalised, sentences are cut by
    Moses, every 100th pair validates, and newstest2014 tests, cut likewise. Pairs of more than 250 tokens on a side or
    with one side more than half again as long as the other are left out; fairseq counts pieces of words there, this
    counts tokens. Preparing it takes about an hour of one core, once.

    fairseq's other recipe for the task starts from an archive that Google preprocessed. It has no published
    sha256, and its text is already cut into pieces, so it is not offered here.
    """
    name = "wmt14-en-de"
    folder = fetch(name)

    def make() -> dict[str, Pairs]:
        whole = Pairs([], [])
        for archive, text in WMT14_TRAINING.items():
            raw = {lang: read_lines(folder / archive, member=f"{text}.{lang}") for lang in (src, tgt)}
            _in_step(f"{folder / archive}, {text}", raw)
            for side, (language, lines) in zip((whole.src, whole.tgt), raw.items(), strict=True):
                side += moses.tokenise(moses.normalise(lines, language), language, hyphens=True)
        train, valid = (moses.clean(part, shortest=1, longest=250, ratio=1.5) for part in _every(whole, 100))
        news = test_set("newstest2014", src=src, tgt=tgt)
        test = Pairs(*(_news(side, language) for side, language in ((news.src, src), (news.tgt, tgt))))
        return {"train": train, "valid": valid, "test": test}

    hashes = [file.sha256 or "" for file in manifest.dataset(name).files]
    parts = prepared(name, [*hashes, sacremoses.__version__, STEPS], make, src=src, tgt=tgt)
    tests = {"newstest2014": parts["test"]}
    return ParallelCorpus(name, src, tgt, parts["train"], parts["valid"], tests, tokenised=True)


def _talks(path: Path, language: str) -> list[str]:
    """The training sentences of IWSLT14. Lines about the talk are left out; its title and summary lose their tags."""
    lines = read_lines(path, member=f"de-en/train.tags.de-en.{language}")
    about = re.compile("<url>|<talkid>|<keywords>")
    return [re.sub("</?(title|description)>", "", line) for line in lines if not about.search(line)]


def _news(lines: list[str], language: str) -> list[str]:
    return moses.tokenise([_apostrophes(line) for line in lines], language, hyphens=True)


def _apostrophes(line: str) -> str:
    """Both scripts write a test set's ’ as '."""
    return line.replace("’", "'")


def _every(pairs: Pairs, nth: int) -> tuple[Pairs, Pairs]:
    """All pairs but every nth, and every nth."""
    last = slice(nth - 1, None, nth)
    rest = [[line for i, line in enumerate(side, start=1) if i % nth] for side in (pairs.src, pairs.tgt)]
    return Pairs(*rest), pairs[last]


def _lower(pairs: Pairs) -> Pairs:
    return Pairs([line.lower() for line in pairs.src], [line.lower() for line in pairs.tgt])


def _in_step(where: str, sides: dict[str, list[str]]) -> None:
    (one, first), (other, second) = ((language, len(lines)) for language, lines in sides.items())
    if first != second:
        raise DataError(
            f"{where}: there are {first} sentences in {one!r} but {second} in {other!r}, so they do not translate one "
            "another; get the archive again"
        )
