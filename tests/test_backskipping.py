"""Skipped backward passes: exact where they claim to be, the plain run's bits where nothing is skipped, resumable."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from repeated import deterministic
from small import interrupt_at, same_bits, small_run
from torch import nn

from reservoir.layers import EncoderLayer, FeedForward
from reservoir.training import (
    Backskipping,
    Detour,
    IdentityGradient,
    Skip,
    Stepped,
    SyntheticGradient,
    ValueGradient,
    ZeroGradient,
    skip,
    tap,
    train,
)
from reservoir.training.backskipping import ESTIMATES, cosine, error
from reservoir.weights import (
    Freeze,
    freeze,
    initialise,
    owned,
    report,
)
from reservoir_lab import recipes
from reservoir_lab.runs.building import build, load_trained
from reservoir_lab.runs.execution import execute, train_run
from reservoir_lab.runs.flops import count_flops
from reservoir_lab.runs.handlers import Checkpoints, Operations

LAYER = "encoder.1"
CPU = torch.device("cpu")


def reservoir_run(text, **changes):
    """A small run of which the second of three encoder layers is a reservoir."""
    run = small_run(text, model={"encoder_layers": 3, "dropout": 0.2})
    return run.evolve(freeze=Freeze(layers=(LAYER,), drawn="orthogonal")).evolve(**changes)


def trained(run, **options):
    model, task, _ = build(run)
    fields = {name: getattr(run, name) for name in ("seed", "precision", "optimiser", "budget", "skip")}
    handlers = [*options.pop("handlers", ()), Operations()]
    return model, train(model, task, handlers=handlers, **fields | options)


def layer(d=6, *, dropout=0.0):
    """A feed-forward layer in its residual connection, frozen."""
    block = EncoderLayer(
        None,
        FeedForward(d, 2 * d, stream="block.feed_forward"),
        d_model=d,
        stream="block",
        norm_first=True,
        dropout=dropout,
    )
    return freeze(initialise(block, seed=0)).train()


# The mechanism


def test_a_tap_and_a_skip_with_the_true_product_agree_with_finite_differences():
    weight = torch.randn(5, 4, dtype=torch.float64)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    noted = []
    assert torch.autograd.gradcheck(lambda x: (tap(x, noted.append) @ weight.T).tanh(), x)
    assert noted

    def skipped(x):
        y = (x.detach() @ weight.T).tanh()
        return skip(x, y, lambda g: (g * (1 - y**2)) @ weight)

    assert torch.autograd.gradcheck(skipped, x)
    wrong = skip(x, x.detach() ** 2, lambda g: g)
    assert torch.equal(torch.autograd.grad(wrong.sum(), x)[0], torch.ones_like(x))


def test_a_block_that_is_not_skipped_agrees_with_finite_differences_watched_or_not():
    detour = Detour(layer().double(), IdentityGradient())
    x = torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    for detour.watching in (False, True):
        assert torch.autograd.gradcheck(detour, x)


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_a_pair_holds_the_true_gradients_and_watching_changes_no_bit(dropout):
    block = layer(dropout=dropout)
    x = torch.randn(2, 3, 6, requires_grad=True)
    g = torch.randn(2, 3, 6)
    found = []
    for module in (block, Detour(block)):
        module.watching = True
        torch.manual_seed(0)
        y = module(x)
        found.append((y, *torch.autograd.grad(y, x, g)))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
    ((h, above, below),) = module.pairs
    assert torch.equal(h, x) and torch.equal(above, g) and torch.equal(below, found[0][1])


@pytest.mark.parametrize("kind", ["identity", "synthetic", "value"])
def test_a_skipped_block_hands_down_its_estimate_and_nothing_at_padding(kind):
    estimate = initialise(ESTIMATES[kind](6, 4, stream="e"), seed=1)
    for parameter in estimate.parameters():
        nn.init.normal_(parameter)
    estimate.scale = 0.5
    block = layer(dropout=0.4)
    detour = Detour(block, estimate)
    detour.skipping = True
    x, g = torch.randn(2, 3, 6, requires_grad=True), torch.randn(2, 3, 6)
    mask = torch.tensor([[True, True, True], [True, False, False]])
    torch.manual_seed(0)
    y = detour(x, mask)
    torch.manual_seed(0)
    assert torch.equal(y, block(x, mask))  # the forward pass is the block's, dropout included
    (below,) = torch.autograd.grad(y, x, g)
    torch.testing.assert_close(below, estimate(x, g).detach() * mask[..., None])
    assert below[mask].abs().min() > 0 and not below[~mask].any()


def test_a_skipped_block_keeps_nothing_for_a_backward_pass_and_zero_stops_it():
    saved = []
    x = torch.randn(2, 3, 6, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        detour = Detour(layer(), IdentityGradient())
        detour.skipping = True
        assert detour(x).requires_grad and not saved
        assert layer()(x).requires_grad and saved
    detour = Detour(layer(), ZeroGradient())
    detour.skipping = True
    assert not detour(x).requires_grad


def test_a_detour_is_only_taken_in_training_and_where_a_gradient_is_wanted():
    detour = Detour(layer(), IdentityGradient())
    detour.skipping = True
    x = torch.randn(2, 3, 6)
    assert not detour(x).requires_grad and torch.equal(detour(x), detour.inner(x))
    y = detour.eval()(x.requires_grad_())
    assert not torch.equal(torch.autograd.grad(y.sum(), x)[0], torch.ones_like(x))


# The estimates


def test_a_value_network_is_linear_in_the_gradient_and_starts_as_the_identity():
    value = initialise(ValueGradient(6, 4, stream="v"), seed=0)
    h, g, other = torch.randn(3, 5, 6)
    assert torch.equal(value(h, g), g)
    nn.init.normal_(value.out.weight)
    torch.testing.assert_close(value(h, 2 * g - 3 * other), 2 * value(h, g) - 3 * value(h, other))
    assert not torch.allclose(value(h, g), value(other, g))


def test_a_synthetic_gradient_starts_at_zero_follows_the_scale_and_ignores_what_is_above():
    synthetic = initialise(SyntheticGradient(6, 4, stream="s"), seed=0)
    h, g = torch.randn(2, 5, 6)
    assert not synthetic(h, g).any()
    nn.init.normal_(synthetic.down.weight)
    for _ in range(50):
        synthetic.observe(1e-6 * torch.ones(5, 6))
    small = synthetic(h, g)
    assert torch.equal(small, synthetic(h, -g)) and 0 < small.abs().max() < 1e-3
    torch.testing.assert_close(
        small[:1], synthetic(h[:1], g[:1]), atol=0, rtol=1e-4
    )  # each position by itself


def test_the_scale_of_a_synthetic_gradient_is_a_running_mean_of_sizes():
    synthetic = SyntheticGradient(6, 4, stream="s")
    synthetic.observe(torch.full((5, 6), -2.0))
    assert synthetic.scale == pytest.approx(2.0)  # the first size itself
    for step in range(1, 4):
        synthetic.observe(torch.zeros(5, 6))
        assert synthetic.scale == pytest.approx(2.0 * 0.9**step)
    synthetic.observe(torch.full((5, 6), 7.0))
    assert synthetic.scale == pytest.approx(0.9 * 2.0 * 0.9**3 + 0.1 * 7.0)


def test_cosine_and_error_are_what_they_are_called():
    a = torch.tensor([3.0, 4.0])
    assert cosine(2 * a, a) == pytest.approx(1.0) and error(2 * a, a).item() == pytest.approx(1.0)
    assert cosine(-a, a) == pytest.approx(-1.0) and cosine(0 * a, a) == 0.0
    assert error(0 * a, a).item() == pytest.approx(1.0) and error(a, a).item() == 0.0


# The plan


@given(st.integers(0, 10**6), st.integers(0, 200), st.integers(-3, 300), st.floats(0, 0.99))
def test_the_chance_is_zero_in_the_warm_up_and_then_rises_along_a_line_to_the_most(
    warmup, anneal, after, most
):
    plan = Skip(layers=("x",), most=most, warmup=warmup, anneal=anneal)
    chance = plan.chance(warmup + after)
    if after <= 0:
        assert chance == 0.0
    elif after >= anneal:
        assert chance == most
    else:
        assert chance == pytest.approx(most * after / anneal)


def test_steps_are_skipped_as_often_as_the_chance_says_and_by_seed_and_step_alone():
    plan = Skip(layers=("x",), most=0.3)
    drawn = [[plan.skips(step, seed=seed) for step in range(1, 401)] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert 0.25 < sum(drawn[0] + drawn[2]) / 800 < 0.35


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Skip(most=1.0), r"most must be in \[0, 1\), got 1.0; some steps have to be full"),
        (lambda: Skip(warmup=-1), "warmup must be at least 0, got -1"),
        (lambda: Skip(estimate="exact"), "estimate must be .*'exact'"),
        (lambda: Backskipping(layer(), Skip(layers=("encoder.9",)), seed=0), "'encoder.9'"),
    ],
)
def test_a_wrong_argument_is_named(make, named):
    with pytest.raises(ValueError, match=named):
        make()


# In training


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_with_a_chance_of_zero_training_is_the_plain_one_to_the_bit(text, precision):
    run = reservoir_run(text, precision=precision)
    plain, reference = trained(run)
    watched, history = trained(run.evolve(skip=Skip(layers=(LAYER,), watch=("identity", "synthetic"))))
    assert same_bits(plain, watched) and history.losses == reference.losses and not history.skipped
    for point, other in zip(history.points, reference.points, strict=True):
        assert {name: point.metrics[name] for name in other.metrics} == other.metrics
        assert point.metrics["error_value"] < 2 and "cosine_synthetic" in point.metrics


@pytest.mark.slow
def test_the_recipe_that_skips_nothing_is_the_recipe_of_chapter_5_to_the_bit():
    models = []
    for name in ("backskipping/none", "reservoirs/transformer-8"):
        run = recipes.get(name, scale="smoke")
        models.append(trained(run.evolve(budget={"steps": 4, "validate_every": 4}))[0])
    assert same_bits(*models)


def plan_for(kind, **more):
    return Skip(layers=(LAYER,), estimate=kind, most=0.7, warmup=1, anneal=2, width=4, **more)


@pytest.mark.parametrize(
    ("kind", "precision"), [("zero", "bf16"), ("identity", "fp32"), ("synthetic", "bf16"), ("value", "fp32")]
)
def test_a_run_that_skips_is_repeatable_finite_and_differs_from_the_plain_one(text, kind, precision):
    run = reservoir_run(text, precision=precision)
    plain, _ = trained(run)
    (one, history), (other, again) = (trained(run.evolve(skip=plan_for(kind))) for _ in range(2))
    assert same_bits(one, other) and history.losses == again.losses
    assert 0 < history.skipped < run.budget.steps and not same_bits(one, plain)
    assert all(p.isfinite().all() for p in one.parameters())
    assert history.points[-1].metrics["skipped"] > 0


@pytest.mark.parametrize(("kind", "cut"), [("zero", 5), ("value", 1), ("value", 4), ("value", 7)])
def test_a_run_that_is_cut_off_goes_on_to_the_same_bits(text, tmp_path, kind, cut):
    run = reservoir_run(text, budget={"checkpoint_every": 2})
    run = run.evolve(skip=plan_for(kind, watch=("synthetic",)))
    model, history = trained(run)

    with pytest.raises(KeyboardInterrupt):
        trained(run, handlers=[Checkpoints(tmp_path / "c")], listeners=[interrupt_at(cut)])
    resumed, rest = trained(run, handlers=[Checkpoints(tmp_path / "c")])
    assert same_bits(model, resumed) and rest.losses == history.losses[(cut - 1) // 2 * 2 :]
    assert [(p.step, p.flops, p.metrics) for p in rest.points] == [
        (p.step, p.flops, p.metrics) for p in history.points
    ]
    assert rest.skipped == history.skipped


def test_an_interrupted_run_leaves_the_model_without_detours(text):
    run = reservoir_run(text).evolve(skip=plan_for("value"))
    model, task, _ = build(run)

    def interrupt(event):
        if isinstance(event, Stepped):
            assert sum(isinstance(module, Detour) for module in model.modules()) == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(
            model,
            task,
            optimiser=run.optimiser,
            budget=run.budget,
            seed=0,
            skip=run.skip,
            listeners=[interrupt],
        )
    assert not any(isinstance(module, Detour) for module in model.modules())


def test_the_estimate_is_no_part_of_what_is_trained_reported_or_stored(text, tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    run = reservoir_run(text).evolve(skip=plan_for("value"))
    plain = report(build(run.evolve(skip=Skip()))[0])
    record = execute(run)
    assert record.parameters["total"] == plain.total and record.parameters["trainable"] == plain.trainable
    assert record.skipping["steps"] > 0 and set(record.skipping["seconds"]) == {"full", "skipped"}
    assert "seconds" not in deterministic(record)["skipping"]
    model, _, _ = load_trained(run)
    assert not [item.stream for item in owned(model) if "backskipping" in item.stream]


@pytest.mark.parametrize("kind", ["synthetic", "value"])
def test_an_estimate_learns_in_a_full_step_and_not_while_operations_are_counted(text, kind):
    model, task, _ = build(reservoir_run(text))
    with Backskipping(model.train(), plan_for(kind), seed=0) as skipping:
        for update in (False, True):
            before = [parameter.detach().clone() for parameter in skipping.estimates.parameters()]
            skipping.set(skipping=False)
            task.loss(model, task.epoch(0)[0]).backward()
            skipping.learn(update=update)
            after = skipping.estimates.parameters()
            assert all(map(torch.equal, before, after)) != update


def test_what_lies_below_rests_when_the_estimate_is_zero(text):
    run = reservoir_run(text)
    model, task, _ = build(run)
    below, above = (model.encoder[i].mixing.sublayer.qkv.weight for i in (0, 2))
    with Backskipping(model.train(), plan_for("zero"), seed=0) as skipping:
        skipping.set(skipping=True)
        task.loss(model, task.epoch(0)[0]).backward()
    assert below.grad is None and above.grad.abs().sum() > 0


def test_what_a_skipped_step_saves_is_the_backward_pass_of_the_reservoir(text):
    """By hand: a frozen transformer layer's backward pass has one product with each of its matrices for each token."""
    run = reservoir_run(text, precision="fp32", model={"dropout": 0.0})
    model, task, _ = build(run)
    batch = task.epoch(0)[0]
    found = {}
    with Backskipping(model.train(), Skip(layers=(LAYER,), estimate="identity"), seed=0) as skipping:
        for kind in (False, True):
            skipping.set(skipping=kind)
            found[kind] = count_flops(lambda: task.loss(model, batch), CPU, autocast=False)
    (rows, length), c = batch.src.shape, run.model
    maps = 4 * c.d_model * c.d_model + 2 * c.d_model * c.d_ff
    attention = 4 * length * c.d_model  # scores and mixtures, each with two gradients
    assert found[False] - found[True] == 2 * rows * length * (maps + attention)


def test_every_validation_says_the_same_of_the_estimates_even_where_all_steps_before_it_were_skipped():
    run = recipes.get("bench/circle/backskipping", scale="smoke")
    run = run.evolve(budget={"steps": 20, "validate_every": 1}, skip={"warmup": 2, "anneal": 2}, device="cpu")
    model, task, _ = build(run)
    history = train_run(run, model, task)
    assert any(point.metrics["skipped"] == 1 for point in history.points)
    assert len({tuple(point.metrics) for point in history.points}) == 1
