"""The loop: the same seed gives the same bits, however it is cut into batches, looked at or interrupted."""

import itertools
import json
import math
import random
from fractions import Fraction
from functools import partial, partialmethod

import pytest
import torch
from small import interrupt_at, same_bits, small_run
from torch.nn.utils.rnn import pack_padded_sequence

from reservoir.datasets import Vocabulary
from reservoir.training import (
    Budget,
    History,
    Optimiser,
    Stepped,
    Stopped,
    TrainingError,
    Validated,
    train,
)
from reservoir.weights import Mask
from reservoir_lab import recipes
from reservoir_lab.runs.building import build
from reservoir_lab.runs.flops import count_flops, count_products, of_cudnn_backward
from reservoir_lab.runs.handlers import Checkpoints, Compiled, Costs, Operations, batch_flops, sizes


def trained(run, *, task=None, **options):
    model, own, _ = build(run)
    options = {
        "seed": run.seed,
        "precision": run.precision,
        "optimiser": run.optimiser,
        "budget": run.budget,
    } | options
    handlers = [*options.pop("handlers", ()), Operations()]
    return model, train(model, task or own, handlers=handlers, **options)


class Wrapped:
    """A task that does what another does, but for what a test changes; keeps the batches it was given."""

    def __init__(self, task, **changes):
        self.task, self.batches = task, []
        self.__dict__.update(changes)

    def __getattr__(self, name):
        return getattr(self.task, name)

    def loss(self, model, batch):
        self.batches.append(batch)
        return self.task.loss(model, batch)


# The same bits


def test_the_same_seed_gives_the_same_losses_and_weights_and_another_seed_does_not(text):
    run = small_run(text)
    (model, history), (again, repeated), (other, different) = (
        trained(r) for r in (run, run, run.evolve(seed=1))
    )
    assert len(history.losses) == run.budget.steps
    assert history.losses == repeated.losses and same_bits(model, again)
    assert history.points[-1].metrics == repeated.points[-1].metrics
    assert all(a != b for a, b in zip(history.losses, different.losses, strict=True))
    assert not same_bits(model, other)


def test_the_seed_decides_dropout_too(text):
    run = small_run(text, model={"dropout": 0.3})
    assert trained(run, seed=0)[1].losses == trained(run, seed=0)[1].losses != trained(run, seed=1)[1].losses


@pytest.mark.parametrize("every", [1, 2, 100])
def test_how_often_it_is_validated_and_saved_changes_no_weight(text, tmp_path, every):
    run = small_run(text)
    budget = Budget(steps=run.budget.steps, validate_every=every, checkpoint_every=every)
    model, history = trained(run, budget=budget, handlers=[Checkpoints(tmp_path / "c")])
    budget = Budget(steps=run.budget.steps, validate_every=7, checkpoint_every=0)
    other, reference = trained(run, budget=budget)
    assert same_bits(model, other) and history.losses == reference.losses


def test_the_global_random_state_decides_nothing_and_is_left_alone(text):
    run = small_run(text, budget={"steps": 3})
    torch.manual_seed(1)
    model, task, _ = build(run)
    before = torch.get_rng_state()
    options = dict(optimiser=run.optimiser, budget=run.budget, seed=0)
    first = train(model, task, **options)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert trained(run)[1].losses == first.losses
    with pytest.raises(TrainingError):
        train(model, Wrapped(task, loss=lambda model, batch: task.loss(model, batch) * math.nan), **options)


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("cut", [1, 4, 7])
def test_a_run_that_is_cut_off_goes_on_to_the_same_bits(text, tmp_path, cut, accumulate):
    run = small_run(text, budget={"accumulate": accumulate, "checkpoint_every": 2})
    model, history = trained(run)

    with pytest.raises(KeyboardInterrupt):
        trained(run, handlers=[Checkpoints(tmp_path / "c")], listeners=[interrupt_at(cut)])
    starts = []
    resumed, rest = trained(run, handlers=[Checkpoints(tmp_path / "c")], listeners=[starts.append])
    done = (cut - 1) // 2 * 2  # a step's checkpoint is written after its listeners have heard of it
    assert starts[0].step == done
    assert same_bits(model, resumed) and rest.losses == history.losses[done:]
    points = ([(p.step, p.tokens, p.flops, p.metrics) for p in one.points] for one in (rest, history))
    assert next(points) == next(points)


