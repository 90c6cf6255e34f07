"""The peers that the benchmarks measure against do the same work as ours."""

import io
import json
import math
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from rich.console import Console

from benchmarks import book, decoding, draw, estimate, fourier, libraries, playground
from benchmarks.__main__ import (
    BENCHMARKS,
    GROUPS,
    last_lines,
    main,
    measure,
    measured_before,
    read_lines,
    slower,
    table,
)
from benchmarks.communication import Traffic
from benchmarks.estimate import Predicted
from benchmarks.freezing import Saving
from benchmarks.measure import Amount, Comparison, Line, Settings, compare
from reservoir.datasets import Batch
from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.weights import draws, initialise
from reservoir_book import benchmarks as page
from reservoir_lab.runs.machine import machine

pytestmark = pytest.mark.check


@pytest.fixture(scope="module")
def model():
    config = EncoderDecoderConfig(
        40,
        40,
        d_model=16,
        n_heads=2,
        d_ff=32,
        encoder_layers=2,
        decoder_layers=1,
        norm_first=True,
        dropout=0.0,
    )
    model = initialise(EncoderDecoder(config), seed=0).eval()
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if "norm" in name or "bias" in name:  # not at their usual ones and zeros
                tensor.add_(
                    0.3 * torch.randn(tensor.shape, generator=torch.Generator().manual_seed(len(name)))
                )
        model.decoder_norm.bias += 1.2 * model.src_embedding.weight[decoding.EOS]  # so that translations end
    return model


@torch.inference_mode()
def test_transformers_pegasus_with_our_weights_says_what_our_model_says(model):
    draw = torch.Generator().manual_seed(0)
    src, tgt = torch.randint(3, 40, (3, 7), generator=draw), torch.randint(3, 40, (3, 5), generator=draw)
    src[1, 5:] = 0
    theirs = decoding.peer(model)(src, attention_mask=(src != 0).long(), decoder_input_ids=tgt).logits
    ours = model.output(model.hidden(src, tgt))
    torch.testing.assert_close(theirs, ours, atol=1e-5, rtol=1e-5)


@pytest.fixture
def compared(model):
    """Decoding next to others: the translations and the speed of each peer that is installed."""
    draw = torch.Generator().manual_seed(1)
    sources = [torch.randint(3, 40, (n,), generator=draw).tolist() for n in range(1, 13)]
    return decoding.beside_others(model, sources, case="small", settings=Settings(0.0, torch.device("cpu")))


def test_both_searches_find_the_same_translations_and_are_measured(compared):
    agreement, speed, *_ = compared
    assert (agreement.same, agreement.of) == (12, 12)
    assert "12 of 12 translations are those of transformers' generate ✓" in str(agreement)
    assert speed.ours > 0 and speed.theirs > 0 and speed.required == decoding.FASTER


@pytest.mark.extra
def test_ctranslate2_finds_the_same_translations_and_is_measured(compared):
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed (the extra `peers`)")
    _, _, same, beside, in_int8, beside_int8 = compared
    assert (same.same, same.of) == (12, 12) and same.peer == beside.peer == "CTranslate2, float32"
    assert beside.required == decoding.LEVEL and beside.theirs > 0
    assert in_int8.required is beside_int8.required is None and in_int8.peer == "CTranslate2, int8"


def test_a_model_that_pegasus_cannot_be_is_refused():
    config = EncoderDecoderConfig(
        40, 40, d_model=16, n_heads=2, d_ff=32, encoder_layers=1, decoder_layers=1, norm_first=False
    )
    with pytest.raises(ValueError, match="pre-LN, tied throughout"):
        decoding.peer(EncoderDecoder(config))


def test_without_transformers_the_command_still_begins():
    program = "import sys; sys.modules['transformers'] = None; import benchmarks.__main__"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_peer_that_is_not_installed_is_named_and_the_others_are_measured(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setattr(fourier, "by_length", lambda d_model, length, settings: (d_model, length))
    settings = Settings(0.0, torch.device("cpu"), size="laptop")
    assert [width for width, _ in fourier.run(settings)] == [64] * 11 + [256] * 11
    assert "fourier: transformers is not installed" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "x_transformers", None)
    assert not list(libraries.peers(EncoderDecoderConfig(40, 40, d_model=16, n_heads=2, d_ff=32)))
    said = capsys.readouterr().out
    assert "libraries: transformers is not installed" in said and "x-transformers is not installed" in said


