"""Sentences and their translations, and a corpus of them in parts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from reservoir.datasets.errors import DataError


@dataclass(frozen=True)
class Pairs:
    """Sentences and their translations: `tgt[i]` translates `src[i]`."""

    src: list[str]
    tgt: list[str]

    def __post_init__(self) -> None:
        if len(self.src) != len(self.tgt):
            raise DataError(
                f"src has {len(self.src)} sentences but tgt has {len(self.tgt)}: give one for one"
            )

    def __len__(self) -> int:
        return len(self.src)

    def __getitem__(self, chosen: slice) -> "Pairs":
        """A slice of the pairs: `pairs[:100]`."""
        return Pairs(self.src[chosen], self.tgt[chosen])


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