def test_a_run_of_which_nothing_is_left_keeps_its_times(text, tmp_path):
    run = small_run(text)
    _, history = trained(run, handlers=[Checkpoints(tmp_path / "c")])
    _, again = trained(run, handlers=[Checkpoints(tmp_path / "c")])
    assert again.losses == [] and again.step_seconds == history.step_seconds > 0
    # Its own are a little more: the checkpoint's, and reading.
    assert again.cpu_seconds >= history.cpu_seconds * 0.9 > 0


# Steps, batches, tokens


def test_two_batches_accumulated_are_their_union(text):
    run = small_run(text, model={"dropout": 0.0}, precision="fp32")
    _, task, corpus = build(run)

    def pairs(start, stop):
        source, target = task._encode(corpus.train[start:stop])
        return type(task.train)(source, target, max_tokens=10_000, seed=0, max_length=1000).epoch(0)

    small, large, union = pairs(0, 3), pairs(3, 20), pairs(0, 20)
    assert len(small) == len(large) == len(union) == 1
    parts = Wrapped(task, epoch=lambda number: [small[0], large[0]])
    whole = Wrapped(task, epoch=lambda number: [union[0]])
    plain = dict(optimiser=Optimiser(**PLAIN, clip=0.0))
    start = build(run)[0]
    one, first = trained(run, task=parts, budget=Budget(steps=1, accumulate=2), **plain)
    other, second = trained(run, task=whole, budget=Budget(steps=1), **plain)
    assert first.losses == pytest.approx(second.losses, rel=1e-5) and first.tokens == second.tokens
    for a, b, s in zip(one.parameters(), other.parameters(), start.parameters(), strict=True):
        torch.testing.assert_close(a - s, b - s, rtol=1e-3, atol=1e-6)
        assert (b - s).abs().max() > 1e-5


PLAIN = dict(name="sgd", lr=1.0, schedule="constant", warmup=0, weight_decay=0.0)


@pytest.mark.parametrize("share", [0.5, 0.01])
def test_gradients_above_the_largest_norm_are_scaled_down_to_it_and_others_are_left(text, share):
    """The first step of plain gradient descent is the gradient."""
    run = small_run(text, budget={"steps": 1}, model={"dropout": 0.0}, precision="fp32")
    start = build(run)[0]

    def step(clip: float) -> torch.Tensor:
        model, _ = trained(run, optimiser=Optimiser(**PLAIN, clip=clip))
        moved = zip(model.parameters(), start.parameters(), strict=True)
        return torch.cat([(b - a).flatten() for a, b in moved]).detach()

    whole = step(0.0)
    norm = whole.norm().item()
    torch.testing.assert_close(step(share * norm), share * whole, rtol=1e-3, atol=1e-6)
    torch.testing.assert_close(step(2 * norm), whole)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_dropout_drops_something_else_in_every_step(text, dropout):
    run = small_run(text, model={"dropout": dropout})
    _, task, _ = build(run)
    (batch, *_) = task.epoch(0)
    still = Optimiser(**PLAIN | dict(lr=1e-30), clip=0.0)
    _, history = trained(run, task=Wrapped(task, epoch=lambda number: [batch]), optimiser=still)
    assert len(set(history.losses)) == (run.budget.steps if dropout else 1)


def test_epochs_follow_one_another_and_tokens_are_what_is_not_padding(text):
    run = small_run(text)
    _, task, _ = build(run)
    length = len(task.epoch(0))
    wrapped = Wrapped(task)
    _, history = trained(run, task=wrapped, budget=Budget(steps=2 * length + 3))
    expected = [batch for number in range(3) for batch in task.epoch(number)][: 2 * length + 3]
    seen = [next(same) for _, same in itertools.groupby(wrapped.batches, key=id)]  # some are counted as well
    assert len(seen) == len(expected)
    assert all(
        torch.equal(a.src, b.src) and torch.equal(a.tgt_out, b.tgt_out)
        for a, b in zip(seen, expected, strict=True)
    )
    pad = Vocabulary.pad
    assert history.tokens == sum(int((b.src != pad).sum() + (b.tgt_out != pad).sum()) for b in expected)


def test_the_loss_is_one_prediction_s(text):
    _, history = trained(small_run(text, budget={"accumulate": 2}))
    # Not yet better than chance, by the vocabulary.
    assert 0.3 * math.log(200) < history.losses[0] < 3 * math.log(200)


