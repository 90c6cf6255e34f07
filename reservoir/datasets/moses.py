"""What the scripts of Moses (Koehn et al. 2007) do to a parallel text, by sacremoses: cut into tokens, and clean."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from sacremoses import MosesPunctNormalizer, MosesTokenizer

from reservoir.datasets.reading import Pairs


class _Visible(dict):
    """For `str.translate`: what Unicode calls control, format, private or unassigned becomes a space."""

    def __missing__(self, character: int) -> int:
        self[character] = ord(" ") if unicodedata.category(chr(character)).startswith("C") else character
        return self[character]


_VISIBLE = _Visible()
LONGEST_WORD = 1000  # characters; clean-corpus-n.perl leaves out sentences with longer ones


def tokenise(lines: Sequence[str], language: str, *, hyphens: bool = False) -> list[str]:
    """Cut sentences into tokens with one space between, as tokenizer.perl does: some thousands in a second.

    The characters &, <, >, |, brackets and quotes are written as entities then: `we &apos;re`.

    Args:
        hyphens: cut them off as well, `well @-@ known` (its option -a).
    """
    cut = MosesTokenizer(language).tokenize
    return [cut(line, return_str=True, aggressive_dash_splits=hyphens) for line in lines]


def normalise(lines: Sequence[str], language: str) -> list[str]:
    """Write quotes, dashes and the like in ASCII, and a space for what cannot be seen.

    These are normalize-punctuation.perl and remove-non-printing-char.perl.
    """
    ascii_marks = MosesPunctNormalizer(language, perl_parity=True).normalize
    return [ascii_marks(line).translate(_VISIBLE) for line in lines]


def clean(pairs: Pairs, *, shortest: int, longest: int, ratio: float) -> Pairs:
    """Leave out pairs whose lengths are too different for translations, as clean-corpus-n.perl does.

    Args:
        shortest, longest: tokens that either side must have.
        ratio: how many times as long as the other a side may be.
    """
    kept = [
        (src, tgt)
        for src, tgt in zip(pairs.src, pairs.tgt, strict=True)
        if _fits(src.split(), tgt.split(), shortest, longest, ratio)
    ]
    return Pairs([src for src, _ in kept], [tgt for _, tgt in kept])


def _fits(src: list[str], tgt: list[str], shortest: int, longest: int, ratio: float) -> bool:
    fewer, more = sorted((len(src), len(tgt)))
    return (
        max(shortest, 1) <= fewer
        and more <= longest
        and more <= ratio * fewer
        and all(len(word) <= LONGEST_WORD for word in (*src, *tgt))
    )
