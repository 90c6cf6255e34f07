"""Backskipping: in some steps, the backward pass of a frozen layer is replaced by an estimate of its gradient.

After Shen et al. 2021: a network is warmed up on true gradients, then the chance of skipping rises. The documents
that this book starts from do not give the paper's estimator; those here are ours. A block h ↦ y turns the gradient g
at its output into Jᵀg at its input, with J its Jacobian at h. The four kinds of estimate use h, g, both or neither.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers import Linear
from reservoir.layers.arguments import check_choice, check_number
from reservoir.training.state import Handler
from reservoir.weights.draws import Stream
from reservoir.weights.initialisation import Constant
from reservoir.weights.naming import owned
from reservoir.weights.origins import initialise

EstimatorKind = Literal["zero", "identity", "synthetic", "value"]


class GradientEstimator(nn.Module):
    """What stands in for Jᵀg. Called with the block's input and the gradient at its output, both (…, d_model).

    Args:
        d_model: width of the residual stream.
        width: of what the estimate learns with, if it learns.
        stream: prefix of its weights' stream names.

    All kinds take these alike; those that do not learn use none of them.
    """

    def __init__(self, d_model: int = 0, width: int = 0, *, stream: str = ""):
        super().__init__()

    def forward(self, h: Tensor, grad: Tensor) -> Tensor:
        """(…, d_model), (…, d_model) -> the same shape."""
        raise NotImplementedError

    def observe(self, true: Tensor) -> None:
        """See a true gradient, (…, d_model), before learning from it."""


class ZeroGradient(GradientEstimator):
    """Zero: the layers below get no gradient in this step, and need no backward pass either."""

    def forward(self, h: Tensor, grad: Tensor) -> Tensor:
        return torch.zeros_like(grad)


class IdentityGradient(GradientEstimator):
    """The gradient at the output as it is: all that a residual connection passes on, without what its block adds."""

    def forward(self, h: Tensor, grad: Tensor) -> Tensor:
        return grad


class SyntheticGradient(GradientEstimator):
    """`s · (W₂ relu(W₁ h + b₁) + b₂)`: predicted from the activation alone (Jaderberg et al. 2017).

    It is available before anything above the block is computed. The last map starts at zero, as in the paper, so the
    first estimates are zero. s follows the size of the gradients, which falls during training.

    Args:
        d_model: width of the residual stream.
        width: between the two maps.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, width: int, *, stream: str):
        super().__init__()
        self.up = Linear(d_model, width, stream=f"{stream}.up")
        self.down = Linear(width, d_model, stream=f"{stream}.down")
        self.down.initialisations = {"weight": Constant(0.0)}
        self.scale = 0.0

    def forward(self, h: Tensor, grad: Tensor) -> Tensor:
        return self.scale * self.down(F.relu(self.up(F.layer_norm(h, h.shape[-1:])))).to(grad.dtype)

    def observe(self, true: Tensor) -> None:
        size = true.square().mean().sqrt().item()
        self.scale = 0.9 * self.scale + 0.1 * size if self.scale else size