@pytest.mark.parametrize("most", [12, 15])
def test_the_longest_sequence_is_that_of_a_text_of_the_most_tokens(text, most):
    run = small_run(text, task={"max_length": most})
    widths = [max(batch.src.shape[1], batch.tgt_in.shape[1]) for batch in build(run)[1].epoch(0)]
    assert max(widths) == run.task.longest_sequence() == most + 1


def test_bleu_is_watched_where_sentences_are_translated_and_perplexity_elsewhere(text):
    for sentences, watched in ((0, ("perplexity", False)), (2, ("bleu", True))):
        model, task, _ = build(small_run(text, task={"valid_sentences": sentences}))
        assert (task.metric, task.larger_is_better) == watched and watched[0] in task.validate(model)


def test_history_has_its_points_and_survives_json(text):
    _, history = trained(small_run(text))
    assert [point.step for point in history.points] == [3, 6, 8]
    for name in ("seconds", "tokens", "flops"):
        values = [getattr(point, name) for point in history.points]
        assert values == sorted(values) and 0 < values[0] < values[-1] == getattr(history, name)
    assert (history.skipped, history.skipped_flops) == (0, 0.0)  # no backward pass was left out
    back = History.restored(json.loads(json.dumps(history.progress())))
    assert back.points == history.points and back.progress() == history.progress()


def test_events_tell_what_happens_in_order(text, tmp_path):
    run, events = small_run(text, budget={"steps": 3, "checkpoint_every": 2}), []
    model, task, _ = build(run)
    modes = []
    options = dict(optimiser=run.optimiser, budget=run.budget, seed=0, handlers=[Checkpoints(tmp_path / "c")])
    train(model, task, listeners=[events.append, lambda event: modes.append(model.training)], **options)
    names = "Started Stepped Stepped Saved Stepped Validated Saved Finished"
    assert " ".join(type(event).__name__ for event in events) == names
    assert [e.step for e in events if isinstance(e, Stepped)] == [1, 2, 3]
    assert events[0].trainable == events[0].total == sum(p.numel() for p in model.parameters())
    seen = zip(modes, events, strict=True)
    assert all(mode for mode, event in seen if isinstance(event, Stepped | Validated))
    assert not model.training


@pytest.mark.parametrize("field", ["steps", "accumulate", "validate_every"])
def test_a_budget_refuses_what_makes_no_sense(field):
    with pytest.raises(ValueError, match=f"{field} must be at least 1, got 0"):
        Budget(**{"steps": 5, field: 0})
    with pytest.raises(ValueError, match="checkpoint_every must be at least 0, got -1"):
        Budget(steps=5, checkpoint_every=-1)


@pytest.mark.parametrize(
    ("model", "batches", "precision", "said"),
    [
        (torch.nn.Linear(2, 2), [1], "fp16", "precision must be 'fp32' or 'bf16', got 'fp16'"),
        (torch.nn.Linear(2, 2), [], "fp32", "epoch 0 of the task has no batches"),
        (torch.nn.Identity(), [1], "fp32", "nothing to train"),
    ],
)
def test_what_cannot_be_trained_is_refused(model, batches, precision, said):
    task, plan = Wrapped(None, epoch=lambda number: batches), dict(optimiser=Optimiser(), budget=Budget(1))
    with pytest.raises(ValueError, match=said):
        train(model, task, seed=0, precision=precision, **plan)


# What cannot go on


def not_finite(kind, task):
    """The loss of `task`, broken as `kind` says from the third batch on."""
    seen = []

    def loss(model, batch):
        value = task.loss(model, batch)
        if not any(batch is one for one in seen):
            seen.append(batch)
        if len(seen) < 3:
            return value
        if kind == "gradient":  # the square root is 0, and its slope infinite
            return value + (next(model.parameters()).sum() * 0.0).sqrt()
        return value * kind

    return loss


