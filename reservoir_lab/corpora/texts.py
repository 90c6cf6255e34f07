"""Text to train and test on: parallel corpora, plain text for language models, and texts with a class each.

And other vocabularies than the book's: bytes, pieces over bytes, and a language's share of joint pieces.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from msgspec import Struct
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from reservoir.datasets import Labelled, Pairs, grammar
from reservoir.datasets.grammar import Draws
from reservoir.datasets.shipped import DataError, shipped
from reservoir.datasets.vocabulary import SPECIALS, Pieces, Vocabulary, check_text, trained
from reservoir.layers.arguments import check_number
from reservoir_lab.corpora import fetching, papers
from reservoir_lab.corpora.fetching import fetch, read_bytes, read_lines, read_text
from reservoir_lab.corpora.own import FILES, Files
from reservoir_lab.corpora.own_texts import own_labelled, own_pairs, own_text
from reservoir_lab.corpora.papers import ParallelCorpus, read_pairs, test_set
from reservoir_lab.typed import decode

MULTI30K_TESTS = {
    "test2016": "test_2016_flickr",
    "test2017": "test_2017_flickr",
    "coco2017": "test_2017_mscoco",
    "test2018": "test_2018_flickr",
}
PAPERS = {
    "wmt18-tr-en": papers.wmt18_tr_en,
    "iwslt14-de-en": papers.iwslt14_de_en,
    "wmt14-en-de": papers.wmt14_en_de,
}
NEWS = (
    *("news-test2008", "newssyscomb2009", "newstest2009", "newstest2010", "newstest2011", "newstest2012"),
    *("newstest2015", "newstest2016", "newstest2017", "newstest2018"),
)
"""The test sets of WMT that make a small corpus of long sentences; those of 2013 and 2014 validate and test."""
ARTICLES_HELD_OUT = 500  # of Wikipedia, in each of valid and test
TATOEBA_HELD_OUT = 2000  # pairs in each of valid and test
LINE_END = "Ċ"  # how GPT-2's pieces write the byte 0x0a


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
        raise fetching.unknown("parallel corpus", name, [*seeded, *PAPERS, "files:PATH"])
    languages = ("tr", "en") if name == "wmt18-tr-en" else ("de", "en")
    for argument, language in (("src", src), ("tgt", tgt)):
        if language not in languages:
            raise DataError(
                f"{name} has the languages {languages[0]!r} and {languages[1]!r}, got {argument}={language!r}"
            )
    if name in PAPERS:
        return PAPERS[name](src, tgt)
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
        raise fetching.unknown("text", name, [*known, "files:PATH"])
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
    translations = defaultdict(list)
    for line in read_lines(fetch(name) / "deu-eng.zip", member="deu.txt"):
        en, _, de = line.partition("\t")
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


ORDER_SIZES = {"test": 500, "valid": 300, "train": 2000}


@dataclass(frozen=True)
class LabelledCorpus:
    """Labelled texts to train on, to watch, and to test on, by the test's name; `classes` names the classes.

    `notes` and `places` are as in `ParallelCorpus`.
    """

    name: str
    classes: tuple[str, ...]
    train: Labelled
    valid: Labelled
    tests: dict[str, Labelled]
    notes: tuple[str, ...] = ()
    places: Mapping[str, Callable[[int], str]] = field(default_factory=dict, repr=False, compare=False)


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A corpus in tab-separated files: its columns, how its files write the classes, and how many texts validate.

    Args:
        archive: the .zip that the files lie in, if they do.
        broken: lines that may have another number of columns and are left out, where a corpus is known to have some.
    """

    train: str
    tests: dict[str, str]
    texts: list[str]
    label: str
    classes: dict[str, str]  # as written in the file -> as we call it
    held_out: int
    archive: str = ""
    broken: int = 0


TABLES = decode(shipped() / "labelled.toml", dict[str, _Table], remedy="restore it from the repository")
CLASSES = {
    "miniature-order": ("effect first", "cause first"),
    **{name: tuple(table.classes.values()) for name, table in TABLES.items()},
}
"""The corpora that `labelled` knows, with the names of their classes."""


