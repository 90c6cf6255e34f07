"""The page trains the bench as Python does: data and draws bit for bit, gradients and steps as PyTorch has them."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from javascript import ENGINE, begun, in_javascript, one_by_one, same_gradients, unpacked, without_key_biases

from reservoir.models import Tagger
from reservoir.training.classification import PuzzleTask
from reservoir.weights import Freeze, Mask, Scheme, freeze, initialise, owned, supermask
from reservoir_book.explorables import bench
from reservoir_lab import recipes
from reservoir_lab.recipes import bench as rows
from reservoir_lab.runs import Run
from reservoir_lab.runs.building import bare_model

CELLS = [(task, part.row) for task in bench.SAID for part in bench.PARTS]
OPERATIONS = 150e9
"""Most operations of a cell: at 10 GFLOP/s, which a core does in a browser, a reader waits 15 seconds."""


HEAD = (
    ENGINE
    + """
const { Tagger, trapezoid } = await import(JS + 'playground/tagger.mjs');
const { read, written, tensorsOf, countsOf, standardOf } = await import(JS + 'playground/settings.mjs');
const { draws, many, share } = await import(JS + 'playground/tasks.mjs');
const { tasks, lexicon } = given;
const ints = (list) => Int32Array.from(list);
const taggerOf = (line, seed) => new Tagger(kernels, { ...read(line, tasks), seed });
"""
)


def in_node(script: str, given: dict) -> dict:
    tasks = {one["name"]: one for one in bench.tasks(rows.MAIN_TASKS)}
    return in_javascript(HEAD + script, {"tasks": tasks, "lexicon": bench.WORDS} | given)


def named(model: Tagger) -> dict[str, torch.nn.Parameter]:
    """Parameters by stream; a mask's scores have their own."""
    return {item.stream: item.parameter for item in owned(model)}


@cache
def parts_of(task: str, seed: int):
    spec = recipes.get(f"bench/{task}/trained").task
    return spec.puzzle, spec.examples(seed)


# ---- data ----

DATA = """
const list = (drawn) => ({ x: [...drawn.x], y: [...drawn.y], n: drawn.n ?? drawn.to });
console.log(JSON.stringify(Object.fromEntries(given.all.map(([name, seed]) => {
  const found = draws(tasks[name], seed, lexicon);
  return [`${name} ${seed}`, { valid: list(found.valid), test: list(found.test), batches: given.steps.map((step) => list(found.batch(step))) }];
}))));
"""  # noqa: E501


