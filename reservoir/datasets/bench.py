"""The bench: tasks that each need a part of a transformer, small enough that a run takes seconds.

The tasks were chosen so that parts matter, and each is named wherever a result is told. What is asked at a place is a
class, or several; places at which nothing is asked have -1. Ids begin at 1: 0 is the padding, whose vector is zero.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets import grammar
from reservoir.datasets.batches import raw_words
from reservoir.layers.arguments import check_number

NOTHING = -1  # no question is asked here
LEFT = 3  # names that a model one layer too shallow must still not know: it may guess among them
TABLE, HIDDEN = 10**9, 10**9 + 2  # numbers of streams that no batch reaches
Asked = tuple[Tensor, Tensor]
"""x, (n, length) ids; and y, (n, places, questions): answers at the last `places` places, or -1."""


class Sizes(NamedTuple):
    """What a model has to know of a puzzle.

    Args:
        length: places of a sequence.
        vocabulary: ids that there are, besides the padding.
        answers: classes of an answer.
        places: at how many places, the last ones, something may be asked.
        questions: answers asked at a place.
    """

    length: int
    vocabulary: int
    answers: int
    places: int
    questions: int = 1


@dataclass(frozen=True)
class Circle:
    """Children stand in a random ring and each shows the name of the next one: who is 2, 3, 4 and 6 on?

    It needs depth. Say that a place knows who stands from `a` steps behind it to `b` steps ahead. One more layer of
    attention can find any place that knows one of these children as well, up to a + b steps away, and read all that
    it knows: from 2a + b behind to a + 2b ahead. At first a place knows its own name and the next one's, so after
    1, 2 and 3 layers it knows those in [-1, 2], [-4, 5] and [-13, 14] (Sanford, Hsu & Telgarsky 2024). In this way "2
    on" needs one layer, "4 on" two and "6 on" three; wide models also find ways with two. Chance is 1 / n; a model that
    knows the ten names in [-4, 5] can guess among the other three.

    Args:
        n: children. With too few of them, a shallow model finds the last ones by elimination.
        hops: how many steps on are asked, at every place; the last is the one that is judged.

    Raises:
        ValueError: a size makes the task trivial or impossible.
    """

    n: int = 13
    hops: tuple[int, ...] = (2, 3, 4, 6)

    def __post_init__(self) -> None:
        check_number("n", self.n, least=4, whole=True)
        if not self.hops or any(not 2 <= k < self.n for k in self.hops):
            raise ValueError(
                f"hops must be from 2 to {self.n - 1}, since the ring has n={self.n} places and each shows the next;"
                f" got {', '.join(map(str, self.hops)) or 'none'}"
            )
        known = 3 ** (self.layers(max(self.hops)) - 1) + 1
        if self.n < known + LEFT:
            raise ValueError(
                f"n must be at least {known + LEFT} to ask {max(self.hops)} steps on: a model one layer too shallow"
                f" knows {known} of the names and would find the others by elimination; got {self.n}"
            )

    @staticmethod
    def layers(hop: int) -> int:
        """The fewest layers of attention that reach `hop` steps in this way; (3^layers + 1) / 2 is the farthest."""
        return math.ceil(math.log(2 * hop - 1, 3) - 1e-9)

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.n, vocabulary=self.n, answers=self.n, places=self.n, questions=len(self.hops))

    def draw(self, n: int, *, seed: int, number: int = 0) -> Asked:
        """`n` rings of batch `number` of the stream that the seed determines."""
        words = raw_words(seed, number)
        ring = torch.from_numpy(np.argsort(words(n * self.n).reshape(n, self.n), axis=1, kind="stable"))
        at = ring.argsort(1)  # where in the ring the child at each place stands
        ahead = [ring.gather(1, (at + k) % self.n) for k in (1, *self.hops)]
        return ahead[0] + 1, torch.stack(ahead[1:], -1)

    def counts(self, x: Tensor, y: Tensor, right: Tensor) -> dict[str, tuple[int, int]]:
        """For each measure how many answers are right, and how many were asked; the judged one first."""
        asked = right[..., 0].numel()
        found = {f"{k} on": (int(right[..., i].sum()), asked) for i, k in enumerate(self.hops)}
        judged = f"{self.hops[-1]} on"
        return {judged: found.pop(judged), **found}


@dataclass(frozen=True)
class Brackets:
    """Brackets of several kinds are nested, and all close alike: after a closing one, which kind is open innermost?

    It needs attention that knows an order: a place has to find the last bracket before it that is still open, which
    takes two layers, one to count depth and one to look for it. A line begins with an opening bracket wherever nothing
    is open, and elsewhere opens or closes by the toss of a coin. The commonest answer, "none is open", is right at 36 %
    of the closing brackets with 16 places. The answer never depends on what follows, so a model may read the line from
    left to right or all at once.

    Args:
        length: places of a line.
        kinds: of opening brackets.
    """

    length: int = 16
    kinds: int = 4

    def __post_init__(self) -> None:
        check_number("length", self.length, least=4, whole=True)
        check_number("kinds", self.kinds, least=2, whole=True)

    @property
    def sizes(self) -> Sizes:
        kinds = self.kinds + 1  # one closing bracket; or, as an answer, none is open
        return Sizes(self.length, vocabulary=kinds, answers=kinds, places=self.length)

    def draw(self, n: int, *, seed: int, number: int = 0) -> Asked:
        """`n` lines, as in `Circle.draw`."""
        words = raw_words(seed, number)
        kind = torch.from_numpy((words(n * self.length) % self.kinds).astype(np.int64)).view(n, self.length)
        heads = torch.from_numpy((words(n * self.length) >> np.uint64(63)).astype(bool)).view(n, self.length)
        x, y = torch.empty_like(kind), torch.full_like(kind, NOTHING)
        open_ = torch.full((n, self.length + 1), self.kinds)  # what is open at each depth; none at depth 0
        depth, rows = torch.zeros(n, dtype=torch.int64), torch.arange(n)
        for t in range(self.length):
            opens = (depth == 0) | heads[:, t]
            depth = depth + torch.where(opens, 1, -1)
            open_[rows[opens], depth[opens]] = kind[opens, t]
            x[:, t] = torch.where(opens, kind[:, t], self.kinds)
            y[:, t] = torch.where(opens, NOTHING, open_[rows, depth])
        return x + 1, y[..., None]

    def counts(self, x: Tensor, y: Tensor, right: Tensor) -> dict[str, tuple[int, int]]:
        """As in `Circle.counts`; also by how deep the innermost open bracket lies."""
        asked = y >= 0
        steps = torch.where(x > self.kinds, -1, 1)
        depth = steps.cumsum(1)[..., None]
        found = {"after closing": (int((right & asked).sum()), int(asked.sum()))}
        for deep in range(1, self.length // 2):
            here = asked & (depth == deep)
            if total := int(here.sum()):
                found[f"{deep} deep"] = (int((right & here).sum()), total)
        return found


@dataclass(frozen=True)
class Facts:
    """A table of random facts, a subject and a relation to a value: which of them does the model remember?

    It needs memory and nothing else: the values are drawn evenly, so nothing can be inferred, and a fact is worth
    log₂(values) bits. Chance is 1 / values. Every seed has a table of its own, and training shows its facts at random.

    Args:
        subjects, relations: the table has a fact for each pair.
        values: that a fact may have.
    """

    subjects: int = 64
    relations: int = 64
    values: int = 64

    def __post_init__(self) -> None:
        for name in ("subjects", "relations", "values"):
            check_number(name, getattr(self, name), least=2, whole=True)

    @property
    def sizes(self) -> Sizes:
        return Sizes(2, vocabulary=self.subjects + self.relations, answers=self.values, places=1)

    @property
    def facts(self) -> int:
        """How many there are."""
        return self.subjects * self.relations

    def table(self, seed: int) -> Tensor:
        """The value of each fact, (subjects · relations,), drawn from the seed."""
        return torch.from_numpy((raw_words(seed, TABLE)(self.facts) % self.values).astype(np.int64))

    def asked(self, which: Tensor, table: Tensor) -> Asked:
        """The facts of some numbers, (n,), as x and y."""
        x = torch.stack([which // self.relations, self.subjects + which % self.relations], 1)
        return x + 1, table[which][:, None, None]

    def draw(self, n: int, *, seed: int, number: int = 0, table: Tensor) -> Asked:
        """`n` facts, some perhaps twice, as in `Circle.draw`."""
        which = (raw_words(seed, number)(n) % self.facts).astype(np.int64)
        return self.asked(torch.from_numpy(which), table)

    def counts(self, x: Tensor, y: Tensor, right: Tensor) -> dict[str, tuple[int, int]]:
        """As in `Circle.counts`."""
        return {"remembered": (int(right.sum()), right.numel())}


@dataclass(frozen=True)
class Recall:
    """Keys and their values stand in a row, and then the keys are asked in another order: which value was its?

    It was built after the predictions were written, to see whether they hold on a task that nobody had looked at. It
    needs two layers that look things up: the first lets each value know the key before it, the second finds the value
    whose key is the one that is asked. (Graves et al. 2014 call it associative recall.) Chance is 1 / values.

    Args:
        pairs: of a key and a value; all are asked.
        keys: that there are; each stands in a row once at most.
        values: that a key may have, drawn evenly.
    """

    pairs: int = 8
    keys: int = 16
    values: int = 8

    def __post_init__(self) -> None:
        for name in ("pairs", "values"):
            check_number(name, getattr(self, name), least=2, whole=True)
        check_number("keys", self.keys, least=self.pairs, whole=True)

    @property
    def sizes(self) -> Sizes:
        asked = self.pairs
        return Sizes(3 * asked, vocabulary=self.keys + self.values, answers=self.values, places=asked)

    def draw(self, n: int, *, seed: int, number: int = 0) -> Asked:
        """`n` rows, as in `Circle.draw`."""
        words = raw_words(seed, number)
        order = np.argsort(words(n * self.keys).reshape(n, self.keys), axis=1, kind="stable")
        keys = torch.from_numpy(order[:, : self.pairs])
        values = torch.from_numpy((words(n * self.pairs) % self.values).astype(np.int64)).view(n, self.pairs)
        asked = torch.from_numpy(
            np.argsort(words(n * self.pairs).reshape(n, self.pairs), axis=1, kind="stable")
        )
        pairs = torch.stack([keys, self.keys + values], 2).flatten(1)
        return 1 + torch.cat([pairs, keys.gather(1, asked)], 1), values.gather(1, asked)[..., None]

    def counts(self, x: Tensor, y: Tensor, right: Tensor) -> dict[str, tuple[int, int]]:
        """As in `Circle.counts`."""
        return {"recalled": (int(right.sum()), right.numel())}


@dataclass(frozen=True)
class Grammar:
    """The miniature language, German and then English in one row: a translator without an encoder.

    It needs the meaning of words, and mixing. Asked are the English words, each after those before it; a sentence is
    right when all of them are and it ends where it should, which is so exactly when greedy decoding writes it. With
    `hidden`, words of the English sentence are covered instead and are to be filled in: then a model may read the row
    from both sides. Each seed draws its own sentences, and none of the training sentences is asked in a test.

    Args:
        longest: words of either sentence; longer pairs are left out.
        sentences: pairs that are drawn to train on, before the longer ones are left out.
        held_out: pairs that are drawn to be asked.
        hidden: the share of English words that is covered; 0 asks all of them, from left to right.
    """

    longest: int = 9
    sentences: int = 12_000
    held_out: int = 2600
    hidden: float = 0.0

    def __post_init__(self) -> None:
        check_number("longest", self.longest, least=4, whole=True)
        for name in ("sentences", "held_out"):
            check_number(name, getattr(self, name), least=10, whole=True)
        check_number("hidden", self.hidden, least=0, below=1)

    @property
    def sizes(self) -> Sizes:
        german, english = map(len, self.words)
        return Sizes(
            2 * self.longest + 1,
            vocabulary=german + english + 2,  # the mark between the sentences, and the cover
            answers=english + 1,  # or the sentence ends
            places=self.longest + (0 if self.hidden else 1),
        )

    @property
    def words(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """All German and all English words of the language, in alphabetical order."""
        return _vocabularies()

    def split(self, seed: int) -> tuple[Asked, Asked]:
        """The pairs to train on and those to be asked, drawn from the seed; a pair is in one of the two alone."""
        drawn = grammar.tagged(seed, train=self.sentences, valid=1, test=self.held_out)
        return self._rows(drawn.train, seed, 0), self._rows(drawn.test, seed, 1)

    def _rows(self, drawn: Sequence[grammar.Sentence], seed: int, number: int) -> Asked:
        german, english = ({word: at for at, word in enumerate(words)} for words in self.words)
        mark, first = 1 + len(german), 2 + len(german)  # ids: padding 0, German, mark, English, cover
        pairs = [(_cut(one.de), _cut(one.en)) for one in drawn]
        pairs = [pair for pair in pairs if max(map(len, pair)) <= self.longest]
        x = torch.zeros(len(pairs), self.sizes.length, dtype=torch.int64)
        y = torch.full((len(pairs), self.longest + 1), NOTHING)
        for row, (de, en) in enumerate(pairs):
            answers = [english[word] for word in en]
            x[row, self.longest - len(de) : self.longest] = torch.tensor([1 + german[word] for word in de])
            x[row, self.longest] = mark
            x[row, self.longest + 1 : self.longest + 1 + len(en)] = first + torch.tensor(answers)
            y[row, : len(en) + 1] = torch.tensor([*answers, len(english)])
        if not self.hidden:
            return x, y[..., None]
        return self._covered(x, y[:, :-1], raw_words(seed, HIDDEN + number), first + len(english))

    def _covered(self, x: Tensor, words: Tensor, draw: Callable[[int], np.ndarray], cover: int) -> Asked:
        """Cover a share of the English words, at least one of each sentence, and ask them."""
        inside = x[:, self.longest + 1 :] > 0
        chance = torch.from_numpy(draw(inside.numel()) / 2.0**64).view(inside.shape)
        chance.masked_fill_(~inside, 2.0)
        hide = (chance < self.hidden) | (chance == chance.amin(1, keepdim=True))
        x = x.clone()
        x[:, self.longest + 1 :].masked_fill_(hide, cover)
        return x, words.masked_fill(~hide, NOTHING)[..., None]

    def counts(self, x: Tensor, y: Tensor, right: Tensor) -> dict[str, tuple[int, int]]:
        """As in `Circle.counts`."""
        asked = y >= 0
        words = (int((right & asked).sum()), int(asked.sum()))
        whole = (right | ~asked).flatten(1).all(1)
        return {"sentences": (int(whole.sum()), len(y)), "words": words}


def _cut(sentence: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", sentence)


@lru_cache(maxsize=1)
def _vocabularies() -> tuple[tuple[str, ...], tuple[str, ...]]:
    drawn = grammar.tagged(0, train=20_000, valid=1, test=1).train
    german = {word for one in drawn for word in _cut(one.de)}
    english = {word for one in drawn for word in _cut(one.en)}
    return tuple(sorted(german)), tuple(sorted(english))


Puzzle = Circle | Brackets | Facts | Grammar | Recall
