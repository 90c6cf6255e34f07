"""GPT-2 small, 124 million random weights from its configuration: what each plan trains, stores and costs.

Each plan has a process of its own, so that its peak of memory is its own. It makes the same steps on the same random
tokens as the model that trains everything, with AdamW. Times are medians; memory is the peak of the process above what
it held before the model was built. Adapters come from `peft`; their folders hold no base, so whoever loads one needs
the base as well.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn

import reservoir as r
from benchmarks.measure import Line, Settings
from reservoir_lab.runs.machine import peak_memory

BATCH, LENGTH, FEWEST = 1, 128, 2
QUICK = dict(vocab_size=500, n_embd=32, n_layer=2, n_head=2, n_positions=LENGTH)
DENSE = "all trained"


def build(quick: bool) -> nn.Module:
    """GPT-2 by its owners' code, with the sizes of its configuration."""
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(**QUICK) if quick else GPT2Config())


def only(*words: str) -> Callable[[nn.Module], nn.Module]:
    """Freeze all but the parameters whose names have one of these in them."""
    return lambda model: r.freeze(model, where=lambda name, _: not any(word in name for word in words))


def masked(model: nn.Module) -> nn.Module:
    """Mask every matrix, and train nothing but the scores."""
    return only("scores")(r.supermask(model, keep=0.5, seed=0))


PLANS: dict[str, Callable[[nn.Module], nn.Module]] = {
    DENSE: lambda model: model,
    "frozen embeddings": lambda model: r.freeze(model, embeddings=True),
    "frozen attention": lambda model: r.freeze(model, attention=True),
    "frozen feed-forward": lambda model: r.freeze(model, feed_forward=True),
    "every second layer frozen": lambda model: r.freeze(model, layers=range(1, model.config.n_layer, 2)),
    "norms only": only(".ln_"),
    "norms and biases": only(".ln_", ".bias"),
    "supermask, half kept": masked,
}
"""Name of a plan -> what it does to the drawn model."""


def adapted(kind: str, model: nn.Module) -> nn.Module:
    """The model with an adapter of peft's on its queries, keys and values.

    Raises:
        SystemExit: peft is not installed.
    """
    try:
        import peft
    except ModuleNotFoundError:
        sys.exit("peft is not installed: pip install 'reservoir-book[peers]'")
    if kind == "LoRA, rank 8":
        config = peft.LoraConfig(r=8, lora_alpha=16, target_modules=["c_attn"], fan_in_fan_out=True)
    else:
        rank = min(256, model.config.n_embd)
        config = peft.VeraConfig(
            r=rank,
            target_modules=["c_attn"],
            fan_in_fan_out=True,
            save_projection=False,
            projection_prng_key=0,
        )
    return peft.get_peft_model(model, config)


ADAPTERS = ("LoRA, rank 8", "VeRA, rank 256")


@dataclass(frozen=True)
class Planned:
    """What was measured of a plan.

    Args:
        case: its name.
        trainable: parameters that an optimiser gets, scores included.
        stored: bytes of what was written.
        alone: whether that is all that you need besides the model's code; an adapter needs its base too.
        save, load: seconds, digests and the drawing of what is not stored included.
        step, cpu: wall-clock and processor seconds of a step, medians.
        steps: how many.
        memory: bytes at the peak.
        model: what it was made of, by name.
        dense: the same figures of the model that trains everything, or None for itself.
    """

    case: str
    trainable: int
    stored: int
    alone: bool
    save: float
    load: float
    step: float
    cpu: float
    steps: int
    memory: int
    model: str = "GPT-2 small"
    dense: Planned | None = None

    def __str__(self) -> str:
        return (
            f"{self.case}: {self.trainable:,} trainable, {self.stored:,} bytes, saved in {self.save:.1f} s, loaded in"
            f" {self.load:.1f} s, {self.step:.2f} s a step, {self.memory / 1e9:.2f} GB"
        )

    @property
    def line(self) -> Line:
        """A row of the table: how many times as fast as training everything a step is."""
        other = self.dense or self
        ours, theirs = f"{self.step:.2f} s a step", f"{other.step:.2f} s a step"
        ratio, cpu = other.step / self.step, other.cpu / self.cpu
        return Line(f"{self.model}, {self.case}", DENSE, ours, theirs, ratio, cpu_ratio=cpu, pairs=self.steps)


def timed(work: Callable[[], object]) -> float:
    """Seconds that some work takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measure(case: str, *, seconds: float, quick: bool) -> Planned:
    """Train, store and load under one plan, in this process.

    Args:
        case: a key of `PLANS`, or one of `ADAPTERS`.
        seconds: how long to train; at least two steps are counted.
        quick: whether to take a tiny model.
    """
    before = peak_memory()
    model = r.initialise(build(quick), seed=0)
    model = adapted(case, model) if case in ADAPTERS else PLANS[case](model)
    moving = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(moving, lr=1e-3)
    draw = torch.Generator().manual_seed(0)
    model.train()
    wall: list[float] = []
    cpu: list[float] = []
    until = time.perf_counter() + seconds
    while len(wall) <= FEWEST or time.perf_counter() < until:  # the first is not counted
        ids = torch.randint(model.config.vocab_size, (BATCH, LENGTH), generator=draw)
        begun, used = time.perf_counter(), time.process_time()
        model(ids, labels=ids).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        wall.append(time.perf_counter() - begun)
        cpu.append(time.process_time() - used)
    memory = peak_memory() - before
    del optimiser
    with tempfile.TemporaryDirectory() as folder:
        save, load = stored(case, model, Path(folder), quick)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.suffix != ".md")
    return Planned(
        case,
        sum(parameter.numel() for parameter in moving),
        size,
        case not in ADAPTERS,
        save,
        load,
        statistics.median(wall[1:]),
        statistics.median(cpu[1:]),
        len(wall) - 1,
        memory,
        "a tiny GPT-2" if quick else "GPT-2 small",
    )


def stored(case: str, model: nn.Module, folder: Path, quick: bool) -> tuple[float, float]:
    """Seconds to save a model and to load it into one that is built already.

    Raises:
        AssertionError: what was loaded is not what was saved.
    """
    ids = torch.arange(8)[None]
    with torch.no_grad():
        said = model.eval()(ids).logits
    if case in ADAPTERS:
        import peft

        save = timed(lambda: model.save_pretrained(folder))
        base = r.initialise(build(quick), seed=0)
        loaded: list[nn.Module] = []
        load = timed(lambda: loaded.append(peft.PeftModel.from_pretrained(base, folder)))
        again = loaded[0].eval()
    else:
        path = folder / "model.safetensors"
        save = timed(lambda: r.save(model, path))
        again = build(quick)
        load = timed(lambda: r.load(again, path))
    with torch.no_grad():
        assert torch.equal(again(ids).logits, said), f"{case} came back otherwise"
    return save, load


def run(settings: Settings) -> Iterator[Planned]:
    """Each plan after the model that trains everything, and then the adapters."""
    dense: Planned | None = None
    for case in (*PLANS, *ADAPTERS):
        options = json.dumps({"case": case, "seconds": settings.seconds, "quick": settings.size == "laptop"})
        command = [sys.executable, "-m", "benchmarks.any_module", options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{case}: {done.stderr.strip()[-2000:]}")
        found = Planned(**json.loads(done.stdout.splitlines()[-1]) | {"dense": dense})
        dense = dense or found
        yield found


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(asdict(measure(**json.loads(sys.argv[1])))))
