"""Seeds that are trained together learn what each learns alone."""

import pytest

from reservoir.files import locked
from reservoir.training import TrainingError
from reservoir_lab.launch.cli import main
from reservoir_lab.recipes import bench
from reservoir_lab.runs import registry
from reservoir_lab.runs.building import build, load_trained, weights_path
from reservoir_lab.runs.execution import execute, train_run
from reservoir_lab.runs.handlers import CheckpointError
from reservoir_lab.runs.records import find_record, path_of, read_record
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.together import Stack, build_all, built_and_trained, execute_together, whole

SEEDS = (3, 4, 5)  # the first, whose modules compute for all, among others
KINDS = {row: task for task, row in reversed(bench.table()) if task in bench.MAIN_TASKS}


def together(runs: list[Run]) -> tuple[list, list]:
    """Models that are trained together, and what came of each."""
    models, _, _, histories, _ = zip(*whole(built_and_trained(runs)), strict=True)
    return list(models), list(histories)


def runs_of(task: str, row: str, **changes: object) -> list[Run]:
    return [bench.make(task, row, "smoke").evolve(seed=seed, device="cpu", **changes) for seed in SEEDS]


@pytest.mark.parametrize("row", KINDS)
def test_seeds_learn_together_what_each_learns_alone(row, tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))  # some begin with what another row has learned
    runs = runs_of(KINDS[row], row)
    if row == "backskipping":  # some skip a step in which others do not
        skips = [[run.skip.skips(step, seed=run.seed) for run in runs] for step in range(1, 9)]
        assert any(0 < sum(step) < len(runs) for step in skips)
    for run, model, history in zip(runs, *together(runs), strict=True):
        single, task, _ = build(run)
        expected = train_run(run, single, task)
        # Rounding may turn which of two nearly equal scores a mask selects, which moves a loss by less than 1 %.
        near = 1e-2 if run.mask else 1e-4
        assert history.losses[0] == pytest.approx(expected.losses[0], rel=1e-4)
        assert history.losses == pytest.approx(expected.losses, rel=near)
        for point, other in zip(history.points, expected.points, strict=True):
            # Of a few answers, rounding may turn one.
            own, theirs = ({**each.metrics, "accuracy": 0.0} for each in (point, other))
            assert (point.step, own) == (other.step, pytest.approx(theirs, rel=near))
        for measure in ("tokens", "flops", "skipped", "skipped_tokens", "skipped_flops"):
            assert getattr(history, measure) == pytest.approx(getattr(expected, measure)), measure
        assert not model.embedding.weight[0].any() or "mask" in row  # the padding
        theirs = dict(single.named_parameters())
        for name, parameter in model.named_parameters():
            # Some have no effect, such as a key's bias: their gradient is rounding alone, of which Adam makes steps.
            off = (parameter - theirs[name]).abs()
            assert name.endswith("bias") or off.median() < 1e-4, name
            assert parameter.requires_grad == theirs[name].requires_grad


def test_each_model_has_its_own_learning_rate_and_one_that_diverges_does_not_touch_its_neighbours():
    runs = zip(runs_of("circle", "trained"), (1e-3, 1e30, 1e-2), strict=True)
    runs = [run.evolve(optimiser={"lr": lr}) for run, lr in runs]
    _, found = together(runs)
    assert isinstance(found[1], TrainingError) and "not finite at step" in str(found[1])
    for run, history in ((runs[0], found[0]), (runs[2], found[2])):
        model, task, _ = build(run)
        assert history.losses == pytest.approx(train_run(run, model, task).losses, rel=1e-4)


def test_what_is_built_differently_is_refused():
    (one, other), _, _ = build_all([runs_of("circle", row)[0] for row in ("trained", "frozen-attention")])
    with pytest.raises(ValueError, match="number 1 is not"):
        Stack([one, other])
    runs = [registry.get(f"bench/circle/{row}", scale="smoke") for row in ("trained", "half")]
    with pytest.raises(ValueError, match="seed and lr alone"):
        execute_together(runs)


