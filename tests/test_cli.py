"""The command line: what it prints, what it refuses with which status, and what it leaves behind."""

import json
import os
import re
import subprocess
import sys

import pytest
import torch
from small import RECIPE, arguments, files, sentence, small_run

from reservoir_lab import recipes
from reservoir_lab.launch.cli import main
from reservoir_lab.runs import find_record
from reservoir_lab.runs.records import path_of


@pytest.fixture
def results(results, monkeypatch):
    """The folder of `conftest.py`; and tables in whole lines."""
    monkeypatch.setenv("COLUMNS", "200")
    return results


@pytest.fixture
def call(capsys, results):
    """Run a command in this process: (status, standard output, standard error)."""

    def run(*words):
        try:
            status = main([str(word) for word in words])
        except SystemExit as end:
            status = end.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return status, captured.out, captured.err

    return run


def flat(printed: str) -> str:
    """Printed text without the frames that rich and tyro draw, and the lines they break."""
    return " ".join("".join(" " if ord(c) in range(0x2500, 0x2580) else c for c in printed).split())


@pytest.mark.parametrize(
    "words", [[], ["list"], ["show"], ["run"], ["submit"], ["table"], ["data"]], ids=" ".join
)
def test_every_command_has_help(call, words):
    status, out, _ = call(*words, "--help")
    assert status == 0 and "usage: reservoir" in flat(out)
    for word in ("list", "show", "run", "submit", "table", "data") if not words else ():
        assert word in out
    if words in (["run"], ["submit"]):
        assert "examples:" in out and f"reservoir {words[0]} transformer/" in flat(out)
    if words == ["run"]:
        assert "--seeds" in out and "--fresh" in out and "--optimiser.lr 1e-3" in flat(out)
        _, out, _ = call(*words, RECIPE, "--model.d-model", 8, "--help")
        assert "but recipe, scale, seed and base; `reservoir run --help` lists the other" in flat(out)


def test_list_counts_the_recipes_of_every_family(call):
    status, out, _ = call("list")
    lines = [line.split("│")[1:-1] for line in out.splitlines() if line.startswith("│")]
    counted = {cells[0].strip(): cells[2].strip() for cells in lines if cells[0].strip()}
    families = {name.partition("/")[0] for name in recipes.names()}
    assert status == 0 and counted == {name: str(len(recipes.family(name))) for name in families}
    assert "Chapter 4: the poster's three tables" in out


def test_list_names_every_recipe_of_a_family_and_what_is_recorded(call, text):
    family = RECIPE.partition("/")[0]
    status, out, _ = call("list", family, "universal")
    assert status == 0 and "smoke" not in out
    assert all(name in out for name in [*recipes.family(family), *recipes.family("universal")])
    call(*arguments(text))
    assert "smoke" not in call("list", family)[1]  # a changed run is not the recipe's
    call("run", RECIPE, "--scale", "smoke")
    lines = call("list", family)[1].splitlines()
    assert ["smoke" in line for line in lines] == [RECIPE in line for line in lines]


def test_show_prints_fields_and_parameters_overrides_included(call):
    status, out, _ = call("show", RECIPE, "--scale", "smoke", "--freeze.attention", "--budget.steps", 77)
    assert status == 0
    for part in (
        "steps=77",
        "corpus='miniature'",
        "encoder.0.feed_forward.up",
        "parameters,",
        "of them move",
    ):
        assert part in out
    assert "(100.0%)" not in out
    assert "(100.0%)" in call("show", RECIPE, "--scale", "smoke")[1]


def test_show_counts_masks_as_bits(call):
    status, out, _ = call("show", "keep/shared-random-50", "--scale", "smoke")
    assert status == 0 and " masked " in out and " trained " not in out
    weights, scores = (
        int(n.replace(",", ""))
        for n in re.search(r"\(([\d,]+) weights and ([\d,]+) scores\)", flat(out)).groups()
    )
    assert f"{scores:,} of them move ({scores / (weights + scores):.1%})" in flat(out)


def test_table_says_what_nobody_has_run_and_data_lists_the_datasets(call):
    status, out, _ = call("table", "transformer", "--scale", "smoke")
    assert status == 0 and RECIPE in out and "not run" in out
    status, out, _ = call("data")
    assert status == 0 and "multi30k" in out and "licence" in out


