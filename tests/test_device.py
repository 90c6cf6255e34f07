"""Every kind of model on a stand-in for a GPU: no tensor is left on the processor, from first step to last file."""

import math

import pytest
import torch
from own import write_own
from small import files
from stand_in import MixedDevices, OnGPU, gpu_stand_in

from reservoir.layers import fourier
from reservoir.models import EncoderDecoder, EncoderDecoderConfig, from_pretrained, save_pretrained
from reservoir.training import Decoding, Saved, Started, translate
from reservoir.weights import (
    Freeze,
    Mask,
    Seeded,
    freeze,
    initialise,
    largest,
    supermask,
)
from reservoir.weights.initialisation import KaimingUniform
from reservoir.weights.streaming import TiledWeight, pack
from reservoir_lab import recipes
from reservoir_lab.runs import on_files
from reservoir_lab.runs.building import load_trained
from reservoir_lab.runs.execution import execute
from reservoir_lab.runs.records import path_of
from reservoir_lab.runs.trained_model import open_model


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "results"))
    with gpu_stand_in(monkeypatch):
        yield


def test_the_stand_in_notices_what_a_gpu_would(gpu):
    a, b = torch.ones(3, 4, device="cuda"), torch.ones(3, 4)
    assert (a * 2).device == torch.device("cuda", 0) and (a + a).is_cuda and not b.is_cuda
    assert a[:, torch.tensor([0, 1])].shape == (3, 2) and float((a * torch.tensor(2.0)).sum()) == 24
    for mixed in (
        lambda: a + b,
        lambda: a @ b.T,
        lambda: torch.cat([a, b]),
        lambda: b.add_(a),
        lambda: b[a.long()],
    ):
        with pytest.raises(MixedDevices):
            mixed()
    with pytest.raises(TypeError, match="numpy"):
        a.numpy()
    assert type(a.cpu()) is torch.Tensor and type(b.to("cuda")) is OnGPU and a.to(b).equal(b)
    assert b.copy_(a) is b and a.copy_(b) is a


def test_a_tensor_that_is_left_behind_is_an_error(gpu, monkeypatch):
    """The test below would notice: here the positions of a model are forgotten."""
    run = recipes.get("transformer/miniature", scale="smoke")
    moved = torch.nn.Module.to

    def forgetful(self, *args, **options):
        found = moved(self, *args, **options)
        for module in found.modules():
            for name, buffer in module._buffers.items():
                module._buffers[name] = buffer if buffer is None else buffer.cpu()
        return found

    monkeypatch.setattr(torch.nn.Module, "to", forgetful)
    with pytest.raises(MixedDevices):
        execute(run)


RUNS = (
    "backskipping/synthetic",
    "bench/facts/trained",
    "combinations/fourier-reservoirs",
    "combinations/gpt-masks-50/lr-1e-2",
    "components/attention-hollow",
    "fine-tune/sst-2/transformer-4",
    "keep/deep-pretrained-50",
    "keep/pruned",
    "language/attention",
    "masked/ffn-4",
    "mixing/mixer",
    "mixing/pre-norm/random-features",
    "own/sequences",
    "reservoirs/conv-6",
    "reservoirs/gru-6",
    "reservoirs/late-6",
    "reservoirs/layer-drop-6",
    "sentences/echo-states",
    "sentences/lstm",
)


def test_every_kind_of_model_is_among_the_runs():
    def kind(name):
        return type(recipes.get(name, scale="smoke").model)

    assert {kind(name) for name in recipes.names()} == {kind(name) for name in RUNS}


@pytest.mark.check
@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_trained_tested_stored_and_resumed_on_a_gpu(gpu, name):
    run = recipes.get(name, scale="smoke").evolve(
        budget={"steps": 8, "checkpoint_every": 4, "validate_every": 8}
    )
    if run.start and run.start.streams:
        execute(run.start.source("smoke", run.seed))
    seen = []

    def interrupt(event):
        if isinstance(event, Saved) and event.step < run.budget.steps:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(run, listeners=[interrupt])
    record = execute(run, listeners=[seen.append])
    assert next(event.step for event in seen if isinstance(event, Started)) > 0
    assert record.machine["gpu"] == "a stand-in" and math.isfinite(record.score)
    recorded = path_of(run)
    assert files(recorded.parent) == [recorded.name, recorded.with_suffix(".safetensors").name]
    model, *_ = load_trained(run)
    assert {type(p) for p in model.parameters()} <= {OnGPU, torch.nn.Parameter}
    assert all(p.is_cuda for p in model.parameters())