@pytest.mark.parametrize(
    ("row", "changes", "why"),
    [
        ("trained", {"model": {"dropout": 0.1}}, "leave out numbers by chance are trained alone"),
        ("layer-drop", {"model": {"share_layers": True}}, "share their weights are trained alone"),
        ("late", {"freeze": {"after": 8}}, "after must be from 1 to"),
        ("trained", {"precision": "bf16"}, "not trained by adamw in fp32.* one by one"),
        ("trained", {"budget": {"accumulate": 2}}, "whole batches at a time: .* one by one"),
        ("backskipping", {"skip": {"watch": ("zero",)}}, "more than value networks.* one by one"),
        ("backskipping", {"model": {"layer_drop": 0.1}}, "leaves out layers besides: .* one by one"),
        ("backskipping", {"freeze": {"layers": ()}}, "of layers that are trained.* one by one"),
        ("backskipping", {"freeze": {"after": 4}}, "freezes or leaves out .* one by one"),
    ],
)
def test_what_is_done_for_one_model_alone_is_refused(row, changes, why):
    with pytest.raises(ValueError, match=why):
        together(runs_of("circle", row, **changes)[:1])


def test_records_say_that_they_were_made_together_and_are_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    runs = [registry.get("bench/circle/backskipping", scale="smoke", seed=seed) for seed in (0, 1)]
    made = execute_together(runs)
    assert [record.together for record in made] == [2, 2] and made[0].skipping["steps"] > 0
    runs = [registry.get("bench/facts/rounded-8", scale="smoke", seed=seed) for seed in (0, 1)]
    first = execute_together(runs[:1])
    runs.append(runs[0].evolve(optimiser={"lr": 0.02}))  # of a seed that is recorded, and another run
    found = execute_together(runs)
    assert [(record.seed, record.together) for record in found] == [(0, 1), (1, 2), (0, 2)]
    assert read_record(path_of(runs[0])) == first[0] == found[0] == execute(runs[0])
    assert "accuracy at 4 bits" in found[1].tests["test"]


def test_weights_are_stored_and_where_a_source_has_lost_its_own_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    run = registry.get("bench/facts/trained", scale="smoke", seed=2)
    (record,), (model, task, corpus) = execute_together([run]), load_trained(run)
    assert task.score(model, corpus.test)["accuracy"] == pytest.approx(record.score)
    weights_path(run).unlink()
    with pytest.raises(CheckpointError, match=r"run it first: reservoir run bench/facts/trained .*--fresh"):
        execute_together([registry.get("bench/facts/mask-over-embeddings", scale="smoke", seed=2)])


def test_a_source_is_trained_once_and_waited_for_where_another_process_trains_it(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    run, source = (
        registry.get(f"bench/facts/{row}", scale="smoke", seed=3)
        for row in ("mask-over-embeddings", "trained")
    )
    pieces = built_and_trained([run, run.evolve(optimiser={"lr": 0.02})])
    with locked(path_of(source), advice=""):
        for _ in range(6):
            next(pieces)
        assert not path_of(source).exists()
    assert len(whole(pieces)) == 2 and read_record(path_of(source)).together == 1


def test_what_is_refused_leaves_no_empty_folders(tmp_path):
    with pytest.raises(ValueError, match="refused"), locked(tmp_path / "new" / "laptop" / "seed-0.json"):
        raise ValueError("refused")
    assert not list(tmp_path.iterdir())


def test_the_command_trains_the_seeds_of_each_row_together_and_refuses_what_it_cannot(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    words = ["run", "bench/brackets/trained", "--scale", "smoke", "--seeds", "0:2", "--together"]
    assert main(words) == 0
    found = [find_record("bench/brackets/trained", scale="smoke", seed=seed) for seed in (0, 1)]
    assert [record.together for record in found] == [2, 2]
    with locked(path_of(registry.get("bench/brackets/trained", scale="smoke", seed=2)), advice=""):
        assert main([*words[:-2], "2:4", "--together"]) != 0
    assert "another process" in capsys.readouterr().err
