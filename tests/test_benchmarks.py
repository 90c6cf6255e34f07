"""The list of speeds: its peers do the same work as ours, and its record is what the page shows."""

import json
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch

from benchmarks import decoding, steps, waits
from benchmarks import measure as measuring
from benchmarks.__main__ import LIST, RECORD, Speed, main, written
from benchmarks.measure import Measured, Settings, compare, duration, in_turns, within
from reservoir.datasets import Batch
from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.weights import Freeze, freeze, initialise
from reservoir_book import benchmarks as page

pytestmark = pytest.mark.check
CONFIG = EncoderDecoderConfig(
    40, 40, d_model=16, n_heads=2, d_ff=32, encoder_layers=2, decoder_layers=1, norm_first=True, dropout=0.0
)


@pytest.fixture(scope="module")
def model():
    model = initialise(EncoderDecoder(CONFIG), seed=0).eval()
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
def sources():
    draw = torch.Generator().manual_seed(1)
    return [torch.randint(3, 40, (n,), generator=draw).tolist() for n in range(1, 13)]


@torch.inference_mode()
def test_transformers_finds_the_same_translations_as_our_beam_search(model, sources):
    pegasus = decoding.peer(model)
    for batch in decoding.in_batches(sources):
        found = pegasus.generate(
            batch,
            attention_mask=(batch != 0).long(),
            num_beams=decoding.BEAM,
            do_sample=False,
            length_penalty=0.0,
            max_new_tokens=decoding.longest(batch),
        )
        theirs = [[i for i in row[1:].tolist() if i not in (0, decoding.EOS)] for row in found]
        assert decoding.search(model, batch) == theirs and any(theirs)


@pytest.mark.extra
def test_ctranslate2_finds_the_same_translations_and_others_are_refused(model, sources, monkeypatch):
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed (the extra `peers`)")
    assert decoding.beside(model, sources, Settings(0.0)).ratio > 0
    monkeypatch.setattr(decoding, "search", lambda model, batch: [[] for _ in batch])
    with pytest.raises(RuntimeError, match=r"\d+ of 12 translations are not CTranslate2's"):
        decoding.beside(model, sources, Settings(0.0))


def test_a_model_that_pegasus_cannot_be_is_refused():
    with pytest.raises(ValueError, match="pre-LN, tied throughout"):
        decoding.peer(EncoderDecoder(replace(CONFIG, norm_first=False)))


@pytest.mark.parametrize("peer", [steps.TheirMarian, steps.TheirTransformer])
def test_peers_of_a_translators_step_have_our_sizes(peer):
    theirs, src, tgt = peer(CONFIG), torch.randint(3, 40, (2, 7)), torch.randint(3, 40, (2, 5))
    assert theirs(Batch(src, tgt, tgt, 10)).shape == (2, 5, 40)
    norms = (
        2 * 2 * 16 if peer is steps.TheirMarian else 0
    )  # a pre-LN stack ends in one, and Marian is post-LN
    ours = sum(p.numel() for p in EncoderDecoder(CONFIG).parameters())
    assert sum(p.numel() for p in theirs.parameters() if p.requires_grad) == ours - norms


def test_pytorchs_tagger_has_our_sizes():
    ours, theirs = (steps.OnBench("circle/trained", torch.device("cpu"), theirs=which) for which in (0, 1))
    sizes = [sum(p.numel() for p in one.model.parameters() if p.requires_grad) for one in (ours, theirs)]
    assert sizes[0] == sizes[1]


def test_the_ideal_saving_is_the_frozen_share_of_the_products_and_of_the_update(model):
    frozen = freeze(EncoderDecoder(model.config), Freeze(feed_forward=True))
    found = steps.ideal(frozen, {(32, 16): 7.0, (48, 16): 5.0}, 0.0)
    assert found == pytest.approx(
        6.0
    )  # six of seven such matrices; the other makes the decoder's keys and values
    assert steps.ideal(EncoderDecoder(model.config), {(32, 16): 7.0}, 8.0) == 0
    assert 0 < steps.ideal(frozen, {}, 8.0) < 8


