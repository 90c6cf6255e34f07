"""Masked language modelling as part of a run: which text, how it is cut, how much is hidden, how it is scored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reservoir.datasets import Vocabulary, train_bpe
from reservoir.training import MaskedBatch, MaskedLanguageModellingTask
from reservoir_lab.corpora import Files, Text, text
from reservoir_lab.runs.tasks.batch_spec import BatchSpec, share_of, token_ids
from reservoir_lab.runs.tasks.language_modelling import RunningText

SAMPLES, TOKENS, EVERY = 8, 40, 7
"""Lines that a record shows, their length at most, and one hole in so many tokens."""
HOLE = "[…]"  # how a record writes a hidden token
UNKNOWN = "\ue000"  # stands for a word that the text's makers left out; no vocabulary has this character
WIKITEXT = {"<unk>": UNKNOWN, " @-@ ": "-", " @,@ ": ",", " @.@ ": "."}
"""WikiText writes rare words as <unk>, and marks that stood inside a word between two @."""


@dataclass(frozen=True)
class MaskedLanguageModelling(RunningText):
    """Which text is modelled, how it is cut, and how much of it is hidden.

    Args:
        text: a name that `reservoir_lab.corpora.text` knows, or "files:PATH" for a text of your own.
        vocabulary: size of the BPE vocabulary; the mask is one token more.
        lowercase: whether texts are lowercased.
        length: tokens of a window, the beginning-of-sentence included.
        batch: windows in a batch.
        share: of the tokens, how many the model is asked about.
        valid_tokens: how many tokens of the validation text are read at each validation point; 0 takes all.
        files: how files of your own are split.
    """

    text: str
    vocabulary: int = 6000
    lowercase: bool = True
    length: int = 128
    batch: int = 16
    share: float = 0.15
    valid_tokens: int = 0
    files: Files = field(default_factory=Files)

    def load(self, vocabulary: Vocabulary | None = None) -> tuple[Text, Vocabulary]:
        """The text, and the vocabulary: the given one, or that made from its training part."""
        corpus = text(self.text, files=self.files)
        parts = [corpus.train, corpus.valid, corpus.test]
        if self.text.startswith("wikitext"):
            parts = [_readable(part) for part in parts]
        if vocabulary is None:
            lines = parts[0].replace(UNKNOWN, " ").split("\n")
            vocabulary = train_bpe(lines, self.vocabulary, lowercase=self.lowercase)
        return Text(corpus.name, *parts, notes=corpus.notes), vocabulary

    def batch_spec(self, *, processes: int = 1) -> BatchSpec:
        """What one process sees of a batch, without any text."""
        rows = share_of(self.batch, processes)
        asked = token_ids(max(1, round(self.share * rows * self.length)))
        batch = MaskedBatch(token_ids(rows, self.length), asked, asked)
        tokens = rows * self.length
        return BatchSpec(lambda model: MaskedLanguageModellingTask.loss(model, batch), tokens, rows)

    def task(self, corpus: Text, vocabulary: Vocabulary, *, seed: int) -> MaskedLanguageModellingTask:
        """What the training loop trains on."""
        train, valid, test = map(vocabulary.encode_text, (corpus.train, corpus.valid, corpus.test))
        valid = valid[: self.valid_tokens or None]
        sizes: dict[str, Any] = dict(length=self.length, batch=self.batch, share=self.share)
        return MaskedLanguageModellingTask(train, valid, test, **sizes, seed=seed, vocabulary=vocabulary)

    def test(self, model: Any, task: MaskedLanguageModellingTask, corpus: Text) -> tuple[dict, list]:
        """Perplexity and accuracy on hidden tokens of the test text, and lines with holes and what the model puts in.

        The perplexity of a hidden token, which has neighbours on both sides, is no language model's perplexity: the
        two must not be compared.
        """
        return {"test": task.score(model, task.test)}, _samples(model, task, corpus)


def _readable(part: str) -> str:
    for written, meant in WIKITEXT.items():
        part = part.replace(written, meant)
    return part


def _samples(model: Any, task: MaskedLanguageModellingTask, corpus: Text) -> list[dict]:
    """Lines of the test text with holes: what stood there, and what the model would put there."""
    found, vocabulary = [], task.vocabulary
    for line in corpus.test.split("\n"):
        ids = vocabulary.encode(line)[:TOKENS]
        if len(ids) <= EVERY:
            continue
        holes = [place for place in range(EVERY // 2, len(ids), EVERY) if ids[place] > Vocabulary.unk]
        read = [task.mask_id if place in holes else id for place, id in enumerate(ids)]
        guesses = task.fill(model, [Vocabulary.bos, *read], best=1)
        found.append(
            {
                "source": _written(vocabulary, read),
                "reference": ", ".join(_piece(vocabulary, ids[place]) for place in holes),
                "prediction": ", ".join(_piece(vocabulary, best[0][0]) for best in guesses),
            }
        )
        if len(found) == SAMPLES:
            break
    return found


def _written(vocabulary: Vocabulary, ids: list[int]) -> str:
    """A text with `HOLE` where the mask stands."""
    pieces = [f" {HOLE}" if id == len(vocabulary) else vocabulary.tokens[id] for id in ids]
    return "".join(pieces).replace("▁", " ").replace("<unk>", " ?").strip()


def _piece(vocabulary: Vocabulary, id: int) -> str:
    """A token as one reads it: a piece that goes on a word has a dash before it."""
    piece = vocabulary.tokens[id]
    return piece.removeprefix("▁") if piece.startswith("▁") else f"-{piece}"
