"""What a run is set to do: its data, how they are cut and batched, how it is scored. Here are the tasks of language.

`reservoir_lab.runs.computation` has the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from reservoir.datasets import Batch, DataError, Labelled, Vocabulary, train_bpe
from reservoir.models import ClassifierConfig, EncoderDecoderConfig, TextClassifierConfig
from reservoir.training import (
    ClassificationTask,
    Decoding,
    LanguageModellingTask,
    MaskedBatch,
    MaskedLanguageModellingTask,
    TranslationTask,
    accuracy,
    bleu,
)
from reservoir.training.task import perplexity
from reservoir.weights.accounting import rounded
from reservoir_lab.corpora import (
    CLASSES,
    Files,
    LabelledCorpus,
    ParallelCorpus,
    Text,
    labelled,
    parallel,
    text,
)
from reservoir_lab.corpora.content import content_digest
from reservoir_lab.corpora.own import FILES
from reservoir_lab.corpora.texts import ByteVocabulary, Dictionary, train_byte_pieces

LONGEST = 1024  # tokens of a text to validate or test on: attention's memory grows with their square
LENGTH = 32  # tokens that a sentence is taken to have, its end among them
FILLED = 0.9  # of a batch's positions hold a token, where sentences of unlike lengths stand together
LENGTHS = {"sst-2": 8}  # tokens of a text where they are few: SST-2 trains on phrases
UNKNOWN = "\ue000"  # stands for a word that the text's makers left out; no vocabulary has this character
WIKITEXT = {"<unk>": UNKNOWN, " @-@ ": "-", " @,@ ": ",", " @.@ ": "."}
"""WikiText writes rare words as <unk>, and marks that stood inside a word between two @."""


class Settings:
    """What the settings of a task say besides their fields."""

    corpus_field: ClassVar[str] = "corpus"  # the one that names the data
    length: int

    @property
    def data(self) -> str:
        """The name of the corpus, as `reservoir_lab.corpora.content` knows it."""
        return getattr(self, self.corpus_field)

    def fit(self, config: Any, vocabulary: int) -> Any:
        """The model's sizes with those filled in that the data decides."""
        return config.sized(vocabulary)

    def longest_sequence(self) -> int:
        """The most positions that a training sequence can have."""
        return self.length


@dataclass(frozen=True)
class BatchSpec:
    """A batch without a text: its shape, which is all that a dry run needs when the data are not here.

    Args:
        loss: of a model on the batch; both may be on the meta device.
        tokens: how many the batch is taken to have, padding left out.
        rows: how many it has to share among processes.
    """

    loss: Callable[[Any], Tensor]
    tokens: float
    rows: int


