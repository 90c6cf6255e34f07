"""A vocabulary: pieces of words by byte-pair encoding (Sennrich et al. 2016), trained once and cached by content."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import tokenizers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from reservoir.datasets.shipped import CACHE_ADVICE, DataError, cache_dir
from reservoir.files import WriteError, atomic_write
from reservoir.layers.arguments import check_number
from reservoir.weights.files import canonical_json, digest

SPACE = "▁"  # U+2581 stands for the space before a word
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
ADDED = [
    {"id": id, "content": piece, "special": True}
    | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    for id, piece in enumerate(SPECIALS)
]
MIN_PAIRS = 2  # a pair of pieces seen only once is not merged
V = TypeVar("V", bound="Vocabulary")


class Pieces:
    """What every vocabulary is: pieces of text, by id.

    Attributes:
        pad, bos, eos, unk: ids of the four special pieces, 0 to 3.
        line_end: the id that ends a line of running text.
        tokens: every piece, by id.
    """

    pad, bos, eos, unk = range(4)
    line_end = eos
    tokens: list[str]

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """Return the ids of one sentence, without bos and eos; an empty sentence gives an empty list."""
        (ids,) = self.encode_batch([text])
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many sentences, faster than one by one."""
        raise NotImplementedError

    def decode(self, ids: Iterable[int]) -> str:
        """Join pieces to text, without the special pieces."""
        raise NotImplementedError