def spin(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_twice_the_work_is_a_ratio_of_two_and_waiting_is_no_work():
    def ours(turn):
        time.sleep(0.02)
        spin(0.01)

    found = compare(ours, lambda turn: spin(0.02), Settings(0.5), warm_up=())
    assert 1.6 < found.ratio < 2.4 and found.low <= found.ratio <= found.high and found.turns >= 3


def test_sides_take_turns_and_none_is_always_the_first(monkeypatch):
    said, seconds = [], iter(range(1000))
    sides = [lambda turn, name=name: said.append((turn, name)) for name in "abc"]
    found = in_turns(sides, Settings(0.0), lambda turn: 1.0, clock=lambda: float(next(seconds)), warm_up=())
    assert said[:6] == [(0, "c"), (0, "b"), (0, "a"), (1, "a"), (1, "b"), (1, "c")]
    assert found == [[1.0] * 3] * measuring.FEWEST


def test_a_limit_is_compared_with_the_median():
    found = within(60, [10, 20, 12], times=2)
    assert (found.ratio, found.ours, found.theirs, found.turns) == (2.5, "24 s", "60 s", 3)
    assert within(60, [30]) == Measured("30 s", "60 s", 2.0, None, None, 1)


@pytest.mark.parametrize(
    ("seconds", "words"), [(393, "6 min 33 s"), (4.5, "4.5 s"), (0.0123, "12.3 ms"), (1.2e-5, "12 µs")]
)
def test_seconds_are_said_in_words(seconds, words):
    assert duration(seconds) == words


def test_a_command_that_fails_says_why():
    program = "import sys; print('x ' * 9000 + 'last' + 'words', file=sys.stderr); sys.exit(3)"
    with pytest.raises(RuntimeError, match=r"failed with status 3: [x ]+lastwords$") as error:
        measuring.run([sys.executable, "-c", program])
    assert len(str(error.value)) < 1000


def test_two_commands_are_compared_by_their_own_processor_time():
    spinning = "import time\nwhile time.process_time() < {}: pass"
    ours, theirs = ([sys.executable, "-S", "-c", spinning.format(seconds)] for seconds in (0.1, 0.2))
    assert 1.7 < measuring.commands(ours, theirs, Settings(0.0)).ratio < 2.3


def test_without_transformers_the_command_still_begins():
    program = "import sys; sys.modules['transformers'] = None; import benchmarks.__main__"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_line_is_written_at_once_and_what_fails_leaves_the_others_alone(monkeypatch, tmp_path, capsys):
    done = []

    def failing(settings):
        raise RuntimeError("no browser")

    def working(settings):
        done.append(settings.seconds)
        return within(2, [1.0])

    lines = {"bad": Speed("a", "b", 1, failing), "good": Speed("c", "d", 1, working)}
    monkeypatch.setattr("benchmarks.__main__.LIST", lines)
    monkeypatch.setattr("benchmarks.__main__.about", lambda device: {"machine": "here", "commit": "now"})
    out = tmp_path / "speed.json"
    out.write_text(json.dumps({"gone": {}}))
    for arguments in ([], ["--resume"]):
        monkeypatch.setattr(sys, "argv", ["benchmarks", "--out", str(out), "--seconds", "7", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr().out
        assert ended.value.code and "bad: not measured: no browser" in said
        assert list(written(out)) == ["good"] and written(out)["good"]["ratio"] == 2.0
    assert done == [7.0] and "good: recorded before" in said
    monkeypatch.setattr("benchmarks.__main__.about", lambda device: {"machine": "here", "commit": "later"})
    with pytest.raises(SystemExit):
        main()
    assert done == [7.0, 7.0]  # of another commit, it is measured again


def test_the_record_holds_the_list_and_at_most_four_limits_each_with_its_reason():
    lines = written(RECORD)
    assert list(lines) == list(LIST)
    for name, line in lines.items():
        assert all(
            line[key] == getattr(LIST[name], key) for key in ("case", "peer", "bar", "clock", "why")
        ), name
        assert page.met(line) or line["why"], f"{name} misses its bar and no reason is told"
        assert line["machine"] and line["date"] and line["commit"]
        assert line["low"] is None or line["low"] <= line["ratio"] <= line["high"]
    assert sum(bool(line["why"]) for line in lines.values()) <= 4


def test_the_page_shows_each_line_with_its_bar():
    shown, lines = page.speeds(), page.recorded("speed")
    assert list(shown.index) == [line["case"] for line in lines.values()]
    for (_, row), line in zip(shown.iterrows(), lines.values(), strict=True):
        assert row["bar"].endswith("✓" if line["ratio"] >= line["bar"] else "✗")
        loose = line["low"] is not None and not (
            0.9 <= line["low"] / line["ratio"] and line["high"] / line["ratio"] <= 1.1
        )
        assert row["quartiles"].endswith("not settled") == loose


def test_the_front_tables_page_shows_its_cells(tmp_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=waits.chromium.on_path(),
            args=["--no-sandbox", "--allow-file-access-from-files"],
        )
        opened = browser.new_page()
        opened.goto(waits.front_table(tmp_path).as_uri())
        assert opened.locator(".ft-cell").count() > 20
        browser.close()
