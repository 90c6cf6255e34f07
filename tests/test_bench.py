"""The bench's tasks, against slow implementations of their definitions, and what its rows share."""

import dataclasses
import json
import math
from collections import Counter

import pytest
import torch

from reservoir.datasets.bench import NOTHING, Brackets, Circle, Facts, Grammar
from reservoir.models import Tagger, TaggerConfig
from reservoir.training.classification import PuzzleTask
from reservoir.weights import initialise, owned
from reservoir_lab.launch import looking
from reservoir_lab.recipes import bench
from reservoir_lab.runs.building import build
from reservoir_lab.runs.execution import train_run
from reservoir_lab.runs.run import run_from_json
from reservoir_lab.runs.together import whole


@pytest.fixture(autouse=True)
def no_looking(tmp_path, monkeypatch):
    monkeypatch.setattr(looking, "found_file", lambda: tmp_path / "looking.jsonl")


def test_who_stands_so_many_steps_on_is_found_by_walking():
    puzzle = Circle(n=13, hops=(2, 3, 6))
    x, y = puzzle.draw(50, seed=3)
    for shown, answers in zip((x - 1).tolist(), y.tolist(), strict=True):
        for place in range(13):
            seen, at = [], place
            for _ in range(13):
                at = shown[at]
                seen.append(at)
            assert seen[-1] == place, "not one ring"
            assert [seen[k - 1] for k in puzzle.hops] == answers[place]


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_layer_triples_what_a_place_can_know(layers):
    """Sets of offsets that are known, grown by the rule of the docstring, and nothing else."""
    known = {0, 1}
    for _ in range(layers):
        met = {a - b for a in known for b in known}  # how far away are those who know a place in common
        known = {at + offset for at in met for offset in known}
    farthest = max(known)
    assert farthest == (3**layers + 1) // 2
    assert Circle.layers(farthest) == layers
    assert Circle.layers(farthest + 1) == layers + 1


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"n": 11}, "n must be at least 13 to ask 6 steps on"),
        ({"n": 13, "hops": (13,)}, "hops must be from 2 to 12"),
        ({"n": 13, "hops": (1,)}, "hops must be from 2 to 12"),
        ({"n": 13, "hops": ()}, "got none"),
    ],
)
def test_a_ring_that_is_too_small_is_refused(sizes, words):
    with pytest.raises(ValueError, match=words):
        Circle(**sizes)


def test_what_is_open_is_found_with_a_stack():
    puzzle = Brackets(length=16, kinds=4)
    x, y = puzzle.draw(300, seed=1)
    answers: Counter = Counter()
    for tokens, asked in zip((x - 1).tolist(), y[..., 0].tolist(), strict=True):
        stack: list[int] = []
        for token, answer in zip(tokens, asked, strict=True):
            if token == 4:
                stack.pop()  # raises where nothing is open
                expected = stack[-1] if stack else 4
                assert answer == expected
                answers[answer] += 1
            else:
                stack.append(token)
                assert answer == NOTHING
    assert 0.32 < answers[4] / answers.total() < 0.40


def test_brackets_are_counted_by_depth():
    puzzle = Brackets(length=6, kinds=2)
    x = torch.tensor([[1, 2, 3, 1, 3, 3]])  # ( [ ] ( ) ) in ids: closing is 3
    y = torch.tensor([[-1, -1, 0, -1, 0, 2]])[..., None]
    right = torch.tensor([[False, False, True, True, False, True]])[..., None]
    assert puzzle.counts(x, y, right) == {"after closing": (2, 3), "1 deep": (1, 2)}


def test_each_seed_has_its_own_facts_and_a_fact_never_changes():
    puzzle = Facts(8, 8, 16)
    table = puzzle.table(5)
    x, y = puzzle.draw(500, seed=9, table=table)
    for (subject, relation), value in zip((x - 1).tolist(), y.flatten().tolist(), strict=True):
        assert value == int(table[8 * subject + relation - 8])
    assert not torch.equal(table, puzzle.table(6))
    assert table.max() < 16


def test_facts_are_worth_the_bits_that_a_model_knows_of_them():
    run = bench.make("facts", "trained", "smoke")
    model, task, corpus = build(run)
    nothing = initialise(Tagger(model.config), seed=0)
    with torch.no_grad():
        nothing.readout.weight.zero_()  # every value is as likely as any other
    assert task.score(nothing, corpus.test)["bits"] == pytest.approx(0, abs=1e-3)

    class Knowing(torch.nn.Module):
        """Says each value with a probability of one half."""

        def __init__(self):
            super().__init__()
            self.one = torch.nn.Parameter(torch.zeros(1))

        def forward(self, ids, places):
            which = 8 * (ids[:, 0] - 1) + ids[:, 1] - 9
            said = torch.zeros(len(ids), 1, 8)
            said[torch.arange(len(ids)), 0, run.task.puzzle.table(0)[which]] = math.log(7)
            return said

    assert task.score(Knowing(), corpus.test)["bits"] == pytest.approx(64 * (math.log2(8) - 1), rel=1e-5)