class ValueGradient(GradientEstimator):
    """`g + A (σ(B h) ⊙ C g)`: the backward pass of a narrow feed-forward layer with a soft step.

    For `y = h + W₂ relu(W₁ h)` the true Jᵀg is `g + W₁ᵀ(1[W₁ h > 0] ⊙ W₂ᵀ g)`. The estimate has that form, with `width`
    in place of d_ff. Like the truth it is linear in g, so gradients may shrink as they like; and since A starts at
    zero, it starts as the identity.

    Args:
        d_model: width of the residual stream.
        width: rows of B and C.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, width: int, *, stream: str):
        super().__init__()
        self.gate = Linear(d_model, width, stream=f"{stream}.gate")
        self.into = Linear(d_model, width, stream=f"{stream}.into", bias=False)
        self.out = Linear(width, d_model, stream=f"{stream}.out", bias=False)
        self.out.initialisations = {"weight": Constant(0.0)}

    def forward(self, h: Tensor, grad: Tensor) -> Tensor:
        gate = torch.sigmoid(self.gate(F.layer_norm(h, h.shape[-1:])))
        return grad + self.out(gate * self.into(grad)).to(grad.dtype)


ESTIMATES: dict[EstimatorKind, type[GradientEstimator]] = {
    "zero": ZeroGradient,
    "identity": IdentityGradient,
    "synthetic": SyntheticGradient,
    "value": ValueGradient,
}


def cosine(estimate: Tensor, true: Tensor) -> Tensor:
    """The cosine of the angle between two gradients, each taken as one long vector; 0 if either is zero."""
    norms = estimate.square().sum().sqrt() * true.square().sum().sqrt()
    return torch.where(norms > 0, (estimate * true).sum() / norms, 0.0)


def error(estimate: Tensor, true: Tensor) -> Tensor:
    """`‖estimate - true‖² / ‖true‖²`: 0 is perfect, and 1 is the error of an estimate of zero."""
    return (estimate - true).square().sum() / true.square().sum().clamp_min(torch.finfo(true.dtype).tiny)


class _Pass(torch.autograd.Function):
    """Forward: y. Backward: x gets `answer` of y's gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, answer: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.answer = answer
        return y.view_as(y)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return ctx.answer(grad), None, None


def skip(x: Tensor, y: Tensor, answer: Callable[[Tensor], Tensor]) -> Tensor:
    """y, as if it were computed from x by something whose backward pass is `answer`.

    Args:
        x: gets `answer(g)` as its gradient, where g is y's.
        y: without a graph of its own.
        answer: from y's shape to x's.
    """
    return _Pass.apply(x, y.detach(), answer)


def tap(x: Tensor, note: Callable[[Tensor], None]) -> Tensor:
    """x, and a call of `note` with its gradient when that is known. Changes no bit of either."""

    def answer(grad: Tensor) -> Tensor:
        note(grad)
        return grad

    return _Pass.apply(x, x.detach(), answer)


class Detour(nn.Module):
    """A block, or anything else between two places of a model, whose backward pass can be left out.

    Args:
        inner: called as `inner(x, mask, …)`, with mask (batch, length) true at tokens, or None.
        estimate: stands in for the backward pass where it is left out; None if it never is.

    Attributes:
        skipping: whether the next steps leave it out. Then `inner` keeps nothing for a backward pass, either.
        pairs: for each full backward pass while `watching`, until someone takes them, the block's input and the true
            gradients above and below it, all (batch, length, d_model).
        watched: estimates by name that learn from these pairs, whether they are ever used or not.
    """

    def __init__(self, inner: nn.Module, estimate: GradientEstimator | None = None):
        super().__init__()
        self.inner = inner
        # In a list, so that no plan, report or file takes it for a part of the model.
        self.estimate = [estimate]
        self.skipping, self.watching = False, False
        self.pairs: list[tuple[Tensor, Tensor, Tensor]] = []
        self.watched: dict[str, GradientEstimator] = {}

    def forward(self, x: Tensor, mask: Tensor | None = None, *args: Any) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        if not (self.training and torch.is_grad_enabled() and x.requires_grad):
            return self.inner(x, mask, *args)
        (estimate,) = self.estimate
        if self.skipping and estimate is not None:
            with torch.no_grad():
                y = self.inner(x, mask, *args)
            if isinstance(estimate, ZeroGradient):
                return y
            return skip(x, y, self._answer(estimate, x.detach(), mask))
        if not self.watching:
            return self.inner(x, mask, *args)
        above: list[Tensor] = []
        h = x.detach()
        into = tap(x, lambda grad: self.pairs.append((h, above.pop(), grad)))
        return tap(self.inner(into, mask, *args), above.append)

    @staticmethod
    def _answer(estimate: GradientEstimator, h: Tensor, mask: Tensor | None) -> Callable[[Tensor], Tensor]:
        kind = h.device.type
        precision = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)

        @torch.no_grad()
        def answer(grad: Tensor) -> Tensor:
            with torch.autocast(kind, enabled=precision[0], dtype=precision[1]):
                estimated = estimate(h, grad)
            # Nothing depends on padding: its gradient is zero, and so must the estimate's be.
            return estimated if mask is None else estimated * mask[..., None]

        return answer


