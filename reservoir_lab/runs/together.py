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
from torch.func import functional_call, vjp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils.rnn import pad_sequence

from reservoir.datasets.batches import Minibatch
from reservoir.datasets.bench import NOTHING
from reservoir.files import locked
from reservoir.layers import BiGRU
from reservoir.models.stack import dropping
from reservoir.training.backskipping import Backskipping, cosine, error
from reservoir.training.classification import METRIC, PuzzleTask
from reservoir.training.events import History, Point
from reservoir.training.loop import TrainingError, step_seed
from reservoir.training.state import batches_after
from reservoir.weights import freeze, mark_trained, owned
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
AGAIN = 0.1  # seconds after which it is asked again whether another process has trained what is needed
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
                layer.register_forward_hook(_pass_by)
            vars(part)["layer_drop"] = 0.0
        for part in self.plain.modules():
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

    def forward(self, asked: Any, *inputs: Any) -> Any:
        """What is asked of one model, whose tensors `ask` has put in place."""
        return asked(self.plain, *inputs)

    def ask(self, asked: Any, tensors: dict[str, Tensor], *inputs: Any) -> Any:
        """`asked(model, *inputs)` of all models at once; tensors, as `tensors` gives them, and inputs: (models, …)."""

        def one(tensors: dict[str, Tensor], *inputs: Any) -> Any:
            return functional_call(self, tensors, (asked, *inputs), tie_weights=False)

        with sdpa_kernel(SDPBackend.MATH):  # on a GPU: the fused kernels cannot be asked by many
            return vmap(one)(tensors, *inputs)

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
        found = {f"plain.{name}.kept": kept[:, at] for at, name in enumerate(self.chances, start=1)}
        for place, name, mask, scores, padding in self.places:
            value = named[name]
            if isinstance(mask, Tensor):
                value = value * mask
            elif mask is not None:
                value = masked(named[scores], value, mask.keep, by=mask.by)
            if padding is not None:
                row = torch.arange(value.shape[1], device=value.device)[:, None] == padding
                value = torch.where(row, value.detach(), value)
            found[f"plain.{place}"] = value
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


class _Adam:
    """Adam for a stack, of which some parts rest in some steps and keep their moments then.

    Args:
        stack: what moves.
        moves: (steps, models, parts), whether each part takes a step.
        betas, eps, decay: as PyTorch's AdamW has them.
    """

    def __init__(self, stack: Stack, moves: Tensor, betas: Any, eps: float, decay: float = 0.0):
        self.stack, self.moves, self.eps, self.decay = stack, moves, eps, decay
        self.beta, self.gamma = betas
        # What makes up for the moments' beginning at zero.
        unbiased = [[1 / (1 - self.beta**t), (1 - self.gamma**t) ** -0.5] for t in range(1, len(moves) + 1)]
        self.unbiased = torch.tensor(unbiased, device=moves.device)[moves.cumsum(0).clamp(min=1) - 1]
        self.part = stack.parts().to(moves.device)
        self.mean, self.square = (torch.zeros_like(stack.moving) for _ in range(2))

    def _wide(self, numbers: Tensor) -> Tensor:
        """(models, parts) -> (models, columns of what moves), or what can be broadcast to it."""
        return numbers if numbers.shape[1] == 1 else numbers.index_select(1, self.part)

    def step(self, grad: Tensor, at: Tensor, rate: Any, alive: Tensor) -> None:
        """Step `at` of those models that are alive, (models,), at a learning rate for all or for each, (models, 1)."""
        moving, moves = self.stack.moving, self.moves.index_select(0, at)[0] & alive[:, None]
        first, second = map(self._wide, self.unbiased.index_select(0, at)[0].unbind(-1))
        grad, rate = torch.where(self._wide(moves), grad, 0.0), self._wide(rate * moves)
        if self.decay:
            moving.mul_(1 - rate * self.decay)
        self.mean.lerp_(grad, self._wide((1 - self.beta) * moves))
        self.square.mul_(self._wide(torch.where(moves, self.gamma, 1.0)))
        self.square.addcmul_(grad, grad, value=1 - self.gamma)
        moving.sub_(self.mean * first * rate / (self.square.sqrt() * second).add_(self.eps))


