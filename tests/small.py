"""A text, a run, an archive, numbers and a full disk, all of them small: what tests share."""

import io
import resource
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from reservoir.training import Stepped
from reservoir_lab import recipes
from reservoir_lab.corpora import parallel
from reservoir_lab.runs import Run

RECIPE = "transformer/miniature"
PARTS = {"train": 150, "valid": 8, "test": 4}
OPTIONS = {
    "task.vocabulary": 200,
    "task.max_tokens": 256,
    "task.valid_sentences": 0,
    "task.decoding.beam": 1,
    "task.decoding.max_ratio": 0.5,
    "model.d_model": 16,
    "model.n_heads": 2,
    "model.d_ff": 16,
    "model.encoder_layers": 1,
    "model.decoder_layers": 1,
    "model.dropout": 0.1,
    "budget.steps": 8,
    "budget.validate_every": 3,
    "budget.checkpoint_every": 1,
}


def write_text(folder: Path, **lines: list[str]) -> Path:
    """Write a corpus of one's own into `folder`; `train_de=[…]` replaces the lines of train.de."""
    corpus = parallel("miniature", src="de", tgt="en")
    parts = {"train": corpus.train, "valid": corpus.valid, "test": corpus.tests["test"]}
    folder.mkdir(parents=True, exist_ok=True)
    for part, number in PARTS.items():
        for language, side in (("de", parts[part].src), ("en", parts[part].tgt)):
            content = lines.get(f"{part}_{language}", side[:number])
            (folder / f"{part}.{language}").write_text(
                "".join(f"{line}\n" for line in content), encoding="utf-8"
            )
    return folder


def arguments(text: Path, *more: str, **options) -> list[str]:
    """A small run's command line, without the program's name; `budget_steps=3` changes an option, None drops it."""
    changed = {name.replace("_", ".", 1).replace("__", "_"): value for name, value in options.items()}
    chosen = {"task.corpus": f"files:{text}", **OPTIONS, **changed}
    fields = [
        str(word) for name, value in chosen.items() if value is not None for word in (f"--{name}", value)
    ]
    return ["run", RECIPE, "--scale", "smoke", *more, *fields]


def small_run(text: Path, **changes) -> Run:
    """The run that `arguments` stands for."""
    parts: dict[str, dict] = {"task": {"corpus": f"files:{text}"}}
    for name, value in OPTIONS.items():
        part, _, field = name.partition(".")
        if not field.startswith("decoding."):
            parts.setdefault(part, {})[field] = value
    run = recipes.get(RECIPE, scale="smoke").evolve(**parts)
    decoding = replace(run.task.decoding, beam=1, max_ratio=0.5)
    return run.evolve(task={"decoding": decoding}).evolve(**changes)


def files(folder: Path) -> list[str]:
    """The names of all files below `folder`, hidden ones too."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def same_bits(one: nn.Module, other: nn.Module) -> bool:
    """Whether all parameters of two models are equal to the last bit."""
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    """Normal draws in double precision."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def tgz(path: Path, members: dict[str, str | bytes]) -> Path:
    """Write an archive of these files."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            content = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def interrupt_at(step: int) -> Callable[[object], None]:
    """A listener that interrupts training once a step has been taken."""

    def listen(event: object) -> None:
        if isinstance(event, Stepped) and event.step == step:
            raise KeyboardInterrupt

    return listen


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Let no file grow beyond `size` bytes: writing more fails as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def sentence(text: str) -> str:
    """An error's text, which must be one line."""
    assert "\n" not in text.strip() and "Traceback" not in text, text
    return text.strip()
