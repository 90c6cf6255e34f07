"""Frozen layers as features: linear probes of the states of each layer, compared with two controls.

A probe is a readout as in chapter 2: the layer stays as it is, and ridge regression finds the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from reservoir.datasets import Vocabulary, pad_sources
from reservoir.datasets.grammar import Sentence
from reservoir.models import EncoderDecoder
from reservoir.reservoirs import ridge
from reservoir.training.task import device_of
from reservoir.weights import Stream
from reservoir.weights.draws import permutation

CLASSES, NUMBERS = ("piece", "tag"), ("position", "length")
"""What is asked of each token: which piece and which part of speech it is; where it stands, and among how many."""


@dataclass(frozen=True)
class Probe:
    """What a linear map reads out of states of sentences that it was not fitted to.

    Args:
        score: accuracy in percent for classes, the share of the variance explained (R²) for numbers.
        shuffled: the score of a probe that is fitted to and tested on shuffled labels.
        baseline: the score of the most frequent class, or of the mean.
    """

    score: float
    shuffled: float
    baseline: float


def layer_states(model: EncoderDecoder, sources: Sequence[Sequence[int]]) -> list[Tensor]:
    """The encoder's states of every token, from its embeddings up, one (tokens, d_model) for each layer and one more.

    Args:
        model: is put into eval mode.
        sources: token ids, without the end of the sentence, which is added and then left out again.
    """
    found: list[Tensor] = []
    hooks = [model.encoder[0].register_forward_pre_hook(lambda layer, given: found.append(given[0]))]
    hooks += [layer.register_forward_hook(lambda layer, given, y: found.append(y)) for layer in model.encoder]
    src = pad_sources(sources).to(device_of(model))
    try:
        with torch.inference_mode():
            model.eval().encode(src, model.src_mask(src))
    finally:
        for hook in hooks:
            hook.remove()
    words = (src != Vocabulary.pad) & (src != Vocabulary.eos)
    return [states[words].float() for states in found]


def token_labels(sentences: Sequence[Sentence], vocabulary: Vocabulary) -> dict[str, Tensor]:
    """For each token of the German sides, in order: its piece, its tag as a number, its position, and the length.

    A piece has the tag of the word that its first letter stands in.
    """
    tags = sorted({tag for sentence in sentences for tag in sentence.tags})
    labels: dict[str, list[int]] = {name: [] for name in (*CLASSES, *NUMBERS)}
    for sentence, ids in zip(sentences, vocabulary.encode_batch([s.de for s in sentences]), strict=True):
        owner = [tag for word, tag in zip(sentence.words, sentence.tags, strict=True) for _ in word]
        letter = 0
        for position, token in enumerate(ids):
            labels["piece"].append(token)
            labels["tag"].append(tags.index(owner[min(letter, len(owner) - 1)]))
            labels["position"].append(position)
            labels["length"].append(len(ids))
            letter += len(vocabulary.tokens[token].replace("▁", ""))
    return {name: torch.tensor(values) for name, values in labels.items()}


def probe(
    train: tuple[Tensor, Tensor],
    test: tuple[Tensor, Tensor],
    *,
    classes: bool,
    seed: int = 0,
    regularisation: float = 1.0,
) -> Probe:
    """Fit a linear map from states to labels and ask it about other sentences.

    Args:
        train, test: states (tokens, d_model) and labels (tokens,).
        classes: whether the labels name classes, of which the map gives a score each and the highest is the answer.
        seed: of how the labels of the control are dealt out.
        regularisation: of the ridge regression, on states scaled to unit variance.
    """
    (x, y), (x_test, y_test) = train, test
    scale, shift = x.std(0).clamp_min(1e-6), x.mean(0)
    x, x_test = (((each - shift) / scale).double() for each in (x, x_test))

    def run(y: Tensor, y_test: Tensor) -> float:
        if not classes:
            answer = ridge(x, y[:, None].double(), regularisation=regularisation)(x_test)[:, 0]
            return _explained(answer, y_test.double())
        count = int(max(y.max(), y_test.max())) + 1
        answer = ridge(x, F.one_hot(y, count).double(), regularisation=regularisation)(x_test)
        return 100 * (answer.argmax(1) == y_test).float().mean().item()

    first, second = (
        permutation(Stream(seed, f"probe/{part}"), len(labels))
        for part, labels in (("train", y), ("test", y_test))
    )
    baseline = 100 * (y_test == y.mode().values).float().mean().item() if classes else 0.0
    return Probe(run(y, y_test), run(y[first], y_test[second]), baseline)


def _explained(answer: Tensor, true: Tensor) -> float:
    return (1 - (answer - true).square().mean() / true.var(unbiased=False)).item()
