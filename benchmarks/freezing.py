"""What freezing saves: a training step under each plan against one that trains everything, as a share of the ideal.

Ideal is what freezing can save without leaving out a layer: in the profiled step of the model that trains everything,
the products that make the gradients of the weights in question, and their share of clipping and of the optimiser. The
share can exceed 1: where nothing below a frozen layer moves there is no backward pass at all, and frozen biases, norms
and casts are not counted. Memory is counted, not sampled: the optimiser's state, the gradients, and what autograd keeps
between the forward and the backward pass.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, record_function

from benchmarks.measure import FEWEST, Line, Settings, synchronise
from benchmarks.step import ADAMW, SIZES, batches, our_loss
from reservoir.datasets import Batch
from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.weights import Freeze, freeze, initialise, placement, report, reservoir_layers

UPDATE = "clipping and optimiser"
REQUIRED = 0.9


def plans(config: EncoderDecoderConfig) -> dict[str, Freeze]:
    """What is frozen: the poster's components and their pairs, and every second encoder layer."""
    reservoirs = placement(config.encoder_layers, config.encoder_layers // 2)
    return {
        "embeddings": Freeze(embeddings=True),
        "attention": Freeze(attention=True),
        "feed-forward": Freeze(feed_forward=True),
        "embeddings, feed-forward": Freeze(embeddings=True, feed_forward=True),
        "embeddings, attention": Freeze(embeddings=True, attention=True),
        "attention, feed-forward": Freeze(attention=True, feed_forward=True),
        f"encoder {reservoirs}": Freeze(layers=reservoir_layers(reservoirs)),
    }


@dataclass(frozen=True)
class Saving:
    """A freezing plan against the model that trains everything.

    Args:
        case: size, precision and what is frozen.
        trained: share of the parameters that move.
        whole: seconds of a step that trains everything, the median turn.
        frozen: seconds of a step under the plan.
        ideal: seconds that could be saved.
        share: of the ideal that was saved, the median over pairs of turns; low, high: its quartiles.
        cpu_share: the same median of processor time, which other processes touch less; None on a GPU.
        pairs: number of pairs of turns.
        optimiser, gradients, activations: bytes under the plan, as shares of what training everything takes.
        required: the share that is asked for.
    """

    case: str
    trained: float
    whole: float
    frozen: float
    ideal: float
    share: float
    low: float
    high: float
    cpu_share: float | None
    pairs: int
    optimiser: float
    gradients: float
    activations: float
    required: float = REQUIRED

    def __str__(self) -> str:
        by_cpu = "" if self.cpu_share is None else f" ({self.cpu_share:.2f} by processor time)"
        return (
            f"{self.case}: {self.share:.2f}{by_cpu}"
            f" of the ideal saving of {self.ideal:.3f} s of {self.whole:.3f} s;"
            f" of what training everything takes, optimiser {self.optimiser:.2f}, gradients {self.gradients:.2f},"
            f" activations {self.activations:.2f}"
        )

    @property
    def line(self) -> Line:
        """A row of the table, whose ratio is the share of the ideal saving."""
        return Line(
            f"{self.case} frozen, {self.trained:.0%} trained",
            "the ideal saving",
            f"{self.whole - self.frozen:.3f} s",
            f"{self.ideal:.3f} s",
            self.share,
            self.low,
            self.high,
            self.cpu_share,
            self.pairs,
            required=self.required,
        )


class Side:
    """A model, its optimiser, and a training step that can be profiled."""

    def __init__(self, config: EncoderDecoderConfig, plan: Freeze, dtype: torch.dtype, device: torch.device):
        self.model = initialise(EncoderDecoder(config), seed=0).to(device).train()
        freeze(self.model, plan)
        self.loss, self.device = our_loss(self.model), device
        self.low = dtype == torch.bfloat16
        self.optimiser = ADAMW.build(self.model)
        self.moving = [p for p in self.model.parameters() if p.requires_grad]

    def step(self, batch: Batch) -> None:
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.low):
            value = self.loss(batch) / batch.n_tokens
        value.backward()
        with record_function(UPDATE):
            nn.utils.clip_grad_norm_(self.moving, ADAMW.clip)
            self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)

    def memory(self, batch: Batch) -> tuple[int, int, int]:
        """Bytes of the optimiser's state without its counters, of the gradients, and of what autograd keeps."""
        state = sum(
            value.nbytes
            for entry in self.optimiser.state.values()
            for value in entry.values()
            if torch.is_tensor(value) and value.ndim
        )
        weights = {p.untyped_storage().data_ptr() for p in self.model.parameters()}
        kept: dict[int, int] = {}

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in weights:
                kept[storage.data_ptr()] = storage.nbytes()
            return tensor

        with (
            torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
            torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.low),
        ):
            value = self.loss(batch) / batch.n_tokens
        activations = sum(kept.values())
        value.backward()
        gradients = sum(p.grad.nbytes for p in self.model.parameters() if p.grad is not None)
        self.optimiser.zero_grad(set_to_none=True)
        return state, gradients, activations


