"""What runs cost, with what they begin with: on made-up records of real recipes."""

import dataclasses
import math

import pytest
from repeated import write

from reservoir.weights import report
from reservoir.weights.accounting import kind_of
from reservoir_lab import recipes
from reservoir_lab.evidence import costs
from reservoir_lab.runs import find_record, find_records, read_record
from reservoir_lab.runs.building import outline
from reservoir_lab.runs.records import record_path

MADE = {  # recipe -> BLEU and operations of each seed
    "keep/trained": [(20.0, 8e12), (21.0, 7e12)],
    "keep/shared-pretrained-50": [(15.0, 5e12), (16.0, 4e12)],
    "keep/shared-random-50": [(10.0, 5e12)],
    "combinations/fourier": [(28.0, 6e12)],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A results folder with made-up records, and the table of these and of those that ship."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESERVOIR_RESULTS", str(folder))
        like = find_records("components/baseline")[0]
        for name, figures in MADE.items():
            for seed, (bleu, flops) in enumerate(figures):
                run = recipes.get(name, seed=seed)
                made_of = report(outline(run))
                record = dataclasses.replace(
                    like,
                    recipe=name,
                    seed=seed,
                    run=run.to_json(),
                    points=[like.points[-1] | {"step": run.budget.steps}],
                    flops=flops,
                    cpu_seconds=100.0 + seed,
                    tests={"test2016": {"bleu": bleu, "signature": "x", "sentences": 1000}},
                    parameters=made_of.counts(),
                )
                write(record, record_path(folder, name, "laptop", seed))
        return folder, costs.translators().set_index(["recipe", "seed"])


@pytest.fixture
def world(made, monkeypatch):
    """That table, while the made-up records lie in the results folder."""
    folder, table = made
    monkeypatch.setenv("RESERVOIR_RESULTS", str(folder))
    return table


def test_what_a_run_begins_with_is_paid_for(world):
    table = world.loc[("keep/shared-pretrained-50", 0)]
    assert table["flops"] == 13e12 and table["own flops"] == 5e12 and table["seconds"] == 200.0
    run = recipes.get("keep/shared-pretrained-50")
    embeddings = 4 * run.task.vocabulary * run.model.d_model
    record = find_record("keep/shared-pretrained-50")
    assert table["bytes"] == record.parameters["stored_bytes"] + embeddings
    alone = world.loc[("keep/shared-random-50", 0)]
    record = find_record("keep/shared-random-50")
    assert alone["bytes"] == record.parameters["stored_bytes"] and alone["flops"] == alone["own flops"]


def test_each_seed_pays_for_what_it_begins_with_itself(world):
    """Its embeddings are those of its own seed's run; operations are one seed's, so that rows can be compared."""
    rows = world.loc["keep/shared-pretrained-50"].loc[[0, 1]]
    assert dict(rows["seconds"] - rows["own seconds"]) == {0: 100.0, 1: 101.0}
    assert set(rows["flops"]) == {13e12}
    for seed in (0, 1):
        run = recipes.get("keep/shared-pretrained-50", seed=seed)
        assert costs.begun_with(run) == find_record("keep/trained", seed=seed)
    record = find_record("keep/shared-pretrained-50", seed=1)
    (line,) = costs.lines([record], lambda record: record.score)
    assert (line["flops"], line["seconds"]) == (4e12 + 7e12, 101.0 + 101.0)


def test_each_seed_begins_with_the_released_body_of_its_own_pretraining(monkeypatch):
    monkeypatch.setattr(costs, "find_record", lambda recipe, *, scale, seed: (recipe, scale, seed))
    for seed in (0, 1):
        run = recipes.get("universal/digits/pretrained/lr-1e-3", seed=seed)
        assert costs.begun_with(run) == ("gpt/wikipedia", "laptop", seed)


def test_a_seed_whose_source_nobody_has_recorded_costs_nobody_knows_how_many_seconds(world):
    record = dataclasses.replace(find_record("keep/shared-pretrained-50", seed=1), seed=10_000)
    assert math.isnan(costs.lines([record], lambda record: record.score)[0]["seconds"])


def test_drawn_with_anothers_statistics_is_not_borrowed():
    """Its tensors come back from the seed and two numbers; the pretrained ones themselves would have to be held."""
    sizes = {
        body: costs.borrowed_bytes(recipes.get(f"universal/digits/{body}/lr-1e-3"))
        for body in ("matched", "pretrained", "random", "full")
    }
    run = recipes.get("universal/digits/pretrained/lr-1e-3")
    frozen = [row for row in report(outline(run)).rows if row.origin == "pretrained"]
    assert sizes["pretrained"] == 4 * sum(row.parameters for row in frozen) > 0
    assert sizes["matched"] == sizes["random"] == sizes["full"] == 0


