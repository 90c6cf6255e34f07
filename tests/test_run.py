"""A run: its name, its identity, its variations, its record and its weights."""

import dataclasses
import json
import os
import re
import subprocess

import numpy as np
import pytest
import torch
from repeated import deterministic
from small import RECIPE, interrupt_at, small_run, write_text

from reservoir import __version__
from reservoir.datasets import DataError
from reservoir.training import Message, Started, bleu
from reservoir_lab import recipes
from reservoir_lab.corpora.content import MADE, content_digest
from reservoir_lab.runs import convergence, provenance, registry
from reservoir_lab.runs import run as run_module
from reservoir_lab.runs.building import build, load_trained
from reservoir_lab.runs.execution import execute, train_and_test
from reservoir_lab.runs.handlers import CheckpointError
from reservoir_lab.runs.provenance import has_bf16
from reservoir_lab.runs.records import find_record, path_of, read_record, recorded
from reservoir_lab.runs.registry import SCALES
from reservoir_lab.runs.run import NOT_THE_RESULT, Freeze, Run, differences
from reservoir_lab.runs.run import leaves as all_leaves


def started(run, **options):
    """The record, and whether anything was trained for it."""
    events = []
    record = execute(run, listeners=[events.append], **options)
    return record, any(isinstance(event, Started) for event in events)


# Fields


def leaves(value, prefix=()):
    """Every field of a run that is no dataclass itself, by its path."""
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if dataclasses.is_dataclass(inner):
            yield from leaves(inner, (*prefix, field.name))
        else:
            yield (*prefix, field.name)


def changed(run: Run, path) -> Run:
    """The run with one field changed, whatever its type and whether the value makes sense."""
    owners = [run]
    for name in path[:-1]:
        owners.append(getattr(owners[-1], name))
    value = getattr(owners[-1], path[-1])
    new = {
        bool: lambda: not value,
        int: lambda: value + 1,
        float: lambda: value + 0.5,
        str: lambda: value + "x",
        type(None): lambda: "x",
    }
    new = new.get(type(value), lambda: (*value, "x"))()
    for owner, name in zip(reversed(owners), reversed(path), strict=True):
        twin = object.__new__(type(owner))  # no __post_init__, which would refuse some
        twin.__dict__.update(owner.__dict__ | {name: new})
        new = twin
    return new


@pytest.mark.parametrize("path", list(leaves(recipes.get(RECIPE))), ids=".".join)
def test_any_field_makes_another_run_but_those_that_are_not_meant_to_change_the_result(path, monkeypatch):
    monkeypatch.setattr(run_module, "content_digest", lambda name: "")  # a corpus of another name is none
    run = recipes.get(RECIPE)
    other, name = changed(run, path), ".".join(path)
    assert run.identity() == recipes.get(RECIPE).identity() and not differences(run.to_json(), run)
    assert (other.identity() == run.identity()) == (name in NOT_THE_RESULT)
    assert set(differences(run.to_json(), other)) == {name} - NOT_THE_RESULT
    if name not in ("recipe", "scale", "seed"):
        assert set(other.overrides()) == {name} - NOT_THE_RESULT


def test_a_field_that_came_later_changes_nothing_until_it_says_something(monkeypatch):
    """Or what was trained before a field was added would be another run's, and nothing could begin with it."""
    run = recipes.get("transformer/multi30k")
    later = {leaf.name for leaf in all_leaves(run) if leaf.later}
    assert {"mask.drawn", "model.bare", "model.encoder_mixing"} <= later
    before, other = run.identity(), run.evolve(model={"bare": True}).identity()
    monkeypatch.setattr(
        run_module, "leaves", lambda run: (leaf for leaf in all_leaves(run) if leaf.name not in later)
    )
    assert run.identity() == before != other


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1", None, True])
def test_a_seed_out_of_range_is_refused_when_the_run_is_made(seed):
    with pytest.raises(ValueError, match=r"seed must be an integer in \[0, 2\*\*64\), got"):
        recipes.get(RECIPE).evolve(seed=seed)