def weight_gradients(
    side: Side, data: list[Batch], repeats: int
) -> tuple[dict[tuple[int, int], float], float]:
    """Seconds a step takes for the weight gradients of each shape (d_out, d_in) in all, and for the update.

    A product `gradᵀ x` is known by its result, which has the shape of a matrix of the model; others have the rows of a
    batch, which no width equals. The rows of a stretch of the loss may.
    """
    activities = [ProfilerActivity.CPU]
    if side.device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    matrices = {(max(p.shape), min(p.shape)) for p in side.model.parameters() if p.ndim == 2}
    steps: list[dict[tuple[int, int], float]] = []
    updates = []
    for _ in range(repeats):
        for batch in data:
            with profile(activities=activities, record_shapes=True) as profiler:
                side.step(batch)
            spent: dict[tuple[int, int], float] = {}
            update = 0.0
            for event in profiler.events():
                if event.device_type != DeviceType.CPU:  # a GPU's own lines say again what their callers do
                    continue
                seconds = (
                    max(event.device_time_total, 0 if side.device.type == "cuda" else event.cpu_time_total)
                    / 1e6
                )
                if event.name == UPDATE:
                    update += seconds
                if event.name != "aten::mm" or len(event.input_shapes) < 2:
                    continue
                (rows, _), (_, columns) = event.input_shapes[:2]
                shape = (max(rows, columns), min(rows, columns))
                if shape in matrices:
                    spent[shape] = spent.get(shape, 0.0) + seconds
            steps.append(spent)
            updates.append(update)
    shapes = {shape for spent in steps for shape in spent}
    return (
        {shape: statistics.median(spent.get(shape, 0.0) for spent in steps) for shape in shapes},
        statistics.median(updates),
    )


def ideal(side: Side, plan: Freeze, spent: dict[tuple[int, int], float], update: float) -> float:
    """Seconds that freezing by `plan` can save of a step of `side`, which trains everything."""
    frozen = initialise(EncoderDecoder(side.model.config), seed=0)
    freeze(frozen, plan)
    all_of: dict[tuple[int, int], int] = {}
    stopped: dict[tuple[int, int], int] = {}
    for module in frozen.modules():
        if isinstance(module, nn.Linear):  # the tied table among them, as the output
            d_out, d_in = module.weight.shape
            shape = (max(d_out, d_in), min(d_out, d_in))
            all_of[shape] = all_of.get(shape, 0) + 1
            stopped[shape] = stopped.get(shape, 0) + (not module.weight.requires_grad)
    gradients = sum(spent.get(shape, 0.0) * stopped[shape] / all_of[shape] for shape in all_of)
    made_of = report(frozen)
    return gradients + update * (1 - made_of.trainable / made_of.total)


def run(settings: Settings) -> Iterator[Saving]:
    """Each plan in both precisions, at each size."""
    for name, size in settings.chosen(SIZES).items():
        config = replace(size.config, attention_dropout=0.0, activation_dropout=0.0)
        data = batches(size, settings.device)
        if settings.brief:  # warming up and profiling take longer than measuring
            data = data[:FEWEST]
        for dtype in settings.precisions:
            whole = Side(config, Freeze(), dtype, settings.device)
            for batch in data:
                whole.step(batch)
            spent, update = weight_gradients(whole, data, repeats=FEWEST)
            sizes = whole.memory(data[0])
            for words, plan in plans(config).items():
                part = Side(config, plan, dtype, settings.device)
                for batch in data:
                    part.step(batch)
                possible = ideal(whole, plan, spent, update)
                wall, cpu = turns(whole, part, data, settings)
                saved = [(a - b) / possible for a, b in wall]
                low, share, high = statistics.quantiles(saved, n=4, method="inclusive")
                by_cpu = None if settings.device.type == "cuda" else statistics.median(a - b for a, b in cpu)
                optimiser, gradients, activations = (
                    a / b for a, b in zip(part.memory(data[0]), sizes, strict=True)
                )
                made_of = report(part.model)
                yield Saving(
                    case=f"{name}, {'bf16' if whole.low else 'fp32'}, {words}",
                    trained=made_of.trainable / made_of.total,
                    whole=statistics.median(a for a, _ in wall),
                    frozen=statistics.median(b for _, b in wall),
                    ideal=possible,
                    share=share,
                    low=low,
                    high=high,
                    cpu_share=None if by_cpu is None else by_cpu / possible,
                    pairs=len(wall),
                    optimiser=optimiser,
                    gradients=gradients,
                    activations=activations,
                )


def turns(
    whole: Side, part: Side, data: list[Batch], settings: Settings
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Seconds of a step of either side on the same batch, in turns until the time is over; and processor seconds."""
    wall: list[tuple[float, float]] = []
    cpu: list[tuple[float, float]] = []
    until = time.perf_counter() + settings.seconds
    fewest = FEWEST if settings.brief else 2 * FEWEST
    while len(wall) < fewest or time.perf_counter() < until:
        spent: dict[Side, tuple[float, float]] = {}
        for side in (whole, part) if len(wall) % 2 else (part, whole):  # neither is always the first
            synchronise(settings.device)
            start = time.perf_counter(), time.process_time()
            side.step(data[len(wall) % len(data)])
            synchronise(settings.device)
            spent[side] = time.perf_counter() - start[0], time.process_time() - start[1]
        wall.append((spent[whole][0], spent[part][0]))
        cpu.append((spent[whole][1], spent[part][1]))
    return wall, cpu
