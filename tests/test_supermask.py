"""Supermasks: how many weights take part, what moves, and what a mask learns."""

import dataclasses

import pytest
import torch
from torch import nn

from reservoir.layers import Embedding, Linear
from reservoir.models import EncoderDecoder, EncoderDecoderConfig, TextClassifierConfig
from reservoir.weights import FixedMask, Freeze, freeze, initialise, owned, report
from reservoir.weights.accounting import mask_bytes
from reservoir.weights.masks import MASKED_DRAWS, Mask, Supermask, supermask
from reservoir_lab import recipes
from reservoir_lab.runs.building import build, load_trained
from reservoir_lab.runs.execution import train_and_test

CONFIG = EncoderDecoderConfig(
    17, 17, d_model=8, n_heads=2, d_ff=16, encoder_layers=2, decoder_layers=1, norm_first=True, dropout=0.0
)


def masked(plan: Mask, *, seed: int = 0) -> EncoderDecoder:
    model = supermask(initialise(EncoderDecoder(CONFIG), seed=seed), plan, seed=seed)
    return freeze(model, Freeze(patterns=("*.bias", "*norm")))


def masks(model: nn.Module) -> list[Supermask]:
    return [module for module in model.modules() if isinstance(module, Supermask)]


@pytest.mark.parametrize("by", ["magnitude", "score"])
@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9])
def test_exactly_the_asked_share_takes_part(keep, by):
    model = masked(Mask(keep=keep, by=by))
    for mask in masks(model):
        assert int(mask.chosen().sum()) == round(keep * mask.scores.numel())
    layer = model.encoder[0].mixing.sublayer.qkv
    assert torch.equal(layer.effective_weight(), layer.weight * layer.mask.chosen())


def test_scores_move_and_nothing_else():
    model = masked(Mask(keep=0.5))
    moving = [item for item in owned(model) if item.parameter.requires_grad]
    assert moving and all(item.attribute == "scores" for item in moving)
    before = {item.stream: item.parameter.detach().clone() for item in owned(model)}
    optimiser = torch.optim.AdamW([item.parameter for item in moving], lr=0.1, weight_decay=0.1)
    model(torch.arange(1, 9)[None], torch.arange(1, 9)[None]).square().sum().backward()
    optimiser.step()
    for item in owned(model):
        assert torch.equal(item.parameter, before[item.stream]) == (item.attribute != "scores"), item.stream


def test_scores_that_are_frozen_are_not_trainable():
    model = masked(Mask(keep=0.5))
    before = report(model)
    for mask in masks(model):
        mask.scores.requires_grad_(False)
    after = report(model)
    assert before.trainable > after.trainable == 0 and after.total == before.total


