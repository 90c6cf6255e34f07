"""Translation as part of a run: which text, how it is cut, how it is scored, and what of it cannot be used."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from reservoir.datasets import Batch, DataError, Vocabulary, train_bpe
from reservoir.models import EncoderDecoderConfig
from reservoir.training import Decoding, TranslationTask, bleu
from reservoir.weights.accounting import rounded
from reservoir_lab.corpora import Files, ParallelCorpus, parallel
from reservoir_lab.corpora.texts import Dictionary
from reservoir_lab.runs.tasks import FILLED, LENGTH, BatchSpec, Settings, share_of, token_ids

SAMPLES = 8  # test sentences that a record shows
LONGEST = 1024
"""Tokens that a validation or test sentence may have: attention's memory grows with their square."""


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

    def load(self, vocabulary: Vocabulary | None = None) -> tuple[ParallelCorpus, Vocabulary]:
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

    def test(self, model: Any, task: TranslationTask, corpus: ParallelCorpus) -> tuple[dict, list]:
        """BLEU on each test set, and a few sentences of the first to look at."""
        tests: dict[str, dict] = {}
        samples: list[dict] = []
        for name in self.tests or corpus.tests:
            pairs = corpus.tests[name]
            hypotheses = task.translate(model, task.src_vocabulary.encode_batch(pairs.src), self.decoding)
            score = bleu(hypotheses, pairs.tgt, tokenise=self.tokeniser(corpus))
            tests[name] = {"bleu": score.bleu, "signature": score.signature, "sentences": len(pairs)}
            for bits in self.rounded:
                said = task.translate(
                    rounded(model, bits), task.src_vocabulary.encode_batch(pairs.src), self.decoding
                )
                tests[name][f"bleu at {bits} bits"] = bleu(
                    said, pairs.tgt, tokenise=self.tokeniser(corpus)
                ).bleu
            if not samples:
                samples = [
                    {"source": s, "reference": r, "translation": h}
                    for s, r, h in list(zip(pairs.src, pairs.tgt, hypotheses, strict=True))[:SAMPLES]
                ]
        return tests, samples

    def tokeniser(self, corpus: ParallelCorpus) -> str:
        """What sacreBLEU cuts sentences with."""
        return self.tokenise or ("none" if corpus.tokenised else "13a")
