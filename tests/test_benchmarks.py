"""The peers that the benchmarks measure against do the same work as ours."""

import pytest
import torch

from benchmarks import decoding
from benchmarks.measure import Settings
from reservoir.frozen import initialise
from reservoir.models import EncoderDecoder, EncoderDecoderConfig


@pytest.fixture(scope="module")
def model():
    config = EncoderDecoderConfig(40, 40, 16, 2, 32, 2, 1, norm_first=True, dropout=0.0)
    model = initialise(EncoderDecoder(config), seed=0).eval()
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if "norm" in name or "bias" in name:  # not at their usual ones and noughts
                tensor.add_(
                    0.3 * torch.randn(tensor.shape, generator=torch.Generator().manual_seed(len(name)))
                )
        model.decoder_norm.bias += 1.2 * model.src_embedding.weight[decoding.EOS]  # so that translations end
    return model


@torch.inference_mode()
def test_transformers_pegasus_with_our_weights_says_what_our_model_says(model):
    draw = torch.Generator().manual_seed(0)
    src, tgt = torch.randint(3, 40, (3, 7), generator=draw), torch.randint(3, 40, (3, 5), generator=draw)
    src[1, 5:] = 0
    theirs = decoding.peer(model)(src, attention_mask=(src != 0).long(), decoder_input_ids=tgt).logits
    ours = model.output(model.hidden(src, tgt))
    torch.testing.assert_close(theirs, ours, atol=1e-5, rtol=1e-5)


def test_both_searches_find_the_same_translations_and_are_measured(model):
    draw = torch.Generator().manual_seed(1)
    sources = [torch.randint(3, 40, (n,), generator=draw).tolist() for n in range(1, 13)]
    settings = Settings(0.0, torch.device("cpu"))
    agreement, speed = decoding.beside_generate(model, sources, case="small", settings=settings)
    assert (agreement.same, agreement.of) == (12, 12)
    assert "12 of 12 translations are the same ✓" in str(agreement)
    assert speed.ours > 0 and speed.theirs > 0 and speed.required == decoding.FASTER


def test_a_model_that_pegasus_cannot_be_is_refused():
    config = EncoderDecoderConfig(40, 40, 16, 2, 32, 1, 1, norm_first=False)
    with pytest.raises(ValueError, match="pre-LN, tied throughout"):
        decoding.peer(EncoderDecoder(config))
