"""Other vocabularies than the book's: bytes, pieces over bytes, and a language's share of joint pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from reservoir.datasets.shipped import DataError
from reservoir.datasets.vocabulary import SPECIALS, Pieces, Vocabulary, check_text, trained
from reservoir.layers.arguments import check_number

LINE_END = "Ċ"  # how GPT-2's pieces write the byte 0x0a


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
