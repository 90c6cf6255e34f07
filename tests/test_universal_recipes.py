"""Chapter 7's recipes: what is trained in each, what it begins with, and that a frozen body stays as it was."""

import pytest
import torch

from reservoir.datasets import DataError
from reservoir.models import from_pretrained
from reservoir.weights import (
    Pretrained,
    Seeded,
    freeze,
    initialise,
    owned,
    recorded_origin,
    report,
    supermask,
)
from reservoir.weights.initialisation import NormalAround
from reservoir_lab import recipes
from reservoir_lab.recipes import universal
from reservoir_lab.runs import InitFromRelease, InitFromRun, find_record, find_records, start
from reservoir_lab.runs.building import bare_model, build, load_trained
from reservoir_lab.runs.execution import execute
from reservoir_lab.runs.handlers import CheckpointError
from reservoir_lab.runs.stored import export
from reservoir_lab.runs.sweep import choose

RELEASED = {  # trainable parameters in the released code (data/sources/frozen-pretrained.toml)
    "bit-memory": 940_900,
    "bit-xor": 827_906,
    "listops": 844_042,
    "mnist": 845_578,
    "cifar10": 870_154,
    "cifar10-pixels": 834_058,
    "homology": 1_770_672,
}
RUNS = [  # every body, and every task
    *(("bit-memory", name) for name in universal.BODIES if universal.in_table("bit-memory", name)),
    *((task, "random") for task in universal.TASKS if task != "bit-memory"),
    ("listops", "pretrained-full"),
    ("listops", "masked"),
    ("digits", "lora"),
    ("digits", "vera"),
]
SWITCHED = ["switches/pretrained/output", "switches/random/norms"]


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """A results folder in which the smoke scale's GPT has been trained."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESERVOIR_RESULTS", str(tmp_path_factory.mktemp("results")))
        execute(recipes.get(start.OURS, scale="smoke"))
        yield


def name_of(task: str, body: str) -> str:
    return f"universal/{task}/{body}/lr-3e-3"


def made_of(name: str, scale: str):
    run = recipes.get(name, scale=scale)
    with torch.device("meta"):
        model = bare_model(run)
    initialise(model, seed=0)
    return report(freeze(supermask(model, run.mask, seed=0), run.freeze))


@pytest.mark.parametrize("task", RELEASED)
@pytest.mark.parametrize("body", ["pretrained", "random", "matched"])
def test_as_many_numbers_are_trained_at_full_scale_as_in_the_released_code(task, body):
    assert made_of(name_of(task, body), "full").trainable_all_rows == RELEASED[task]


@pytest.mark.parametrize("name", recipes.family("universal") + recipes.family("switches"))
def test_a_recipe_freezes_what_it_says(name):
    moving = {row.stream for row in made_of(name, "laptop").rows if row.moves}
    inside = {stream for stream in moving if ".attention." in stream or ".feed_forward.up" in stream}
    family, *_, body = name.removesuffix("/" + name.rpartition("/")[2]).split("/")
    if family == "switches":
        parts = name.rpartition("/")[2].split("+")
        assert ("readout" in moving) == ("output" in parts) and ("input" in moving) == ("input" in parts)
        assert ("positions" in moving) == ("positions" in parts) and ("norm" in moving) == ("norms" in parts)
        assert bool(inside) == bool({"attention", "feed-forward"} & set(parts))
    elif body in ("full", "pretrained-full"):
        assert inside
    elif body == "masked":
        assert inside and all(stream.endswith(".scores") for stream in inside) and "norm" not in moving
    elif body in ("lora", "vera"):
        assert inside and all(stream.startswith(body) for stream in inside) and "norm" not in moving
    elif body != "lstm":
        assert not inside and {"input", "readout", "norm"} <= moving


@pytest.mark.check
@pytest.mark.parametrize("name", [*(name_of(*pair) for pair in RUNS), *SWITCHED])
def test_one_recipe_of_each_kind_runs_at_smoke_scale(pretrained, name):
    run = recipes.get(name, scale="smoke")
    record = execute(run)
    assert find_record(name, scale="smoke") == record and record.overrides == {}
    assert 0 <= record.tests["test"]["accuracy"] <= 100
    before, after = (
        {i.stream: i.parameter for i in owned(model)} for model in (build(run)[0], load_trained(run)[0])
    )
    scores = before.keys() - after.keys()  # of a mask, its choice alone is stored
    moved = {stream for stream in after if not torch.equal(before[stream], after[stream])}
    trainable = {item.stream for item in owned(load_trained(run)[0]) if item.parameter.requires_grad}
    assert moved and moved <= trainable and all(stream.endswith(".scores") for stream in scores)


def test_a_pretrained_body_is_the_language_models_to_the_bit(pretrained):
    run = recipes.get(name_of("listops", "pretrained"), scale="smoke")
    model, learned = build(run)[0], load_trained(recipes.get(start.OURS, scale="smoke"))[0]
    theirs = {item.stream: item.parameter for item in owned(learned)}
    for item in owned(model.body):
        assert torch.equal(item.parameter, theirs[item.stream]), item.stream
        assert isinstance(recorded_origin(item), Pretrained)


def test_each_seed_begins_with_a_body_of_its_own_pretraining():
    origins = set()
    for seed in range(3):
        learned, digest = start.released_model(start.OURS, seed=seed)
        theirs = {item.stream: item.parameter for item in owned(learned)}
        model = build(recipes.get(name_of("digits", "pretrained"), seed=seed))[0]
        for item in owned(model.body):
            assert torch.equal(item.parameter, theirs[item.stream]), item.stream
            assert recorded_origin(item).checkpoint == f"{start.OURS}@{digest}"
        origins.add(digest)
    assert len(origins) == 3


def test_records_begin_with_the_bodies_that_ship():
    """A body that was pretrained anew would leave records of another one behind."""
    digests = {seed: start.released_model(start.OURS, seed=seed)[1] for seed in range(3)}
    found = [
        (record.seed, record.begun_with)
        for name in recipes.family("universal")
        if "/pretrained/" in name and getattr(recipes.get(name).start, "name", "") == start.OURS
        for record in find_records(name)
    ]
    assert len({seed for seed, _ in found}) == 3
    assert all(begun == [f"{start.OURS}@{digests[seed]}"] for seed, begun in found)


def test_matched_tensors_have_the_pretrained_ones_statistics_and_cost_nothing_to_store(pretrained):
    model = build(recipes.get(name_of("listops", "matched"), scale="smoke"))[0]
    learned = load_trained(recipes.get(start.OURS, scale="smoke"))[0]
    theirs = {item.stream: item.parameter for item in owned(learned)}
    for item in owned(model.body):
        origin = recorded_origin(item)
        assert isinstance(origin, Seeded) and isinstance(origin.initialisation, NormalAround)
        learned_tensor = theirs[item.stream].detach()
        mean, std = learned_tensor.mean(), learned_tensor.std(correction=0)
        torch.testing.assert_close(torch.tensor(origin.initialisation.mean), mean, atol=1e-6, rtol=1e-4)
        noise = 5 * float(std) / item.parameter.numel() ** 0.5
        assert abs(float(item.parameter.mean() - mean)) <= noise + 1e-6
        assert not torch.equal(item.parameter, theirs[item.stream]) or not float(std)
    frozen = [row for row in report(model).rows if not row.moves]
    assert frozen and sum(row.stored_bytes for row in frozen) == 0


def test_unknown_parts_and_released_models_are_named():
    with pytest.raises(ValueError, match=r"parts must be of input, .*, got readout"):
        universal.only("readout")
    with pytest.raises(
        CheckpointError, match=r"a released model must be one of gpt/wikipedia, .* got 'gpt3'"
    ):
        start.released_model("gpt3")


@pytest.mark.data
def test_the_stories_models_body_is_taken_by_name(mirror):
    run = recipes.get(name_of("bit-xor", "stories"))
    model = build(run)[0]
    learned, digest = start.released_model("stories260k")
    theirs = {item.stream: item.parameter for item in owned(learned)}
    for item in owned(model.body):
        assert torch.equal(item.parameter, theirs[item.stream])
        assert recorded_origin(item).checkpoint == f"stories260k@{digest}"


def test_a_trained_model_is_exported_in_half_precision_and_read_again(pretrained, tmp_path):
    run = recipes.get(start.OURS, scale="smoke")
    folder = export(run, tmp_path / "gpt")
    model = from_pretrained(folder)
    learned, task, _ = load_trained(run)
    ids = torch.arange(20)[None] + 4
    torch.testing.assert_close(model(ids), learned(ids), atol=2e-2, rtol=2e-2)
    assert all(torch.equal(p, p.half().float()) for p in model.parameters())
    n = sum(p.numel() for p in set(model.parameters()))
    assert n * 2 < (folder / "model.safetensors").stat().st_size < n * 2 + 20_000
    card = (folder / "README.md").read_text()
    assert "Rounded to half precision" in card and "bits per byte" in card and "CC BY-SA 3.0" in card
    assert type(task.vocabulary).from_file(folder / "tokenizer.json").tokens == task.vocabulary.tokens


def test_a_body_of_another_size_is_refused(pretrained):
    run = recipes.get(name_of("digits", "pretrained"), scale="smoke")
    wide = run.evolve(model={"body": universal.body("laptop")})
    with pytest.raises(ValueError, match=r"gpt/wikipedia has .* for 'positions', but the model needs"):
        build(wide)
    with pytest.raises(ValueError, match=r"start.streams: 'layers.\*' matches no parameter"):
        build(run.evolve(start=InitFromRun(start.OURS, streams=("layers.*",))))
    assert isinstance(recipes.get(name_of("digits", "pretrained")).start, InitFromRelease)


def test_a_sequence_longer_than_the_positions_and_a_picture_of_the_wrong_size_are_refused(pretrained):
    run = recipes.get(name_of("listops", "random"), scale="smoke")
    model = build(run)[0]
    with pytest.raises(ValueError, match="the model has 64 positions, but the sequence needs 65"):
        model(torch.zeros(1, 65, dtype=torch.long))
    pictures = recipes.get(name_of("mnist", "random"), scale="smoke").evolve(task={"patch": 3})
    with pytest.raises(DataError, match="a picture of 8 × 8 pixels cannot be cut into patches of 3 × 3"):
        execute(pictures)


def test_the_rate_is_chosen_on_validation(monkeypatch):
    class One:
        metric, larger_is_better = "accuracy", True

        def __init__(self, valid):
            self.points = [{"metrics": {"accuracy": 0.0}}, {"metrics": {"accuracy": valid}}]

    known = {("a", 0): One(50.0), ("b", 0): One(70.0), ("b", 2): One(10.0), ("c", 1): One(99.0)}
    monkeypatch.setattr(
        "reservoir_lab.runs.sweep.find_record", lambda name, scale, seed=0: known.get((name, seed))
    )
    monkeypatch.setattr(
        "reservoir_lab.runs.sweep.find_records",
        lambda name, scale: [one for (recipe, _), one in known.items() if recipe == name],
    )
    found = choose(["a", "b", "c"])
    assert (found.recipe, len(found.records), found.missing, found.complete) == ("b", 2, ["c"], False)
    assert choose(["d", "a", "b"]).complete
    found = choose(["d", "b", "a"])
    assert found.missing == ["d"]
    assert choose(["d"]) is None


def test_a_task_has_all_rates_of_a_body_or_none():
    for task in universal.TASKS:
        for body in universal.BODIES:
            names = universal.sweep_of(task, body)
            assert all((name in recipes.RECIPES) == universal.in_table(task, body) for name in names)