def labelled(name: str, *, seed: int = 0, files: Files | None = None) -> LabelledCorpus:
    """Return a labelled corpus, fetched if need be.

    GLUE keeps the labels of its test sets to itself, so its development sets are what one tests on ("dev"), and
    validation takes some texts out of the training set. In SST-2 those are phrases, of which others from the same
    review stay in training: its validation scores flatter, its "dev" does not.

    Args:
        name: "miniature-order" (generated, needs no download: German sentences with "weil", lower-cased; which comes
            first, cause or effect? the words do not say, their order does), "sst-2" (Socher et al. 2013), "rte"
            (Dagan et al. 2005 and later), "mrpc" (Dolan & Brockett 2005, which has a test set of its own), "mnli"
            (Williams et al. 2018; "matched" tests on the genres of its training set, "mismatched" on others), "qqp"
            (Quora question pairs: do two questions ask the same?), or "files:PATH" for a table of your own, CSV or TSV,
            or a folder with train.csv and, if you like, valid.csv and any number of test*.csv.
        seed: decides which texts are generated or held out.
        files: which columns of your own are read, and how they are split.

    Raises:
        DataError: the name is unknown, or the data cannot be had or read.
    """
    if name.startswith(FILES):
        return _own(name, files or Files())
    if name not in CLASSES:
        raise fetching.unknown("labelled corpus", name, [*CLASSES, "files:PATH"])
    if name == "miniature-order":
        return _order(name, seed)
    table, folder = TABLES[name], fetch(name)
    whole = _read(folder, table.train, table)
    order = Draws(seed).shuffled(range(len(whole)))
    train, valid = _rows(whole, order[table.held_out :]), _rows(whole, order[: table.held_out])
    tests = {test: _read(folder, file, table) for test, file in table.tests.items()}
    return LabelledCorpus(name, CLASSES[name], train, valid, tests)