@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_a_sentence_is_asked_word_by_word(hidden):
    puzzle = Grammar(sentences=300, held_out=100, hidden=hidden)
    german, english = puzzle.words
    (x, y), (asked, _) = puzzle.split(2)
    rows = {tuple(row) for row in x[:, :9].tolist()}
    assert not rows & {tuple(row) for row in asked[:, :9].tolist()}, "a German sentence is in both parts"
    mark, cover = 1 + len(german), 2 + len(german) + len(english)
    for tokens, answers in zip(x.tolist(), y[..., 0].tolist(), strict=True):
        assert tokens[9] == mark
        said = [token - 2 - len(german) for token in tokens[10:] if token]
        if hidden:
            assert cover - 2 - len(german) in said
            assert [a != NOTHING for a in answers] == [t == cover for t in tokens[10:]]
        else:
            assert answers[: len(said) + 1] == [*said, len(english)]
            assert set(answers[len(said) + 1 :]) <= {NOTHING}


def test_a_sentence_is_right_when_all_of_it_is():
    puzzle = Grammar(sentences=20, held_out=20)
    y = torch.tensor([[[3], [4], [-1]], [[3], [5], [6]]])
    right = torch.tensor([[[True], [True], [False]], [[True], [False], [True]]])
    assert puzzle.counts(torch.zeros(2, 3), y, right) == {"sentences": (1, 2), "words": (4, 5)}


@pytest.mark.parametrize("task", bench.ALL)
def test_a_seed_draws_its_data_again(task):
    run = bench.make(task, "trained", "smoke", lr=1e-3).evolve(seed=4)
    first, again = (build(run)[1].epoch(1)[2] for _ in range(2))
    other = build(run.evolve(seed=5))[1].epoch(1)[2]
    assert torch.equal(first.x, again.x)
    assert torch.equal(first.y, again.y)
    assert not torch.equal(first.y, other.y)


@pytest.mark.parametrize(
    ("task", "row"), [pair for pair in bench.table() if bench.make(*pair, "smoke").start is None]
)
def test_every_row_trains_and_scores(task, row):
    run = bench.make(task, row, "smoke").evolve(recipe=f"bench/{task}/{row}")
    assert run_from_json(run.to_json()) == run
    model, on, corpus = build(run)
    before = {item.path: item.parameter.clone() for item in owned(model) if not item.parameter.requires_grad}
    assert train_run(run, model, on, name=row).flops > 0
    tests = run.task.test(model, on, corpus)
    assert 0 <= tests["test"]["accuracy"] <= 100
    after = {item.path: item.parameter for item in owned(model)}
    assert all(torch.equal(after[path], tensor) for path, tensor in before.items()), "a frozen tensor moved"
    if row.startswith("frozen") or row == "mask-random":
        assert before


def test_rows_that_are_compared_draw_what_they_share_alike():
    """A shallower model has the deeper one's first layers, and what is frozen is drawn as if it were trained."""
    tensors = {}
    for row in ("trained", "half", "frozen-attention", "reservoir-transformer"):
        model = build(bench.make("circle", row, "laptop"))[0]
        tensors[row] = {item.stream: item.parameter for item in owned(model)}
    whole = tensors.pop("trained")
    for row, found in tensors.items():
        assert all(torch.equal(whole[stream], tensor) for stream, tensor in found.items()), row


@pytest.mark.parametrize("tasks", ["facts", ("fact",)])
def test_a_row_on_tasks_that_are_not_there_is_refused(tasks, monkeypatch):
    monkeypatch.setitem(bench.CHANGED, "new", ("", tasks, {}))
    with pytest.raises(ValueError, match=r"tasks of 'new' must be a tuple of circle, .* got .*fact"):
        bench._rows()


@pytest.mark.parametrize("fields", [{"mixing": ("fourier",) * 2}, {"kinds": ("gru",) * 2}])
def test_a_causal_model_refuses_what_looks_ahead(fields):
    with pytest.raises(ValueError, match="must not read what lies ahead"):
        TaggerConfig(vocab=5, outputs=5, causal=True, **fields)


@pytest.mark.parametrize("mixing", ["attention", "split-attention"])
def test_a_causal_model_never_reads_what_lies_ahead(mixing):
    config = TaggerConfig(vocab=9, outputs=4, max_length=8, causal=True, mixing=(mixing,) * 2)
    model = initialise(Tagger(config), seed=0).eval()
    ids = torch.randint(1, 9, (3, 8), generator=torch.Generator().manual_seed(0))
    other = ids.clone()
    other[:, 5:] = 1
    with torch.no_grad():
        assert torch.equal(model(ids)[:, :5], model(other)[:, :5])
        assert not torch.equal(model(ids)[:, 5:], model(other)[:, 5:])