@pytest.mark.parametrize("clip", [0.0, 1.0])
@pytest.mark.parametrize("kind", [math.nan, math.inf, "gradient"])
def test_what_is_not_finite_stops_training_before_it_reaches_a_weight(text, tmp_path, kind, clip):
    run = small_run(text)
    model, task, _ = build(run)
    events = []
    with pytest.raises(TrainingError, match=r"at step 3 .*a lower lr") as error:
        train(
            model,
            Wrapped(task, loss=not_finite(kind, task)),
            optimiser=Optimiser(clip=clip, warmup=2),
            budget=run.budget,
            seed=0,
            handlers=[Checkpoints(tmp_path / "c")],
            listeners=[events.append],
        )
    assert "\n" not in str(error.value)
    assert ("gradients" in str(error.value)) == (kind == "gradient")
    assert isinstance(events[-1], Stopped) and events[-1].step == 2
    assert all(p.isfinite().all() for p in model.parameters())
    again = dict(optimiser=Optimiser(clip=clip, warmup=2), handlers=[Checkpoints(tmp_path / "c")])
    assert len(trained(run, **again)[1].losses) == run.budget.steps - 2


# Operations


@pytest.mark.parametrize(("frozen", "products"), [("", 5), ("first", 3), ("second", 4), ("first second", 2)])
def test_operations_are_two_a_multiply_add_and_what_is_frozen_saves_its_own(frozen, products):
    first, second = (torch.nn.Linear(6, 6, bias=False) for _ in range(2))
    first.requires_grad_("first" not in frozen)
    second.requires_grad_("second" not in frozen)
    offset = torch.zeros(1, requires_grad=True)  # so that there is always something to differentiate
    x = torch.randn(10, 6)
    found = count_flops(lambda: (second(first(x)) + offset).sum(), torch.device("cpu"), autocast=False)
    assert found == products * 2 * 10 * 6 * 6


@pytest.mark.parametrize("lengths", [(40, 40, 40), (40, 40, 39)], ids=["equal", "unequal"])
def test_a_recurrent_layer_costs_its_products_however_it_is_computed(lengths):
    """Equally long sequences go through oneDNN's layer, others step by step; 6 operations a weight and position."""
    layer = torch.nn.LSTM(8, 6, num_layers=2, batch_first=True, bidirectional=True)
    matrices = sum(weight.numel() for weight in layer.parameters() if weight.ndim == 2)
    x = torch.randn(len(lengths), max(lengths), 8, requires_grad=True)

    def loss() -> torch.Tensor:
        return layer(pack_padded_sequence(x, torch.tensor(lengths), batch_first=True))[0].data.sum()

    found = count_flops(loss, torch.device("cpu"), autocast=False)
    assert found == pytest.approx(6 * matrices * sum(lengths), rel=0.02)  # no gradient for the first states
    layer.requires_grad_(False)
    assert count_products(loss) == 2 * matrices * sum(lengths)


def test_a_recurrent_layer_on_a_gpu_costs_the_same():
    """Of cuDNN's layer, whose backward pass has no form without numbers: for that one the formula alone."""
    layer = torch.nn.LSTM(8, 6, bidirectional=True, device="meta")
    x, state = torch.empty(5, 3, 8, device="meta"), torch.empty(2, 3, 6, device="meta")
    weights = list(layer.parameters())
    forward = 2 * sum(weight.numel() for weight in weights if weight.ndim == 2) * 15
    how = (2, 6, 0, 1, False, 0.0, True, True, [], None)  # an LSTM of 6 units, one layer, both directions
    assert count_products(lambda: torch._cudnn_rnn(x, weights, 4, None, state, state, *how)) == forward
    shapes = x.shape, [weight.shape for weight in weights]
    for asked, times in {
        (True, False, False, True): 2,
        (True, True, True, False): 1,
        (False,) * 3 + (True,): 1,
    }.items():
        assert of_cudnn_backward(*shapes, "the rest", list(asked)) == times * forward


def test_counting_operations_leaves_the_model_as_it_was_even_if_it_fails(text):
    model, task, _ = build(small_run(text, model={"layer_drop": 0.25}))
    model.norm = torch.nn.BatchNorm1d(3)
    calls = []

    def broken(model, batch):
        calls.append(model.layer_drop)
        model.norm(torch.randn(5, 3))
        if len(calls) == 2:
            raise RuntimeError("broken")
        return task.loss(model, batch)

    count = partial(batch_flops, model, Wrapped(task, loss=broken), task.epoch(0)[0], autocast=False)
    with pytest.raises(RuntimeError, match="broken"):
        count()
    assert calls == [0.0, 1.0] and model.layer_drop == 0.25
    assert count() > 0 and model.layer_drop == 0.25
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not model.norm.running_mean.any() and not model.norm.num_batches_tracked


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_operations_are_the_sum_over_all_batches_though_few_are_counted(text, precision):
    """Each batch has a shape of its own; counting one by one is the independent way."""
    run = small_run(text, budget={"steps": 30, "accumulate": 2, "validate_every": 30}, precision=precision)
    model, task, _ = build(run)
    wrapped = Wrapped(task)
    history = train(
        model,
        wrapped,
        optimiser=run.optimiser,
        budget=run.budget,
        seed=0,
        precision=run.precision,
        handlers=[Operations()],
    )
    seen = list({id(batch): batch for batch in wrapped.batches}.values())
    shapes = {(batch.src.shape, batch.tgt_in.shape, batch.n_tokens) for batch in seen}
    counted = len(wrapped.batches) - len(seen)
    assert len(seen) == 60 and len(shapes) > 20 and counted < 20
    assert history.flops == sum(batch_flops(model, task, batch, autocast=False) for batch in seen)