def test_what_is_listed_and_what_is_recorded_can_be_read_as_json(call):
    families = {one["family"]: one for one in json.loads(call("list", "--json")[1])["families"]}
    rows = json.loads(call("table", "components", "--scale", "laptop", "--json")[1])
    assert families["components"]["recorded"] == len(rows) > 0
    assert {row["recipe"] for row in rows} <= set(recipes.family("components"))


def test_a_sources_table_is_printed_with_ours_beside_it(call):
    status, out, _ = call("table", "poster/big")
    assert status == 0 and "[doc]" in out and "Recipes of components/" in flat(out) and "machine" in flat(out)
    printed = [cells for line in out.splitlines() if len(cells := line.split()) > 8 and cells[0][0] == "("]
    assert [cells[4] for cells in printed][:2] == ["24.3", "22.6"] and printed[0][7] == "baseline"
    status, out, _ = call("table", "fnet/large-glue", "--scale", "smoke")
    assert status == 0 and "[2nd]" in out and "not run" in out and "no loader" in flat(out)
    status, out, _ = call("table", "one-layer")
    assert status == 0 and out.count("One-layer Random Trans_deep") >= 1 and "tokens a batch" in out


def test_a_table_that_no_source_has_gets_the_nearest_suggested(call):
    status, _, err = call("table", "poster/bigg")
    assert status == 1 and "did you mean 'big'?" in sentence(err)
    status, _, err = call("table", "bair")
    assert status == 1 and "no table of bair is quoted" in sentence(err)


def test_a_run_is_trained_printed_recorded_and_skipped_the_second_time(call, text, results):
    status, out, err = call(*arguments(text))
    assert status == 0
    name = path_of(small_run(text)).name
    assert files(results) == [name, name.replace("json", "safetensors")]
    for part in ("(smoke, seed 0)", "nrefs:1", "parameters trained in 8 steps", "recorded in", name):
        assert part in flat(out)
    assert "8 steps" in err and "step 3: perplexity" in err
    content = path_of(small_run(text)).read_bytes()
    status, out, err = call(*arguments(text))
    assert status == 0 and "is there already; --fresh runs again" in err and "step" not in err
    assert path_of(small_run(text)).read_bytes() == content
    status, _, err = call(*arguments(text, "--fresh"))
    assert status == 0 and "step 3: perplexity" in err
    assert path_of(small_run(text)).read_bytes() != content


def test_several_recipes_and_seeds_run_at_once(call, text, results):
    first, *words = arguments(text, "--seeds", 0, 5)
    status, _, _ = call(first, "transformer/multi30k", *words)
    assert status == 0
    found = list(results.rglob("*.json"))
    runs = {(json.loads(p.read_text())["recipe"], json.loads(p.read_text())["seed"]) for p in found}
    assert runs == {(name, seed) for name in ("transformer/multi30k", RECIPE) for seed in (0, 5)}
    assert len(found) == 4


def test_a_range_of_seeds_runs_under_one_line_of_progress(call, results):
    status, out, err = call("run", "bench/brackets/trained", "--scale", "smoke", "--seeds=20:26")
    assert status == 0
    assert {path.name for path in results.rglob("seed-*.json")} == {f"seed-{n}.json" for n in range(20, 26)}
    lines = err.splitlines()
    assert len(lines) == 6 and "bench/brackets/trained, seed 25" in lines[-1] and "(6 of 6)" in lines[-1]
    header, row = (out.split("bench/brackets/trained")[n] for n in (0, 1))
    assert all(name in header for name in ("runs", "mean", "sd", "least", "most"))
    files = results.rglob("seed-*.json")
    scores = [json.loads(path.read_text())["tests"]["test"]["accuracy"] for path in files]
    assert f"{sum(scores) / 6:.2f}" in row and f"{max(scores):.2f}" in row
    # What is named twice is run once.
    again, out, err = call("run", *["bench/brackets/trained"] * 2, *"--scale smoke --seeds 20:26 25".split())
    assert again == 0 and "(6 of 6)" in err


def test_a_family_runs_all_its_recipes(call, text, results):
    words = arguments(text)
    words[words.index(RECIPE)] = "transformer"
    assert call(*words)[0] == 0
    assert len(list(results.rglob("*.json"))) == len(recipes.family("transformer"))


