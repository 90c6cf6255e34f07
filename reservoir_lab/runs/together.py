"""Many models trained as one: their tensors get a leading axis, and each keeps its own draws, data and curve.

A model of the bench is so small that a GPU spends its time starting kernels. Sixty-four of them in one set of products
take hardly longer than one. Each model sees exactly the batches that it sees alone, its gradients are clipped by its
own norm, and one that diverges stops moving without touching its neighbours. Below stands what executes many seeds of a
run so: `execute_together`.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from reservoir.datasets.batches import Minibatch
from reservoir.datasets.bench import NOTHING
from reservoir.files import locked
from reservoir.layers import BiGRU
from reservoir.layers.linear import Undrawn
from reservoir.models.stack import dropping
from reservoir.training.classification import METRIC, PuzzleTask
from reservoir.training.events import History, Point
from reservoir.training.loop import Budget, TrainingError, step_seed
from reservoir.training.state import Optimiser, batches_after
from reservoir.weights import Freeze, freeze, mark_trained, owned
from reservoir.weights.masks import FixedMask, Supermask, masked, materialise
from reservoir_lab.runs.building import missing_sources, model_of, task_of
from reservoir_lab.runs.computation import OnPuzzle
from reservoir_lab.runs.execution import Busy, Untrained, record_run
from reservoir_lab.runs.handlers import batch_flops, check_after
from reservoir_lab.runs.provenance import check_settled
from reservoir_lab.runs.records import RESULTS_ADVICE, Record, path_of, recorded
from reservoir_lab.runs.run import Run

WARM = 3  # steps on a GPU before their kernels are recorded, as PyTorch asks
AT_ONCE = 25  # steps that are started before another group of models may start some
Result = TypeVar("Result")
KNOWN = 128  # tasks whose batches a process keeps, since other rows learn from the same


def read_both_ways(layer: BiGRU, x: Tensor, mask: Tensor | None = None) -> Tensor:
    """What a `BiGRU` computes, (batch, length, d_model) -> same, in products that can be made for many at once."""
    if mask is not None:
        raise ValueError("a BiGRU is computed for many models where nothing is padding, got a mask")
    found = []
    for end, order in (("", 1), ("_reverse", -1)):
        w, u, b, c = (
            getattr(layer, f"{name}_l0{end}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        h, states = x.new_zeros(len(x), u.shape[1]), []
        for gates in F.linear(x, w, b).unbind(1)[::order]:
            (reset, update, new), (past, kept, old) = gates.chunk(3, -1), F.linear(h, u, c).chunk(3, -1)
            new = torch.tanh(new + torch.sigmoid(reset + past) * old)
            h = new + torch.sigmoid(update + kept) * (h - new)
            states.append(h)
        found.append(torch.stack(states[::order], 1))
    return torch.cat(found, -1)


def _pass_by(layer: Any, args: tuple[Tensor, ...], y: Tensor) -> Tensor:
    """Of a layer that is left out by chance: its input where it is, and what it computes where it is not."""
    return torch.where(layer.kept, y, args[0])


class Stack(nn.Module):
    """Models of one architecture, computed as one.

    What moves lies in one table, a row a model, so that an optimiser's step is a dozen operations whatever the model.

    Args:
        models: initialised, frozen and masked alike; they must differ in the numbers of their tensors alone.

    Attributes:
        moving: (models, numbers that are trained).
        chances: with which each layer is left out, by its name, in the order in which that is drawn.

    Raises:
        ValueError: they differ in a name, a shape or in what is frozen, or leave out numbers by chance.
    """

    def __init__(self, models: Sequence[nn.Module]):
        super().__init__()
        first = models[0]
        named = [dict(model.named_parameters()) for model in models]
        plans = [{name: (p.shape, p.requires_grad) for name, p in each.items()} for each in named]
        if odd := [at for at, plan in enumerate(plans) if plan != plans[0]]:
            raise ValueError(
                f"models that are trained together must be built alike, and number {odd[0]} is not"
            )
        if any(getattr(part, "p", 0) for part in first.modules()):
            raise ValueError("models that leave out numbers by chance are trained alone")
        self.plain = materialise(first).train()
        paths, self.chances = {part: path for path, part in self.plain.named_modules()}, {}
        part: Any
        # What is tied has one name, so all depths would rest with the first.
        if dropping(first) and getattr(getattr(first, "config", None), "share_layers", False):
            raise ValueError("models that leave out layers and share their weights are trained alone")
        for part in dropping(self.plain):
            for layer in part.layers:
                self.chances[paths[layer]] = vars(part)["layer_drop"]
                layer.register_buffer("kept", torch.tensor(True))
                layer.register_forward_hook(_pass_by)
            vars(part)["layer_drop"] = 0.0
        for part in self.plain.modules():
            if isinstance(part, Undrawn):
                part.check_drawn()  # once, since it could not look at many
            if isinstance(part, BiGRU):  # what a library computes as a whole, it does not compute for many
                vars(part)["forward"] = partial(read_both_ways, part)
            if isinstance(part, nn.Embedding):
                # PyTorch would respect it for the first model alone: `tensors` does for all.
                part.padding_idx = None
        stacked = {name: torch.stack([each[name].detach() for each in named]) for name in named[0]}
        self.shapes = {name: p.shape for name, p in named[0].items() if p.requires_grad}
        self.kept = {name: value for name, value in stacked.items() if name not in self.shapes}
        self.moving = nn.Parameter(torch.cat([stacked[name].flatten(1) for name in self.shapes], 1))
        places = {id(part): name for name, part in first.named_modules()}
        names = {id(p): name for name, p in named[0].items()}
        masks = [[part for part in model.modules() if isinstance(part, FixedMask)] for model in models]
        fixed = {id(each[0]): torch.stack([m.mask for m in each]) for each in zip(*masks, strict=True)}
        # Where a tensor is used, its name, its mask, the name of the mask's scores, and the row that gets no gradient.
        self.places: list[tuple[str, str, Any, Any, int | None]] = []
        for item in owned(first, tied=True):
            if not isinstance(item.module, Supermask):
                place = f"{places[id(item.module)]}.{item.attribute}".lstrip(".")
                mask = fixed.get(id(item.mask), item.mask)
                scores = names[id(mask.scores)] if isinstance(mask, Supermask) else None
                padding = getattr(item.module, "padding_idx", None)
                self.places.append((place, names[id(item.parameter)], mask, scores, padding))

    def __len__(self) -> int:
        return len(self.moving)

    def named(self) -> dict[str, Tensor]:
        """Every tensor by name, (models, …)."""
        parts = self.moving.split([shape.numel() for shape in self.shapes.values()], 1)
        moving = {
            name: part.unflatten(1, shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }
        return self.kept | moving

    def tensors(self, kept: Tensor) -> dict[str, Tensor]:
        """What each place of the model computes with, (models, …): weights, or what masks make of them.

        Args:
            kept: (models, 1 + layers that may be left out), whether each is kept; the first stands for all else.
        """
        named = self.named()
        found = {f"model.{name}.kept": kept[:, at] for at, name in enumerate(self.chances, start=1)}
        for place, name, mask, scores, padding in self.places:
            value = named[name]
            if isinstance(mask, Tensor):
                value = value * mask
            elif mask is not None:
                value = masked(named[scores], value, mask.keep, by=mask.by)
            if padding is not None:
                row = torch.arange(value.shape[1], device=value.device)[:, None] == padding
                value = torch.where(row, value.detach(), value)
            found[f"model.{place}"] = value
        return found

    def parts(self) -> Tensor:
        """The layer of each column of `moving`, as the columns of `kept` are counted: 0 where it is never left out."""
        layers = [*self.chances]
        of = {name: [name.startswith(f"{layer}.") for layer in layers] for name in self.shapes}
        at = [0 if True not in of[name] else 1 + of[name].index(True) for name in self.shapes]
        return torch.tensor(at).repeat_interleave(torch.tensor([s.numel() for s in self.shapes.values()]))

    def stop(self, models: Sequence[nn.Module]) -> Tensor:
        """Keep where they are those tensors that are frozen in the models by now; which columns of `moving` remain."""
        still = {name for name, p in models[0].named_parameters() if p.requires_grad}
        moved = [torch.full((shape.numel(),), name in still) for name, shape in self.shapes.items()]
        self.kept |= {
            name: value.detach().clone() for name, value in self.named().items() if name not in still
        }
        remain = torch.cat(moved).to(self.moving.device)
        self.shapes = {name: shape for name, shape in self.shapes.items() if name in still}
        self.moving = nn.Parameter(self.moving.detach()[:, remain].clone())
        return remain

    @torch.no_grad()
    def put_back(self, models: Sequence[nn.Module]) -> None:
        """Copy what was learned into the models."""
        named = self.named()
        for at, model in enumerate(models):
            for name, parameter in model.named_parameters():
                parameter.copy_(named[name][at])


class _Asked(nn.Module):
    """A model and what is asked of it: the loss of a batch, or the logits."""

    def __init__(self, model: nn.Module, task: PuzzleTask):
        super().__init__()
        self.model, self.task = model, task

    def forward(self, batch: Any, loss: bool) -> Tensor:
        asked: Any = self.task.loss if loss else self.task.logits
        return asked(self.model, batch)


class _Steps:
    """The state of many runs on one device, and the step that moves it on. Nothing in a step waits for the device."""

    def __init__(
        self,
        stack: Stack,
        tasks: Sequence[PuzzleTask],
        optimisers: Sequence[Optimiser],
        seeds: Sequence[int],
        steps: int,
    ):
        how, device = optimisers[0], stack.moving.device
        self.stack, self.how = stack, how
        self.asked = _Asked(stack.plain, tasks[0])
        tables = [table_of(task, steps) for task in tasks]
        self.x = torch.stack([table[0] for table in tables], 1).to(device)
        self.y = torch.stack([table[1] for table in tables], 1).to(device)
        self.sizes = [table[2] for table in tables]
        rates = [[each.rate(step, steps) for each in optimisers] for step in range(1, steps + 1)]
        self.rates = torch.tensor(rates, device=device)[..., None]
        beta, gamma = how.betas
        # For each step, model and layer: whether it is kept, and what makes up for the moments' beginning at zero.
        self.kept = torch.stack([self._kept(seed, steps) for seed in seeds], 1).to(device)
        unbiased = [[1 / (1 - beta**t), (1 - gamma**t) ** -0.5] for t in range(1, steps + 1)]
        made = self.kept.cumsum(0).clamp(min=1) - 1
        self.unbiased = torch.tensor(unbiased, device=device)[made]
        self.part = stack.parts().to(device)
        self.at = torch.zeros(1, dtype=torch.int64, device=device)
        self.mean, self.square = (torch.zeros_like(stack.moving) for _ in range(2))
        self.losses = torch.zeros(steps, len(stack), device=device)
        self.alive = torch.ones(len(stack), dtype=torch.bool, device=device)
        self.lived = torch.zeros(len(stack), dtype=torch.int64, device=device)  # steps that each has made
        self.graph: Any = None

    def _kept(self, seed: int, steps: int) -> Tensor:
        """(steps, 1 + layers that may be left out): what a run of a seed keeps in each step."""
        kept = torch.ones(steps, 1 + len(self.stack.chances), dtype=torch.bool)
        chances = torch.tensor([*self.stack.chances.values()])
        if len(chances):
            for step, row in enumerate(kept, start=1):
                drawn = torch.Generator().manual_seed(step_seed(seed, step))
                row[1:] = torch.rand(len(chances), generator=drawn) >= chances
        return kept

    def _wide(self, numbers: Tensor) -> Tensor:
        """(models, 1 + layers) -> (models, columns of what moves), or what can be broadcast to it."""
        return numbers if numbers.shape[1] == 1 else numbers.index_select(1, self.part)

    def step(self) -> None:
        """One step of every model."""
        stack, how = self.stack, self.how
        x, y = (rows.index_select(0, self.at)[0].long() for rows in (self.x, self.y))
        kept = self.kept.index_select(0, self.at)[0]
        losses = self._ask(x, y, kept, loss=True) / (y >= 0).flatten(1).sum(1)
        (grad,) = torch.autograd.grad(losses.sum(), [stack.moving])
        with torch.no_grad():
            norm = grad.square().sum(1).sqrt()
            self.alive &= losses.isfinite() & norm.isfinite()
            self.lived += self.alive
            self.losses.index_copy_(0, self.at, losses.detach()[None])
            share = (how.clip / (norm + 1e-6)).clamp(max=1.0) if how.clip else torch.ones_like(norm)
            grad = torch.where(self.alive[:, None], grad * share[:, None], 0.0)
            moves = kept & self.alive[:, None]  # a layer without a gradient keeps its moments
            rate = self._wide(self.rates.index_select(0, self.at)[0] * moves)
            first, second = map(self._wide, self.unbiased.index_select(0, self.at)[0].unbind(-1))
            if how.weight_decay:
                stack.moving.mul_(1 - rate * how.weight_decay)
            self.mean.lerp_(grad, self._wide((1 - how.betas[0]) * moves))
            self.square.mul_(self._wide(torch.where(moves, how.betas[1], 1.0)))
            self.square.addcmul_(grad, grad, value=1 - how.betas[1])
            size = (self.square.sqrt() * second).add_(how.eps)
            stack.moving.sub_(self.mean * first * rate / size)
            self.at += 1

    def _ask(self, x: Tensor, y: Tensor, kept: Tensor, *, loss: bool) -> Tensor:
        tensors = self.stack.tensors(kept)

        def one(tensors: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
            batch = Minibatch(x, y)
            return functional_call(self.asked, tensors, (batch, loss), tie_weights=False)

        with sdpa_kernel(SDPBackend.MATH):  # on a GPU: the fused kernels cannot be asked by many
            return vmap(one)(tensors, x, y)

    @torch.no_grad()
    def logits(self, x: Tensor, y: Tensor) -> Tensor:
        """(models, n, places, questions, answers) of (models, n, …)."""
        device = self.stack.moving.device
        return self._ask(x.to(device), y.to(device), torch.ones_like(self.kept[0]), loss=False)

    def run(self, steps: int) -> None:
        """Start so many steps."""
        for number in range(steps):
            if self.graph is not None:
                self.graph.replay()
            elif self.stack.moving.is_cuda and number == WARM:
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.step()
                self.graph.replay()  # recording computes nothing
            else:
                self.step()

    def stop(self, models: Sequence[nn.Module]) -> None:
        """Some tensors stop moving: see `Stack.stop`."""
        remain = self.stack.stop(models)
        self.mean, self.square = self.mean[:, remain].clone(), self.square[:, remain].clone()
        self.part, self.graph = self.part[remain], None


def training(
    models: Sequence[nn.Module],
    tasks: Sequence[PuzzleTask],
    *,
    optimisers: Sequence[Optimiser],
    budget: Budget,
    seeds: Sequence[int],
    late: Freeze | None = None,
) -> Generator[None, None, list[History | TrainingError]]:
    """`train_together` in pieces: each `next` starts some steps and does not wait for a GPU to have made them."""
    _check(optimisers, budget)
    if late is not None:
        check_after(late.after, budget.steps)
    for model in models:
        mark_trained(model)
    cost = _cost(models[0], tasks[0])
    begun, cpu = time.perf_counter(), time.process_time()
    steps = _Steps(Stack(models), tasks, optimisers, seeds, budget.steps)
    n, made = len(models), 0
    histories = [History() for _ in models]
    valid_x, valid_y = (torch.stack([getattr(t.examples.valid, name) for t in tasks]) for name in "xy")
    while made < budget.steps:
        ends = [budget.steps, made + AT_ONCE, made - made % budget.validate_every + budget.validate_every]
        if late is not None and made < late.after:
            ends.append(late.after)
        steps.run(min(ends) - made)
        made = min(ends)
        yield
        for history, size in zip(histories, steps.sizes, strict=True):
            tokens = sum(size[history.step : made])
            history.step, history.tokens = made, history.tokens + tokens
            history.flops += cost * tokens
        if late is not None and made == late.after:
            for model in models:
                freeze(model, late)
            steps.stop(models)
            cost = _cost(models[0], tasks[0])
        if made == budget.steps or made % budget.validate_every == 0:
            logits = steps.logits(valid_x, valid_y).cpu()
            seconds = (time.perf_counter() - begun) / n
            for history, task, each in zip(histories, tasks, logits, strict=True):
                history.seconds = seconds
                metrics = {METRIC: task.measured(task.examples.valid, partial(_computed, each))[METRIC]}
                history.points.append(Point(made, seconds, history.tokens, history.flops, metrics))
    for history, losses in zip(histories, steps.losses.T.tolist(), strict=True):
        history.losses = losses
    lived = steps.lived.tolist()
    steps.stack.put_back(models)
    spent = (time.process_time() - cpu) / n
    found: list[History | TrainingError] = []
    for model, history, own, each in zip(models, histories, lived, optimisers, strict=True):
        model.eval()
        if own < budget.steps:
            rate = each.rate(own + 1, budget.steps)
            found.append(
                TrainingError(
                    f"the loss or a gradient is not finite at step {own + 1} (learning rate {rate:.2g})"
                )
            )
        else:
            history.step_seconds, history.cpu_seconds = history.seconds / budget.steps, spent
            found.append(history)
    return found


def _cost(model: nn.Module, task: PuzzleTask) -> float:
    """Operations of a step per token: sequences of the bench are all of one length."""
    batch = task.epoch(0)[0]
    return float(batch_flops(model, task, batch, autocast=False) / task.size(batch)[1])


def _computed(logits: Tensor, batch: Minibatch) -> Tensor:
    """Logits that are there already, whatever is asked."""
    return logits


def train_together(
    models: Sequence[nn.Module],
    tasks: Sequence[PuzzleTask],
    *,
    optimisers: Sequence[Optimiser],
    budget: Budget,
    seeds: Sequence[int],
    late: Freeze | None = None,
) -> list[History | TrainingError]:
    """Train models of one architecture at once, each on its own task, as `train` would train it alone.

    Batches, draws, schedule and clipping are those that each has alone, so the numbers differ in the order of additions
    only. Near a transition that can be enough for another outcome.

    Args:
        models: initialised, all on one device; they are trained in place and left in eval mode.
        tasks: of the bench, one a model, with the same sizes.
        optimisers: one a model; they may differ in the learning rate alone.
        budget: for all.
        seeds: one a model, of what is left out by chance.
        late: a plan with `after`, the steps after which it freezes.

    Returns:
        For each model its history, or why it diverged. Seconds are shared out evenly.

    Raises:
        ValueError: they are not built alike, or need something that is done for one model alone.
    """
    return whole(training(models, tasks, optimisers=optimisers, budget=budget, seeds=seeds, late=late))


def _check(optimisers: Sequence[Optimiser], budget: Budget) -> None:
    if len({replace(each, lr=1.0) for each in optimisers}) > 1:
        raise ValueError("optimisers of models that are trained together may differ in lr alone")
    if optimisers[0].name != "adamw" or budget.accumulate != 1:
        raise ValueError("models are trained together by adamw, without accumulating gradients")


def whole(pieces: Generator[None, None, Result]) -> Result:
    """All pieces of a computation at once: what it returns."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return end.value