@pytest.mark.parametrize("step", [1, 64])
def test_a_cost_that_is_no_sum_of_sizes_is_counted_for_each_batch(step):
    """Such as that of products which are rounded up to so many rows."""
    costs, counted = Costs(), []

    def cost(rows: int, length: int) -> int:
        return 7 * rows * length * length + 5 * step * -(-rows * length // step)

    def count(*shape: int) -> Fraction:
        counted.append(shape)
        return Fraction(cost(*shape))

    shapes = list(itertools.product(range(3, 40, 5), range(2, 30, 3)))
    for rows, length in random.Random(0).sample(shapes, len(shapes)):
        batch = torch.empty(rows, length)
        known = costs.of(sizes(batch, rows, rows * length), partial(count, rows, length))
        assert known == cost(rows, length)
    assert len(counted) == (9 if step == 1 else len(shapes))  # six terms, and three for comparison


def test_layers_that_a_text_encoder_leaves_out_cost_their_share():
    def count(**changes):
        model, task, _ = build(run.evolve(model=changes))
        return batch_flops(model, task, task.epoch(0)[0], autocast=False)

    run = recipes.get("masked/regular-4", scale="smoke")
    whole, none = count(), count(layers=0, kinds=(), mixing=())
    # No number of four layers makes a tenth, so one draw would not do.
    assert none < whole and count(layer_drop=0.1) == pytest.approx(0.9 * whole + 0.1 * none)


def test_each_part_that_leaves_out_layers_counts_with_its_own_chance(text):
    class Two(torch.nn.Module):
        def __init__(self, *models):
            super().__init__()
            self.models = torch.nn.ModuleList(models)

    def count(*chances):
        made = Two(*(build(run.evolve(model={"layer_drop": chance}))[0] for chance in chances))
        both = Wrapped(task, loss=lambda model, batch: sum(task.loss(one, batch) for one in model.models))
        return batch_flops(made, both, task.epoch(0)[0], autocast=False)

    run = small_run(text)
    task = build(run)[1]
    whole, first, second = count(0.0, 0.0), count(0.5, 0.0), count(0.0, 0.25)
    assert first < second < whole
    assert count(0.5, 0.25) == pytest.approx(first + second - whole)


# Compiled

COMPILED = {
    "a mask for every map": {"mask": Mask(keep=0.5, patterns=("*.feed_forward.*", "*.attention.*"))},
    "transforms, norms behind": {
        "model": {"encoder_mixing": ("fourier",), "max_length": 64, "norm_first": False}
    },
}


@pytest.mark.check
@pytest.mark.parametrize("changes", COMPILED.values(), ids=COMPILED)
def test_compiled_layers_learn_what_eager_ones_do(text, changes, monkeypatch):
    """Without the last stage of `torch.compile`, which writes code, is PyTorch's own, and takes a minute a case."""
    captured = partialmethod(torch.nn.Module.compile, backend="aot_eager")
    monkeypatch.setattr(torch.nn.Module, "compile", captured)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    run = small_run(text).evolve(**changes).evolve(model={"dropout": 0.0}, precision="fp32")
    _, eager = trained(run)
    _, compiled = trained(run, handlers=[Compiled()])
    assert torch._dynamo.utils.counters["frames"]["ok"], "nothing was captured"
    assert compiled.losses == pytest.approx(eager.losses, rel=1e-4)
    last = [history.points[-1].metrics["perplexity"] for history in (compiled, eager)]
    assert last[0] == pytest.approx(last[1], rel=1e-4)