@dataclass(frozen=True)
class Skip:
    """A plan for skipping backward passes.

    Args:
        layers: stream names of the layers that can be skipped, such as "encoder.1"; empty skips nothing.
        estimate: what replaces their backward pass: "zero", "identity", "synthetic" or "value".
        most: the highest chance of skipping a step, in [0, 1). At 0 the estimate only watches and learns.
        warmup: steps in which nothing is skipped, and the estimate sees true gradients alone.
        anneal: steps after those in which the chance rises from 0 to `most`, along a line.
        width, lr: of the estimate's network, and the learning rate of its Adam.
        watch: more estimates, which learn and are measured along with it and never used.
    """

    layers: tuple[str, ...] = ()
    estimate: EstimatorKind = "value"
    most: float = 0.0
    warmup: int = 0
    anneal: int = 0
    width: int = 64
    lr: float = 3e-3
    watch: tuple[EstimatorKind, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.layers, str):
            raise ValueError(f"layers must be a tuple of names, such as ('encoder.1',), got {self.layers!r}")
        check_choice("estimate", self.estimate, ESTIMATES)
        for kind in self.watch:
            check_choice("watch", kind, ESTIMATES)
        check_number("most", self.most, least=0, below=1, why="some steps have to be full")
        check_number("warmup", self.warmup, least=0, whole=True)
        check_number("anneal", self.anneal, least=0, whole=True)
        check_number("width", self.width, least=1, whole=True)
        check_number("lr", self.lr, above=0)

    def chance(self, step: int) -> float:
        """The chance with which step `step`, counted from 1, is skipped."""
        after = step - self.warmup
        if after <= 0:
            return 0.0
        return self.most * min(1.0, after / self.anneal if self.anneal else 1.0)

    def skips(self, step: int, *, seed: int) -> bool:
        """Whether step `step` is skipped: a function of both numbers, so a run that goes on needs no state for it."""
        chance = self.chance(step) * 2**32
        return chance > 0 and Stream(seed, "backskipping").words(step, step + 1).item() < chance


