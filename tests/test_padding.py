"""Texts of padding alone and batches without texts: nothing becomes NaN, and no other text notices."""

import pytest
import torch

from reservoir.datasets import pad_sources
from reservoir.layers.mixing import attention_weights
from reservoir.models import (
    Classifier,
    ClassifierConfig,
    EncoderDecoder,
    EncoderDecoderConfig,
    TextClassifierConfig,
)
from reservoir.models.classifier import ENCODERS
from reservoir.models.stack import MIXINGS
from reservoir.training import Decoding, beam_search, translate
from reservoir.weights import initialise

SRC = torch.tensor([[4, 5, 6, 2], [7, 2, 0, 0], [0, 0, 0, 0]])
TGT = torch.tensor([[1, 4, 5], [1, 6, 7], [1, 8, 9]])


def translator(**changes):
    config = dict(
        d_model=8, n_heads=2, d_ff=16, encoder_layers=2, decoder_layers=1, dropout=0.0, max_length=4
    )
    return initialise(EncoderDecoder(EncoderDecoderConfig(11, 11, **config | changes)), seed=0)


KINDS = {kind: {"encoder_kinds": (kind,) * 2} for kind in ("transformer", "ffn", "gru", "conv")}
KINDS |= {mixing: {"encoder_mixing": (mixing,) * 2} for mixing in MIXINGS}
models = pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)


@models
def test_a_source_of_padding_alone_gives_numbers_and_changes_no_other(changes):
    model = translator(**changes)
    logits = model(SRC, TGT)
    assert logits.isfinite().all()
    torch.testing.assert_close(logits[:2], model(SRC[:2], TGT[:2]))
    logits.square().sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@models
def test_a_batch_without_sentences_gives_one_without_logits(changes):
    model = translator(**changes)
    logits = model(SRC[:0], TGT[:0])
    assert logits.shape == (0, 3, 11)
    logits.sum().backward()
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


def test_what_may_see_nothing_takes_nothing_and_learns_nothing():
    q, k = torch.randn(2, 1, 3, 4, requires_grad=True), torch.randn(2, 1, 5, 4)
    weights = attention_weights(q, k, mask=torch.tensor([[True] * 5, [False] * 5]))
    torch.testing.assert_close(weights.sum(-1)[0], torch.ones(1, 3))
    assert not weights[1].any()
    weights.square().sum().backward()
    assert q.grad is not None and q.grad[0].any() and not q.grad[1].any()


@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_classifier_makes_of_padding_alone_what_its_bias_says(encoder, pooling):
    config = ClassifierConfig(vocab=11, classes=2, d_model=8, encoder=encoder, pooling=pooling)
    model = initialise(config.build(), seed=0)
    assert isinstance(model, Classifier)
    logits = model(SRC)
    assert logits.isfinite().all()
    torch.testing.assert_close(logits[2], model.readout.bias)


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_a_text_classifier_gives_numbers_for_padding_alone(pooling):
    config = TextClassifierConfig(11, d_model=8, n_heads=2, d_ff=16, layers=2, classes=2, pooling=pooling)
    model = initialise(config.build(), seed=0).eval()
    logits = model(SRC)
    assert logits.isfinite().all()
    torch.testing.assert_close(logits[:2], model(SRC[:2]))
    if pooling == "mean":
        assert not model.features(SRC)[2].any()
    logits.square().sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_no_sources_are_a_batch_without_rows():
    sources = pad_sources([])
    assert sources.shape == (0, 1) and sources.dtype == torch.int64
    model = translator().eval()
    assert beam_search(model, sources, max_length=3) == [] == translate(model, [])
    assert translate(model, [[]], decoding=Decoding(beam=2)) == [[]]
