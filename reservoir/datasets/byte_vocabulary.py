"""A text cut into its bytes: a vocabulary that needs no training and knows every text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from reservoir.datasets.vocabulary import SPECIALS, Vocabulary, check_text


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
