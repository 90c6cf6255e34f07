"""Files that others wrote: each ends in one sentence, soon, or means what it did before."""

import copy
import json
import os
import random
import signal
import time
from contextlib import contextmanager
from functools import partial

import pytest
from own import write_own

from reservoir.models.pretrained import CARD, CONFIG, RUN, TOKENIZER, WEIGHTS, digest_of_files
from reservoir.weights.files import digest, read_safetensors, safetensors_bytes
from reservoir_lab import recipes
from reservoir_lab.launch.console import CONTROL
from reservoir_lab.runs import RecordError, execute, on_files, open_model, read_record
from reservoir_lab.runs.building import folder_of
from reservoir_lab.runs.records import path_of

pytestmark = pytest.mark.attack
SECONDS = 10
REFUSALS = (ValueError, RecordError, OSError, RuntimeError)  # what the command line turns into a sentence


@contextmanager
def soon():
    """What takes longer is a fault."""

    def late(number, frame):
        raise AssertionError(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def refused(read) -> bool:
    """Whether it is refused, in a sentence; everything else that is raised goes on to the test."""
    try:
        with soon():
            read()
    except REFUSALS as error:
        assert type(error) is not RuntimeError and "\n" not in str(error) and len(str(error)) < 1500, repr(
            error
        )[:900]
        return True
    return False


def changes(value, chance: random.Random):
    """JSON like `value` with one place changed, again and again."""
    odd = [None, True, -1, 0, 10**400, 1e308, 2**63, 0.5, "", "x" * 10**4, "\x1b[2J", [], {}, [[]], {"a": 1}]
    while True:
        made = copy.deepcopy(value)
        place = made
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = chance.choice(keys)
            if isinstance(place[key], dict | list) and place[key] and chance.random() < 0.8:
                place = place[key]
                continue
            if isinstance(place, dict) and chance.random() < 0.2:
                del place[key]
            else:
                place[key] = chance.choice(odd)
            break
        yield made


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A stored model of each kind that reads texts or numbers, with what it answers."""
    data = write_own(tmp_path_factory.mktemp("own"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESERVOIR_RESULTS", str(tmp_path_factory.mktemp("results")))
        runs = [
            on_files(recipes.get(name, scale="smoke"), data[kind])
            for kind, name in (
                ("pairs", "own/translator"),
                ("labels", "own/classifier"),
                ("text", "own/language-model"),
            )
        ]
        for run in runs:
            execute(run)
        yield runs


ASK = {
    "it-en": lambda model: model.translate("tre due uno"),
    "reviews": lambda model: model.classify("a good book"),
    "story": lambda model: model.generate("The man", tokens=4, temperature=0),
}


def seal(folder):
    """Give the weights the digests of what lies next to them, as one would who wants to be believed."""
    tensors, metadata = read_safetensors(folder / WEIGHTS)
    metadata["files"] = digest_of_files({path.name: path.read_bytes() for path in folder.iterdir()})
    metadata["digest"] = digest((metadata["contents"] + metadata["files"]).encode())
    (folder / WEIGHTS).write_bytes(safetensors_bytes(tensors, metadata))


def test_stored_models(trained, capsys):
    """Bits turned over, files cut off and missing, and JSON that was changed and signed again."""
    chance, tried, kept = random.Random(0), 0, 0
    for run in trained:
        folder = folder_of(run)
        files = {path: path.read_bytes() for path in folder.iterdir()}
        wanted = ASK[run.recipe](open_model(folder))

        def attempt(same: bool, what="", folder=folder, files=files, wanted=wanted, recipe=run.recipe):
            nonlocal tried, kept
            said = []
            tried += 1
            if not refused(lambda: said.append(ASK[recipe](open_model(folder)))):
                kept += 1
                assert not same or said == [wanted]
            for path, content in files.items():
                path.write_bytes(content)

        for path, content in files.items():
            for _ in range(6):
                at = chance.randrange(len(content))
                path.write_bytes(
                    content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :]
                )
                attempt(True)
            for end in (0, 1, len(content) // 2, len(content) - 1):
                path.write_bytes(content[:end])
                attempt(True)
            path.unlink()
            attempt(True)
            # A card is for people: one that is not what it was is reported, whatever it is now.
            told = partial(pytest.warns, UserWarning, match=CARD)
            if path.name != CARD:
                told = partial(pytest.raises, REFUSALS)
            path.unlink()
            path.mkdir()
            with told():
                open_model(folder)
            path.rmdir()
            os.mkfifo(path)
            with soon(), told():
                open_model(folder)
            path.unlink()
            attempt(True)
            tried += 2
        for name in (CONFIG, RUN, TOKENIZER):
            made = changes(json.loads(files[folder / name]), chance)
            for _ in range(25):
                (folder / name).write_text(json.dumps(next(made)))
                seal(folder)
                attempt(False)  # who signs it may say what another model says
            for text in (
                "[" * 10**5,
                '{"a":' * 10**5,
                "1" * 10**5,
                '{"a": 1, "a": 2}',
                "null",
                "\x00",
                "NaN",
            ):
                (folder / name).write_text(text)
                seal(folder)
                attempt(False)
        pieces = json.loads(files[folder / TOKENIZER])["model"]["vocab"]
        swapped = json.loads(files[folder / TOKENIZER])
        one, other = chance.sample([piece for piece, id in pieces.items() if id > 8], 2)
        swapped["model"]["vocab"] |= {one: pieces[other], other: pieces[one]}
        (folder / TOKENIZER).write_text(json.dumps(swapped))
        assert refused(lambda folder=folder: open_model(folder))
        attempt(True)
    with capsys.disabled():
        print(f"\nstored models: {tried} tried, {tried - kept} refused, {kept} as before or signed again")


def test_records(trained, tmp_path, capsys):
    chance, tried, read = random.Random(1), 0, 0
    source = path_of(trained[1])
    path = tmp_path / source.parent.parent.name / "smoke" / "seed-0.json"
    path.parent.mkdir(parents=True)
    known = json.loads(source.read_text())
    made = changes(known, chance)
    broken = [
        *(json.dumps(next(made)).encode() for _ in range(150)),
        *(source.read_bytes()[: chance.randrange(source.stat().st_size)] for _ in range(10)),
        b"[" * 10**6, b'{"a":' * 10**6, b"1" * 10**6, b'{"format": 3, "format": 3}', b"\xff", b"null", b"[]", b'"',
    ]  # fmt: skip
    for change in (
        {"seconds": 10**400}, {"flops": -1}, {"seed": 2**70}, {"points": []},
        {"points": {name: values[::-1] for name, values in known["points"].items() if name != "metrics"}},
        {"points": {**known["points"], "step": known["points"]["step"][:-1]}},
        {"points": {**known["points"], "step": [*known["points"]["step"][:-1], 10**6]}},
        {"date": "2026-13-01"}, {"together": 0}, {"rules": None}, {"extrapolated": 1},
        *({"tests": {"test": {name: value}}} for name, value in
          (("accuracy", 1e308), ("accuracy", -5.0), ("bleu", 101.0), ("perplexity", 0.5))),
        {"metric": "\x1b[31m"}, {"recipe": "../../etc"}, {"scale": "/"},
    ):  # fmt: skip
        tried += 1
        path.write_text(json.dumps(known | change))
        assert refused(lambda: read_record(path)), change
    for content in broken:
        tried += 1
        path.write_bytes(content)
        read += not refused(lambda: read_record(path))
    for special in (
        path.mkdir,
        lambda: os.mkfifo(path),
        lambda: path.symlink_to("/dev/zero"),
        lambda: path.symlink_to(path),
    ):
        path.unlink()
        special()
        tried += 1
        assert refused(lambda: read_record(path))
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        path.touch()
    with capsys.disabled():
        print(f"\nrecords: {tried} tried, {tried - read} refused, {read} read")


def test_control_characters_reach_no_terminal(trained, tmp_path, monkeypatch, capsys):
    from reservoir_lab.launch.cli import main

    evil = "\x1b[2J\x9b\u202e\x07"
    source = path_of(trained[1])
    known = json.loads(source.read_text())
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    known["notes"], known["labels"] = [evil], [evil, evil, evil]
    known["tests"] = {evil: next(iter(known["tests"].values()))}
    known["samples"] = [{"source": evil, "reference": "", "prediction": evil}]
    path = tmp_path / "reviews" / "smoke" / "seed-0.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(known))
    commands = [
        "table reviews",
        "show reviews",
        "table reviews --json",
        "show reviews --json",
        "list reviews",
    ]
    commands += [
        f"run {evil}",
        f"translate {evil} x",
        evil,
        f"table {evil}",
        f"run --data {evil}",
    ]
    began = time.monotonic()
    for words in commands:
        more = ["--scale", "smoke"] if words.split()[0] in ("table", "show") else []
        main([*words.split(), *more])
        said = capsys.readouterr()
        assert not CONTROL.search(said.out + said.err), (words, said)
    with capsys.disabled():
        print(f"\ncontrol characters: {len(commands)} commands in {time.monotonic() - began:.0f} s")