class Backskipping(Handler):
    """Carries out a plan during training: inside a `with` block, the model's layers have their detours.

    The estimates and their optimiser live here and not in the model, so they are not stored with it.

    Args:
        model: initialised.
        plan: what to skip.
        seed: of the estimates' weights and of which steps are skipped.

    Raises:
        ValueError: a layer of the plan is none of the model's.
    """

    def __init__(self, model: nn.Module, plan: Skip, *, seed: int):
        self.model, self.plan, self.seed = model, plan, seed
        self.detours = {name: Detour(_block(model, name)) for name in plan.layers}
        self.estimates = nn.ModuleList()
        example = next(model.parameters())
        for name, detour in self.detours.items():
            d_model = next(p.shape[-1] for p in detour.inner.parameters())
            for kind in dict.fromkeys((plan.estimate, *plan.watch)):
                made = ESTIMATES[kind](d_model, plan.width, stream=f"backskipping.{name}.{kind}")
                initialise(made, seed=seed)
                detour.watched[kind] = made.to(example)
            detour.estimate = [detour.watched[plan.estimate]]
            self.estimates.extend(detour.watched.values())
        weights = list(self.estimates.parameters())
        self.optimiser = torch.optim.Adam(weights, lr=plan.lr, fused=True) if weights else None
        self.sums: dict[str, float] = defaultdict(float)
        self.last: dict[str, float] = {}
        self.steps, self.measured, self.skipped = 0, 0, 0

    @property
    def learner(self) -> tuple[nn.Module, torch.optim.Optimizer] | None:
        """The estimates that learn, with their optimiser; None if none does."""
        return None if self.optimiser is None else (self.estimates, self.optimiser)

    def __enter__(self) -> Backskipping:
        self._exchange({detour.inner: detour for detour in self.detours.values()})
        return self

    def __exit__(self, *exception: object) -> None:
        self._exchange({detour: detour.inner for detour in self.detours.values()})

    begin, end = __enter__, __exit__

    def gradients(self, total: Tensor) -> None:
        """Let the estimates learn."""
        self.learn(autocast=self.training.autocast)

    def _exchange(self, new: Mapping[nn.Module, nn.Module]) -> None:
        for parent in list(self.model.modules()):
            for name, child in list(parent.named_children()):
                if child in new and parent not in new.values():
                    setattr(parent, name, new[child])

    def before(self, step: int) -> None:
        """Draw whether a step is skipped, and set the detours for it."""
        skipped = self.training.skipping = self.plan.skips(step, seed=self.seed)
        self.steps, self.skipped = self.steps + 1, self.skipped + skipped
        self.set(skipping=skipped)

    def set(self, *, skipping: bool) -> None:
        """Let the backward passes that follow be skipped, or not."""
        for detour in self.detours.values():
            detour.skipping, detour.watching = skipping, not skipping
            detour.pairs.clear()

    def learn(self, *, update: bool = True, autocast: bool = False) -> None:
        """Compare the estimates with the true gradients of the last full step, and let them learn from it.

        Args:
            update: false leaves everything as it was, for counting operations.
            autocast: products in bf16.
        """
        device = next(self.model.parameters()).device.type
        total = torch.zeros((), device=device)
        found: dict[str, float] = defaultdict(float)
        pairs = [(detour, pair) for detour in self.detours.values() for pair in detour.pairs]
        for detour, (h, above, below) in pairs:
            real = below.abs().amax(-1, keepdim=True) > 0  # padding has no gradient
            for kind, estimate in detour.watched.items():
                if update:
                    estimate.observe(below)
                with torch.autocast(device, dtype=torch.bfloat16, enabled=autocast):
                    estimated = estimate(h, above) * real
                off = error(estimated, below)
                total = total + off
                found[f"cosine_{kind}"] += cosine(estimated.detach(), below).item()
                found[f"error_{kind}"] += off.item()
        for detour, _ in pairs:
            detour.pairs.clear()
        if self.optimiser is not None and total.requires_grad:
            total.backward()
            if update:
                self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
        if pairs and update:
            self.measured += 1
            for key, value in found.items():
                self.sums[key] += value / len(pairs)

    def metrics(self) -> dict[str, float]:
        """Since the last validation: the share of steps skipped, and cosines and errors on those that were not.

        Where all were skipped, cosines and errors are those of the report before.
        """
        told = {"skipped": self.skipped / self.steps} if self.steps else {}
        self.last |= {key: value / self.measured for key, value in self.sums.items()}
        self.sums.clear()
        self.steps, self.measured, self.skipped = 0, 0, 0
        return told | self.last

    def numbers(self) -> dict[str, Any]:
        """What a checkpoint keeps in addition to the tensors of the estimates and of their optimiser."""
        return {
            "sums": self.sums,
            "last": self.last,
            "counts": [self.steps, self.measured, self.skipped],
            "scales": [each.scale for each in self._scaled()],
        }

    def restore(self, numbers: Mapping[str, Any]) -> None:
        """Take up what `numbers` gave."""
        self.sums, self.last = defaultdict(float, numbers["sums"]), dict(numbers["last"])
        self.steps, self.measured, self.skipped = numbers["counts"]
        for each, scale in zip(self._scaled(), numbers["scales"], strict=True):
            each.scale = scale

    def _scaled(self) -> list[SyntheticGradient]:
        return [each for each in self.estimates if isinstance(each, SyntheticGradient)]


def _block(model: nn.Module, name: str) -> nn.Module:
    """The module that owns exactly the parameters whose streams begin with `name`, the outermost if there are several.

    Raises:
        ValueError: there is none.
    """
    wanted = {item.stream for item in owned(model) if item.stream.startswith(f"{name}.")}
    for module in model.modules():
        if wanted and {item.stream for item in owned(module)} == wanted:
            return module
    raise ValueError(f"layers has {name!r}, and no layer of the model has that stream name")