def test_what_a_source_only_drew_is_not_borrowed_from_it():
    run = recipes.get("mixing/sst-2/random")
    drawn = {row.stream: row.origin for row in report(outline(run)).rows if ".linear." in row.stream}
    assert drawn and set(drawn.values()) == {"seeded"}


def test_what_nobody_has_recorded_is_unknown(world):
    """A released model's training is no record of ours, and zero would be a lie."""
    like = find_records("components/baseline")[0]
    (line,) = costs.lines(
        [dataclasses.replace(like, recipe="universal/digits/stories/lr-1e-3")], lambda record: record.score
    )
    assert math.isnan(line["flops"]) and math.isnan(line["seconds"])
    assert line["own flops"] == like.flops and line["own seconds"] == like.cpu_seconds


def test_operations_that_the_first_batch_stands_for_are_those_of_one_seed_and_others_are_each_seed_s(world):
    assert set(world.loc["keep/trained"]["flops"]) == {8e12}
    assert list(world.loc["keep/trained"]["quality"].loc[[0, 1]]) == [20.0, 21.0]
    found = find_records("keep/trained")
    summed = [dataclasses.replace(record, extrapolated=False) for record in found]
    said = [line["flops"] for line in costs.lines(summed, lambda record: record.score)]
    assert said == [record.flops for record in found] and len(set(said)) > 1


def test_every_run_has_a_kind(world):
    kinds = world.groupby("recipe")["kind"].first()
    assert kinds["keep/trained"] == kinds["components/baseline"] == "trained"
    assert kinds["keep/shared-random-50"] == "masked" and kinds["keep/shared-pretrained-50"] == "pretrained"
    assert kinds["components/attention"] == kinds["reservoirs/ffn-6"] == "seeded"
    assert kinds["combinations/fourier"] == kinds["components/attention-identity"] == "fixed"
    assert kinds["reservoirs/late-6"] == "trained"


def test_recipes_of_every_kind_are_told_apart():
    expected = {
        "keep/pruned": "trained",
        "combinations/masked-attention": "masked",
        "combinations/fourier-frozen": "fixed",
        "combinations/attention-frozen": "seeded",
        "combinations/random-mixing": "seeded",
        "combinations/gpt-masks-90/lr-1e-3": "pretrained",
        "universal/digits/matched/lr-1e-3": "seeded",
        "universal/digits/pretrained/lr-1e-3": "pretrained",
        "universal/digits/full/lr-1e-3": "trained",
        "universal/digits/vera/lr-1e-3": "pretrained",
        "mixing/random": "seeded",
        "mixing/fourier": "fixed",
        "mixing/attention": "trained",
    }
    for name, word in expected.items():
        assert kind_of(outline(recipes.get(name))) == word, name


def test_a_table_holds_all_translators_that_ship_and_nothing_else():
    table = costs.translators()
    assert set(table["family"]) <= {
        *("transformer", "components", "narrow", "reservoirs", "backskipping", "few-bits"),
        *("keep", "initial", "wmt", "supermask", "combinations", "wmt-reservoirs", "norms-only", "depth"),
    }
    assert {"transformer", "components", "reservoirs"} <= set(table["family"])
    assert not table.duplicated(["recipe", "seed"]).any() and table["quality"].between(0, 100).all()
    assert (table[["trained", "bytes", "flops", "seconds"]] > 0).all().all()
    encoders = costs.encoders()
    assert {"masked"} <= set(encoders["family"]) <= {"masked", "masked-wide", "mixing"}
    assert (encoders["quality"] > 1).all()


def test_bodies_are_those_of_the_rate_that_validation_chose(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    recorded = costs.bodies("digits")
    assert recorded.empty or not recorded.duplicated(["body", "seed"]).any()
    like = next(iter(find_records("components/baseline")))
    for rate, valid, test in (("lr-1e-3", 70.0, 90.0), ("lr-3e-3", 80.0, 75.0)):
        name = f"universal/homology/random/{rate}"
        run = recipes.get(name)
        point = like.points[-1] | {"metrics": {"accuracy": valid}, "step": run.budget.steps}
        record = dataclasses.replace(
            like,
            recipe=name,
            run=run.to_json(),
            metric="accuracy",
            points=[point],
            tests={"test": {"accuracy": test}},
        )
        write(record, record_path(tmp_path, name, "laptop", 0))
    found = costs.bodies("homology").set_index("body").loc["random"]
    assert read_record(record_path(tmp_path, "universal/homology/random/lr-3e-3", "laptop", 0))
    assert "quality" in found and not bool(found["complete"])
    assert float(found["quality"]) == 75.0