def test_the_page_knows_every_benchmark_by_its_group():
    assert {group: tuple(members) for group, members in GROUPS.items()} == page.GROUPS


@pytest.mark.parametrize("record", page.recorded(), ids=lambda one: one["benchmark"])
def test_a_record_is_shown_with_its_machine_and_bars(record):
    frame, lines = page.lines(record), record["lines"]
    assert len(frame) == len(lines) and frame["ratio"].map(float).gt(0).all()
    for text, one in zip(frame["asked"], lines, strict=True):
        assert (one["required"] is None) == (not text)
        assert not text or text.endswith("✓" if one["ratio"] >= one["required"] else "✗")
    where, machine = page.where(record), record["machine"]
    assert machine["cpu"] in where and record["code"]["commit"][:8] in where
    if machine["gpu"]:
        assert machine["gpu"] in where and "bf16 units" not in where  # which are the processor's


def test_what_nobody_has_recorded_says_so():
    state, names = page.state(), {one["benchmark"] for one in page.recorded()}
    assert set(state.index) == set(BENCHMARKS)
    for name, line in state.iterrows():
        assert (line["recorded on"] == "nobody has recorded it") == (name not in names)


def test_all_results_are_rows_of_one_table():
    results = [
        Comparison("case", "a peer", "tokens", 2000.0, 1000.0, 2.0, 1.9, 2.1, 2.05, 7, 1.5),
        Amount("padding", "a peer", "%", 3.0, 6.0),
        decoding.Agreement("case", "a peer", 99, 100),
        Traffic("case", 2, 0.25, 250, 250, 0.25),
        Saving("case", 0.5, 2.0, 1.5, 0.55, 0.91, 0.9, 0.95, 0.9, 6, 0.5, 0.5, 0.9),
        book.Built("the book", "a peer", 10.0, 20.0, 2.0, 1.9, 2.1, 3),
        Predicted("a recipe", 40, 5.0, 4.0),
        Predicted("a recipe", 40, 3.0, 4.0),
    ]
    lines = [result.line for result in results]
    assert [round(line.ratio, 3) for line in lines] == [2.0, 2.0, 0.99, 0.25, 0.91, 2.0, 0.8, 0.75]
    assert (lines[0].ours, lines[0].theirs) == ("2 k tokens/s", "1 k tokens/s")
    shown = Console(width=200, record=True, file=io.StringIO())
    shown.print(table({"step": lines, "decoding": lines[:1]}, "a machine"))
    text = shown.export_text()
    assert "training step" in text and "decoding" in text
    assert text.count("✓") == 5 and text.count("✗") == 1
    record = {"lines": [asdict(line) for line in lines], "comparisons": []}
    assert list(page.lines(record)["ratio"]) == [
        "2.00",
        "2.00",
        "0.99",
        "0.25",
        "0.91",
        "2.00",
        "0.80",
        "0.75",
    ]


@pytest.mark.parametrize("kind", ["Marian", "Bart"])
def test_peers_of_the_training_step_have_our_sizes(kind):
    config = EncoderDecoderConfig(
        40, 40, d_model=16, n_heads=2, d_ff=32, encoder_layers=2, decoder_layers=1, dropout=0.0
    )
    model = libraries.transformers_model(kind, config)
    src, tgt = torch.randint(3, 40, (2, 7)), torch.randint(3, 40, (2, 5))
    batch = Batch(src, tgt, tgt, 10)
    assert libraries.of_transformers(model)(batch).shape == (2, 5, 40)
    ours = sum(p.numel() for p in EncoderDecoder(config).parameters())
    theirs = sum(p.numel() for p in model.parameters() if p.requires_grad)
    places = (
        2 * 258 * 16 + 2 * 2 * 16 if kind == "Bart" else 0
    )  # its positions, and a norm above either table
    assert theirs == ours + places