def test_the_page_draws_the_bench_as_python_does():
    wanted = [(task, seed) for task in rows.MAIN_TASKS for seed in (0, 207)]
    steps = [0, 1, 1001]
    found = in_node(DATA, {"all": wanted, "steps": steps})
    for task, seed in wanted:
        spec = recipes.get(f"bench/{task}/trained").task
        examples = spec.examples(seed)
        ours = found[f"{task} {seed}"]
        for name, theirs in (("valid", examples.valid), ("test", examples.test)):
            n = ours[name]["n"]
            assert n == len(theirs), (task, name)
            for side in "xy":
                kept = getattr(theirs, side).flatten().tolist()
                assert ours[name][side][: len(kept)] == kept, (task, name, side)
        made = spec.task(examples, range(0), seed=seed)
        for step, batch in zip(steps, ours["batches"], strict=True):
            each = len(made.epoch(0))
            theirs = made.epoch(step // each)[step % each]
            assert (batch["x"], batch["y"]) == (theirs.x.flatten().tolist(), theirs.y.flatten().tolist()), (
                task,
                step,
            )


SHARES = "console.log(JSON.stringify(given.all.map(([name, n, y, said]) => share(tasks[name], { y: ints(y), n }, ints(said)))));"  # noqa: E501


def test_the_share_right_is_pythons():
    given, wanted = [], []
    for task in rows.MAIN_TASKS:
        puzzle, examples = parts_of(task, 0)
        few = examples.test.part(slice(200))
        y = few.y
        said = torch.where(
            torch.rand(y.shape, generator=torch.Generator().manual_seed(0)) < 0.9,
            y,
            (y + 1) % puzzle.sizes.answers,
        )
        right = said == y
        counts = puzzle.counts(few.x, y, right)
        good, asked = next(iter(counts.values()))
        given.append([task, len(few), y.flatten().tolist(), said.flatten().tolist()])
        wanted.append(100 * good / asked)
    assert in_node(SHARES, {"all": given}) == pytest.approx(wanted)


# ---- models ----

DRAWS = """
console.log(JSON.stringify(given.all.map(({ line, seed }) => {
  const engine = taggerOf(line, seed);
  return { again: written({ ...read(line, tasks) }), counts: countsOf(read(line, tasks)), tensors: Object.fromEntries(engine.tensors.flatMap((one) => {
    const weight = [one.stream, { shape: one.shape, moves: one.moves && !one.masked, values: text(engine.read(one.stream)) }];
    return one.masked ? [weight, [`${one.stream}.scores`, { shape: one.shape, moves: true, kept: engine.bits(one.stream).reduce((a, b) => a + b, 0), values: text(engine.read(one.stream, 'scores')) }]] : [weight];
  })) };
})));
"""  # noqa: E501


def built(run: Run) -> Tagger:
    model = initialise(bare_model(run), seed=run.seed, scheme=Scheme())
    return freeze(supermask(model, run.mask, seed=run.seed), run.freeze).train()


def test_every_cell_begins_with_the_tensors_of_its_recipe():
    given = [{"line": bench.line(task, row), "seed": 207} for task, row in CELLS]
    for (task, row), one, found in zip(CELLS, given, in_node(DRAWS, {"all": given}), strict=True):
        run, base = (recipes.get(f"bench/{task}/{name}") for name in (row, "trained"))
        assert run.mask.keep in (1, 0.5) and run.budget == base.budget, (task, row)
        assert replace(run.optimiser, lr=base.optimiser.lr) == base.optimiser, (task, row)
        model = built(run.evolve(seed=207))
        theirs = named(model)
        assert found["again"] == one["line"]
        assert found["tensors"].keys() == theirs.keys(), (task, row)
        for stream, tensor in found["tensors"].items():
            assert tensor["shape"] == list(theirs[stream].shape)
            assert tensor["moves"] == theirs[stream].requires_grad, (task, row, stream)
            assert tensor.get("kept") in (None, theirs[stream].numel() // 2)
            same = torch.equal(unpacked(tensor["values"]), theirs[stream].detach().flatten())
            assert same, (task, row, stream)


ALLOWED = {
    "embedding": "tsm",
    "attention": "tsmn",
    "feed_forward": "tsmn",
    "norms": "tf",
    "norm": "tf",
    "readout": "ts",
}


def names(layers: int) -> list[tuple[str, str]]:
    """(name, kind) of each part, from the bottom up."""
    inner = [
        (f"encoder.{i}.{kind}", kind)
        for i in range(layers)
        for kind in ("attention", "feed_forward", "norms")
    ]
    return [("embedding", "embedding"), *inner, ("norm", "norm"), ("readout", "readout")]


PATTERNS = {"embedding": ("embedding*", "positions*"), "norm": ("norm*",), "readout": ("readout*",)}


def patterns(name: str) -> tuple[str, ...]:
    if name.endswith(".norms"):
        return (name.removesuffix("norms") + "*norm*",)
    if name.endswith("feed_forward"):  # whose norm is another part
        return f"{name}.up*", f"{name}.down*"
    return PATTERNS.get(name, (f"{name}.*",))


def lettered(task: str, letters: str, *, layers: int = 2, keep: float = 0.5) -> Run:
    """A run of a task whose parts have the origins that letters say."""
    parts = dict(zip([name for name, _ in names(layers)], letters, strict=True))
    kinds = tuple(
        {"": "transformer", "n": "ffn"}[
            parts[f"encoder.{i}.attention"].replace("t", "").replace("s", "").replace("m", "")
        ]
        if parts[f"encoder.{i}.feed_forward"] != "n"
        else "attention"
        for i in range(layers)
    )
    frozen = tuple(glob for name, letter in parts.items() if letter in "sf" for glob in patterns(name))
    masked = tuple(glob for name, letter in parts.items() if letter == "m" for glob in patterns(name))
    run = recipes.get(f"bench/{task}/trained")
    kinds = () if set(kinds) == {"transformer"} else kinds
    run = run.evolve(model={"layers": layers, "kinds": kinds}, freeze=Freeze(patterns=frozen))
    return run.evolve(mask=Mask(keep=keep, drawn="signed-constant", patterns=masked)) if masked else run


def line_of(task: str, letters: str, *, layers: int = 2, keep: float = 0.5) -> str:
    said = [f"b{task}", f"l{layers}", f"k{keep}", f"p{letters}"]
    return "_".join(said)


GRADIENTS = """
const found = given.all.map(({ line, x, y, n }) => {
  const engine = taggerOf(line, 3);
  engine.load({ x: ints(x), y: ints(y) }, 0, n);
  const right = engine.forward();
  const [loss] = engine.losses;
  engine.backward();
  return { loss, right, said: [...engine.answers()], tensors: gradients(engine) };
});
console.log(JSON.stringify(found));
"""
SOME = {"circle": 5, "brackets": 6, "facts": 9, "grammar": 4, "words": 5}
"""Tasks, and on how many sequences gradients are compared: all places asked and some, causal and not."""


@pytest.mark.parametrize("task", SOME)
def test_losses_and_gradients_are_pytorchs_for_every_part_and_origin(task: str):
    spec = recipes.get(f"bench/{task}/trained").task
    batch = parts_of(task, 0)[1].train.epoch(0, batch=SOME[task], seed=100)[0]
    wanted = one_by_one([ALLOWED[kind] for _, kind in names(2)])
    shown = {"x": batch.x.flatten().tolist(), "y": batch.y.flatten().tolist(), "n": SOME[task]}
    found = in_node(GRADIENTS, {"all": [{"line": line_of(task, letters), **shown} for letters in wanted]})
    for letters, ours in zip(wanted, found, strict=True):
        model = built(lettered(task, letters).evolve(seed=3))
        made = PuzzleTask(spec.puzzle, None, batch=1, seed=0)
        asked = made.size(batch)[0]
        loss = made.loss(model, batch)
        (loss / asked).backward()
        assert ours["loss"] == pytest.approx(loss.item(), rel=1e-5), letters
        logits = made.logits(model, batch)
        # The winner of two that are nearly equal may be another one.
        close = logits.topk(2).values
        sure = (close[..., 0] - close[..., 1] > 1e-4).flatten()
        said = torch.tensor(ours["said"])
        assert torch.equal(said[sure], logits.argmax(-1).flatten()[sure]) and sure.float().mean() > 0.9
        assert ours["right"] == int(((said == batch.y.flatten()) & (batch.y.flatten() >= 0)).sum())
        moving = {stream: one for stream, one in named(model).items() if one.requires_grad}
        same_gradients(ours["tensors"], moving, letters)


STEPS = """
const { line, states, steps } = given;
const engine = taggerOf(line, 0);
const found = states.map(({ tensors, x, y, n, step }) => {
  begin(engine, tensors, step);
  engine.load({ x: ints(x), y: ints(y) }, 0, n);
  const loss = engine.train();
  return { loss, rate: engine.rate(step + 1), after: ended(engine, tensors) };
});
console.log(JSON.stringify(found));
"""
WHOLE = [
    ("circle", "trained"),
    ("brackets", "no-feed-forward"),
    ("facts", "mask"),
    ("grammar", "reservoir-transformer"),
]


@pytest.mark.parametrize(("task", "row"), WHOLE)
def test_a_step_moves_every_number_as_pytorch_does(task: str, row: str):
    """Steps of PyTorch's run, each made again by the page from where it begins: early, while it warms up, and late."""
    run = recipes.get(f"bench/{task}/{row}")
    _, examples = parts_of(task, 0)
    made = run.task.task(examples, range(0), seed=0)
    model, states, after = built(run), [], []
    steps = run.budget.steps
    optimiser = run.optimiser.build(model)
    moving = {stream: one for stream, one in named(model).items() if one.requires_grad}
    for step in (0, 1, 2, 40, 41, int(0.9 * steps)):
        batch = made.epoch(0)[step % len(made.epoch(0))]
        for state in optimiser.state.values():
            state["step"].fill_(step)
        shown = {"x": batch.x.flatten().tolist(), "y": batch.y.flatten().tolist(), "n": len(batch.x)}
        states.append({"tensors": begun(optimiser, moving), "step": step, **shown})
        loss = made.loss(model, batch) / made.size(batch)[0]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(moving.values()), run.optimiser.clip)
        rate = run.optimiser.rate(step + 1, steps)
        optimiser.param_groups[0]["lr"] = rate
        before = {stream: one.detach().clone() for stream, one in moving.items()}
        optimiser.step()
        optimiser.zero_grad()
        after.append(
            (loss.item(), rate, before, {stream: one.detach().clone() for stream, one in moving.items()})
        )
    found = in_node(STEPS, {"line": bench.line(task, row), "states": states, "steps": steps})
    for (loss, rate, before, theirs), ours in zip(after, found, strict=True):
        assert ours["loss"] == pytest.approx(loss, rel=1e-5)
        assert ours["rate"] == pytest.approx(rate, rel=1e-12)
        for stream, tensor in theirs.items():
            moved = without_key_biases(stream, (tensor - before[stream]).flatten())
            error = without_key_biases(stream, unpacked(ours["after"][stream]) - tensor.flatten())
            # Adam divides by the size of a gradient: where that is no more than rounding, either sign is right.
            assert (error.abs() > 0.02 * rate).float().mean() < 0.02, stream
            assert error.norm() < 0.02 * moved.norm(), stream


COSTS = """
console.log(JSON.stringify(given.all.map((line) => {
  const engine = taggerOf(line, 200);
  const task = tasks[line.slice(1).split('_')[0]];
  const found = draws(task, 200, lexicon);
  const batch = found.batch(0);
  engine.load(batch, batch.from, batch.to);
  engine.train();
  return engine.operations * engine.settings.steps;
})));
"""


def test_no_cell_takes_more_operations_than_a_reader_waits_for():
    costs = in_node(COSTS, {"all": [bench.line(task, row) for task, row in CELLS]})
    print({f"{task}/{row}": f"{cost / 1e9:.0f}" for (task, row), cost in zip(CELLS, costs, strict=True)})
    assert min(costs) > 1e9
    assert max(costs) < OPERATIONS


CELL = """
const { train } = await import(JS + 'front_table/worker.mjs');
const bytes = readFileSync(new URL(JS + 'playground/kernels.wasm'));
console.log(JSON.stringify(given.all.map((line) => {
  const said = [];
  train({ kernels: bytes, settings: { ...read(line, tasks), seed: 7 }, lexicon }, (one) => said.push(one));
  const points = said.filter(({ kind }) => kind === 'point');
  return { points: points.map(({ step }) => step), shown: points.at(-1).shown, last: said.at(-1) };
})));
"""


def test_a_cell_trained_to_its_end_knows_what_pythons_does():
    run = recipes.get("bench/brackets/trained")
    trained, blind = in_node(CELL, {"all": ["bbrackets", bench.line("brackets", "no-attention")]})
    every = run.budget.validate_every
    assert trained["points"] == list(range(every, run.budget.steps + 1, every))
    assert trained["last"]["kind"] == blind["last"]["kind"] == "done"
    assert trained["last"]["share"] > 99  # those that Python looked at ended at 99.8 and more
    assert 40 < blind["last"]["share"] < 55  # without attention it knows how often each answer is right
    for asked, right, said in trained["shown"]:
        assert len(right.split()) == asked.count("×") == len(said.split())
    assert sum(right == said for _, right, said in trained["shown"]) >= 3


NOTES = """
const { note } = await import(JS + 'playground/practice.mjs');
console.log(JSON.stringify(given.all.map((losses) => {
  const run = { guessing: 1.6, step: 0 };
  for (const loss of losses) { run.step += 1; note(run, loss ?? NaN); if (run.stopped !== undefined) break; }
  return run.stopped ?? null;
})));
"""


def test_a_run_may_begin_worse_than_by_guessing_but_stops_where_it_gets_wild():
    ends = in_node(NOTES, {"all": [[3.3] * 20, [1.7] + [3.0] * 50, [1.7] + [20.0] * 50, [1.7, None]]})
    assert ends[:2] == [None, None] and 1 < ends[2] < 10 and ends[3] == 3
