"""Chapter 10's recipes: each differs from a row of chapter 4's table, or of chapter 7's, in what it is a test of."""

import pytest
import torch

from reservoir.datasets import pad_sources
from reservoir.layers import Attention, Fourier
from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.weights import Freeze, Mask, initialise, owned, report
from reservoir_lab import recipes
from reservoir_lab.launch.cost_model import plan
from reservoir_lab.recipes.components import COMBINED, ELSEWHERE, LONGER, PERCENTAGES, TASK
from reservoir_lab.recipes.universal import RATES
from reservoir_lab.runs import start
from reservoir_lab.runs.building import build, load_trained, outline
from reservoir_lab.runs.execution import execute

SCALES = ("smoke", "laptop", "full")


def made_of(name: str, scale: str = "laptop"):
    return report(outline(recipes.get(name, scale=scale)))


def moving(name: str, scale: str = "laptop") -> set[str]:
    return {row.stream for row in made_of(name, scale).rows if row.moves}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("row", COMBINED)
def test_a_translator_differs_from_chapter_4s_in_what_it_is_a_test_of(row, scale):
    run, base = (
        recipes.get(f"{name}", scale=scale) for name in (f"combinations/{row}", "components/baseline")
    )
    changed = {"freeze": Freeze(), "mask": Mask()}
    sizes = ()
    if row.startswith(("fourier", "random-")):
        sizes += ("encoder_layers", "encoder_kinds", "encoder_mixing", "max_length")
        changed["task"] = {"max_length": base.task.max_length}
    if row == "random-features":  # which are made for no length
        assert (run.task, run.model.max_length) == (base.task, base.model.max_length)
    if row.startswith("no-"):
        sizes += ("encoder_layers", "encoder_kinds")
    if "post-norm" in row:
        sizes += ("norm_first",)
        assert run.model.norm_first is False
    changed["model"] = {size: getattr(base.model, size) for size in sizes}
    assert run.evolve(recipe=base.recipe, **changed) == base
    # At full scale chapter 4's translators have their norms behind the sublayers themselves.
    assert (run == base.evolve(recipe=run.recipe)) == (row == "post-norm" and scale == "full")


@pytest.mark.parametrize("scale", SCALES)
def test_other_text_changes_nothing_else(scale):
    base = recipes.get("tatoeba/baseline", scale=scale)
    captions = recipes.get("transformer/multi30k" if scale == "full" else "components/baseline", scale=scale)
    task = {"corpus": captions.task.corpus, "tests": captions.task.tests}
    assert base.evolve(recipe=captions.recipe, task=task) == captions
    for row in ELSEWHERE:
        one, beside = (recipes.get(f"{family}/{row}", scale=scale) for family in ("tatoeba", "combinations"))
        assert one.freeze == beside.freeze
        assert one == base.evolve(
            recipe=one.recipe,
            freeze=one.freeze,
            model={size: getattr(one.model, size) for size in ("encoder_layers", "encoder_kinds")},
        )


@pytest.mark.parametrize("row", LONGER)
def test_what_is_asked_again_of_chapter_3s_translator_is_otherwise_the_same(row):
    one, short, base = (
        recipes.get(name)
        for name in (f"combinations/longer-{row}", f"combinations/{row}", "transformer/multi30k")
    )
    assert one.freeze == short.freeze and (one.model.encoder_layers == 0) == (row == "no-encoder")
    changed = {"freeze": Freeze(), "model": {"encoder_layers": base.model.encoder_layers}}
    assert one.evolve(recipe=base.recipe, **changed) == base


@pytest.mark.parametrize("scale", ("laptop", "full"))
def test_the_longest_run_without_an_encoder_takes_as_many_operations(scale):
    base, short, long = (
        recipes.get(name, scale=scale)
        for name in (
            "transformer/multi30k",
            "combinations/longer-no-encoder",
            "combinations/longest-no-encoder",
        )
    )
    assert long.evolve(recipe=short.recipe, budget=short.budget) == short
    spent, at_most = (plan(run).flops for run in (long, base))
    assert spent == pytest.approx(at_most, rel=0.03)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("row", ["fourier", "random-mixing"])
def test_the_longest_sentence_of_training_fits_into_the_transform(row, scale):
    run = recipes.get(f"combinations/{row}", scale=scale)
    longest = pad_sources([[5] * run.task.max_length])
    mixing = Fourier(run.model.max_length)
    assert mixing(torch.zeros(*longest.shape, 2)).shape[1] == run.task.max_length + 1
    with pytest.raises(ValueError, match="cut the text"):
        mixing(torch.zeros(1, run.task.max_length + 2, 2))


