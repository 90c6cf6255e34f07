"""Layers that learn for a while and then stop: they stop to the bit, cost nothing more, and a run resumes around it."""

import pytest
import torch
from small import interrupt_at, small_run, write_text

from reservoir.training import Message, Stepped
from reservoir.weights import Freeze, owned, report
from reservoir_lab import recipes
from reservoir_lab.runs.building import build, load_trained
from reservoir_lab.runs.execution import train_and_test, train_run
from reservoir_lab.runs.handlers import Checkpoints

AFTER = 4
LAYER = "encoder.0"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    text = write_text(tmp_path_factory.mktemp("text"))
    return small_run(text, freeze=Freeze(layers=(LAYER,), after=AFTER), precision="fp32")


def trained(run, **options):
    model, task, _ = build(run)
    return model, train_run(run, model, task, **options)


def layer(model) -> dict[str, torch.Tensor]:
    return {
        item.stream: item.parameter.detach().clone()
        for item in owned(model)
        if item.stream.startswith(f"{LAYER}.")
    }


def equal(one: dict, other: dict) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def test_a_layer_learns_until_then_and_not_a_bit_longer(run):
    model, task, _ = build(run)
    seen, notes = [layer(model)], []

    def listen(event):
        match event:
            case Stepped():
                seen.append(layer(model))
            case Message(text=text):
                notes.append(text)

    run = run.evolve(optimiser={"weight_decay": 0.5})
    train_run(run, model, task, listeners=[listen])
    for step in range(1, run.budget.steps + 1):
        assert equal(seen[step], seen[step - 1]) == (step > AFTER), step
    size = sum(tensor.numel() for tensor in seen[0].values())
    assert notes == [f"step {AFTER}: {size:,} parameters stop learning"]
    rows = [row for row in report(model).rows if row.stream.startswith(f"{LAYER}.")]
    assert {(row.origin, row.moves) for row in rows} == {("trained", False)}
    assert all(row.stored_bytes for row in rows), "no seed gives back what was learned"


def test_until_then_it_is_plain_training_and_later_it_costs_less(run):
    late, plain = trained(run)[1], trained(run.evolve(freeze=Freeze()))[1]
    assert late.losses[: AFTER + 1] == plain.losses[: AFTER + 1] and late.losses != plain.losses
    assert late.tokens == plain.tokens and late.flops < plain.flops


@pytest.mark.parametrize("cut", [3, 4, 5, 7])
def test_it_resumes_to_the_same_bits_wherever_it_is_cut_off(run, tmp_path, cut):
    run = run.evolve(budget={"checkpoint_every": 2})
    model, history = trained(run)

    with pytest.raises(KeyboardInterrupt):
        trained(run, checkpoints=Checkpoints(tmp_path / "c"), listeners=[interrupt_at(cut)])
    resumed, rest = trained(run, checkpoints=Checkpoints(tmp_path / "c"))
    assert rest.losses == history.losses[(cut - 1) // 2 * 2 :] and rest.flops == history.flops
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), resumed.parameters(), strict=True))
    assert [p.requires_grad for p in model.parameters()] == [p.requires_grad for p in resumed.parameters()]


def test_a_finished_run_is_loaded_with_what_it_learned(run, tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    model, task, corpus = build(run)
    record = train_and_test(run, model, task, corpus)
    again, _, _ = load_trained(run)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    assert [p.requires_grad for p in model.parameters()] == [p.requires_grad for p in again.parameters()]
    assert record.parameters["trainable"] == record.parameters["total"]  # all of it moves until then
    assert record.parameters["stored_bytes"] == 4 * record.parameters["total"]


@pytest.mark.parametrize("after", [8, 100])
def test_a_plan_that_would_come_too_late_is_refused(run, after):
    with pytest.raises(ValueError, match=r"after must be from 1 to 7, below budget\.steps"):
        trained(run.evolve(freeze={"after": after}))


def test_what_freezes_may_freeze_after_the_first_step(run):
    model, history = trained(run.evolve(freeze={"after": 1}))
    assert history.step == run.budget.steps
    moving = [item.parameter.requires_grad for item in owned(model) if item.stream.startswith(f"{LAYER}.")]
    assert moving and not any(moving)


def test_a_plan_that_contradicts_itself_is_refused():
    with pytest.raises(ValueError, match="after must be at least 0, got -1"):
        Freeze(after=-1)
    with pytest.raises(ValueError, match="cannot be drawn='orthogonal' then"):
        Freeze(layers=("encoder.0",), after=3, drawn="orthogonal")


@pytest.mark.parametrize("depth", [6, 8])
def test_the_recipes_stop_the_layers_that_would_be_reservoirs(depth):
    for scale in ("smoke", "laptop", "full"):
        late = recipes.get(f"reservoirs/late-{depth}", scale=scale)
        reservoirs = recipes.get(f"reservoirs/transformer-{depth}", scale=scale)
        assert late.freeze.layers == reservoirs.freeze.layers
        assert late.budget == reservoirs.budget and 0 < late.freeze.after < late.budget.steps
