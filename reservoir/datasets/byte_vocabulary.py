"""Vocabularies that know every text: its bytes, which need no training, and pieces of words over bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from reservoir.datasets.errors import DataError, check_whole
from reservoir.datasets.vocabulary import MIN_PAIRS, SPECIALS, Vocabulary, check_text, kept


class ByteVocabulary:
    """The 256 bytes, after the four special pieces that every vocabulary begins with.

    It is used as a `Vocabulary` is. A character of ASCII is one byte; others are two to four, as UTF-8 has them. Text
    that was cut inside such a character (enwik8's parts are counted in bytes) comes back exactly as well, since
    Python's "surrogateescape" carries the bytes that are no UTF-8.

    Attributes:
        pad, bos, eos, unk: ids of the four special pieces, 0 to 3, as a `Vocabulary` has them. No byte is unknown.
        line_end: the id of the byte that ends a line.
        tokens: every piece, by id; a byte that is no printable ASCII is written as "<0x0a>".
    """

    pad, bos, eos, unk = Vocabulary.pad, Vocabulary.bos, Vocabulary.eos, Vocabulary.unk
    line_end = len(SPECIALS) + ord("\n")

    def __init__(self) -> None:
        shown = (chr(byte) if 32 <= byte < 127 else f"<0x{byte:02x}>" for byte in range(256))
        self.tokens: list[str] = [*SPECIALS, *shown]

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"ByteVocabulary({len(self)} pieces)"

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without bos and eos; an empty text has none."""
        return self.encode_text(text).tolist()

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts."""
        return [self.encode(text) for text in texts]

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

    def normalise(self, text: str) -> str:
        """What of `text` the pieces keep: all of it."""
        return text


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

    def __repr__(self) -> str:
        return f"BytePieces({len(self)} pieces)"

    def decode(self, ids: Iterable[int]) -> str:
        """Join pieces to text; special pieces are left out, and bytes that are no UTF-8 become "\ufffd"."""
        return self._tokenizer.decode([int(i) for i in ids if int(i) >= len(SPECIALS)])

    def normalise(self, text: str) -> str:
        """What of `text` the pieces keep: all of it."""
        return text


def train_byte_pieces(lines: Iterable[str], size: int, *, cache: bool = True) -> BytePieces:
    """Train a vocabulary of at most `size` pieces on `lines`; pieces do not cross words, as in GPT-2.

    Args:
        lines: of text, without their ends.
        size: pieces, the 256 bytes and the four special ones included.
        cache: as in `train_bpe`.
    """
    check_whole("size", size, least=len(SPECIALS) + 256)  # the special pieces and the bytes
    blank = Tokenizer(models.BPE())
    blank.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    blank.decoder = decoders.ByteLevel()
    lines = list(lines)
    check_text(lines)
    return kept(BytePieces, blank, lines, size, _train) if cache else _train(blank, lines, size)


def _train(blank: Tokenizer, lines: list[str], size: int) -> BytePieces:
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=MIN_PAIRS,
        special_tokens=list(SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    blank.train_from_iterator(lines, trainer, length=len(lines))
    return BytePieces(blank)
