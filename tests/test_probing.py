"""Probes: they read what is linearly there, nothing where nothing is, and labels sit on the right tokens."""

import pytest
import torch

from reservoir.datasets import tagged, train_bpe
from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.training.probing import layer_states, probe, token_labels
from reservoir.weights import initialise


def test_a_probe_reads_what_is_there_and_its_controls_do_not():
    torch.manual_seed(0)
    y, y_test = torch.randint(5, (600,)), torch.randint(5, (300,))
    code = torch.randn(5, 20)

    def states(labels):
        return code[labels] * 3 + torch.randn(len(labels), 20)

    found = probe((states(y), y), (states(y_test), y_test), classes=True)
    assert found.score > 95 and found.shuffled < 40 and 10 < found.baseline < 35
    assert probe((torch.randn(600, 20), y), (torch.randn(300, 20), y_test), classes=True).score < 40
    number = probe((states(y), y), (states(y_test), y_test), classes=False)
    assert number.score > 0.8 and number.shuffled < 0.1 and number.baseline == 0.0


def test_labels_sit_on_the_pieces_of_their_words():
    sentences = tagged(train=300, valid=0, test=0).train
    vocabulary = train_bpe([s.de for s in sentences], 150, cache=False)  # small: words fall into pieces
    labels = token_labels(sentences, vocabulary)
    tags = sorted({tag for s in sentences for tag in s.tags})
    at = 0
    for s in sentences:
        ids = vocabulary.encode(s.de)
        assert labels["piece"][at : at + len(ids)].tolist() == ids
        assert labels["position"][at : at + len(ids)].tolist() == list(range(len(ids)))
        assert set(labels["length"][at : at + len(ids)].tolist()) == {len(ids)}
        found = [tags[i] for i in labels["tag"][at : at + len(ids)]]
        assert list(dict.fromkeys(found)) == list(dict.fromkeys(s.tags)) and found[-1] == "$."
        at += len(ids)
    assert at == len(labels["tag"])


@pytest.mark.parametrize("norm_first", [True, False])
def test_states_are_the_encoder_s_of_each_sentence_alone_without_its_end(norm_first):
    config = EncoderDecoderConfig(
        30, 30, d_model=16, n_heads=4, d_ff=24, encoder_layers=3, decoder_layers=1, norm_first=norm_first
    )
    model = initialise(EncoderDecoder(config), seed=0)
    sources = [[5, 6, 7], [8, 9], [10, 11, 12, 13]]
    together = layer_states(model, sources)
    with torch.no_grad():  # the first states are those below all layers
        model.encoder[0].mixing.sublayer.qkv.weight.mul_(2)
    changed = layer_states(model, sources)
    assert [torch.equal(*pair) for pair in zip(together, changed, strict=True)] == [True, False, False, False]
    together = changed
    assert [tuple(states.shape) for states in together] == [(9, 16)] * 4
    for states, alone in zip(
        together, zip(*(layer_states(model, [s]) for s in sources), strict=True), strict=True
    ):
        torch.testing.assert_close(states, torch.cat(alone), atol=1e-5, rtol=1e-4)