def test_numpy_s_integers_are_seeds():
    run = recipes.get(RECIPE, seed=np.int64(3))
    assert run == recipes.get(RECIPE, seed=3) and type(run.seed) is int and json.dumps(run.to_json())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"precision": "fp16"}, "precision must be 'fp32' or 'bf16', got 'fp16'"),
        ({"scale": "huge"}, "scale must be 'smoke', 'laptop' or 'full', got 'huge'"),
        ({"recipe": "../../etc"}, "recipe must be a name"),
        ({"recipe": "[/blah]"}, "recipe must be a name"),
        ({"recipe": ""}, "recipe must be a name"),
    ],
)
def test_a_field_that_makes_no_sense_is_refused_when_the_run_is_made(changes, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        recipes.get(RECIPE).evolve(**changes)


def test_small_and_made_data_are_in_fp32_and_fetched_ones_in_bf16():
    for name in recipes.names():
        for scale in SCALES:
            run = recipes.get(name, scale=scale)
            assert run.precision == ("fp32" if run.task.data in MADE else "bf16"), (name, scale)
            assert scale != "smoke" or run.precision == "fp32"


@pytest.mark.parametrize("units", [False, True])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_machine_decides_nothing_about_the_precision(text, results, monkeypatch, precision, units):
    """Products are in what the run says, whatever units there are; where bf16 is slow, one message says so."""
    monkeypatch.setattr(provenance, "has_bf16", lambda device: units)
    run = small_run(text, precision=precision)
    seen, events = set(), []
    monkeypatch.setattr(
        type(run.task), "test", spied(type(run.task).test, lambda: seen.add(torch.is_autocast_enabled("cpu")))
    )
    record = execute(run, listeners=[events.append])
    assert seen == {precision == "bf16"} and record.run["precision"] == precision
    said = [event.text for event in events if isinstance(event, Message) and "--precision fp32" in event.text]
    assert len(said) == (precision == "bf16" and not units)
    losses = record.points[-1]["metrics"]
    other = execute(small_run(text, precision="bf16" if precision == "fp32" else "fp32"))
    assert other.points[-1]["metrics"] != losses and other.overrides != record.overrides


@pytest.mark.parametrize(("tile", "bf16"), [(False, False), (True, False), (False, True)])
def test_a_processor_that_multiplies_bf16_in_either_way_has_it(monkeypatch, tile, bf16):
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: tile, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: bf16, raising=False)
    assert has_bf16(torch.device("cpu")) == (tile or bf16) and not has_bf16(torch.device("meta"))


def test_what_killed_processes_left_half_written_is_cleared_away(tmp_path, results):
    run = small_run(write_text(tmp_path / "text"), budget={"steps": 1})
    path = path_of(run)
    left = [
        path.with_name(f".{path.stem}{ending}.1.part") for ending in (".json", ".checkpoint", ".safetensors")
    ]
    path.parent.mkdir(parents=True)
    for partial in left:
        partial.mkdir()
        (partial / "new").write_bytes(b"half")
        os.utime(partial, (0, 0))  # of a process that ended long ago
    execute(run)
    assert path.exists() and not any(partial.exists() for partial in left)


@pytest.mark.parametrize(("changed", "dirty"), [("chapters/1.md", False), ("reservoir/a.py", True)])
def test_a_record_says_whether_its_code_differs_from_its_commit(tmp_path, monkeypatch, changed, dirty):
    for folder, name in (("chapters", "1.md"), ("reservoir", "a.py")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).touch()
    for words in ("init", "add .", "-c user.name=a -c user.email=a@b commit -m all"):
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setattr(provenance.reservoir, "__file__", str(tmp_path / "reservoir/__init__.py"))
    (tmp_path / changed).write_text("other")
    assert provenance.code()["commit"] == provenance.git(tmp_path, "rev-parse", "HEAD")
    assert provenance.code()["dirty"] == dirty
    monkeypatch.setattr(provenance, "git", lambda *words: None)
    assert provenance.code() == {"version": __version__, "commit": None, "dirty": None}
    monkeypatch.setenv("RESERVOIR_CODE", '{"commit": "1a2b"}')  # code that was brought here
    assert provenance.code() == {"commit": "1a2b"}


def spied(function, spy):
    def call(*arguments, **options):
        spy()
        return function(*arguments, **options)

    return call


