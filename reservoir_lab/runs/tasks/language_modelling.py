"""Language modelling as part of a run: which text, how it is cut, how it is scored."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from reservoir.datasets import Vocabulary, train_bpe
from reservoir.training import LanguageModellingTask
from reservoir.training.task import perplexity
from reservoir_lab.corpora import Files, Text, text
from reservoir_lab.corpora.vocabularies import ByteVocabulary, train_byte_pieces
from reservoir_lab.runs.tasks.batch_spec import BatchSpec, share_of, token_ids

SAMPLES, WORDS = 8, 6  # lines that a record shows, and how many words of each the model is given
A_WORD = 5  # bytes, the space with them


class RunningText:
    """What the tasks on running text share: its name, and the sizes that it decides."""

    text: str
    length: int

    @property
    def data(self) -> str:
        """The name of the corpus, as `reservoir_lab.corpora.content` knows it."""
        return self.text

    def fit(self, config: Any, vocabulary: int) -> Any:
        """The model's sizes with those filled in that the data decides."""
        return config.sized(vocabulary)

    def longest_sequence(self) -> int:
        """The most positions that a training sequence can have."""
        return self.length


@dataclass(frozen=True)
class LanguageModelling(RunningText):
    """Which text is modelled, and how it is cut.

    Args:
        text: a name that `reservoir_lab.corpora.text` knows, or "files:PATH" for a text of your own.
        vocabulary: size of the BPE vocabulary; bytes need none.
        unit: "pieces" of words, as BPE cuts them; "byte-pieces", the same over bytes, which leave nothing out; or
            "bytes".
        length: tokens of a window.
        batch: windows in a batch.
        characters: how much of the training text is read, to the end of a line; 0 takes all.
        valid_tokens: how many tokens of the validation text are read at each validation point; 0 takes all.
        files: how files of your own are split.
    """

    text: str
    vocabulary: int = 4000
    length: int = 128
    batch: int = 16
    unit: Literal["pieces", "byte-pieces", "bytes"] = "pieces"
    characters: int = field(default=0, metadata={"omit_if_default": True})
    valid_tokens: int = field(default=0, metadata={"omit_if_default": True})
    files: Files = field(default_factory=Files)

    def __post_init__(self) -> None:
        if self.unit not in ("pieces", "byte-pieces", "bytes"):
            raise ValueError(f"unit must be 'pieces', 'byte-pieces' or 'bytes', got {self.unit!r}")

    def load(self, vocabulary: Vocabulary | None = None) -> tuple[Text, Vocabulary | ByteVocabulary]:
        """The text, and the vocabulary: the given one, that of bytes, or one made from its training part."""
        corpus = text(self.text, files=self.files)
        if self.characters:
            end = corpus.train.find("\n", self.characters) + 1
            corpus = replace(corpus, train=corpus.train[: end or None])
        if vocabulary is None and self.unit == "bytes":
            return corpus, ByteVocabulary()
        train = train_byte_pieces if self.unit == "byte-pieces" else train_bpe
        return corpus, vocabulary or train(corpus.train.split("\n"), self.vocabulary)

    def batch_spec(self, *, processes: int = 1) -> BatchSpec:
        """What one process sees of a batch, without any text."""
        rows = share_of(self.batch, processes)
        windows = token_ids(rows, self.length + 1)
        return BatchSpec(lambda model: LanguageModellingTask.loss(model, windows), rows * self.length, rows)

    def task(self, corpus: Text, vocabulary: Vocabulary, *, seed: int) -> LanguageModellingTask:
        """What the training loop trains on."""
        train, valid, test = map(vocabulary.encode_text, (corpus.train, corpus.valid, corpus.test))
        valid = valid[: self.valid_tokens or None]
        sizes = dict(length=self.length, batch=self.batch)
        return LanguageModellingTask(train, valid, test, **sizes, seed=seed, vocabulary=vocabulary)

    def test(self, model: Any, task: LanguageModellingTask, corpus: Text) -> tuple[dict, list]:
        """Perplexity on the test text: per token, per word (which other vocabularies share), and bits per byte."""
        nats, tokens = task.score(model, task.test)
        words, size = len(corpus.test.split()), len(corpus.test.encode("utf-8", "surrogateescape"))
        metrics = {
            "perplexity": perplexity(nats, tokens),
            "word_perplexity": perplexity(nats, words),
            "bits_per_byte": nats / math.log(2) / size,
            "tokens": tokens,
        }
        return {"test": metrics}, _samples(model, task, corpus)


def _samples(model: Any, task: LanguageModellingTask, corpus: Text) -> list[dict]:
    """How some lines of the test text begin, how they go on, and how the model would."""
    found: list[dict] = []
    vocabulary: Any = task.vocabulary
    end, a_word = vocabulary.line_end, A_WORD if isinstance(vocabulary, ByteVocabulary) else 1
    for line in corpus.test.split("\n"):
        words = line.split()
        if len(words) <= WORDS or len(found) == SAMPLES:
            continue
        start, rest = " ".join(words[:WORDS]), words[WORDS : 4 * WORDS]
        said = task.go_on(model, vocabulary.encode(start), tokens=4 * WORDS * a_word, end=end)
        # Bytes may stop inside a character.
        whole = vocabulary.decode(said).encode("utf-8", "replace").decode()
        found.append({"source": start, "reference": " ".join(rest), "continuation": whole})
    return found