@lru_cache(maxsize=2)
def _order(name: str, seed: int) -> LabelledCorpus:
    reasons = (one for one in grammar.sentences(seed) if "weil" in map(str.lower, one.words))

    def take(size: int) -> Labelled:
        """Half of either class, or the order that is more frequent would be the better guess."""
        found: tuple[list[str], list[str]] = ([], [])
        while min(map(len, found)) < size // 2:
            sentence = next(reasons)
            found[sentence.words[0] == "Weil"].append(sentence.de.lower())
        pairs = [(text, label) for label in (0, 1) for text in found[label][: size // 2]]
        return Labelled([(text,) for text, _ in pairs], [label for _, label in pairs])

    parts = {part: take(size) for part, size in ORDER_SIZES.items()}
    return LabelledCorpus(name, CLASSES[name], parts["train"], parts["valid"], {"test": parts["test"]})


def _own(name: str, files: Files) -> LabelledCorpus:
    found, classes, notes = own_labelled(name, files)
    numbers = {label: number for number, label in enumerate(classes)}
    parts = {
        part: Labelled([row[:-1] for row in rows.rows], [numbers[row[-1]] for row in rows.rows])
        for part, rows in found.items()
    }
    places = {part: rows.where for part, rows in found.items()}
    return LabelledCorpus(
        name, classes, parts.pop("train"), parts.pop("valid"), parts, notes=tuple(notes), places=places
    )


def _rows(whole: Labelled, rows: list[int]) -> Labelled:
    return Labelled([whole.texts[row] for row in rows], [whole.labels[row] for row in rows])


def _read(folder: Path, file: str, table: _Table) -> Labelled:
    """A table whose content `fetch` has verified."""
    lines = read_lines(folder / table.archive, member=file) if table.archive else read_lines(folder / file)
    names, *rows = (line.split("\t") for line in lines)
    texts, label = [names.index(text) for text in table.texts], names.index(table.label)
    classes, whole = list(table.classes), [cells for cells in rows if len(cells) == len(names)]
    if len(rows) - len(whole) > table.broken:
        raise DataError(
            f"{folder}, {file}: more than {table.broken} lines have other than {len(names)} columns"
        )
    return Labelled(
        [tuple(cells[column].strip() for column in texts) for cells in whole],
        [classes.index(cells[label]) for cells in whole],
    )


class BytePieces(Vocabulary):
    """A vocabulary that begins with the 256 bytes, so that nothing is unknown to it. It is used as a `Vocabulary` is.

    Nothing of a text is lost in such pieces, neither a rare character nor a space. So a model's bits per byte can be
    compared with those of any other vocabulary.

    Attributes:
        line_end: the id of the byte that ends a line.
        tokens: every piece, by id, in GPT-2's letters for bytes: "Ġ" stands for a space.
    """

    def __init__(self, tokenizer: Tokenizer):
        super().__init__(tokenizer)
        line_end = tokenizer.token_to_id(LINE_END)
        if line_end is None:
            raise DataError(
                f"pieces over bytes have one for the end of a line, {LINE_END!r}; these have none"
            )
        self.line_end = line_end

    @staticmethod
    def _blanks() -> list[Tokenizer]:
        return [_blank_bytes()]

    def decode(self, ids: Iterable[int]) -> str:
        """Join pieces to text; special pieces are left out, and bytes that are no UTF-8 become "\ufffd"."""
        return self._tokenizer.decode([int(i) for i in ids if int(i) >= len(SPECIALS)])


def train_byte_pieces(lines: Iterable[str], size: int, *, cache: bool = True) -> BytePieces:
    """Train a vocabulary of at most `size` pieces on `lines`; pieces do not cross words, as in GPT-2.

    Args:
        lines: of text, without their ends.
        size: pieces, the 256 bytes and the four special ones included.
        cache: as in `train_bpe`.
    """
    check_number("size", size, least=len(SPECIALS) + 256, whole=True)  # the special pieces and the bytes
    blank, lines = _blank_bytes(), list(lines)
    check_text(lines)

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return trained(BytePieces, blank, lines, size, cache=cache, initial_alphabet=alphabet)


def _blank_bytes() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


class ByteVocabulary(Pieces):
    """The 256 bytes, after the four special pieces that every vocabulary begins with.

    It is used as a `Vocabulary` is. A character of ASCII is one byte; others are two to four, as UTF-8 has them. Text
    that was cut inside such a character (enwik8's parts are counted in bytes) comes back exactly as well, since
    Python's "surrogateescape" carries the bytes that are no UTF-8.

    Attributes:
        line_end: the id of the byte that ends a line.
        tokens: every piece, by id; a byte that is no printable ASCII is written as "<0x0a>".
    """

    line_end = len(SPECIALS) + ord("\n")

    def __init__(self) -> None:
        shown = (chr(byte) if 32 <= byte < 127 else f"<0x{byte:02x}>" for byte in range(256))
        self.tokens = [*SPECIALS, *shown]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts."""
        return [self.encode_text(text).tolist() for text in texts]

    def encode_text(self, text: str) -> np.ndarray:
        """Return the ids of a text of any length, line ends included, as one row of int32."""
        try:
            content = np.frombuffer(text.encode("utf-8", "surrogateescape"), dtype=np.uint8)
        except UnicodeEncodeError:
            check_text([text], errors="surrogateescape")
            raise
        return content.astype(np.int32) + len(SPECIALS)

    def decode(self, ids: Iterable[int]) -> str:
        """Join bytes to text; special pieces are left out, and what is no UTF-8 becomes "surrogateescape"'s stand-in.

        A model that writes bytes may stop inside a character: print such a text with `errors="replace"`.
        """
        content = bytes(int(i) - len(SPECIALS) for i in ids if int(i) >= len(SPECIALS))
        return content.decode("utf-8", "surrogateescape")


class Dictionary(Pieces):
    """The pieces of a joint vocabulary that one language uses most, with numbers of their own.

    Two languages whose pieces were learnt together need not have the same table of embeddings: fairseq makes a
    dictionary of each side's pieces. This one is used as a `Vocabulary` is. A piece that it leaves out is unknown.

    Args:
        vocabulary: the joint one.
        lines: text of the language.
        size: pieces to keep at most, the four special ones included.

    Attributes:
        tokens: the pieces kept, the most frequent first after the special ones.
    """

    def __init__(self, vocabulary: Vocabulary, lines: Sequence[str], size: int):
        check_number("size", size, least=len(SPECIALS) + 1, whole=True)  # more than the special pieces
        counts: Counter[int] = Counter()
        for row in vocabulary.encode_batch(lines):
            counts.update(row)
        frequent = sorted(counts.keys() - set(range(len(SPECIALS))), key=lambda i: (-counts[i], i))
        kept = [*range(len(SPECIALS)), *frequent[: size - len(SPECIALS)]]
        self.joint = vocabulary
        self.tokens = [vocabulary.tokens[i] for i in kept]
        self._own = [self.unk] * len(vocabulary)  # joint id -> ours
        for ours, theirs in enumerate(kept):
            self._own[theirs] = ours
        self._joint = kept  # our id -> joint

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many sentences."""
        return [[self._own[i] for i in row] for row in self.joint.encode_batch(texts)]

    def encode_text(self, text: str) -> np.ndarray:
        """Return the ids of a running text as one row of int32, eos after each line."""
        return np.array(self._own, dtype=np.int32)[self.joint.encode_text(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """Join pieces to text; special pieces are left out."""
        return self.joint.decode(self._joint[int(i)] for i in ids if int(i) < len(self))