def test_edited_files_of_one_s_own_are_other_data(tmp_path, results):
    folder = write_text(tmp_path / "own")
    run = small_run(folder).evolve(recipe="mine")
    record, identity = execute(run), run.identity()
    assert record.data and started(run) == (record, False)
    for part in ("train", "valid", "test"):
        lines = (folder / f"{part}.en").read_text().splitlines()
        (folder / f"{part}.en").write_text("\n".join(reversed(lines)) + "\n")
        assert identity != (identity := run.identity())
    events = []
    again = execute(run, listeners=[events.append])
    assert again.data != record.data and any(isinstance(event, Started) for event in events)
    (said,) = (event.text for event in events if isinstance(event, Message) and "not used" in event.text)
    assert f"other data in files:{folder}" in said
    assert content_digest(f"files:{write_text(tmp_path / 'elsewhere' / 'own')}") == record.data


def test_but_changes_fields_and_fields_of_fields_and_leaves_the_rest():
    run = recipes.get(RECIPE)
    other = run.evolve(seed=3, budget={"steps": 7}, freeze=Freeze(attention=True))
    assert (other.seed, other.budget.steps, other.freeze.attention) == (3, 7, True)
    assert other.budget.validate_every == run.budget.validate_every and other.model == run.model
    assert run == recipes.get(RECIPE)
    with pytest.raises(TypeError, match="stepps"):
        run.evolve(budget={"stepps": 7})
    with pytest.raises(ValueError, match="steps must be at least 1"):
        run.evolve(budget={"steps": 0})


def test_a_path_tells_recipe_scale_seed_and_overrides(results):
    run = recipes.get(RECIPE, scale="smoke", seed=3)
    assert path_of(run) == results / "transformer" / "miniature" / "smoke" / "seed-3.json"
    first, second = (path_of(run.evolve(optimiser={"lr": lr})) for lr in (0.1, 0.2))
    assert first.parent == second.parent == path_of(run).parent
    assert len({path_of(run), first, second}) == 3 and first.name.startswith("seed-3-with-")
    assert run.evolve(optimiser={"lr": 0.1}).overrides() == {"optimiser.lr": 0.1} and run.overrides() == {}


def test_a_run_s_fields_are_json():
    for name in recipes.names():
        for scale in SCALES:
            run = recipes.get(name, scale=scale)
            assert json.loads(json.dumps(run.to_json())) == run.to_json()
            assert (run.recipe, run.scale) == (name, scale)


def test_the_nearest_recipe_is_named():
    with pytest.raises(ValueError, match="'transformer/miniatur'; did you mean 'transformer/miniature'"):
        recipes.get("transformer/miniatur")
    with pytest.raises(ValueError, match="no recipe 'transformr'; did you mean 'transformer'"):
        recipes.family("transformr")
    with pytest.raises(ValueError, match="scale must be 'smoke', 'laptop' or 'full', got 'huge'"):
        recipes.get(RECIPE, scale="huge")


# Running


def test_what_is_recorded_is_not_run_again_but_afresh(text, results):
    run = small_run(text)
    record, trained = started(run)
    assert trained and started(run) == (record, False) and record.together == 1
    again, trained = started(run, fresh=True)
    assert trained and deterministic(again) == deterministic(record) and again != record
    assert started(run.evolve(seed=1))[1] and started(run.evolve(optimiser={"lr": 0.1}))[1]


def test_an_edited_recipe_is_trained_and_says_why_its_record_is_not_used(text, results, monkeypatch):
    run = small_run(text).evolve(recipe="mine")
    monkeypatch.setitem(registry.RECIPES, "mine", lambda scale: run)
    old, path = started(run)[0], path_of(run)
    edited = run.evolve(optimiser={"lr": 0.01})
    monkeypatch.setitem(registry.RECIPES, "mine", lambda scale: edited)
    events = []
    new = execute(edited, listeners=[events.append])
    assert path_of(edited) == path and new.run["optimiser"]["lr"] == 0.01
    said = [event.text for event in events if isinstance(event, Message)]
    lr = old.run["optimiser"]["lr"]
    assert (
        said[0] == f"{path} is not used, since it was made with optimiser.lr {lr} (now 0.01): training anew"
    )
    assert started(edited) == (new, False) and find_record("mine", scale="smoke") == new
    assert started(edited.evolve(device="cpu", budget={"checkpoint_every": 3})) == (new, False)


