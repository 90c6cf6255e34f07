"""Translation as a task: batches of sentence pairs, smoothed cross-entropy, perplexity, and BLEU by sacreBLEU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU
from torch import Tensor

from reservoir.datasets import Batch, Pairs, Pieces, TokenBatches, Vocabulary
from reservoir.layers.arguments import check_number
from reservoir.models import EncoderDecoder
from reservoir.training.decoding import Decoding, translate
from reservoir.training.task import device_of, perplexity, smoothed_cross_entropy


class TranslationTask:
    """Train on translating `train`, validate on `valid`.

    Args:
        train, valid: sentence pairs.
        src_vocabulary, tgt_vocabulary: may be the same.
        max_tokens: size of a batch, in padded tokens on its longer side.
        seed: of the order of the data.
        smoothing: label smoothing.
        max_length: pairs with a longer side are left out of training.
        valid_sentences: how many validation sentences are translated for BLEU; 0 measures perplexity alone.
        decoding: how validation translates; greedy if None.
        tokenise: sacreBLEU's tokeniser for validation.
    """

    def __init__(
        self,
        train: Pairs,
        valid: Pairs,
        *,
        src_vocabulary: Pieces,
        tgt_vocabulary: Pieces,
        max_tokens: int,
        seed: int,
        smoothing: float = 0.1,
        max_length: int = 128,
        valid_sentences: int = 0,
        decoding: Decoding | None = None,
        tokenise: str = "13a",
    ):
        check_number("smoothing", smoothing, least=0, below=1)
        check_number("max_length", max_length, least=1, whole=True)
        check_number(
            "valid_sentences", valid_sentences, least=0, whole=True, why="0 measures perplexity alone"
        )
        if not len(valid):
            raise ValueError("valid must have at least one pair of sentences, got none")
        self.src_vocabulary, self.tgt_vocabulary = src_vocabulary, tgt_vocabulary
        self.smoothing, self.tokenise = smoothing, tokenise
        self.decoding = decoding or Decoding(beam=1)
        self.train = TokenBatches(
            *self._encode(train), max_tokens=max_tokens, seed=seed, max_length=max_length
        )
        ids = self._encode(valid)
        longest = max(len(row) for side in ids for row in side) + 1
        self.valid = TokenBatches(*ids, max_tokens=max(max_tokens, longest), seed=0, max_length=longest)
        self.valid_src = ids[0][:valid_sentences]
        self.valid_tgt = valid.tgt[:valid_sentences]
        self.metric, self.larger_is_better = ("bleu", True) if valid_sentences else ("perplexity", False)

    def _encode(self, pairs: Pairs) -> tuple[list[list[int]], list[list[int]]]:
        return self.src_vocabulary.encode_batch(pairs.src), self.tgt_vocabulary.encode_batch(pairs.tgt)

    def epoch(self, number: int) -> Sequence[Batch]:
        """The batches of an epoch."""
        return self.train.epoch(number)

    def size(self, batch: Batch) -> tuple[int, int]:
        """Target tokens, and source and target tokens together."""
        return batch.n_tokens, batch.n_tokens + int((batch.src != Vocabulary.pad).sum())

    @staticmethod
    def losses(model: EncoderDecoder, batch: Batch, smoothing: float) -> tuple[Tensor, Tensor]:
        """The smoothed loss and the plain one, each summed over target tokens, in nats."""
        batch = batch.to(device_of(model))
        hidden = model.hidden(batch.src, batch.tgt_in)
        return smoothed_cross_entropy(
            hidden, model.output.effective_weight(), batch.tgt_out, smoothing=smoothing
        )

    def loss(self, model: EncoderDecoder, batch: Batch) -> Tensor:
        """Smoothed cross-entropy, summed over target tokens, in nats."""
        return self.losses(model, batch, self.smoothing)[0]

    def validate(self, model: EncoderDecoder) -> dict[str, float]:
        """Perplexity per token on the whole validation set and, if asked for, BLEU on its first sentences."""
        total = tokens = 0.0
        for batch in self.valid.epoch(0):
            total += self.losses(model, batch, 0.0)[1].item()
            tokens += batch.n_tokens
        metrics = {"perplexity": perplexity(total, tokens)}
        if self.valid_src:
            hypotheses = self.translate(model, self.valid_src)
            metrics["bleu"] = bleu(hypotheses, self.valid_tgt, tokenise=self.tokenise).bleu
        return metrics

    def translate(
        self, model: EncoderDecoder, sources: Sequence[Sequence[int]], decoding: Decoding | None = None
    ) -> list[str]:
        """Sentences for token ids, in the order given."""
        found = translate(model, sources, decoding=decoding or self.decoding)
        return [self.tgt_vocabulary.decode(ids) for ids in found]


@dataclass(frozen=True)
class Score:
    """A corpus BLEU between 0 and 100, and the signature that says how it was computed (Post 2018)."""

    bleu: float
    signature: str


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenise: str = "13a", lowercase: bool = False
) -> Score:
    """Corpus BLEU (Papineni et al. 2002) against one reference each.

    Args:
        hypotheses, references: as many sentences in either.
        tokenise: sacreBLEU's tokeniser; "none" for text that is tokenised already, which is then scored as Moses's
            multi-bleu.perl scores it. These scores are not comparable with those of plain text.
        lowercase: ignore case.
    """
    if len(hypotheses) != len(references) or not len(references):
        raise ValueError(
            "hypotheses and references must have the same number of sentences, at least one,"
            f" got {len(hypotheses)} and {len(references)}"
        )
    metric = BLEU(tokenize=tokenise, lowercase=lowercase, force=tokenise == "none")
    score = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score(score, str(metric.get_signature()))
