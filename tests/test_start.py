"""A run that begins with another one's weights: the same bits, the same vocabulary, and a record that says so."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from reservoir.layers import Linear
from reservoir.weights import (
    Freeze,
    Pretrained,
    Seeded,
    Trained,
    initialise,
    load,
    origin_of,
    owned,
    recorded_origin,
    report,
    save,
    set_origin,
)
from reservoir.weights.storage import model_bytes
from reservoir_lab import recipes
from reservoir_lab.runs import InitFromRun, find_record
from reservoir_lab.runs.building import build, load_trained, references
from reservoir_lab.runs.execution import execute, train_and_test
from reservoir_lab.runs.handlers import CheckpointError
from reservoir_lab.runs.records import path_of
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.start import matching, transfer

SOURCE = "language/baseline"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Run:
    """A language model that is trained, in a results folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESERVOIR_RESULTS", str(tmp_path_factory.mktemp("results")))
        run = recipes.get(SOURCE, scale="smoke")
        execute(run)
        yield run


def by_stream(model) -> dict:
    return {item.stream: item for item in owned(model)}


def short(name: str, **changes) -> Run:
    return recipes.get(name, scale="smoke").evolve(budget={"steps": 4, "validate_every": 2}, **changes)


def test_the_tensors_that_a_run_names_are_the_other_runs_to_the_bit_and_the_rest_is_its_own(source):
    learned = by_stream(load_trained(source)[0])
    taken, scratch = (
        by_stream(build(recipes.get(f"embeddings/{row}", scale="smoke"))[0])
        for row in ("pretrained", "random")
    )
    assert torch.equal(taken["embedding"].parameter, learned["embedding"].parameter)
    assert not torch.equal(taken["embedding"].parameter, scratch["embedding"].parameter)
    others = [name for name in taken if name != "embedding"]
    assert others and all(torch.equal(taken[name].parameter, scratch[name].parameter) for name in others)
    origin = origin_of(taken["embedding"])
    assert isinstance(origin, Pretrained) and origin.checkpoint.startswith(f"{SOURCE}/smoke/seed-0@")


def test_a_run_can_begin_with_the_other_run_of_its_own_seed(source):
    execute(recipes.get(SOURCE, scale="smoke", seed=1))
    run = recipes.get("embeddings/pretrained", scale="smoke", seed=1)
    for same, seed in ((False, 0), (True, 1)):
        learned = by_stream(load_trained(recipes.get(SOURCE, scale="smoke", seed=seed))[0])["embedding"]
        taken = by_stream(build(run.evolve(start={"same_seed": same}))[0])["embedding"]
        assert torch.equal(taken.parameter, learned.parameter)
        origin = origin_of(taken)
        assert isinstance(origin, Pretrained) and origin.checkpoint.startswith(f"{SOURCE}/smoke/seed-{seed}@")


def test_the_vocabulary_is_the_other_runs_even_where_no_tensor_is_taken(source):
    words = load_trained(source)[1].vocabulary.tokens
    for row in ("pretrained", "random", "trained", "fine-tuned"):
        assert build(recipes.get(f"embeddings/{row}", scale="smoke"))[1].vocabulary.tokens == words


def test_a_frozen_pretrained_table_never_moves_and_costs_a_reference(source, tmp_path):
    run = short("embeddings/pretrained")
    record = execute(run)
    learned = by_stream(load_trained(source)[0])["embedding"].parameter
    model = load_trained(run)[0]
    assert torch.equal(by_stream(model)["embedding"].parameter, learned)
    row = next(row for row in report(model).rows if row.stream == "embedding")
    assert (row.origin, row.moves, row.stored_bytes) == ("pretrained", False, 0)
    assert "embedding" not in load_file(path_of(run).with_suffix(".safetensors"))
    assert record.begun_with == [origin_of(by_stream(model)["embedding"]).checkpoint]
    # Saved for others it holds the table, since there is no folder that they could be told of.
    again = load(type(model)(model.config), save(model, tmp_path / "m.safetensors"))
    assert torch.equal(by_stream(again)["embedding"].parameter, learned)


def test_a_pretrained_table_that_moves_on_is_stored_and_the_record_still_says_where_it_began(source):
    run = short("embeddings/fine-tuned")
    record = execute(run)
    learned = by_stream(load_trained(source)[0])["embedding"].parameter
    model = load_trained(run)[0]
    assert not torch.equal(by_stream(model)["embedding"].parameter, learned)
    row = next(row for row in report(model).rows if row.stream == "embedding")
    assert row.origin == "trained" and row.stored_bytes == 4 * row.parameters
    assert len(record.begun_with) == 1 and record.begun_with[0].startswith(f"{SOURCE}/smoke/seed-0@")
    assert execute(short("embeddings/trained")).begun_with == []


