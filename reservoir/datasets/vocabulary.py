"""Vocabularies: pieces of words by byte-pair encoding (Sennrich et al. 2016), bytes, and a language's share of pieces.

Pieces are trained once and cached by content.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from reservoir.datasets.shipped import CACHE_ADVICE, DataError, cache_dir
from reservoir.files import WriteError, atomic_write
from reservoir.layers.arguments import check_number

SPACE = "▁"  # U+2581 stands for the space before a word
LINE_END = "Ċ"  # how GPT-2's pieces write the byte 0x0a
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} pieces)"

    def encode(self, text: str) -> list[int]:
        """Return the ids of one sentence, without bos and eos; an empty sentence gives an empty list."""
        (ids,) = self.encode_batch([text])
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many sentences, faster than one by one."""
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
            if wrong := _wrong(found, cls._blanks()):
                raise DataError(f"this is no vocabulary of this library ({wrong}): {advice}")
            tokenizer = Tokenizer.from_str(
                json.dumps(found)
            )  # a name that occurs twice cannot mean another thing
        except DataError:
            raise
        except (Exception, RecursionError) as error:  # the library raises nothing more specific
            raise DataError(f"this is not a tokenizer's JSON ({str(error)[:200]}): {advice}") from None
        return cls(tokenizer)

    @staticmethod
    def _blanks() -> list[Tokenizer]:
        """What a vocabulary of this kind is before it is trained: all settings that one may have."""
        return [_blank(tokenised, lowercase) for tokenised in (False, True) for lowercase in (False, True)]

    @classmethod
    def load(cls, path: str | Path, content: bytes | None = None) -> Self:
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

    def make() -> Vocabulary:
        return Vocabulary(_trained(blank, _with_frequent_characters(lines, size), size))

    return _kept(Vocabulary, blank, lines, size, make) if cache else make()


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

    def make() -> BytePieces:
        return BytePieces(
            _trained(blank, lines, size, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
        )

    return _kept(BytePieces, blank, lines, size, make) if cache else make()


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


def _kept(kind: type[V], blank: Tokenizer, lines: list[str], size: int, make: Callable[[], V]) -> V:
    """Return the vocabulary, of class `kind`, that `make` trains on the lines, from the cache if it is there."""
    # The blank tokenizer's JSON contains the settings; training may change with the library's version.
    key = _digest([blank.to_str(), tokenizers.__version__, str(size), *lines])
    path = cache_dir() / "bpe" / f"{key}.json"
    found = _cached(path, kind)
    if found is None:
        found = make()
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


def _blank_bytes() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _wrong(found: Any, blanks: Sequence[Tokenizer]) -> str:
    """What a tokenizer's JSON has that no trained vocabulary has, in words; empty if nothing.

    Its settings must be those of one of `blanks`: what else a file can ask for (dropout, truncation, post-processors,
    patterns of its own) changes texts or takes for ever. Its pieces must be numbered from 0, and merges join pieces.
    """
    if not isinstance(found, dict) or not isinstance(found.get("model"), dict):
        return "it has no model"
    found = {**found, "model": dict(found["model"])}
    pieces, merges = (found["model"].pop(name, None) for name in ("vocab", "merges"))
    added = found.pop("added_tokens", None)
    settings = [json.loads(blank.to_str()) for blank in blanks]
    for one in settings:
        del one["added_tokens"], one["model"]["vocab"], one["model"]["merges"]
    if found not in settings:
        others = [name for name, value in found.items() if all(value != one.get(name) for one in settings)]
        return f"its {', '.join(map(repr, others)) or 'settings'} are none that the library gives one"[:200]
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    if added != [{"id": id, "content": piece, **special} for id, piece in enumerate(SPECIALS)]:
        return f"its added tokens are not {', '.join(SPECIALS)}"
    if not isinstance(pieces, dict) or not all(type(id) is int for id in pieces.values()):
        return "it has no pieces with numbers"
    if sorted(pieces.values()) != list(range(len(pieces))):
        return f"its {len(pieces)} pieces are not numbered from 0"
    if not isinstance(merges, list):
        return "it has no merges"
    for merge in merges:
        two = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(two, list) or len(two) != 2 or not all(isinstance(one, str) for one in two):
            return "a merge is no two pieces"
        if not {*two, "".join(two)} <= pieces.keys():
            return f"the merge {ascii(two)[:60]} makes no piece"
    return ""


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


def _trained(blank: Tokenizer, lines: list[str], size: int, **options: Any) -> Tokenizer:
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=MIN_PAIRS,
        special_tokens=list(SPECIALS),
        show_progress=False,
        **options,
    )
    blank.train_from_iterator(lines, trainer, length=len(lines))
    return blank


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