@lru_cache(KNOWN)
def table_of(task: PuzzleTask, steps: int) -> tuple[Tensor, Tensor, list[int]]:
    """The batches of the first steps as one table, and how many places each has; other rows learn from the same.

    A batch that is short is filled up with sequences of which nothing is asked.
    """
    batches = list(islice(batches_after(task, 0), steps))
    x, y = batches[0].x, batches[0].y
    xs = torch.zeros(steps, task.batch, *x.shape[1:], dtype=torch.int16)
    ys = torch.full((steps, task.batch, *y.shape[1:]), NOTHING, dtype=torch.int16)
    for step, batch in enumerate(batches):
        xs[step, : len(batch)], ys[step, : len(batch)] = batch.x, batch.y
    return xs, ys, [task.size(batch)[1] for batch in batches]


@lru_cache(KNOWN)
def _known(config: Any, seed: int) -> tuple[Any, Any]:
    corpus, vocabulary = config.prepare(seed=seed)
    return config.task(corpus, vocabulary, seed=seed), corpus


def build_all(runs: Sequence[Run]) -> tuple[list[nn.Module], list[Any], list[Any]]:
    """The models of runs on the bench, their tasks and their corpora; runs of one seed share the last two.

    Raises:
        ValueError: a run is none of the bench's.
    """
    for run in runs:
        if not isinstance(task_of(run), OnPuzzle):
            raise ValueError(
                f"only runs of the bench are trained together, got {run.recipe}: leave out --together"
            )
    known = [_known(replace(task_of(run), rounded=()), run.seed) for run in runs]
    models = [model_of(run, range(run.task.vocabulary)) for run in runs]
    return models, [task for task, _ in known], [corpus for _, corpus in known]