def test_split_attention_is_attention():
    """With the same maps, in two halves or in one."""
    whole = initialise(Tagger(TaggerConfig(vocab=9, outputs=4, max_length=8, layers=1)), seed=0)
    config = TaggerConfig(vocab=9, outputs=4, max_length=8, layers=1, mixing=("split-attention",))
    halves = initialise(Tagger(config), seed=0)
    state = whole.state_dict()
    mixing = "layers.0.mixing.sublayer"
    for kind in ("weight", "bias"):
        packed = state.pop(f"{mixing}.qkv.{kind}")
        state[f"{mixing}.queries_keys.{kind}"], state[f"{mixing}.values.{kind}"] = packed[:64], packed[64:]
    halves.load_state_dict(state)
    ids = torch.randint(1, 9, (3, 8), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(halves(ids), whole(ids))


def test_only_what_is_asked_counts():
    run = bench.make("brackets", "trained", "smoke")
    model, _, corpus = build(run)
    batch = corpus.test.in_order(batch=4)[0]
    logits = PuzzleTask.logits(model, batch)
    asked = batch.y >= 0
    expected = -logits.log_softmax(-1).gather(-1, batch.y.clamp(min=0)[..., None])[..., 0][asked].sum()
    torch.testing.assert_close(PuzzleTask.loss(model, batch), expected)


def line(row, lr, seed, score, cost=None):
    return {"row": row, "lr": lr, "seed": seed, "score": score, "to_90": cost}


def lines_of(scores):
    return {lr: [line("circle/trained", lr, s, score) for s in looking.SEEDS] for lr, score in scores.items()}


def test_a_sweep_looks_at_each_rate_with_each_seed_and_at_one_more_on_either_side(monkeypatch):
    def looked(runs):
        yield
        return [{"lr": run.optimiser.lr, "seed": run.seed} for run in runs]

    monkeypatch.setattr(looking, "looking", looked)
    monkeypatch.setattr(looking, "extended", lambda tried: [])
    lines = whole(looking.sweep("facts/trained", "smoke", device="cpu"))
    found = [(line["lr"], line["seed"]) for line in lines]
    assert found == [(looking.rate(number), seed) for number in range(-3, 4) for seed in looking.SEEDS]


def test_a_name_that_no_row_has_is_not_looked_at(monkeypatch, capsys):
    monkeypatch.setattr(looking, "write_rates", lambda: None)
    monkeypatch.setattr("sys.argv", ["looking", "--only", "facts/tained"])
    with pytest.raises(SystemExit):
        looking.main()
    assert "part of a row's name, such as facts/trained, got 'facts/tained'" in capsys.readouterr().err


def test_a_sweep_goes_on_until_the_best_rate_lies_inside():
    scores = {1e-3: 10.0, 3e-3: 20.0, 1e-2: 30.0}
    assert looking.extended(lines_of(scores)) == [2] and looking.rate(2) == 3e-2
    assert looking.extended(lines_of(scores | {3e-2: 25.0})) == []
    assert looking.extended(lines_of({1e-3: 30.0, 3e-3: 20.0})) == [-2] and looking.rate(-2) == 3e-4
    assert looking.extended(lines_of({1e-4: 30.0, 3e-4: 20.0})) == []  # no sweep goes further


def test_rows_are_missing_until_all_rates_have_all_seeds(monkeypatch):
    monkeypatch.setattr(bench, "table", lambda: [("circle", "trained")])
    runs = [(looking.rate(n), seed) for n in looking.NUMBERS for seed in looking.SEEDS]
    for lr, seed in runs:
        assert looking.missing() == ["circle/trained"]
        identity = looking.run_of("circle/trained", lr, seed).identity()
        looking.note([line("circle/trained", lr, seed, 50.0 - 1e3 * abs(lr - 3e-3)) | {"run": identity}])
    assert looking.missing() == []
    assert looking.choose() == {"circle/trained": 3e-3}


def test_a_line_counts_for_the_row_that_it_was_made_by_alone(monkeypatch):
    key = ("circle/trained", 3e-3, 0)
    whole = json.dumps(line(*key, 100.0) | {"run": looking.run_of(*key).identity()})
    looking.found_file().write_text(whole + "\n" + whole[:40])  # the second was cut off
    assert set(looking.read()) == {key}
    monkeypatch.setitem(bench.TASKS, "circle", dataclasses.replace(bench.TASKS["circle"], steps=1001))
    assert not looking.read()


def test_the_shipped_lines_are_of_todays_rows(monkeypatch):
    monkeypatch.undo()
    lines = looking.found_file().read_text(encoding="utf-8").splitlines()
    assert len(looking.read()) == len(lines) > 5000
    assert looking.choose() == bench.rates()


def test_of_equal_rates_the_cheaper_one_is_chosen():
    tried = {
        1e-3: [line("a/b", 1e-3, s, 100.0, 8.0) for s in range(3)],
        3e-3: [line("a/b", 3e-3, s, 100.0, 5.0) for s in range(3)],
        1e-2: [line("a/b", 1e-2, s, 100.0, c) for s, c in enumerate((1.0, None, None))],
    }
    assert looking.best(tried) == 3e-3
    level = {lr: [line("a/b", lr, s, 50.0) for s in range(3)] for lr in (1e-3, 3e-3, 1e-2)}
    assert looking.best(level) == 1e-2 and looking.best(level, 1e-3) == 1e-3  # what was chosen stays