def test_a_tensor_that_the_other_run_only_drew_stays_drawn_from_its_seed(source):
    """A reservoir needs no place in storage, whoever goes on with it."""
    execute(recipes.get("language/feed-forward", scale="smoke", seed=5))
    start = InitFromRun("language/feed-forward", seed=5, streams=("layer.*",))
    run = recipes.get(SOURCE, scale="smoke", seed=1).evolve(start=start, freeze=Freeze(patterns=("layer.*",)))
    found = by_stream(build(run)[0])
    drawn, learned = origin_of(found["layer.0.feed_forward.up"]), origin_of(found["layer.0.attention.qkv"])
    assert isinstance(drawn, Seeded) and drawn.seed == 5
    assert isinstance(learned, Pretrained) and "language/feed-forward/smoke/seed-5@" in learned.checkpoint
    model = load_trained(recipes.get("language/feed-forward", scale="smoke", seed=5))[0]
    for stream, item in by_stream(model).items():
        same = torch.equal(item.parameter, found[stream].parameter)
        assert same if stream.startswith("layer.") else not same or "norm" in stream


def test_weights_whose_source_was_trained_anew_are_refused(source):
    run = short("embeddings/pretrained", seed=7).evolve(start={"same_seed": False})  # of the source's seed 0
    execute(run)
    load_trained(run)
    weights = path_of(source).with_suffix(".safetensors")
    content = weights.read_bytes()
    try:
        model, task, corpus = build(source)
        train_and_test(
            source.evolve(optimiser={"lr": 1e-4}), model, task, corpus
        )  # other bits, under its own name
        weights.write_bytes(model_bytes(model, {"identity": source.identity()}))
        with pytest.raises(CheckpointError, match="belongs to a run with other settings"):
            load_trained(run)
    finally:
        weights.write_bytes(content)
    load_trained(run)


def test_without_the_other_runs_weights_the_error_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    with pytest.raises(CheckpointError) as raised:
        execute(recipes.get("embeddings/pretrained", scale="smoke"))
    assert "begins with the weights of language/baseline" in str(raised.value)
    assert str(raised.value).endswith(f"reservoir run {SOURCE} --scale smoke --seeds 0")
    assert find_record("embeddings/pretrained", scale="smoke") is None
    build(recipes.get("embeddings/random", scale="smoke"))  # takes the vocabulary alone


@pytest.mark.parametrize(
    ("start", "changes", "words"),
    [
        (
            {"streams": ("embeddings",)},
            {},
            "'embeddings' matches no parameter of the model; did you mean 'embedding'",
        ),
        ({"streams": ("readout",)}, {}, f"{SOURCE} has nothing for 'readout', but the model needs"),
        (
            {"streams": ("embedding",)},
            {"d_model": 48},
            r"has \(\d+, 32\) for 'embedding', .* needs \(\d+, 48\)",
        ),
    ],
)
def test_what_does_not_fit_is_named(source, start, changes, words):
    run = recipes.get("embeddings/fine-tuned", scale="smoke").evolve(start=start, model=changes)
    with pytest.raises(ValueError, match=words):
        build(run)


def test_a_vocabulary_of_another_size_is_refused(source):
    run = recipes.get("embeddings/random", scale="smoke")
    size = source.task.vocabulary
    with pytest.raises(ValueError, match=f"task.vocabulary must be {size}, .* got {size + 1}"):
        build(run.evolve(task={"vocabulary": size + 1}))


def test_only_frozen_tensors_that_were_taken_are_needed_again(source):
    """One that was trained on is stored whole: the file that it came from may change or go."""
    for row, needed in (("pretrained", 1), ("fine-tuned", 0), ("random", 0)):
        model = build(recipes.get(f"embeddings/{row}", scale="smoke"))[0]
        assert len(references(model, frozen=True)) == needed
        assert len(references(model)) == (row != "random")


def test_a_matched_tensor_has_the_deviation_of_the_numbers_themselves():
    """As a population's: two numbers, 1 and 3, have 1, where a sample's deviation would be 1.41."""
    learned, model = (initialise(Linear(2, 1, stream="a", bias=False), seed=0) for _ in range(2))
    with torch.no_grad():
        learned.weight.copy_(torch.tensor([[1.0, 3.0]]))
    transfer(matching(model, ("a*",)), learned, "theirs", "theirs@0", seed=0)
    (item,) = owned(model)
    said = recorded_origin(item).initialisation
    assert (said.mean, said.std) == (2.0, 1.0)


@pytest.mark.parametrize(
    ("before", "found"),
    [(Trained(), ("b@1", "a")), (Pretrained("c@0", "wte.weight", "d"), ("c@0", "wte.weight"))],
)
def test_a_tensor_is_known_by_its_name_in_the_checkpoint_that_first_had_it(before, found):
    learned, model = (initialise(Linear(2, 1, stream="a", bias=False), seed=0) for _ in range(2))
    set_origin(next(owned(learned)), before)
    transfer(matching(model, ("a*",)), learned, "theirs", "b@1")
    (item,) = owned(model)
    assert (recorded_origin(item).checkpoint, recorded_origin(item).key) == found


def test_what_a_run_begins_with_is_part_of_its_identity():
    run = recipes.get("embeddings/pretrained", scale="smoke")
    for start in (None, replace(run.start, seed=1, same_seed=False), replace(run.start, streams=())):
        assert run.evolve(start=start).identity() != run.identity()
        assert run.evolve(start=start).overrides()