def test_each_row_moves_what_it_says():
    every = moving("components/baseline")
    maps = {stream for stream in every if ".norm" not in stream}
    encoder = {stream for stream in maps if stream.startswith("encoder.")}
    assert moving("combinations/attention-frozen") == every - encoder
    fourier = moving("combinations/fourier")
    assert fourier == every - {
        stream for stream in every if stream.startswith("encoder") and ".attention" in stream
    }
    assert moving("combinations/fourier-frozen") == fourier - encoder
    assert (
        len(moving("combinations/no-mixing")) == len(fourier) - 2 * 2
    )  # norms of what mixes: two layers have one each
    layers = {stream for stream in every if stream.startswith("encoder.") and stream.split(".")[1].isdigit()}
    assert moving("combinations/no-encoder") == every - layers
    assert len(moving("combinations/fourier-reservoirs")) == len(fourier)
    mixes = {f"encoder.{i}.attention.{name}" for i in range(2) for name in ("value", "out")}
    biases = {f"{stream}.bias" for stream in mixes}
    assert moving("combinations/random-mixing") == fourier | mixes | biases
    assert moving("combinations/random-features") == every
    for part, chosen in {
        "attention": {s for s in maps if ".attention." in s or ".cross." in s},
        "feed-forward": {s for s in maps if ".feed_forward." in s},
        "embeddings": {"embedding"},
    }.items():
        scores = {f"{stream}.scores" for stream in chosen if not stream.endswith(".bias")}
        assert moving(f"combinations/masked-{part}") == every - chosen | scores
    embeddings = moving("combinations/masked-attention") - {"embedding"}
    assert moving("combinations/masked-attention-frozen-embeddings") == embeddings


def test_a_component_under_a_mask_is_stored_in_a_bit_a_weight():
    whole = made_of("components/baseline").stored_bytes
    for part in ("attention", "feed-forward", "embeddings"):
        frozen = made_of(f"components/{part}").stored_bytes
        masked = made_of(f"combinations/masked-{part}").stored_bytes
        assert frozen < masked < frozen + (whole - frozen) / 31


def test_masked_embeddings_are_masked_as_an_output_too():
    model = outline(recipes.get("combinations/masked-embeddings", scale="smoke"))
    assert model.output.mask is model.src_embedding.mask is not None


@pytest.mark.parametrize("scale", SCALES)
def test_a_masked_gpt_differs_from_the_random_body_in_its_start_and_share(scale):
    for rate in RATES:
        theirs = recipes.get(f"universal/{TASK}/masked/{rate}", scale=scale)
        for percent in PERCENTAGES:
            run = recipes.get(f"combinations/gpt-masks-{percent}/{rate}", scale=scale)
            assert run.start == recipes.get(f"universal/{TASK}/pretrained/{rate}", scale=scale).start
            assert run.evolve(recipe=theirs.recipe, start=None, mask=theirs.mask) == theirs


@pytest.mark.check
@pytest.mark.parametrize(
    "row", ["fourier-reservoirs", "random-mixing", "masked-embeddings-frozen-feed-forward"]
)
def test_a_translator_runs_at_smoke_scale(tmp_path, monkeypatch, row):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    run = recipes.get(f"combinations/{row}", scale="smoke")
    record = execute(run)
    before, after = (
        {i.stream: i.parameter for i in owned(model)} for model in (build(run)[0], load_trained(run)[0])
    )
    for item in owned(load_trained(run)[0]):
        same = torch.equal(before[item.stream], after[item.stream])
        assert same or item.parameter.requires_grad, item.stream
    assert record.tests


@pytest.mark.check
def test_a_masked_gpt_runs_at_smoke_scale(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    execute(recipes.get(start.OURS, scale="smoke"))
    record = execute(recipes.get("combinations/gpt-masks-90/lr-3e-3", scale="smoke"))
    assert record.parameters["stored_bytes"] < record.parameters["total"]
    assert record.begun_with


def config(**fields) -> EncoderDecoderConfig:
    sizes = dict(d_model=16, n_heads=2, d_ff=24, encoder_layers=3, decoder_layers=1, max_length=8)
    return EncoderDecoderConfig(20, 20, **{**sizes, **fields})


def test_an_encoder_mixes_as_its_configuration_says():
    model = EncoderDecoder(config(encoder_mixing=("fourier-normalised", "attention", "fourier")))
    kinds = [type(layer.mixing.sublayer) for layer in model.encoder]
    assert kinds == [Fourier, Attention, Fourier]
    assert [model.encoder[i].mixing.sublayer.normalised for i in (0, 2)] == [True, False]
    assert {type(layer.mixing.sublayer) for layer in EncoderDecoder(config()).encoder} == {Attention}
    assert all(isinstance(layer.mixing.sublayer, Attention) for layer in model.decoder)


def test_a_sentence_is_read_alike_whatever_stands_beside_it():
    model = initialise(EncoderDecoder(config(encoder_mixing=("fourier-normalised",) * 3)), seed=0).eval()
    short = torch.tensor([[5, 6, 7]])
    both = torch.tensor([[5, 6, 7, 0, 0], [8, 9, 10, 11, 12]])
    alone, beside = model.encode(short), model.encode(both, model.src_mask(both))
    torch.testing.assert_close(beside[:1, :3], alone, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="8 tokens, got 9"):
        model.encode(torch.ones(1, 9, dtype=torch.long))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("fourier",), "encoder_mixing must name all 3 layers, got 1"),
        (("fourier", "wavelet", "fourier"), "encoder_mixing must be of attention, .*got wavelet"),
    ],
)
def test_a_mixing_that_cannot_be_is_named(names, message):
    with pytest.raises(ValueError, match=message):
        config(encoder_mixing=names)
