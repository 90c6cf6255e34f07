"""Classification as part of a run: which texts, how they are cut, how they are scored."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from reservoir.datasets import Batch, DataError, Labelled, Vocabulary, train_bpe
from reservoir.models import ClassifierConfig, TextClassifierConfig
from reservoir.training import ClassificationTask, accuracy
from reservoir_lab.corpora import CLASSES, Files, LabelledCorpus, labelled
from reservoir_lab.corpora.content import content_digest
from reservoir_lab.corpora.own import FILES
from reservoir_lab.runs.tasks import FILLED, LENGTH, BatchSpec, Settings, share_of, token_ids

SAMPLES = 8  # test texts that a record shows
LONGEST = 1024  # tokens of a text to validate or test on: attention's memory grows with their square
LENGTHS = {"sst-2": 8}  # tokens of a text where they are few: SST-2 trains on phrases


@dataclass(frozen=True)
class Classification(Settings):
    """What is classified, and how it is cut.

    Args:
        corpus: a name that `reservoir_lab.corpora.labelled` knows, or "files:PATH" for a table of your own.
        vocabulary: size of the BPE vocabulary.
        max_tokens: size of a batch, in padded tokens.
        max_length: texts of more tokens are left out of training.
        texts: how many of the training texts are used, from the first on; 0 takes all.
        begin: whether a beginning-of-sentence stands before each text, as masked language models are pretrained.
        cut: texts are cut to so many tokens, in training and in testing; 0 leaves them whole.
        files: which columns of your own are read, and how they are split.
    """

    corpus: str
    vocabulary: int = 4000
    max_tokens: int = 4096
    max_length: int = 128
    texts: int = 0
    begin: bool = False
    cut: int = field(default=0, metadata={"omit_if_default": True})
    files: Files = field(default_factory=Files)

    def load(self, vocabulary: Vocabulary | None = None) -> tuple[LabelledCorpus, Vocabulary]:
        """The corpus, and the vocabulary: the given one, or that made from its training text.

        Raises:
            DataError: the corpus is unknown or cannot be had, or a part of it is empty.
        """
        corpus = self._corpus()
        for name, part in {"train": corpus.train, "valid": corpus.valid, **corpus.tests}.items():
            if not len(part):
                raise DataError(f"{corpus.name}, {name}: there are no texts; give at least one")
        lines = (side for text in corpus.train.texts for side in text)
        vocabulary = vocabulary or train_bpe(lines, self.vocabulary)
        self._check_lengths(corpus, vocabulary)
        return corpus, vocabulary

    def _corpus(self) -> LabelledCorpus:
        own = self.corpus.startswith(FILES)
        return _own(self.corpus, self.files, content_digest(self.corpus)) if own else labelled(self.corpus)

    def _check_lengths(self, corpus: LabelledCorpus, vocabulary: Vocabulary) -> None:
        """Refuse a text of one's own that is too long for attention; one to train on is left out and counted."""
        for name, part in ({} if self.cut else {"valid": corpus.valid, **corpus.tests}).items():
            for row, sides in enumerate(part.texts if name in corpus.places else ()):
                if (length := sum(map(len, vocabulary.encode_batch(sides)))) > LONGEST:
                    raise DataError(
                        f"{corpus.places[name](row)}: {length:,} tokens, more than {LONGEST:,}; shorten the text, or"
                        f" have all cut with --task.cut {self.max_length}"
                    )

    def fit(
        self, config: ClassifierConfig | TextClassifierConfig, vocabulary: int
    ) -> ClassifierConfig | TextClassifierConfig:
        """The model's sizes with those filled in that the data decides."""
        return config.sized(vocabulary, len(CLASSES.get(self.corpus) or self._corpus().classes))

    def longest_sequence(self) -> int:
        """The most positions that a training sequence can have."""
        return min(self.max_length, self.cut or self.max_length)

    def batch_spec(self, *, processes: int = 1) -> BatchSpec:
        """What one process sees of a batch, without any text."""
        length = LENGTHS.get(self.corpus, LENGTH)
        rows = share_of(self.max_tokens // length, processes)
        labels = token_ids(rows, 2)
        batch = Batch(token_ids(rows, length), labels, labels, rows)
        tokens = FILLED * rows * length
        return BatchSpec(lambda model: ClassificationTask.loss(model, batch), tokens, rows)

    def task(self, corpus: LabelledCorpus, vocabulary: Vocabulary, *, seed: int) -> ClassificationTask:
        """What the training loop trains on."""
        end = self.texts or None
        return ClassificationTask(
            Labelled(corpus.train.texts[:end], corpus.train.labels[:end]),
            corpus.valid,
            vocabulary=vocabulary,
            max_tokens=self.max_tokens,
            max_length=self.max_length,
            seed=seed,
            lead=(Vocabulary.bos,) if self.begin else (),
            cut=self.cut or None,
        )

    def test(self, model: Any, task: ClassificationTask, corpus: LabelledCorpus) -> tuple[dict, list]:
        """Accuracy on each test set, and a few texts of the first to look at."""
        tests: dict[str, dict] = {}
        samples: list[dict] = []
        for name, texts in corpus.tests.items():
            found = task.predict(model, texts)
            tests[name] = {task.metric: accuracy(found, texts.labels), "sentences": len(texts)}
            if not samples:
                samples = [
                    {
                        "source": " / ".join(text),
                        "reference": corpus.classes[right],
                        "prediction": corpus.classes[guess],
                    }
                    for text, right, guess in list(zip(texts.texts, texts.labels, found, strict=True))[
                        :SAMPLES
                    ]
                ]
        return tests, samples


@lru_cache(maxsize=1)
def _own(name: str, files: Files, digest: str) -> LabelledCorpus:
    return labelled(name, files=files)