def _compared(estimates: Any, seen: Sequence[Tensor], true: Tensor) -> Tensor:
    """Cosine and error of each layer's estimate, (layers, 2), as `Backskipping.learn` has them.

    Args:
        estimates: of one model.
        seen: what came into each layer.
        true: gradients below and above each, (layers, 2, …).
    """
    found = []
    for estimate, h, (below, above) in zip(estimates, seen, true, strict=True):
        estimated = estimate(h, above)
        found.append(torch.stack([cosine(estimated.detach(), below), error(estimated, below)]))
    return torch.stack(found)


class _Estimates(Stack):
    """What stands in for the backward passes that models skip, and learns in the steps in which they do not.

    Args:
        skipping: for each model, what would leave out its backward passes if it were trained alone.
        plain: whose layers get their detours.
        full: (steps, models, 1), whether a model's step has a whole backward pass.
        size: of a batch, (sequences, places).
    """

    def __init__(self, skipping: Sequence[Backskipping], plain: Any, full: Tensor, size: torch.Size):
        super().__init__([each.estimates for each in skipping])
        first, self.full = skipping[0], full
        plain.estimates = self.plain  # so that the detours compute with what `within` gives
        names = {part: name for name, part in first.model.named_modules()}
        for at, each in enumerate(first.detours.values()):
            layer = plain.get_submodule(names[each.inner])
            vars(layer)["forward"] = partial(self._detour, at, layer.forward)
        self.seen: dict[int, Tensor] = {}
        shape = len(skipping), len(first.detours), 2, *size, self.shapes["0.out.weight"][0]
        self.zeros = self.moving.new_zeros(()).expand(shape).requires_grad_()
        self.found = self.moving.new_zeros(len(full), len(skipping), 2)  # cosines and errors
        usual = first.optimiser.defaults  # type: ignore[union-attr]
        self.rate = usual["lr"]
        self.adam = _Adam(self, full, usual["betas"], usual["eps"])

    def _detour(self, at: int, through: Any, x: Tensor, *more: Any) -> Tensor:
        """What a frozen layer computes; where a model skips, the gradient below is its estimate.

        Where it does not, the gradients of two zeros that are added are the true ones, below and above the layer.
        """
        if not torch.is_grad_enabled():
            return through(x, *more)
        estimates: Any = self.plain
        h = self.seen[at] = x.detach()
        below, above = estimates.zeros[at]
        y = through(x + below, *more)
        # The estimate is linear, g ↦ M g, so its own gradient makes Mᵀ x of x: something whose gradient is M g.
        (passed,) = vjp(partial(estimates[at], h), h)[1](x)
        return torch.where(estimates.skips, y.detach() + (passed - passed.detach()), y) + above

    def within(self, at: Tensor) -> dict[str, Tensor]:
        """What the detours compute with in step `at`, (models, …)."""
        named = self.named() | {"skips": ~self.full.index_select(0, at)[0, :, 0], "zeros": self.zeros}
        return {f"plain.estimates.{name}": value for name, value in named.items()}

    def learn(self, at: Tensor, seen: Sequence[Tensor], true: Tensor, alive: Tensor) -> None:
        """Learn from the true gradients of step `at`; a model whose estimate is not finite is alive no more."""
        full = self.full.index_select(0, at)[0]
        found = self.ask(_compared, self.tensors(full), seen, true)
        (grad,) = torch.autograd.grad(found[..., 1].sum(), [self.moving])
        with torch.no_grad():
            found = torch.where(full, found.mean(1), 0.0)
            self.found.index_copy_(0, at, found[None])
            alive &= found.isfinite().all(1)
            self.adam.step(grad, at, self.rate, alive)

    def tell(self, skipping: Sequence[Backskipping], since: int, made: int) -> None:
        """Have each model's own know what it would have measured in these steps, of which it knows nothing yet."""
        for at, each in enumerate(skipping):
            measured = self.found[since:made, at][self.full[since:made, at, 0]]
            each.steps, each.skipped = made - since, made - since - len(measured)
            if len(measured):
                means = measured.mean(0).tolist()
                each.last = dict(zip(("cosine_value", "error_value"), means, strict=True))