def begin_with(runs: Sequence[Run]) -> Generator[None, None, None]:
    """Execute the runs whose weights these begin with and that are not here, those of one recipe together."""
    while missing := [source for run in runs for source in missing_sources(run)]:
        name = missing[0].recipe
        yield from executing([source for source in missing if source.recipe == name])


def training_of(
    runs: Sequence[Run], models: Sequence[nn.Module], tasks: Sequence[Any]
) -> Generator[None, None, list[History | TrainingError]]:
    """Train what `build` made of runs that differ in their seeds and learning rates alone, in pieces.

    Raises:
        ValueError: they differ in more, or skip backward passes, or are not in fp32.
    """
    first = runs[0]
    for run in runs[1:]:
        if run.evolve(seed=first.seed, optimiser=first.optimiser) != first:
            raise ValueError(
                f"runs that are trained together may differ in seed and lr alone, unlike {run.recipe}"
            )
    if first.skip.layers or first.precision != "fp32" or first.compiled:
        raise ValueError(
            f"{first.recipe} skips backward passes, each seed in other steps, or is not in fp32: train its seeds one by"
            " one"
        )
    return training(
        models,
        tasks,
        optimisers=[run.optimiser for run in runs],
        budget=first.budget,
        seeds=[run.seed for run in runs],
        late=first.freeze if first.freeze.after else None,
    )