def test_a_run_that_no_recipe_stands_for_is_executed_resumed_recorded_and_found(text, results):
    run = small_run(text).evolve(recipe="mine")

    with pytest.raises(KeyboardInterrupt):
        execute(run, listeners=[interrupt_at(5)])
    events = []
    record = execute(run, listeners=[events.append])
    (begun,) = (event for event in events if isinstance(event, Started))
    assert begun.step == 4 and record.recipe == "mine" and record.overrides == {}
    assert started(run) == (record, False) and find_record("mine", scale="smoke") == record
    assert load_trained(run)[0] is not None
    other = run.evolve(optimiser={"lr": 0.1})
    for changed in (other, other.evolve(seed=1)):
        with pytest.raises(ValueError, match=r"the name mine is taken: .*lr .* \(now 0\.1\).*fresh=True"):
            execute(changed)
    assert started(run) == (record, False)
    assert started(other, fresh=True)[1] and read_record(path_of(run)).run["optimiser"]["lr"] == 0.1


def test_a_changed_run_records_that_it_was_and_hides_nothing(text, results):
    run = small_run(text)
    assert execute(run).overrides == run.overrides()
    assert run.overrides()["task.corpus"] == f"files:{text}" and run.overrides()["budget.steps"] == 8
    assert find_record(RECIPE, scale="smoke") is None and not [
        r for r in convergence.all_records() if r.scale == "smoke"
    ]


def test_a_run_that_was_cut_off_afresh_goes_on_and_keeps_the_older_record_until_then(text, results):
    run = small_run(text)
    record = execute(run)

    with pytest.raises(KeyboardInterrupt):
        execute(run, fresh=True, listeners=[interrupt_at(5)])
    assert read_record(path_of(run)) == record and not recorded(run)
    again, trained = started(run)
    assert trained and deterministic(again) == deterministic(record) and recorded(run)


def test_a_trained_model_is_loaded_to_the_bit_and_translates_as_it_was_tested(text, results):
    run = small_run(text, precision="fp32", freeze=Freeze(feed_forward=True))
    model, task, corpus = build(run)
    record = train_and_test(run, model, task, corpus)
    again, its_task, its_corpus = load_trained(run)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    assert [p.requires_grad for p in model.parameters()] == [p.requires_grad for p in again.parameters()]
    assert not again.training
    sources = its_task.src_vocabulary.encode_batch(its_corpus.tests["test"].src)
    found = its_task.translate(again, sources, run.task.decoding)
    assert bleu(found, its_corpus.tests["test"].tgt).bleu == record.tests["test"]["bleu"]


def test_without_weights_the_error_says_how_to_get_them(text, results):
    run = recipes.get(RECIPE, scale="smoke", seed=2)
    with pytest.raises(
        CheckpointError, match=f"run it first: reservoir run {RECIPE} --scale smoke --seeds 2$"
    ):
        load_trained(run)
    small = small_run(text)
    execute(small)
    weights = path_of(small).with_suffix(".safetensors")
    content = weights.read_bytes()
    weights.unlink()
    with pytest.raises(CheckpointError, match=r"--fresh, with .*budget\.steps.* changed likewise"):
        load_trained(small)
    weights.write_bytes(content[:-1])
    with pytest.raises(CheckpointError, match=r"seed-0-with-\w+\.safetensors is damaged"):
        load_trained(small)
    weights.write_bytes(content)
    load_trained(small)


def test_texts_that_are_too_long_are_left_out_counted_and_said(text, results):
    events = []
    record = execute(small_run(text, task={"max_length": 20}), listeners=[events.append])
    notes = [event.text for event in events if isinstance(event, Message)]
    assert record.left_out > 0 and len(notes) == 1 + len(record.notes)
    assert notes[0] == f"left out of training: {record.left_out} of its texts, of more than 20 tokens"
    assert execute(small_run(text)).left_out == 0


def test_a_test_set_that_the_corpus_lacks_is_named():
    run = recipes.get("transformer/miniature", scale="smoke").evolve(task={"tests": ("test2016",)})
    with pytest.raises(DataError, match="miniature has no test set test2016; it has test"):
        build(run)