def test_an_override_is_recorded_under_a_name_of_its_own(call, text, results):
    assert call(*arguments(text, optimiser_lr=0.125))[0] == 0
    (path,) = results.rglob("*.json")
    assert json.loads(path.read_text())["overrides"]["optimiser.lr"] == 0.125
    assert path != path_of(recipes.get(RECIPE, scale="smoke")) and "seed-0.json" not in files(results)


@pytest.mark.parametrize("command", ["run", "show"])
def test_a_recipe_that_does_not_exist_gets_the_nearest_suggested(call, results, command):
    status, out, err = call(command, "transformer/miniatur", "--scale", "smoke")
    said = "error: there is no recipe 'transformer/miniatur'; did you mean 'transformer/miniature'?"
    assert status == 1 and not out and sentence(err) == said
    assert "did you mean 'transformer'?" in sentence(call("table", "transfomer")[2])
    assert files(results) == []


RUN = ["run", RECIPE, "--scale", "smoke"]
BAD = {  # a command line -> (its exit status, what is said)
    "frobnicate": (2, "there is no command 'frobnicate'; there are list, show,"),
    "rum transformer": (2, "there is no command 'rum'; did you mean 'run'?"),
    "list --budget.steps 3": (2, "unknown argument '--budget.steps'; see reservoir list --help"),
    "list transfomer": (1, "did you mean 'transformer'?"),
    "show transformer": (1, "there is no recipe 'transformer'; did you mean 'transformer/m"),
    "show transformer/[/blah]": (1, "there is no recipe 'transformer/[/blah]'"),
    "run --device cuda": (1, "device is 'cuda', but this machine has no GPU that torch can use"),
    "run --compiled --device cpu": (
        1,
        "compiled=True is for GPUs: on a processor compiled layers train more slowly",
    ),
    "run --device mps": (1, "device must be 'auto', 'cpu', 'cuda' or 'cuda:N', got 'mps'"),
    "run --device cuda:x": (1, "got 'cuda:x'"),
    "run --together": (1, "only runs of the bench"),
    "run --together --fresh": (1, "--together goes without --fresh"),
    "run --model.d-model 0": (2, "d_model"),
    "run --model.n-heads -4": (2, "n_heads"),
    "run --seed=3": (1, "seeds are given as --seeds 0 1 2"),
    "run --seeds": (1, "--seeds needs at least one"),
    "run --seeds -1": (1, "seed"),
    "run --seeds one": (2, "--seeds"),
    "run --scale huge": (2, "--scale"),
    "run --budget.steps many": (2, "--budget.steps"),
    "run --budget.steps": (2, "--budget.steps"),
    "run --budget.steps 0": (2, "steps must be at least 1, got 0"),
    "run --budget.stepps 3": (2, "did you mean --budget.steps?"),
    "run --optimiser.lr fast": (
        2,
        "--optimiser.lr: could not convert string to float: 'fast'; it takes FLOAT",
    ),
    "run --optimiser.lr -1": (2, "lr must be positive, got -1"),
    "run --freeze.layers encoder.9": (1, "encoder.9"),
    "run --task.corpus mini30k": (1, "mini30k"),
    "run --task.corpus files:/nowhere": (1, "/nowhere"),
    "run --seeds 220:200": (1, "--seeds 220:200 must be the first seed and a larger number"),
    "run --seeds 0:x": (1, "--seeds 0:x must be the first seed and a larger number"),
    "run --measure": (1, "--measure belongs to a dry run"),
    "run transformer/miniature --dry-run --fresh": (
        1,
        "--fresh is for training, and a dry run trains nothing",
    ),
    "run --dry-run --price nan": (1, "--price must be at least 0 dollars per hour, got nan"),
    "submit transformer --hours nan": (2, "--hours must be a positive number of hours, got nan"),
    "submit transformer --gpus -1": (2, "--gpus must be at least 0, got -1"),
    "submit transformer --cpus 0": (2, "--cpus must be at least 1, got 0"),
    "submit transformer --hours 0.05 --lead 200": (2, "shorter than --hours, 180 s, got 200 s"),
    "submit transformer/miniature --seeds": (1, "--seeds needs at least one"),
    "submit transformer/miniature --budget.steps 0": (2, "steps must be at least 1, got 0"),
    "records": (1, "there is nothing to pack: no record lies in "),
    "export sentences/bag --to model": (1, "sentences/bag"),
    "export seeds/miniature --to .": (1, "--to must name a folder of its own"),
}