class Vocabulary(Pieces):
    """A trained BPE vocabulary, which converts text to ids and back.

    `decode(encode(text))` is the text in NFC, with one space between words and none at either end, except that
    characters not seen in training become `unk` and are dropped. Text that looks like a special piece ("</s>") is
    encoded as text.

    Args:
        tokenizer: of the `tokenizers` library; its first four pieces must be pad, bos, eos and unk.

    Attributes:
        pad, bos, eos, unk: ids of the four special pieces, 0 to 3.
        line_end: the id that ends a line of running text.
        tokens: every piece, by id; "▁" represents the space before a word.
    """

    def __init__(self, tokenizer: Tokenizer):
        found = tuple(tokenizer.id_to_token(i) or "" for i in range(4))
        if found != SPECIALS:
            raise DataError(
                f"a vocabulary must start with the pieces {', '.join(SPECIALS)}, this one starts with {found}"
            )
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self.tokens = [tokenizer.id_to_token(i) or "" for i in range(tokenizer.get_vocab_size())]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many sentences, faster than one by one."""
        texts = list(texts)
        check_text(texts)  # of what cannot be written as UTF-8 some versions of the library say nothing
        found = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def encode_text(self, text: str) -> np.ndarray:
        """Return the ids of a running text as one int32 array, with `line_end` after each line."""
        lines, end = text.removesuffix("\n").split("\n"), self.line_end
        return np.array([i for line in self.encode_batch(lines) for i in (*line, end)], dtype=np.int32)

    def decode(self, ids: Iterable[int]) -> str:
        """Join pieces to text, without the special pieces."""
        pieces = "".join(self.tokens[int(i)] for i in ids if int(i) >= len(SPECIALS))
        return pieces.replace(SPACE, " ").removeprefix(" ")

    def to_json(self) -> str:
        """Return the `tokenizers` library's JSON, which other programs read too."""
        return self._tokenizer.to_str()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote. Nothing else gets as far as the `tokenizers` library.

        Raises:
            DataError: the text is something else.
        """
        advice = "train the vocabulary again"
        try:
            found = json.loads(text)
            pieces, merges = found["model"]["vocab"], found["model"]["merges"]
            # What else a file can ask for (dropout, truncation, patterns of its own) changes texts or takes for ever.
            for blank in cls._blanks():
                wanted = json.loads(blank.to_str()) | {"added_tokens": ADDED}
                wanted["model"] |= {"vocab": pieces, "merges": merges}
                if found == wanted and sorted(pieces.values()) == list(range(len(pieces))):
                    # Written anew, so that a name that occurs twice cannot mean another thing.
                    return cls(Tokenizer.from_str(json.dumps(found)))
        except DataError:
            raise
        except (Exception, RecursionError) as error:  # the library raises nothing more specific
            raise DataError(f"this is not a tokenizer's JSON ({str(error)[:200]}): {advice}") from None
        raise DataError(
            f"this has settings, added tokens or numbers that no vocabulary of ours has: {advice}"
        )

    @staticmethod
    def _blanks() -> list[Tokenizer]:
        """What a vocabulary of this kind is before it is trained: all settings that one may have."""
        return [_blank(tokenised, lowercase) for tokenised in (False, True) for lowercase in (False, True)]

    @classmethod
    def from_file(cls, path: str | Path, content: bytes | None = None) -> Self:
        """Read a file with what `to_json` returned.

        Args:
            path: of the file.
            content: of the file, if it has been read.

        Raises:
            DataError: the file is missing or damaged.
        """
        try:
            return cls.from_json((Path(path).read_bytes() if content is None else content).decode())
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path} cannot be read ({error}): train the vocabulary again") from None
        except DataError as error:
            raise DataError(f"{path}: {error}") from None


def train_bpe(
    lines: Iterable[str], size: int, *, tokenised: bool = False, lowercase: bool = False, cache: bool = True
) -> Vocabulary:
    """Train a vocabulary of at most `size` pieces on `lines`.

    Pieces do not cross words or punctuation marks. The same lines give the same vocabulary. Single characters take at
    most half of the vocabulary: if the text has more, the most frequent are kept and the others become unknown.

    Args:
        lines: sentences; of both languages for a joint vocabulary.
        size: number of pieces, including the four special ones.
        tokenised: the text is already split into tokens; pieces do not cross these, but may contain punctuation.
        lowercase: convert all text to lower case.
        cache: keep the result under `cache_dir()`, named by a hash of lines, size and settings.

    Raises:
        ValueError: `size` is less than 16.
        DataError: `lines` contains no text, or half of a surrogate pair.
    """
    check_number("size", size, least=16, whole=True)
    blank, lines = _blank(tokenised, lowercase), list(lines)
    check_text(lines)
    lines = [blank.normalizer.normalize_str(line) for line in lines]
    if not any(lines):
        raise DataError("lines contains no text to train a vocabulary on: give at least one sentence")
    return trained(Vocabulary, blank, _with_frequent_characters(lines, size), size, cache=cache)


def trained(
    kind: type[V], blank: Tokenizer, lines: Sequence[str], size: int, *, cache: bool, **options: Any
) -> V:
    """The vocabulary, of class `kind`, that training makes of a blank tokenizer; from the cache if it is there.

    Args:
        kind, blank: what it is, and its settings.
        lines, size, cache: as in `train_bpe`.
        options: of the `tokenizers` library's trainer.
    """
    # Training may change with the library's version.
    key = digest(canonical_json([blank.to_str(), tokenizers.__version__, size, list(lines)]).encode())
    path = cache_dir() / "bpe" / f"{key}.json"
    if cache:
        with contextlib.suppress(OSError, UnicodeDecodeError, DataError):  # then it is trained again
            checksum, _, content = path.read_text(encoding="utf-8").partition("\n")
            if checksum == digest(content.encode()):
                return kind.from_json(content)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=MIN_PAIRS,
        special_tokens=list(SPECIALS),
        show_progress=False,
        **options,
    )
    blank.train_from_iterator(lines, trainer, length=len(lines))
    found = kind(blank)
    if cache:
        content = found.to_json()
        try:
            atomic_write(path, f"{digest(content.encode())}\n{content}".encode(), advice=CACHE_ADVICE)
        except WriteError as error:
            warnings.warn(f"the vocabulary was trained but not cached: {error}", stacklevel=3)
    return found


def check_text(lines: Sequence[str], *, errors: str = "strict") -> None:
    """Refuse half a surrogate pair, which Python strings can contain but UTF-8 cannot encode.

    Args:
        lines: text to be encoded as UTF-8.
        errors: as in `str.encode`; "surrogateescape" allows bytes that Python read from text that is not UTF-8.

    Raises:
        DataError: a line contains one; the message says where.
    """
    for number, line in enumerate(lines, start=1):
        try:
            line.encode("utf-8", errors)
        except UnicodeEncodeError as error:
            raise DataError(
                f"line {number}, character {error.start + 1} is {line[error.start]!a}, half of a surrogate pair, which"
                " UTF-8 cannot encode: read the text again with errors='replace'"
            ) from None


def _blank(tokenised: bool, lowercase: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token=SPECIALS[Vocabulary.unk]))
    small = [normalizers.Lowercase()] if lowercase else []
    tokenizer.normalizer = normalizers.Sequence(
        [*small, normalizers.NFC(), normalizers.Replace(Regex(rf"[\s{SPACE}]+"), " "), normalizers.Strip()]
    )
    words, marks = pre_tokenizers.Metaspace(replacement=SPACE), pre_tokenizers.Punctuation("isolated")
    tokenizer.pre_tokenizer = words if tokenised else pre_tokenizers.Sequence([words, marks])
    return tokenizer


def _with_frequent_characters(lines: list[str], size: int) -> list[str]:
    """The lines with spaces for all characters but the most frequent, which fill half of a vocabulary at most."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line)
    # The library has such a limit too, but breaks ties at random.
    by_frequency = sorted(counts, key=lambda character: (-counts[character], character))
    frequent = by_frequency[: (size - len(SPECIALS)) // 2]
    if len(frequent) == len(counts):
        return lines
    rare = dict.fromkeys(map(ord, counts.keys() - set(frequent)), " ")
    return [line.translate(rare) for line in lines]