def executing(runs: Sequence[Run]) -> Generator[None, None, list[Record | TrainingError]]:
    """Train, test and record runs of several seeds together, in pieces; what is recorded is left as it is.

    Weights are written next to the records, as `execute` does. A run that diverged has no record, and its error is
    returned in its place.
    """
    found: dict[int, Record | TrainingError] = {run.seed: record for run in runs if (record := recorded(run))}
    runs = [run for run in runs if run.seed not in found]
    if not runs:
        return list(found.values())
    notes = [list(filter(None, [check_settled(run)])) for run in runs]
    yield from begin_with(runs)
    models, tasks, corpora = build_all(runs)
    yield
    before = [Untrained.of(run, model) for run, model in zip(runs, models, strict=True)]
    histories = yield from training_of(runs, models, tasks)
    for at, (run, history) in enumerate(zip(runs, histories, strict=True)):
        if isinstance(history, TrainingError):
            found[run.seed] = TrainingError(f"{run.recipe} (seed {run.seed}): {history}")
            continue
        parts = (models[at], tasks[at], corpora[at], history, before[at])
        found[run.seed] = record_run(run, *parts, notes=notes[at], together=len(runs))
        yield
    return list(found.values())


def execute_together(runs: Sequence[Run]) -> list[Record | TrainingError]:
    """`execute` for runs of one recipe and several seeds, all in one set of products.

    Args:
        runs: they differ in their seeds alone, or in their learning rates as well.

    Returns:
        A record for each, or why it diverged.

    Raises:
        ValueError: they cannot be trained together.
        Busy: another process trains one of them.
    """
    with ExitStack() as stack:
        for run in runs:
            if not stack.enter_context(locked(path_of(run), advice=RESULTS_ADVICE)):
                raise Busy(run)
        return whole(executing(runs))