def share_of(rows: int, processes: int) -> int:
    """How many rows the process with the most of them takes of a batch."""
    return max(1, -(-rows // processes))


def token_ids(*shape: int) -> Tensor:
    """Token ids of a shape, on the meta device."""
    return torch.ones(*shape, dtype=torch.long, device="meta")


@dataclass(frozen=True)
class Translation(Settings):
    """What is translated, and how it is cut and scored.

    Args:
        corpus: a name that `reservoir_lab.corpora.parallel` knows, or "files:PATH" for a text of your own.
        src, tgt: languages.
        vocabulary: size of the BPE vocabulary, one for both languages.
        dictionaries: sizes of the source's and of the target's own share of it, the pieces that either language uses
            most, where the two have separate tables of embeddings (as fairseq's have); None for one table.
        max_tokens: size of a batch, in padded tokens on its longer side.
        max_length: pairs with a longer side are left out of training.
        smoothing: label smoothing.
        valid_sentences: how many validation sentences are translated, greedily, at each validation point.
        decoding: how the test sets are translated.
        tests: which of the corpus's test sets are; empty for all.
        files: how files of your own are read and split.
        rounded: bits; the test sets are translated again with each matrix rounded to so many an entry
            (`reservoir.weights.accounting.rounded`), and scored as "bleu at 8 bits".
        tokenise: sacreBLEU's tokeniser; by default 13a, or none for a corpus that is cut already. A language without
            spaces needs char, or zh for Chinese.
    """

    corpus: str
    src: str = "de"
    tgt: str = "en"
    vocabulary: int = 4000
    max_tokens: int = 2048
    max_length: int = 128
    smoothing: float = 0.1
    valid_sentences: int = 1000
    decoding: Decoding = field(default_factory=Decoding)
    tests: tuple[str, ...] = ()
    dictionaries: tuple[int, int] | None = None
    files: Files = field(default_factory=Files)
    rounded: tuple[int, ...] = field(default=(), metadata={"omit_if_default": True})
    tokenise: Literal["", "13a", "intl", "zh", "char", "none"] = field(
        default="", metadata={"omit_if_default": True}
    )

    def prepare(self, vocabulary: Vocabulary | None = None) -> tuple[ParallelCorpus, Vocabulary]:
        """The corpus, and the vocabulary: the given one, or that made from its training text.

        Raises:
            DataError: a part has no sentences, a test set does not exist, or a sentence to validate or test on is
                too long for attention.
        """
        corpus = parallel(self.corpus, src=self.src, tgt=self.tgt, files=self.files)
        if unknown := set(self.tests) - set(corpus.tests):
            raise DataError(
                f"{corpus.name} has no test set {', '.join(sorted(unknown))}; it has {', '.join(corpus.tests)}"
            )
        parts = {"train": corpus.train, "valid": corpus.valid, **corpus.tests}
        for name, pairs in parts.items():
            if not len(pairs):
                raise DataError(f"{corpus.name}, {name}: there are no sentences; give at least one")
        vocabulary = vocabulary or train_bpe(
            [*corpus.train.src, *corpus.train.tgt], self.vocabulary, tokenised=corpus.tokenised
        )
        for name in parts.keys() - {"train"}:  # training leaves out what is too long, and says how much
            for side, lines in enumerate((parts[name].src, parts[name].tgt)):
                for row, ids in enumerate(vocabulary.encode_batch(lines)):
                    if len(ids) > LONGEST:
                        raise DataError(
                            f"{corpus.place(name, row, side)}: {len(ids):,} tokens, more than {LONGEST:,};"
                            " split it into sentences, one a line"
                        )
        return corpus, vocabulary

    def fit(self, config: EncoderDecoderConfig, vocabulary: int) -> EncoderDecoderConfig:
        """The model's sizes with those filled in that the data decides."""
        if self.dictionaries is None:
            return config.sized(vocabulary)
        src, tgt = self.dictionaries
        return replace(config, src_vocab=config.src_vocab or src, tgt_vocab=config.tgt_vocab or tgt)

    def longest_sequence(self) -> int:
        """The most positions that a training sequence can have."""
        return self.max_length + 1  # with its beginning or its end

    def batch_spec(self, *, processes: int = 1) -> BatchSpec:
        """What one process sees of a batch, without any text."""
        rows = share_of(self.max_tokens // LENGTH, processes)
        side = token_ids(rows, LENGTH)
        batch = Batch(side, side, side, side.numel())
        return BatchSpec(
            lambda model: TranslationTask.losses(model, batch, self.smoothing)[0],
            2 * FILLED * side.numel(),
            rows,
        )

    def task(self, corpus: ParallelCorpus, vocabulary: Vocabulary, *, seed: int) -> TranslationTask:
        """What the training loop trains on."""
        src: Vocabulary | Dictionary = vocabulary
        tgt: Vocabulary | Dictionary = vocabulary
        if self.dictionaries is not None:
            sides = zip((corpus.train.src, corpus.train.tgt), self.dictionaries, strict=True)
            src, tgt = (Dictionary(vocabulary, lines, size) for lines, size in sides)
        return TranslationTask(
            corpus.train,
            corpus.valid,
            src_vocabulary=src,
            tgt_vocabulary=tgt,
            max_tokens=self.max_tokens,
            seed=seed,
            smoothing=self.smoothing,
            max_length=self.max_length,
            valid_sentences=self.valid_sentences,
            tokenise=self.tokeniser(corpus),
        )

    def test(self, model: Any, task: TranslationTask, corpus: ParallelCorpus) -> dict[str, dict]:
        """BLEU on each test set."""
        tests: dict[str, dict] = {}
        for name in self.tests or corpus.tests:
            pairs = corpus.tests[name]
            sources = task.src_vocabulary.encode_batch(pairs.src)

            def score(model: Any, pairs: Any = pairs, sources: Any = sources) -> Any:
                found = task.translate(model, sources, self.decoding)
                return bleu(found, pairs.tgt, tokenise=self.tokeniser(corpus))

            whole = score(model)
            tests[name] = {"bleu": whole.bleu, "signature": whole.signature, "sentences": len(pairs)}
            for bits in self.rounded:
                tests[name][f"bleu at {bits} bits"] = score(rounded(model, bits)).bleu
        return tests

    def tokeniser(self, corpus: ParallelCorpus) -> str:
        """What sacreBLEU cuts sentences with."""
        return self.tokenise or ("none" if corpus.tokenised else "13a")


@dataclass(frozen=True)
class LanguageModelling(Settings):
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

    corpus_field: ClassVar[str] = "text"
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

    def prepare(self, vocabulary: Vocabulary | None = None) -> tuple[Text, Vocabulary | ByteVocabulary]:
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

    def test(self, model: Any, task: LanguageModellingTask, corpus: Text) -> dict[str, dict]:
        """Perplexity on the test text: per token, per word (which other vocabularies share), and bits per byte."""
        nats, tokens = task.score(model, task.test)
        words, size = len(corpus.test.split()), len(corpus.test.encode("utf-8", "surrogateescape"))
        metrics = {
            "perplexity": perplexity(nats, tokens),
            "word_perplexity": perplexity(nats, words),
            "bits_per_byte": nats / math.log(2) / size,
            "tokens": tokens,
        }
        return {"test": metrics}


@dataclass(frozen=True)
class MaskedLanguageModelling(Settings):
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

    corpus_field: ClassVar[str] = "text"
    text: str
    vocabulary: int = 6000
    lowercase: bool = True
    length: int = 128
    batch: int = 16
    share: float = 0.15
    valid_tokens: int = 0
    files: Files = field(default_factory=Files)

    def prepare(self, vocabulary: Vocabulary | None = None) -> tuple[Text, Vocabulary]:
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

    def test(self, model: Any, task: MaskedLanguageModellingTask, corpus: Text) -> dict[str, dict]:
        """Perplexity and accuracy on hidden tokens of the test text.

        The perplexity of a hidden token, which has neighbours on both sides, is no language model's perplexity: the
        two must not be compared.
        """
        return {"test": task.score(model, task.test)}


def _readable(part: str) -> str:
    for written, meant in WIKITEXT.items():
        part = part.replace(written, meant)
    return part


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

    def prepare(self, vocabulary: Vocabulary | None = None) -> tuple[LabelledCorpus, Vocabulary]:
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

    def test(self, model: Any, task: ClassificationTask, corpus: LabelledCorpus) -> dict[str, dict]:
        """Accuracy on each test set."""
        return {
            name: {task.metric: accuracy(task.predict(model, texts), texts.labels), "sentences": len(texts)}
            for name, texts in corpus.tests.items()
        }


@lru_cache(maxsize=1)
def _own(name: str, files: Files, digest: str) -> LabelledCorpus:
    return labelled(name, files=files)