def test_a_page_is_weighed_with_what_it_loads(tmp_path):
    (tmp_path / "a.css").write_text("p { color: red }" * 100)
    (tmp_path / "page.html").write_text('<link rel="stylesheet" href="a.css"><p>Hello</p>')
    heavy = book.weight(tmp_path / "page.html")
    (tmp_path / "a.css").unlink()
    assert 0 < book.weight(tmp_path / "page.html") < heavy
    assert (
        book.slug(Path("03-transformer.ipynb")) == "transformer"
        and book.slug(Path("B-errata.ipynb")) == "b-errata"
    )


def test_a_build_that_fails_says_why_and_leaves_the_other_benchmarks_alone(monkeypatch, tmp_path, capsys):
    """`main` goes on after a RuntimeError; a message that is lost in a captured stream helps nobody."""
    program = "import sys; print('x ' * 9000 + 'last' + 'words', file=sys.stderr); sys.exit(3)"
    with pytest.raises(RuntimeError, match=r"-c .* failed with status 3: [x ]+lastwords$") as error:
        book.build([sys.executable, "-c", program])
    assert len(str(error.value)) < 800

    def failing(settings):
        book.build([sys.executable, "-c", program])
        yield

    def working(settings):
        yield Amount("the other", "a peer", "%", 3.0, 6.0)

    monkeypatch.setattr(sys, "argv", ["benchmarks", "--quick"])
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    monkeypatch.setattr("benchmarks.__main__.BENCHMARKS", {"book": failing, "step": working})
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().out
    assert ended.value.code and "book: not measured" in said and "lastwords" in said
    assert [one.case for one in read_lines(tmp_path / "benchmarks" / "step-cpu-laptop-quick.json")] == [
        "the other"
    ]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_an_estimate_is_made_and_checked_on_the_device_that_was_asked_for(device, monkeypatch):
    """Whether or not there is a GPU, which a recipe would take by itself."""
    asked = []

    def measured(run):
        asked.append(run.device)
        return SimpleNamespace(step_seconds=0.5)

    def timed(run, *, steps):
        asked.append(run.device)
        return [0.5] * steps, None

    monkeypatch.setattr(estimate, "measure", measured)
    monkeypatch.setattr(estimate, "timed", timed)
    found = list(estimate.run(Settings(1.0, torch.device(device))))
    assert len(found) == len(estimate.RUNS) and asked == [device] * 2 * len(found)


def line(case: str, low: float, ratio: float, high: float) -> Line:
    return Line(case, "a peer", "1", "1", ratio, low, high, None, 9)


def test_a_page_says_which_ratios_are_not_settled():
    found = page.recorded()
    shown = pd.concat([page.lines(one) for one in found])
    lines = [line for one in found for line in one["lines"]]
    loose = [
        line["low"] is not None
        and not 0.9 <= line["low"] / line["ratio"] <= line["high"] / line["ratio"] <= 1.1
        for line in lines
    ]
    assert list(shown["quartiles"].str.endswith("not settled")) == loose and any(loose)
    counted = page.state()["not settled"].str.extract(r"^(\d+) of")[0].dropna().astype(int)
    assert counted.sum() == sum(loose)


def test_what_became_slower_than_its_quartiles_is_named():
    last = [line("same", 0.9, 1.0, 1.1), line("slower", 0.9, 1.0, 1.1), line("gone", 1.0, 1.0, 1.0)]
    fresh = [line("same", 0.85, 0.88, 0.95), line("slower", 0.5, 0.6, 0.7), line("new", 0.1, 0.1, 0.1)]
    (found,) = slower(fresh, last)
    assert found == "slower: 0.60 × a peer, and 1.00 when recorded"


def test_a_share_gets_worse_as_it_grows_and_a_timing_without_quartiles_is_not_judged():
    share = replace(line("sent", None, 0.5, None), pairs=0, smaller_is_better=True)
    assert slower([replace(share, ratio=0.4)], [share]) == []
    assert slower([replace(share, ratio=0.6)], [share]) == ["sent: 0.60 × a peer, and 0.50 when recorded"]
    timed = line("timed", None, 1.3, None)
    assert slower([replace(timed, ratio=0.2)], [timed]) == []


