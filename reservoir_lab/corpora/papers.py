"""Sentence pairs in three parts; and the corpora of the papers: WMT18 Turkish and English, IWSLT14 and WMT14 German and
English.

Their files are mark-up of several kinds (SGML and XML of the campaigns, TMX). What the scripts of Moses (Koehn et al.
2007) do to such a text, sacremoses does here: cut it into tokens, and clean it. What takes long is kept in the cache.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import io
import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

from reservoir.datasets import Pairs
from reservoir.datasets.shipped import CACHE_ADVICE, DataError, cache_dir
from reservoir.files import WriteError, atomic_write, file_digest
from reservoir_lab.corpora import fetching
from reservoir_lab.corpora.fetching import fetch, read_bytes, read_lines

IWSLT14_TESTS = ("TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012")
WMT14_TRAINING = {  # archive -> its text, without the language at the end
    "training-parallel-europarl-v7.tgz": "training/europarl-v7.de-en",
    "training-parallel-commoncrawl.tgz": "commoncrawl.de-en",
    "training-parallel-nc-v9.tgz": "training/news-commentary-v9.de-en",
}
STEPS = "1"  # to be raised when the steps below change, so that what was prepared before is prepared again
SEGMENT = re.compile(r"<seg id=[^>]*>(.*)</seg>")
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
RATIO = 1.5  # how many times as long as the other a side may be
LONGEST_WORD = 1000  # characters; clean-corpus-n.perl leaves out sentences with longer ones


@dataclass(frozen=True)
class ParallelCorpus:
    """Sentence pairs to train on, to choose by, and to test on, by the test's name.

    Args:
        tokenised: the text is cut already, into tokens with spaces between; pieces do not cross them, and BLEU counts
            them as they are.
        notes: what is to be said of how it was read: sizes, splits, what was left out.
        places: where a sentence of one's own stands, by part: a function of its row and its side.
    """

    name: str
    src: str
    tgt: str
    train: Pairs
    valid: Pairs
    tests: dict[str, Pairs]
    tokenised: bool = False
    notes: tuple[str, ...] = ()
    places: Mapping[str, Callable[[int, int], str]] = field(default_factory=dict, repr=False, compare=False)

    def place(self, part: str, row: int, side: int) -> str:
        """Where a sentence stands, for an error."""
        if part in self.places:
            return self.places[part](row, side)
        return f"{self.name}, {part}.{(self.src, self.tgt)[side]}, line {row + 1}"


def read_pairs(src_path: str | Path, tgt_path: str | Path) -> Pairs:
    """Read two files whose lines translate each other, empty ones included.

    Raises:
        DataError: a file is missing, damaged or not UTF-8, or the line counts differ.
    """
    src, tgt = read_lines(src_path), read_lines(tgt_path)
    if len(src) != len(tgt):
        raise DataError(
            f"{src_path} has {len(src)} lines but {tgt_path} has {len(tgt)}: "
            "line n of the one must translate line n of the other"
        )
    return Pairs(src, tgt)


def test_set(name: str, *, src: str, tgt: str) -> Pairs:
    """Return a test set of the WMT news tasks: "newstest2014" with "de" and "en", "newstest2017" with "tr" and "en".

    Raises:
        DataError: the languages or the name are unknown, or the data cannot be had.
    """
    codes = {"de": "deu", "en": "eng", "tr": "tur"}
    if sorted((src, tgt)) not in (["de", "en"], ["en", "tr"]):
        raise DataError(f"there are test sets between 'en' and 'de' or 'tr', got src={src!r}, tgt={tgt!r}")
    source = f"newstest-{'tur' if 'tr' in (src, tgt) else 'deu'}-eng"
    known = sorted({Path(file.name).stem for file in fetching.one(source).files})
    if name not in known:
        raise fetching.unknown(f"test set between {src!r} and {tgt!r} named", name, known)
    folder = fetch(source)
    return read_pairs(folder / f"{name}.{codes[src]}", folder / f"{name}.{codes[tgt]}")


# pytest would take the name for a test wherever it is imported.
test_set.__test__ = False  # type: ignore[attr-defined]


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
        cut = Pairs(*(tokenise(lines, language) for language, lines in talks.items()))
        kept = _lower(clean(cut, longest=175))
        tests = Pairs([], [])
        for test in IWSLT14_TESTS:
            file = f"de-en/IWSLT14.{test}.de-en"
            found = {lang: read_segments(path, member=f"{file}.{lang}.xml") for lang in (src, tgt)}
            _in_step(f"{path}, {file}", found)
            for side, (language, lines) in zip((tests.src, tests.tgt), found.items(), strict=True):
                side += tokenise([_apostrophes(line) for line in lines], language)
        train, valid = _every(kept, 23)
        return {"train": train, "valid": valid, "test": _lower(tests)}

    parts = prepared(name, [file_digest(path), metadata.version("sacremoses"), STEPS], make, src=src, tgt=tgt)
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
                side += tokenise(normalise(lines, language), language, hyphens=True)
        train, valid = (clean(part, longest=250) for part in _every(whole, 100))
        news = test_set("newstest2014", src=src, tgt=tgt)
        test = Pairs(*(_news(side, language) for side, language in ((news.src, src), (news.tgt, tgt))))
        return {"train": train, "valid": valid, "test": test}

    hashes = [file.sha256 or "" for file in fetching.one(name).files]
    parts = prepared(name, [*hashes, metadata.version("sacremoses"), STEPS], make, src=src, tgt=tgt)
    tests = {"newstest2014": parts["test"]}
    return ParallelCorpus(name, src, tgt, parts["train"], parts["valid"], tests, tokenised=True)


def _talks(path: Path, language: str) -> list[str]:
    """The training sentences of IWSLT14. Lines about the talk are left out; its title and summary lose their tags."""
    lines = read_lines(path, member=f"de-en/train.tags.de-en.{language}")
    about = re.compile("<url>|<talkid>|<keywords>")
    return [re.sub("</?(title|description)>", "", line) for line in lines if not about.search(line)]


def _news(lines: list[str], language: str) -> list[str]:
    return tokenise([_apostrophes(line) for line in lines], language, hyphens=True)


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


def read_segments(path: str | Path, *, member: str | None = None) -> list[str]:
    """Read the sentences of a test set in the SGML or XML of WMT and IWSLT: one `<seg id="7"> … </seg>` a line.

    Not all of these files are well-formed XML, so the lines with a segment are read one by one, as is usual.
    Entities such as &amp;amp; stay as they are written.

    Args:
        member: which file of an archive.

    Raises:
        DataError: the file is missing, damaged or not UTF-8, or a segment does not end on its line, or there is none.
    """
    where = f"{path}, {member}" if member else str(path)
    found = []
    for number, line in enumerate(read_lines(path, member=member), start=1):
        if "<seg id" in line:
            segment = SEGMENT.search(line)
            if segment is None:
                raise DataError(
                    f"{where}, line {number}: a segment does not end on its line; is the file whole?"
                )
            found.append(segment[1].strip())
    if not found:
        raise DataError(f'{where} holds no line with <seg id="…">: is it a test set in SGML or XML?')
    return found


def read_tmx(path: str | Path, *, src: str, tgt: str) -> Pairs:
    """Read the sentence pairs of a gzipped TMX file (OPUS distributes them so), with single spaces between words."""
    found: dict[str, list[str]] = {src: [], tgt: []}
    for _, unit in ElementTree.iterparse(io.BytesIO(read_bytes(path))):
        if unit.tag == "tu":
            for variant in unit.iterfind("tuv"):
                language = (variant.get(LANGUAGE) or variant.get("lang") or "").lower()
                segment = variant.find("seg")
                if language in found and segment is not None:
                    found[language].append(" ".join("".join(segment.itertext()).split()))
            unit.clear()  # a file of many units would fill the memory
    return Pairs(found[src], found[tgt])


class _Visible(dict):
    """For `str.translate`: what Unicode calls control, format, private or unassigned becomes a space."""

    def __missing__(self, character: int) -> int:
        self[character] = ord(" ") if unicodedata.category(chr(character)).startswith("C") else character
        return self[character]


_VISIBLE = _Visible()


def tokenise(lines: Sequence[str], language: str, *, hyphens: bool = False) -> list[str]:
    """Cut sentences into tokens with one space between, as tokenizer.perl does: some thousands in a second.

    The characters &, <, >, |, brackets and quotes are written as entities then: `we &apos;re`.

    Args:
        hyphens: cut them off as well, `well @-@ known` (its option -a).
    """
    from sacremoses import MosesTokenizer

    cut = MosesTokenizer(language).tokenize
    return [cut(line, return_str=True, aggressive_dash_splits=hyphens) for line in lines]


def normalise(lines: Sequence[str], language: str) -> list[str]:
    """Write quotes, dashes and the like in ASCII, and a space for what cannot be seen.

    These are normalize-punctuation.perl and remove-non-printing-char.perl.
    """
    from sacremoses import MosesPunctNormalizer

    ascii_marks = MosesPunctNormalizer(language, perl_parity=True).normalize
    return [ascii_marks(line).translate(_VISIBLE) for line in lines]


def clean(pairs: Pairs, *, longest: int) -> Pairs:
    """Leave out pairs whose lengths are too different for translations, as clean-corpus-n.perl does.

    Args:
        longest: tokens that either side may have; both need one.
    """

    def fits(src: list[str], tgt: list[str]) -> bool:
        fewer, more = sorted((len(src), len(tgt)))
        words = (*src, *tgt)
        return 1 <= fewer and more <= min(longest, RATIO * fewer) and max(map(len, words)) <= LONGEST_WORD

    kept = [pair for pair in zip(pairs.src, pairs.tgt, strict=True) if fits(pair[0].split(), pair[1].split())]
    return Pairs([src for src, _ in kept], [tgt for _, tgt in kept])


def prepared(
    name: str, made_of: Sequence[str], make: Callable[[], dict[str, Pairs]], *, src: str, tgt: str
) -> dict[str, Pairs]:
    """Return what `make` returns, parts by name, from the cache if they were made before.

    They are kept as `prepared/<name>/<digest>/<part>.<language>.gz`, which other programs read too.

    Args:
        made_of: what the parts depend on: hashes of the files, versions of the programs, the steps' own version.
        src, tgt: languages, for the names of the files; the cache does not care which is which.
    """
    digest = hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:16]
    folder = cache_dir() / "prepared" / name / digest
    try:
        return {
            part: Pairs(*(read_lines(folder / f"{part}.{language}.gz") for language in (src, tgt)))
            for part in read_lines(folder / "parts.gz")
        }
    except DataError:  # not made yet, or damaged
        parts = make()
    try:
        for part, pairs in parts.items():
            for language, lines in ((src, pairs.src), (tgt, pairs.tgt)):
                _write(folder / f"{part}.{language}.gz", lines)
        _write(folder / "parts.gz", list(parts))  # last, so that where it exists the others do
    except WriteError as error:
        warnings.warn(f"{name} was prepared but not cached: {error}", stacklevel=2)
    return parts


def _write(path: Path, lines: Sequence[str]) -> None:
    content = "".join(f"{line}\n" for line in lines).encode()
    packed = gzip.compress(content, compresslevel=6, mtime=0)
    atomic_write(path, packed, advice=CACHE_ADVICE)
