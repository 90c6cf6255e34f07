"""Translation: batches of sentence pairs, smoothed cross-entropy, perplexity, and BLEU by sacreBLEU; and from a trained
encoder-decoder to sentences: greedy and beam search, batched, with cached keys and values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from sacrebleu.metrics import BLEU
from torch import Tensor

from reservoir.datasets import Batch, Pairs, Pieces, TokenBatches, Vocabulary, pad_sources
from reservoir.layers.arguments import check_number
from reservoir.layers.mixing import LearnedPositions
from reservoir.models import EncoderDecoder
from reservoir.training.task import device_of, perplexity, smoothed_cross_entropy

BOS, EOS = Vocabulary.bos, Vocabulary.eos
TOGETHER = 128  # rows whose logits a CPU computes at once: with all, memory would be taken anew in each step


@dataclass(frozen=True)
class Decoding:
    """How to search for a translation.

    Args:
        beam: hypotheses kept per sentence; 1 is greedy search.
        length_penalty: α in score = log p / ((5 + length) / 6)^α (Wu et al. 2016, eq. 14); 0 prefers short ones.
        max_ratio, max_extra: a translation ends at max_ratio × source length + max_extra tokens.
        max_tokens: size of a batch, in padded source tokens × beam.
    """

    beam: int = 5
    length_penalty: float = 1.0
    max_ratio: float = 1.5
    max_extra: int = 10
    max_tokens: int = 8192

    def __post_init__(self) -> None:
        check_number("beam", self.beam, least=1, whole=True)
        check_number("length_penalty", self.length_penalty)
        check_number("max_ratio", self.max_ratio, least=0)
        check_number("max_extra", self.max_extra, least=0, whole=True)
        check_number("max_tokens", self.max_tokens, least=1, whole=True)
        if self.max_ratio < 0.5 and not self.max_extra:  # a source has at least a token and its end
            raise ValueError(
                f"max_ratio and max_extra must leave room for a token, got {self.max_ratio!r} and 0;"
                " give max_extra=1 or more"
            )

    def limit(self, length: int) -> int:
        """Tokens that a translation of a source of `length` tokens may have, the ends of both included."""
        return int(self.max_ratio * length) + self.max_extra


@torch.inference_mode()
def beam_search(
    model: EncoderDecoder,
    src: Tensor,
    *,
    beam: int = 5,
    length_penalty: float = 1.0,
    max_length: int,
    watch: Callable[[int, Tensor, Tensor], None] | None = None,
) -> list[list[tuple[float, list[int]]]]:
    """The best translation of each sentence, found by keeping the `beam` most probable prefixes.

    A sentence is done when no live prefix can still beat its best finished hypothesis. With `beam=1` this is greedy
    search: the first end-of-sentence ends it.

    Args:
        model: in eval mode.
        src: (batch, src_len) ids, each sentence ending in end-of-sentence.
        beam: hypotheses kept per sentence.
        length_penalty: as in `Decoding`.
        max_length: tokens a translation may have, its end-of-sentence included.
        watch: called after each step with its number, the prefixes (rows, step + 1) and their log-probabilities
            (rows,), to look inside.

    Returns:
        For each sentence the hypotheses that were finished, as (score, ids) pairs, best first, ids without begin- and
        end-of-sentence. None is better than the first.
    """
    check_number("beam", beam, least=1, whole=True)
    check_number("max_length", max_length, least=1, whole=True)
    check_number("length_penalty", length_penalty)
    batch, device = len(src), src.device
    mask = model.src_mask(src)
    memory = model.encode(src, mask)
    cache = model.new_cache()
    vocab = model.output.out_features

    # Which sentence each group of rows is of; None once it is done.
    live: list[int | None] = list(range(batch))
    width = 1  # rows of a sentence: one at first, whose best tokens begin its hypotheses, and then `beam`
    prefix = torch.full((batch, 1), BOS, device=device)  # (rows, step)
    score = torch.zeros(batch, 1, device=device)  # (sentences, width), summed log-probabilities
    done: list[list[tuple[float, list[int]]]] = [[] for _ in range(batch)]
    to_beat = [-math.inf] * batch  # the best score of a finished hypothesis

    def normalised(total: float, length: int) -> float:
        return total / ((5 + length) / 6) ** length_penalty

    # One table for all steps, since freshly allocated memory is cleared each time.
    room = torch.empty(batch * beam, vocab, device=device)
    together = TOGETHER if room.is_cpu else len(room)
    # Greedy search keeps one hypothesis and takes whatever comes first, so it needs no second candidate.
    candidates = beam if beam == 1 else 2 * beam
    for step in range(max_length):
        hidden = model.decode(prefix[:, -1:], memory, mask, cache)[:, -1]
        for part, place in zip(hidden.split(together), room.split(together), strict=False):
            torch.log_softmax(model.output(part).float(), -1, out=place[: len(part)])
        log_p = room[: len(hidden)].view(-1, width, vocab)
        if step + 1 == max_length:  # whatever is still open ends here
            closed = torch.full_like(log_p, -torch.inf)
            closed[..., EOS] = log_p[..., EOS]
            log_p = closed
        total = log_p.add_(score[:, :, None]).flatten(1)  # (sentences, width × vocab)
        best, index = total.topk(min(candidates, total.shape[1]), dim=1)
        if (missing := beam - best.shape[1]) > 0:  # a first step with fewer tokens than hypotheses
            best, index = F.pad(best, (0, missing), value=-torch.inf), F.pad(index, (0, missing))
        parent, token = index // vocab, index % vocab

        # Finished ones leave the beam; the best `beam` of the others go on. Twice `beam` candidates are enough,
        # since each prefix has one end-of-sentence.
        ends = token == EOS
        rank = torch.arange(best.shape[1], device=device)
        rows, cols = (ends & (rank < beam) & best.isfinite()).nonzero().unbind(1)
        if len(rows):
            sums, ids = best[rows, cols], prefix[rows * width + parent[rows, cols], 1:]
            for row, sum_of_logs, its in zip(rows.tolist(), sums.tolist(), ids.tolist(), strict=True):
                if (one := live[row]) is not None:
                    done[one].append((normalised(sum_of_logs, step + 1), its))
                    to_beat[one] = max(to_beat[one], done[one][-1][0])
        score, chosen = torch.where(ends, -torch.inf, best).topk(beam, dim=1)  # (sentences, beam)
        parent, token = parent.gather(1, chosen), token.gather(1, chosen)

        for row, (one, top) in enumerate(zip(live, score[:, 0].tolist(), strict=True)):
            # A prefix can only lose probability, so this bounds what it can still become.
            bound = normalised(top, max_length if length_penalty > 0 else step + 2)
            if one is not None and (top == -math.inf or bound <= to_beat[one]):
                live[row] = None
        unfinished = [row for row, one in enumerate(live) if one is not None]
        if not unfinished:
            break
        # Leaving sentences out copies the caches of the others, so it waits until an eighth of them are done.
        if watch is not None or 8 * (len(live) - len(unfinished)) >= len(live):
            going = torch.tensor(unfinished, device=device)
            live = [live[row] for row in unfinished]
            parent, token, score = parent[going], token[going], score[going]
            prefix = prefix.view(-1, width, step + 1)[going].flatten(0, 1)
            memory, mask = memory[going], None if mask is None else mask[going]
            for own, of_memory in cache:
                own.keep((going[:, None] * width + torch.arange(width, device=device)).flatten())
                of_memory.keep(going)
        first = torch.arange(0, len(prefix), width, device=device)[:, None]
        rows = (first + parent).flatten()
        for own, _ in cache:
            own.keep(rows)
        prefix = torch.cat([prefix[rows], token.view(-1, 1)], dim=1)
        width = beam
        if watch is not None:
            watch(step, prefix, score.flatten())
    return [sorted(one, key=lambda pair: -pair[0]) for one in done]


def translate(
    model: EncoderDecoder, sources: Sequence[Sequence[int]], *, decoding: Decoding | None = None
) -> list[list[int]]:
    """Token ids of the best translation of each source, in the order given; an empty source gives an empty one.

    Sentences of similar length are decoded together.

    Args:
        model: an encoder-decoder; put into eval mode while it decodes.
        sources: token ids without end-of-sentence.
        decoding: how to search; the default is a beam of 5.

    Raises:
        TypeError: a source is text.
        FloatingPointError: the model has diverged, and gives every translation a score that is no number.
    """
    if text := next((source for source in (sources, *sources) if isinstance(source, str) and source), None):
        raise TypeError(
            f"sources are token ids, got the text {text!r}: give vocabulary.encode_batch([…]), and decode what comes"
            " back; a stored model takes text: reservoir_lab.runs.open_model(name).translate(text)"
        )
    decoding = decoding or Decoding()
    device = device_of(model)
    learned = model.tgt_positions
    positions = learned.table.num_embeddings if isinstance(learned, LearnedPositions) else sys.maxsize
    order = sorted((i for i, s in enumerate(sources) if len(s)), key=lambda i: len(sources[i]))
    found: list[list[int]] = [[] for _ in sources]
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            while order:
                longest, rows = len(sources[order[-1]]) + 1, [order.pop()]
                while order and (len(rows) + 1) * longest * decoding.beam <= decoding.max_tokens:
                    rows.append(order.pop())
                results = beam_search(
                    model,
                    pad_sources([sources[i] for i in rows]).to(device),
                    beam=decoding.beam,
                    length_penalty=decoding.length_penalty,
                    max_length=min(decoding.limit(longest), positions),
                )
                for i, hypotheses in zip(rows, results, strict=True):
                    if not hypotheses:
                        raise FloatingPointError("no translation has a finite score")
                    found[i] = hypotheses[0][1]
    finally:
        model.train(was_training)
    return found


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
        check_number("valid_sentences", valid_sentences, least=0, whole=True, why="0: perplexity alone")
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


def bleu(hypotheses: Sequence[str], references: Sequence[str], *, tokenise: str = "13a") -> Score:
    """Corpus BLEU (Papineni et al. 2002) against one reference each.

    Args:
        hypotheses, references: as many sentences in either.
        tokenise: sacreBLEU's tokeniser; "none" for text that is tokenised already, which is then scored as Moses's
            multi-bleu.perl scores it. These scores are not comparable with those of plain text.
    """
    if len(hypotheses) != len(references) or not len(references):
        raise ValueError(
            "hypotheses and references must have the same number of sentences, at least one,"
            f" got {len(hypotheses)} and {len(references)}"
        )
    metric = BLEU(tokenize=tokenise, force=tokenise == "none")
    score = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score(score, str(metric.get_signature()))