def test_drawing_leaves_the_library_as_it_was(monkeypatch):
    seen = []
    monkeypatch.setattr(draw, "compare", lambda *sides, **options: seen.append(draws.WORTHWHILE))
    before = draws.WORTHWHILE
    settings = Settings(0.0, torch.device("cpu"), size="laptop", compiled=False)
    assert all(draws.WORTHWHILE == before for _ in draw.run(settings))
    assert before not in seen and math.inf in seen


def test_what_runs_on_the_processor_is_not_recorded_as_a_gpus(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("benchmarks.__main__.machine", lambda device: {"gpu": "a GPU", "cpu": "a processor"})
    monkeypatch.setattr(sys, "argv", ["benchmarks", "memory", "--device", "cuda"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1 and "memory: not measured" in capsys.readouterr().out
    assert not list((tmp_path / "benchmarks").iterdir())


def test_a_run_is_compared_with_the_record_of_the_same_processor(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.__main__.shipped", lambda: tmp_path)
    (tmp_path / "benchmarks").mkdir()
    here = machine(torch.device("cpu"))
    for name, cpu, ratio in (("a", here["cpu"], 2.0), ("b", "another", 3.0)):
        record = {"machine": here | {"cpu": cpu}, "lines": [asdict(line("one", ratio, ratio, ratio))]}
        (tmp_path / "benchmarks" / f"step-cpu-{name}.json").write_text(json.dumps(record))
    (tmp_path / "benchmarks" / "step-cpu-c.json").write_text("{")
    last = last_lines("step", torch.device("cpu"))
    assert [one.ratio for one in last] == [3.0, 2.0]
    assert slower([line("one", 2.5, 2.5, 2.5)], last) == []


def test_a_benchmark_that_is_cut_off_keeps_its_lines_and_goes_on(tmp_path, monkeypatch):
    """Each line is written as soon as it is measured, and a second call measures the others alone."""
    calls, cut = [], [True]

    def benchmark(settings):
        for case in ("first", "second"):

            def ours(turn, case=case):
                if case == "second" and cut:
                    raise KeyboardInterrupt
                calls.append(case) if turn == 0 else None

            yield compare(
                ours, lambda turn: None, case=case, peer="p", unit="u", work=lambda turn: 1, settings=settings,
                warm_up=(),
            )  # fmt: skip

    monkeypatch.setitem(BENCHMARKS, "trial", benchmark)
    path, settings = tmp_path / "trial-cpu.json", Settings(0.0, torch.device("cpu"))
    console, asked = Console(file=io.StringIO(), width=200), {"benchmark": "trial", "seconds": 0.0}
    with pytest.raises(KeyboardInterrupt):
        measure("trial", settings, path, {**asked, "resume": False}, console)
    assert [one.case for one in read_lines(path)] == ["first"] and calls == ["first"]
    cut.clear()
    again = measure("trial", settings, path, {**asked, "resume": True}, console)
    assert [one.case for one in again] == ["first", "second"] and calls == ["first", "second"]
    assert not measured_before(path, {**asked, "seconds": 1.0}), "of other settings"
    path.write_text("{", encoding="utf-8")
    assert not measured_before(path, asked) and read_lines(path) == []


def test_the_playground_makes_the_same_steps_as_python():
    with playground.node("engine") as ours:
        playground.same(ours, playground.PyTorch(), "PyTorch", 5)
        assert len(ours.spent) == 5 and min(ours.spent) > 0
        with pytest.raises(
            RuntimeError, match=r"at step 1 the loss is [\d.]+, and with a stranger 0\.000000"
        ):
            playground.same(ours, lambda turn: 0.0, "a stranger", 1)


def test_javascript_and_python_draw_the_same_numbers_in_the_benchmark():
    with playground.node("draws") as ours:
        theirs = playground.Drawing()
        assert [ours(turn) for turn in range(3)] == [theirs(turn) for turn in range(3)]
        assert ours(0) != ours(1) and min(ours.spent) > 0