def test_a_tied_output_shares_weight_and_scores_and_is_stored_once():
    model = masked(Mask(keep=0.5))
    assert model.output.mask is model.src_embedding.mask
    made_of = report(model)
    matrices = [item for item in owned(model) if item.attribute == "weight" and item.parameter.ndim == 2]
    weights = sum(item.parameter.numel() for item in matrices)
    assert made_of.trainable == weights  # one score a weight
    assert made_of.weights == report(initialise(EncoderDecoder(CONFIG), seed=0)).total
    assert made_of.stored_bytes == sum(-(-mask.scores.numel() // 8) for mask in masks(model))


def test_a_tied_output_follows_its_table_where_only_the_table_is_named():
    """Masked where it is looked up and whole where it is the output, the table would be two different ones."""
    plan = Mask(keep=0.5, patterns=("embedding",))
    model = supermask(initialise(EncoderDecoder(CONFIG), seed=0), plan, seed=0)
    assert model.output.mask is model.src_embedding.mask and len(masks(model)) == 1
    plan = Mask(keep=0.5, patterns=("encoder.embedding",))
    untied = initialise(EncoderDecoder(dataclasses.replace(CONFIG, tie="none")), seed=0)
    supermask(untied, plan, seed=0)
    assert untied.output.mask is None and untied.src_embedding.mask is not None


@pytest.mark.parametrize("by", ["magnitude", "score"])
def test_the_gradient_is_straight_through(by):
    """Against the same graph written with the mask as a constant plus what is added and taken away again."""
    layer = supermask(
        initialise(Linear(6, 5, stream="map", bias=False), seed=0), Mask(keep=0.4, by=by), seed=1
    )
    x = torch.randn(7, 6, generator=torch.Generator().manual_seed(0))
    layer(x).square().sum().backward()

    scores = layer.mask.scores.detach().clone().requires_grad_()
    soft = scores.abs() if by == "magnitude" else scores
    through = layer.mask.chosen() + soft - soft.detach()
    (x @ (layer.weight * through).T).square().sum().backward()
    torch.testing.assert_close(layer.mask.scores.grad, scores.grad)


@pytest.mark.parametrize("training", [True, False])
def test_scores_get_their_gradient_in_either_mode(training):
    layer = supermask(initialise(Linear(6, 5, stream="map", bias=False), seed=0), Mask(keep=0.5), seed=1)
    layer.train(training)(torch.ones(2, 6)).sum().backward()
    assert layer.mask.scores.grad.abs().sum() > 0


def test_a_mask_in_use_follows_its_model_to_another_device():
    layer = supermask(initialise(Linear(6, 5, stream="map", bias=False), seed=0), Mask(keep=0.5), seed=1)
    layer.eval()(torch.ones(2, 6))
    assert layer.to("meta")(torch.ones(2, 6, device="meta")).device.type == "meta"


def test_a_mask_in_use_is_never_stale():
    layer = supermask(
        initialise(Linear(6, 5, stream="map", bias=False), seed=0), Mask(keep=0.5), seed=1
    ).eval()
    optimiser = torch.optim.AdamW([layer.mask.scores], lr=1.0, fused=True)
    for _ in range(5):
        assert torch.equal(layer.effective_weight() != 0, layer.mask.chosen())
        layer.mask.scores.grad = torch.randn(5, 6)
        optimiser.step()
    with torch.no_grad():
        layer.mask.scores.copy_(torch.arange(30.0).view(5, 6))
    assert torch.equal(layer.effective_weight() != 0, torch.arange(30).view(5, 6) >= 15)


@pytest.mark.parametrize("keep", [0.5, 0.9])
@pytest.mark.parametrize("drawn", MASKED_DRAWS)
def test_what_is_drawn_has_its_spread_over_what_is_kept(drawn, keep):
    """For tables as well, and for each of the three maps that are stacked; scaled by 1 / √keep whatever it is."""
    layers = nn.ModuleList(
        [Embedding(300, 200, stream="table"), Linear(200, 600, stream="maps.qkv", blocks=3, bias=False)]
    )
    supermask(initialise(layers, seed=0), Mask(keep=keep, drawn=drawn), seed=0)
    for layer, fan_out in zip(layers, (300, 200), strict=True):
        variance = 2 / (200 + fan_out) if drawn == "xavier-uniform" else 2 / 200
        assert layer.weight.var().item() == pytest.approx(variance / keep, rel=0.02)
    assert (len(layers[0].weight.abs().unique()) == 1) == (drawn == "signed-constant")
    plain = initialise(nn.ModuleList([Linear(200, 600, stream="maps.qkv", blocks=3, bias=False)]), seed=0)
    supermask(plain, Mask(keep=keep, drawn=drawn, scaled=False), seed=0)
    torch.testing.assert_close(layers[1].weight, plain[0].weight / keep**0.5)


def test_pruning_keeps_the_largest_weights_and_they_go_on_learning():
    config = dataclasses.replace(CONFIG, bare=True)
    model = initialise(EncoderDecoder(config), seed=0)
    before = {item.stream: item.parameter.detach().clone() for item in owned(model)}
    supermask(model, Mask(keep=0.1, by="weight"), seed=0)
    assert model.output.mask is model.src_embedding.mask and not masks(model)
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(torch.arange(1, 9)[None], torch.arange(1, 9)[None]).square().sum().backward()
    optimiser.step()
    for item in owned(model):
        mask = item.module.mask
        assert isinstance(mask, FixedMask) and item.parameter.requires_grad
        was, n = before[item.stream].abs(), item.parameter.numel()
        assert int(mask.mask.sum()) == round(0.1 * n) and was[mask.mask].min() >= was[~mask.mask].max()
        assert not torch.equal(item.parameter[mask.mask], before[item.stream][mask.mask])
    rows = report(model)
    kept = sum(round(0.1 * item.parameter.numel()) for item in owned(model))
    assert rows.stored_bytes == 4 * kept + sum(
        mask_bytes(item.parameter.numel(), round(0.1 * item.parameter.numel())) for item in owned(model)
    )
    assert (mask_bytes(1024, 1000), mask_bytes(1024, 8), mask_bytes(1, 1)) == (128, 10, 1)


def test_a_bare_model_is_all_matrices_and_computes_what_frozen_norms_and_biases_do():
    bare, usual = (
        initialise(EncoderDecoder(dataclasses.replace(CONFIG, bare=flag)), seed=0) for flag in (True, False)
    )
    assert all(item.parameter.ndim == 2 for item in owned(bare))
    ids = torch.arange(1, 9)[None]
    torch.testing.assert_close(bare(ids, ids), usual(ids, ids))


def test_a_classifier_shares_one_layer_as_well():
    sizes = dict(vocab=20, d_model=8, n_heads=2, d_ff=12, layers=3, classes=2, bare=True)
    shared, one = (
        initialise(TextClassifierConfig(**{**sizes, **changes}).build(), seed=0)
        for changes in ({"share_layers": True}, {"layers": 1})
    )
    assert report(shared).total == report(one).total
    supermask(shared, Mask(keep=0.5, patterns=("encoder.*", "readout*")), seed=0)
    chosen = [layer.feed_forward.sublayer.up.mask.chosen() for layer in shared.encoder.layers]
    assert not torch.equal(chosen[0], chosen[1]) and shared.encoder.embedding.mask is None
    assert shared(torch.arange(1, 9)[None]).shape == (1, 2)


def test_depths_of_a_shared_layer_have_masks_of_their_own():
    layers = nn.ModuleList(Linear(6, 6, stream=f"layer.{i}", bias=False) for i in range(3))
    for layer in layers[1:]:
        layer.weight = layers[0].weight
    supermask(initialise(layers, seed=0), Mask(keep=0.5), seed=0)
    chosen = [layer.mask.chosen() for layer in layers]
    assert not torch.equal(chosen[0], chosen[1]) and not torch.equal(chosen[1], chosen[2])
    made_of = report(layers)
    assert (made_of.weights, made_of.scores, made_of.trainable, made_of.stored_bytes) == (36, 108, 108, 15)


@pytest.mark.parametrize("by", ["magnitude", "score", "weight"])
def test_a_state_dict_brings_the_mask_along(by):
    """Loaded strictly into a model of the same configuration and plan, whatever that began with, it computes alike."""
    config = dataclasses.replace(CONFIG, bare=True)
    model, other = (
        supermask(
            initialise(EncoderDecoder(dataclasses.replace(CONFIG, bare=True)), seed=seed),
            Mask(keep=0.5, by=by),
            seed=seed,
        )
        for seed in (0, 1)
    )
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn(parameter.shape, generator=draw))
    ids = torch.arange(1, 9)[None]
    model.eval(), other.eval()
    assert not torch.equal(model(ids, ids), other(ids, ids))
    other.load_state_dict(model.state_dict(), strict=True)
    assert torch.equal(model(ids, ids), other(ids, ids))
    with pytest.raises(RuntimeError, match="mask"):  # without the plan it would compute something else
        EncoderDecoder(config).load_state_dict(model.state_dict(), strict=True)


def test_a_mask_that_keeps_no_weight_is_refused_before_anything_changes():
    model = initialise(EncoderDecoder(CONFIG), seed=0)
    before = {item.stream: item.parameter.detach().clone() for item in owned(model)}
    for by in ("magnitude", "weight"):
        with pytest.raises(
            ValueError, match=r"keep=1e-09 keeps none of the 136 weights of embedding; 0.0074 keeps one"
        ):
            supermask(model, Mask(keep=1e-9, by=by), seed=0)
    assert not masks(model) and all(torch.equal(item.parameter, before[item.stream]) for item in owned(model))
    supermask(model, Mask(keep=0.0074, patterns=("embedding",)), seed=0)
    assert int(model.output.mask.chosen().sum()) == 1


def test_padding_stays_zero_and_wrong_plans_are_refused():
    table = supermask(initialise(Embedding(9, 4, stream="table", padding=0), seed=0), Mask(keep=0.5), seed=0)
    assert not table(torch.zeros(1, dtype=torch.long)).any()
    with pytest.raises(ValueError, match="'encodr' matches no matrix that can be masked"):
        masked(Mask(keep=0.5, patterns=("encodr",)))
    model = initialise(EncoderDecoder(CONFIG), seed=0)
    assert supermask(model, Mask(), seed=0) is model and not masks(model)


def encoder_alone() -> nn.Module:
    """Two layers in the model's only stack, so that numbers name them."""
    return initialise(EncoderDecoder(CONFIG).encoder, seed=0)


def test_what_is_given_but_empty_masks_nothing():
    assert not masks(supermask(encoder_alone(), keep=0.5, seed=0, patterns=()))
    assert masks(supermask(encoder_alone(), keep=0.5, seed=0))


def test_a_plan_has_no_fields_beside_it():
    model = encoder_alone()
    for plan, fields, said in ((Mask(keep=0.5), {"patterns": "*"}, r"Mask.* and patterns"), (0.5, {}, "0.5")):
        with pytest.raises(ValueError, match=f"takes a plan, .* or its fields, .*, not both, got {said}$"):
            supermask(model, plan, seed=0, **fields)
    assert not masks(model)


@pytest.mark.parametrize("keep", [0.5, 1])
def test_a_choice_that_is_not_there_is_refused_whatever_the_share(keep):
    with pytest.raises(ValueError, match=r"'nope\.\*' matches no matrix that can be masked"):
        supermask(encoder_alone(), keep=keep, seed=0, patterns="nope.*")


def test_one_layer_at_every_depth_with_a_mask_for_each():
    config = dataclasses.replace(CONFIG, share_layers=True, encoder_layers=3, decoder_layers=2)
    shared = initialise(EncoderDecoder(config), seed=0)
    one = initialise(EncoderDecoder(dataclasses.replace(config, encoder_layers=1, decoder_layers=1)), seed=0)
    assert report(shared).total == report(one).total
    supermask(shared, Mask(keep=0.5), seed=0)
    chosen = [layer.mixing.sublayer.qkv.mask.chosen() for layer in shared.encoder]
    assert not torch.equal(chosen[0], chosen[1]) and not torch.equal(chosen[1], chosen[2])
    with pytest.raises(ValueError, match="only layers of one kind and size can share"):
        EncoderDecoder(dataclasses.replace(config, encoder_kinds=("transformer", "ffn", "transformer")))


def test_a_masked_run_is_loaded_to_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    run = recipes.get("transformer/miniature", scale="smoke").evolve(
        model={"share_layers": True}, mask=Mask(keep=0.5), freeze=Freeze(patterns=("*.bias", "*norm"))
    )
    model, task, corpus = build(run)
    record = train_and_test(run, model, task, corpus)
    assert record.parameters["stored_bytes"] == sum(
        -(-mask.scores.numel() // 8) for mask in set(masks(model))
    )
    again = load_trained(run)[0]
    fixed = [module for module in again.modules() if isinstance(module, FixedMask)]
    for mine, theirs in zip(masks(model), fixed, strict=True):
        assert torch.equal(mine.chosen(), theirs.chosen())
    ids = torch.arange(1, 9)[None]
    assert torch.equal(model(ids, ids), again(ids, ids))


@pytest.mark.parametrize("again", [{"keep": 1.0}, {"keep": 0.5, "by": "weight"}])
def test_a_mask_that_is_being_learned_is_not_left_in_place_in_silence(again):
    model = supermask(initialise(nn.Sequential(nn.Linear(8, 8)), seed=0), keep=0.5, seed=0)
    with pytest.raises(ValueError, match=r"0\.weight has a mask that is being learned"):
        supermask(model, seed=0, **again)


def test_taking_a_mask_away_takes_no_other_parametrization_with_it():
    model = supermask(initialise(nn.Sequential(nn.Linear(8, 8)), seed=0), keep=0.5, seed=0)
    nn.utils.parametrizations.spectral_norm(model[0])
    (item,) = (item for item in owned(model) if item.mask is not None)
    item.put(None)
    assert [type(one).__name__ for one in item.others] == ["_SpectralNorm"] and item.mask is None
    largest = [torch.linalg.matrix_norm(model[0].weight, 2).item() for _ in range(50)][-1]
    assert largest == pytest.approx(
        1.0, abs=0.01
    )  # as after any change, torch finds the norm within some steps