@pytest.mark.parametrize("line", BAD)
def test_a_bad_command_line_ends_in_one_sentence_and_a_status(call, results, line, monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.chdir(tmp_path)
    words = line.split()
    status, out, err = call(*(RUN + words[1:] if words[0] == "run" else words))
    assert (status, files(results)) == (BAD[line][0], []) and BAD[line][1] in flat(err) and not out
    assert "tyro" not in err and "dummy" not in err
    assert sentence(err).startswith("error: ")


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"WORLD_SIZE": "x"}, "WORLD_SIZE must be a number of processes, got 'x'"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE must be a number of processes, got '0'"),
        ({"WORLD_SIZE": "2"}, "WORLD_SIZE is 2, but RANK is not set"),
        ({"WORLD_SIZE": "2", "RANK": "5"}, "RANK must be from 0 to 1, as WORLD_SIZE is 2, got '5'"),
        ({"WORLD_SIZE": "2", "RANK": "-1"}, "RANK must be from 0 to 1, as WORLD_SIZE is 2, got '-1'"),
        ({"WORLD_SIZE": "2", "MASTER_PORT": ""}, "MASTER_PORT is not set"),
    ],
    ids=str,
)
def test_processes_that_are_numbered_wrongly_do_not_wait_for_one_another(
    call, results, monkeypatch, environment, said
):
    for name, value in ({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "RANK": "0"} | environment).items():
        monkeypatch.setenv(name, value)
    if environment == {"WORLD_SIZE": "2"}:
        monkeypatch.delenv("RANK")
    status, out, err = call(*RUN)
    assert (status, out, files(results)) == (1, "", []) and said in sentence(err)


def test_a_table_of_a_name_that_nothing_has_is_refused_before_a_record_is_read(call, monkeypatch):
    monkeypatch.setattr(
        "reservoir_lab.evidence.comparison.frame", lambda *_, **__: pytest.fail("records were read")
    )
    status, _, err = call("table", "nope")
    assert status == 1 and "there is no recipe 'nope'" in flat(err)


def test_an_unknown_field_is_explained_by_the_command_that_was_asked(call, results):
    for command in ("show", "submit", "run"):
        status, _, err = call(command, RECIPE, "--scale", "smoke", "--model.d-modle", "3")
        assert status in (1, 2) and f"reservoir {command}" in flat(err)


def test_names_are_never_cut_where_no_terminal_limits_them(call, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    status, out, _ = call("list", "universal", "fine-tune")
    names = [name for family in ("universal", "fine-tune") for name in recipes.family(family)]
    assert status == 0 and {line.split("│")[1].strip() for line in out.splitlines() if "│" in line} == set(
        names
    )


def test_run_wants_a_recipe(call):
    status, _, err = call("run")
    assert status == 1 and "name a recipe to run" in flat(err)


def test_the_module_is_a_command_and_gives_its_status(tmp_path):
    words = [sys.executable, "-m", "reservoir_lab", "run", "transformer/miniatur"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    assert done.returncode == 1 and "did you mean" in sentence(done.stderr) and not done.stdout
    assert files(tmp_path) == []


@pytest.mark.parametrize("words", [["list"], ["run", "--help"]])
def test_a_reader_who_stops_is_told_nothing(tmp_path, words):
    command = [sys.executable, "-m", "reservoir_lab", *words]
    # Where this is set, nothing is left to be written at the end.
    buffered = os.environ | {"PYTHONUNBUFFERED": ""}
    one = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=buffered
    )
    one.stdout.close()
    assert one.stderr.read() == "" and one.wait() == 1


def test_a_table_of_many_recipes_fits_a_terminal(results, capsys):
    assert main(["table", "components"]) == 0
    said = capsys.readouterr().out
    assert "baseline" in said and "embeddings-feed-forward" in said and "components/" not in said
    parameters = find_record("components/feed-forward").parameters
    share = f"{parameters['trainable'] / parameters['total']:.1%}"
    assert share in said and max(map(len, said.splitlines())) <= 80