@pytest.mark.parametrize("shape", [(2, 5, 6), (1, 4, 7), (3, 1, 1)])
@pytest.mark.parametrize("length", [None, 8])
def test_a_fourier_transform_is_the_same_on_a_gpu(gpu, shape, length):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    there = x.to("cuda").requires_grad_()
    torch.testing.assert_close(
        fourier(there.detach(), length=length).cpu(), fourier(x, length=length)
    )  # what autograd calls sees the stand-in as a processor
    mixed = fourier(there, length=length)
    torch.testing.assert_close(mixed.detach().cpu(), fourier(x, length=length))
    mixed.sum().backward()
    torch.testing.assert_close(there.grad.cpu(), fourier(torch.ones(shape), length=length))


def test_half_precision_comes_back_from_a_transform_as_it_was(gpu):
    x = torch.randn(2, 4, 6).to(torch.bfloat16)
    found = fourier(x.to("cuda"), length=5)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.cpu(), fourier(x, length=5))


@pytest.mark.parametrize("values", [2, 50, 10**6])
@pytest.mark.parametrize("n", [1, 60, 40_000])
def test_a_gpu_selects_the_same_scores_and_the_first_of_equal_ones(gpu, n, values):
    scores = torch.randint(-values, values, (n,), generator=torch.Generator().manual_seed(n)) / 8
    for k in {0, 1, n // 3, n - 1, n}:
        assert torch.equal(largest(scores.to("cuda"), k).cpu(), largest(scores, k))
    scores[n // 2] = math.nan
    with pytest.raises(ValueError, match="1 of the"):
        largest(scores.to("cuda"), 1)


def test_a_gpu_looks_up_the_rows_of_a_table_that_it_draws(gpu):
    origin, shape = Seeded(7, "table", KaimingUniform(), zero_row=0), torch.Size((9, 4))
    bits = pack(torch.arange(36).reshape(9, 4) % 3 > 0)
    here, there = TiledWeight(origin, shape, bits=bits), TiledWeight(origin, shape, bits=bits).to("cuda")
    ids = torch.tensor([[0, 8, 3], [3, 1, 8]])
    assert torch.equal(there.look_up(ids.to("cuda")).cpu(), here.whole()[ids])


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_stored_model_is_loaded_on_a_gpu_and_translates(gpu, tmp_path, masked, streamed):
    config = EncoderDecoderConfig(40, 40, d_model=16, n_heads=2, d_ff=32, encoder_layers=1, decoder_layers=1)
    model = initialise(EncoderDecoder(config), seed=0)
    if masked:
        supermask(model, Mask(keep=0.5), seed=0)
    freeze(model, Freeze(attention=True, feed_forward=True, embeddings=True))
    folder = save_pretrained(model.to("cuda"), tmp_path / "model")
    here, there = (from_pretrained(folder, streamed=streamed, device=device) for device in ("cpu", "cuda"))
    src = torch.tensor([[5, 6, 7, 2], [8, 9, 2, 0]])
    with torch.no_grad():
        torch.testing.assert_close(there(src.to("cuda"), src.to("cuda")).cpu(), here(src, src))
    sentences, decoding = [[5, 6, 7], [8, 9], []], Decoding(beam=3)
    assert translate(there, sentences, decoding=decoding) == translate(here, sentences, decoding=decoding)


def test_numbers_are_classified_on_a_gpu(gpu, tmp_path):
    execute(on_files(recipes.get("own/sequences", scale="smoke"), write_own(tmp_path)["numbers"]))
    model = open_model("waves", scale="smoke")
    assert next(model.module.parameters()).is_cuda
    assert model.classify("0.1 0.5 0.9") in ("slow", "fast")