class _Steps:
    """The state of many runs on one device, and the step that moves it on. Nothing in a step waits for the device."""

    def __init__(
        self, stack: Stack, runs: Sequence[Run], tasks: Sequence[PuzzleTask], skipping: Sequence[Backskipping]
    ):
        how, steps, device = runs[0].optimiser, runs[0].budget.steps, stack.moving.device
        self.stack, self.clip, self.task = stack, how.clip, tasks[0]
        *tables, self.sizes = zip(*[table_of(task, steps) for task in tasks], strict=True)
        self.x, self.y = (torch.stack(each, 1).to(device) for each in tables)
        numbers = range(1, steps + 1)
        rates = [[run.optimiser.rate(step, steps) for run in runs] for step in numbers]
        self.rates = torch.tensor(rates, device=device)[..., None]
        # For each step, model and layer: whether it is kept.
        self.kept = torch.stack([self._kept(run.seed, steps) for run in runs], 1).to(device)
        self.adam = _Adam(stack, self.kept, how.betas, how.eps, how.weight_decay)
        self.at = torch.zeros(1, dtype=torch.int64, device=device)
        self.losses = torch.zeros(steps, len(stack), device=device)
        self.alive = torch.ones(len(stack), dtype=torch.bool, device=device)
        self.lived = torch.zeros(len(stack), dtype=torch.int64, device=device)  # steps that each has made
        self.graph: Any = None
        # For each model and step: whether its backward pass is left out in part.
        self.skips = [[each.plan.skips(step, seed=each.seed) for step in numbers] for each in skipping]
        full = ~torch.tensor(self.skips, device=device).T[..., None]
        some = skipping[0].plan.layers
        self.estimates = _Estimates(skipping, stack.plain, full, self.x.shape[2:]) if some else None

    def _kept(self, seed: int, steps: int) -> Tensor:
        """(steps, 1 + layers that may be left out): what a run of a seed keeps in each step."""
        kept = torch.ones(steps, 1 + len(self.stack.chances), dtype=torch.bool)
        chances = torch.tensor([*self.stack.chances.values()])
        if len(chances):
            for step, row in enumerate(kept, start=1):
                drawn = torch.Generator().manual_seed(step_seed(seed, step))
                row[1:] = torch.rand(len(chances), generator=drawn) >= chances
        return kept

    def step(self) -> None:
        """One step of every model."""
        stack, estimates = self.stack, self.estimates
        x, y = (rows.index_select(0, self.at)[0].long() for rows in (self.x, self.y))
        tensors = stack.tensors(self.kept.index_select(0, self.at)[0])
        tensors |= estimates.within(self.at) if estimates else {}
        losses, seen = stack.ask(self._loss, tensors, x, y)
        losses = losses / (y >= 0).flatten(1).sum(1)
        wanted = [stack.moving, *([estimates.zeros] if estimates else [])]
        grad, *true = torch.autograd.grad(losses.sum(), wanted)
        with torch.no_grad():
            norm = grad.square().sum(1).sqrt()
            self.alive &= losses.isfinite() & norm.isfinite()
            self.losses.index_copy_(0, self.at, losses.detach()[None])
            share = (self.clip / (norm + 1e-6)).clamp(max=1.0) if self.clip else torch.ones_like(norm)
            rate = self.rates.index_select(0, self.at)[0]
            self.adam.step(grad * share[:, None], self.at, rate, self.alive)
        if estimates:
            estimates.learn(self.at, seen, true[0], self.alive)
        self.lived += self.alive
        self.at += 1

    def _loss(self, model: nn.Module, x: Tensor, y: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The loss of a batch, and what came into each layer that has a detour."""
        loss = self.task.loss(model, Minibatch(x, y))
        seen = self.estimates.seen if self.estimates else {}
        return loss, [seen[at] for at in sorted(seen)]  # layers need not run in the order of the plan

    def _logits(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return self.task.logits(model, Minibatch(x, y))

    @torch.no_grad()
    def logits(self, x: Tensor, y: Tensor) -> Tensor:
        """(models, n, places, questions, answers) of (models, n, …)."""
        device, tensors = self.stack.moving.device, self.stack.tensors(torch.ones_like(self.kept[0]))
        return self.stack.ask(self._logits, tensors, x.to(device), y.to(device))

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
        remain, adam = self.stack.stop(models), self.adam
        adam.mean, adam.square = adam.mean[:, remain].clone(), adam.square[:, remain].clone()
        adam.part, self.graph = adam.part[remain], None


def training_of(
    runs: Sequence[Run], models: Sequence[nn.Module], tasks: Sequence[PuzzleTask]
) -> Generator[None, None, list[History | TrainingError]]:
    """Train models of one architecture at once, each on its own task, as `train_run` would train it alone.

    Batches, draws, schedule, clipping, and what is left out in a step are those that each has alone, so the numbers
    differ in the order of additions only. Near a transition that can be enough for another outcome.

    Args:
        runs: they differ in their seeds and learning rates alone.
        models, tasks: what `build_all` made of them, all on one device; models are trained in place and left in eval
            mode.

    Yields:
        After some steps were started; that a GPU has made them is not waited for.

    Returns:
        For each model its history, or why it diverged. Seconds are shared out evenly.

    Raises:
        ValueError: they differ in more, or need something that is done for one model alone.
    """
    first, n, made = runs[0], len(models), 0
    budget, late, skip = first.budget, first.freeze if first.freeze.after else None, first.skip
    for run in runs[1:]:
        if run.evolve(seed=first.seed, optimiser={"lr": first.optimiser.lr}) != first:
            raise ValueError(
                f"runs that are trained together may differ in seed and lr alone, unlike {run.recipe}"
            )
    usual: Any = {"optimiser": {"name": "adamw"}, "budget": {"accumulate": 1}}
    if first.evolve(**usual, precision="fp32", compiled=False) != first:
        raise ValueError(
            f"{first.recipe} is not trained by adamw in fp32, whole batches at a time: train its seeds one by one"
        )
    odd: Any = skip.estimate != "value" or skip.watch or late or getattr(first.model, "layer_drop", 0)
    skipping = [Backskipping(model, skip, seed=run.seed) for run, model in zip(runs, models, strict=True)]
    layers = [detour.inner for detour in skipping[0].detours.values()]
    if skip.layers and (odd or any(p.requires_grad for layer in layers for p in layer.parameters())):
        raise ValueError(
            f"{first.recipe} skips backward passes of layers that are trained, or with more than value networks, or"
            " freezes or leaves out layers besides: train its seeds one by one"
        )
    if late is not None:
        check_after(late.after, budget.steps)
    for model in models:
        mark_trained(model)
    costs = _costs(skipping[0], tasks[0])
    begun, cpu = time.perf_counter(), time.process_time()
    steps = _Steps(Stack(models), runs, tasks, skipping)
    histories = [History() for _ in models]
    valid_x, valid_y = (torch.stack([getattr(t.examples.valid, name) for t in tasks]) for name in "xy")
    while made < budget.steps:
        ends = [budget.steps, made + AT_ONCE, made - made % budget.validate_every + budget.validate_every]
        if late is not None and made < late.after:
            ends.append(late.after)
        steps.run(min(ends) - made)
        made = min(ends)
        yield
        for history, size, skips in zip(histories, steps.sizes, steps.skips, strict=True):
            for tokens, skipped in zip(size[history.step : made], skips[history.step : made], strict=True):
                history.tokens += tokens
                history.flops += costs[skipped] * tokens
                if skipped:
                    history.skipped += 1
                    history.skipped_tokens += tokens
                    history.skipped_flops += costs[skipped] * tokens
            history.step = made
        if late is not None and made == late.after:
            for model in models:
                freeze(model, late)
            steps.stop(models)
            costs = _costs(skipping[0], tasks[0])
        if made == budget.steps or made % budget.validate_every == 0:
            logits = steps.logits(valid_x, valid_y).cpu()
            if steps.estimates:
                steps.estimates.tell(
                    skipping, histories[0].points[-1].step if histories[0].points else 0, made
                )
            seconds = (time.perf_counter() - begun) / n
            for history, task, each, own in zip(histories, tasks, logits, skipping, strict=True):
                history.seconds = seconds
                metrics = {METRIC: task.measured(task.examples.valid, partial(_computed, each))[METRIC]}
                point = Point(made, seconds, history.tokens, history.flops, metrics | own.metrics())
                history.points.append(point)
    for history, losses in zip(histories, steps.losses.T.tolist(), strict=True):
        history.losses = losses
    lived = steps.lived.tolist()
    steps.stack.put_back(models)
    spent = (time.process_time() - cpu) / n
    found: list[History | TrainingError] = []
    for run, model, history, own in zip(runs, models, histories, lived, strict=True):
        model.eval()
        if own < budget.steps:
            rate = run.optimiser.rate(own + 1, budget.steps)
            why = f"the loss or a gradient is not finite at step {own + 1} (learning rate {rate:.2g})"
            found.append(TrainingError(why))
        else:
            history.step_seconds, history.cpu_seconds = history.seconds / budget.steps, spent
            found.append(history)
    return found


def _costs(skipping: Backskipping, task: PuzzleTask) -> list[float]:
    """Operations per token of a full step, and of one that skips: sequences of the bench are all of one length."""
    batch, found = task.epoch(0)[0], []
    with skipping:
        for skips in (False, True) if skipping.plan.layers else (False,):
            skipping.set(skipping=skips)
            flops = batch_flops(skipping.model, task, batch, autocast=False, skipping=skipping)
            found.append(float(flops / task.size(batch)[1]))
    return found


def _computed(logits: Tensor, batch: Minibatch) -> Tensor:
    """Logits that are there already, whatever is asked."""
    return logits


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
    x, y = ([getattr(batch, name).to(torch.int16) for batch in batches] for name in "xy")
    filled = pad_sequence(y, batch_first=True, padding_value=NOTHING)
    return pad_sequence(x, batch_first=True), filled, [task.size(batch)[1] for batch in batches]


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


def built_and_trained(runs: Sequence[Run]) -> Generator[None, None, list[tuple[Any, ...]]]:
    """Build runs that differ in their seeds and learning rates alone and train them, in pieces.

    Those whose weights they begin with and that are not here are executed first, those of one recipe together; which
    another process trains is waited for.

    Returns:
        For each its model, task, corpus, history (or why it diverged), and what was known before it was trained.
    """
    missing = {path_of(source): source for run in runs for source in missing_sources(run)}.values()
    for name in dict.fromkeys(source.recipe for source in missing):
        yield from executing_in_turn([source for source in missing if source.recipe == name])
    models, tasks, corpora = build_all(runs)
    yield
    before = [Untrained.of(run, model) for run, model in zip(runs, models, strict=True)]
    histories = yield from training_of(runs, models, tasks)
    return list(zip(models, tasks, corpora, histories, before, strict=True))


def executing(runs: Sequence[Run]) -> Generator[None, None, list[Record | TrainingError]]:
    """Train, test and record runs of several seeds together, in pieces; what is recorded is left as it is.

    Weights are written next to the records, as `execute` does. A run that diverged has no record, and its error is
    returned in its place.

    Raises:
        Busy: another process trains one of them.
    """
    with ExitStack() as stack:
        for run in runs:
            if not stack.enter_context(locked(path_of(run), advice=RESULTS_ADVICE)):
                raise Busy(run)
        found: dict[Any, Record | TrainingError] = {
            path_of(run): record for run in runs if (record := recorded(run))
        }
        left = [run for run in runs if path_of(run) not in found]
        notes = [list(filter(None, [check_settled(run)])) for run in left]
        parts = (yield from built_and_trained(left)) if left else []
        for run, (model, task, corpus, history, before), said in zip(left, parts, notes, strict=True):
            if isinstance(history, TrainingError):
                found[path_of(run)] = TrainingError(f"{run.recipe} (seed {run.seed}): {history}")
                continue
            built = (run, model, task, corpus, history, before)
            found[path_of(run)] = record_run(*built, notes=said, together=len(left))
            yield
        return [found[path_of(run)] for run in runs]


def executing_in_turn(runs: Sequence[Run]) -> Generator[None, None, list[Record | TrainingError]]:
    """`executing`, as soon as no other process trains one of the runs."""
    while True:
        try:
            return (yield from executing(runs))
        except Busy:
            time.sleep(AGAIN)
            yield


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
    return whole(executing(runs))
