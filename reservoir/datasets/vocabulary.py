"""Subword vocabularies by byte-pair encoding (Sennrich et al. 2016), trained once and cached by content."""

import hashlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
import tokenizers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from reservoir.datasets.errors import DataError, check_whole
from reservoir.datasets.manifest import CACHE_ADVICE, cache_dir
from reservoir.files import WriteError, atomic_write

SPACE = "▁"  # U+2581 stands for the space before a word
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
MIN_PAIRS = 2  # a pair of pieces seen only once is not merged
V = TypeVar("V", bound="Vocabulary")


class Vocabulary:
    """A trained BPE vocabulary, which converts text to ids and back.

    `decode(encode(text))` equals `normalise(text)`, except that characters not seen in training become `unk` and are
    dropped in decoding. Text that looks like a special piece ("</s>") is encoded as text.

    Args:
        tokenizer: of the `tokenizers` library; its first four pieces must be pad, bos, eos and unk.

    Attributes:
        pad, bos, eos, unk: ids of the four special pieces, 0 to 3.
        line_end: the id that ends a line of running text: eos.
        tokens: every piece, by id; "▁" represents the space before a word.
    """

    pad, bos, eos, unk = range(4)
    line_end = eos

    def __init__(self, tokenizer: Tokenizer):
        found = tuple(tokenizer.id_to_token(i) or "" for i in range(4))
        if found != SPECIALS:
            raise DataError(
                f"a vocabulary must start with the pieces {', '.join(SPECIALS)}, this one starts with {found}"
            )
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self.tokens: list[str] = [tokenizer.id_to_token(i) or "" for i in range(tokenizer.get_vocab_size())]

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} pieces)"

    def encode(self, text: str) -> list[int]:
        """Return the ids of one sentence, without bos and eos; an empty sentence gives an empty list."""
        (ids,) = self.encode_batch([text])
        return ids

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

    def normalise(self, text: str) -> str:
        """Return the form of `text` that pieces preserve: NFC, one space between words, none at either end."""
        return self._tokenizer.normalizer.normalize_str(text)

    def to_json(self) -> str:
        """Return the `tokenizers` library's JSON, which other programs read too."""
        return self._tokenizer.to_str()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            DataError: the text is something else.
        """
        try:
            tokenizer = Tokenizer.from_str(text)
        except Exception as error:  # the library raises nothing more specific
            raise DataError(f"this is not a tokenizer's JSON ({error}): train the vocabulary again") from None
        return cls(tokenizer)

    def save(self, path: str | Path) -> None:
        """Write the JSON to `path` atomically."""
        atomic_write(Path(path), self.to_json().encode())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a vocabulary that `save` wrote.

        Raises:
            DataError: the file is missing or damaged.
        """
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
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
    check_whole("size", size, least=16)
    blank, lines = _blank(tokenised, lowercase), list(lines)
    check_text(lines)
    lines = [blank.normalizer.normalize_str(line) for line in lines]
    if not any(lines):
        raise DataError("lines contains no text to train a vocabulary on: give at least one sentence")
    return kept(Vocabulary, blank, lines, size, _train) if cache else _train(blank, lines, size)


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


def kept(
    kind: type[V],
    blank: Tokenizer,
    lines: list[str],
    size: int,
    make: Callable[[Tokenizer, list[str], int], V],
) -> V:
    """Return the vocabulary, of class `kind`, that `make` trains on the lines, from the cache if it is there."""
    # The blank tokenizer's JSON contains the settings; training may change with the library's version.
    key = _digest([blank.to_str(), tokenizers.__version__, str(size), *lines])
    path = cache_dir() / "bpe" / f"{key}.json"
    found = _cached(path, kind)
    if found is None:
        found = make(blank, lines, size)
        content = found.to_json()
        checked = f"{_digest([content])}\n{content}".encode()
        try:
            atomic_write(path, checked, advice=CACHE_ADVICE)
        except WriteError as error:
            warnings.warn(f"the vocabulary was trained but not cached: {error}", stacklevel=2)
    return found


def _blank(tokenised: bool, lowercase: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token=SPECIALS[Vocabulary.unk]))
    small = [normalizers.Lowercase()] if lowercase else []
    tokenizer.normalizer = normalizers.Sequence(
        [*small, normalizers.NFC(), normalizers.Replace(Regex(rf"[\s{SPACE}]+"), " "), normalizers.Strip()]
    )
    words, marks = pre_tokenizers.Metaspace(replacement=SPACE), pre_tokenizers.Punctuation("isolated")
    tokenizer.pre_tokenizer = words if tokenised else pre_tokenizers.Sequence([words, marks])
    return tokenizer


def _train(tokenizer: Tokenizer, lines: list[str], size: int) -> Vocabulary:
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line)
    # The library has such a limit too, but breaks ties at random.
    by_frequency = sorted(counts, key=lambda character: (-counts[character], character))
    frequent = by_frequency[: (size - len(SPECIALS)) // 2]
    if len(frequent) < len(counts):
        rare = dict.fromkeys(map(ord, counts.keys() - set(frequent)), " ")
        lines = [line.translate(rare) for line in lines]
    trainer = trainers.BpeTrainer(
        vocab_size=size, min_frequency=MIN_PAIRS, special_tokens=list(SPECIALS), show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer, length=len(lines))
    return Vocabulary(tokenizer)


def _digest(texts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def _cached(path: Path, kind: type[V]) -> V | None:
    """Return the cached vocabulary, or None if there is none or its checksum is wrong."""
    try:
        checksum, _, content = path.read_text(encoding="utf-8").partition("\n")
        return kind.from_json(content) if checksum == _digest([content]) else None
    except (OSError, UnicodeDecodeError, DataError):
        return None
