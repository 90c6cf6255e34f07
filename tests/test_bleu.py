"""BLEU: what sacreBLEU's command line says about the same files."""

import json
import os
import random
import subprocess
import sys

import pytest

from reservoir.training.translation import bleu

WORDS = "the a dog cat house, old Old sees saw that (when) over 3.5 again… »ja«".split()


def sentences(seed: int, n: int = 60) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 12))) + "." for _ in range(n)]


def worsened(lines: list[str], seed: int, share: float) -> list[str]:
    """The lines with a share of their words replaced."""
    draw = random.Random(seed)
    return [
        " ".join(draw.choice(WORDS) if draw.random() < share else word for word in line.split())
        for line in lines
    ]


REFERENCES = sentences(0)
BASELINE, SYSTEM = worsened(REFERENCES, 1, 0.4), worsened(REFERENCES, 2, 0.37)


@pytest.fixture
def command_line(tmp_path):
    """Runs sacreBLEU's command line on hypotheses and returns what it prints, as JSON."""

    def run(*hypotheses: list[str], options: tuple[str, ...] = ()):
        paths = []
        for name, lines in zip(("references", "first", "second"), (REFERENCES, *hypotheses), strict=False):
            paths.append(tmp_path / name)
            paths[-1].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        words = ["-i", *paths[1:], "-m", "bleu", "-w", "10", *options, "--format", "json"]
        command = [sys.executable, "-m", "sacrebleu", paths[0], *words]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SACREBLEU")}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize(
    ("settings", "options"),
    [({}, ()), (dict(tokenise="none"), ("--tokenize", "none"))],
)
def test_bleu_and_its_signature_are_the_command_lines(settings, options, command_line):
    found, printed = bleu(SYSTEM, REFERENCES, **settings), command_line(SYSTEM, options=options)
    assert found.bleu == pytest.approx(printed["score"], abs=1e-9)
    assert found.signature == printed["signature"]
    assert 0 < found.bleu < 100


def test_the_right_translation_has_a_hundred_and_no_translation_zero():
    assert bleu(REFERENCES, REFERENCES).bleu == pytest.approx(100)
    assert bleu([""] * len(REFERENCES), REFERENCES).bleu == 0


def test_as_many_hypotheses_as_references_are_wanted():
    with pytest.raises(ValueError, match="must have the same number of sentences, at least one, got 2 and 1"):
        bleu(["a", "b"], ["a"])
