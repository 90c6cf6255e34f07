"""Backskipping: in some steps, the backward pass of a frozen layer is replaced by an estimate of its gradient.

After Shen et al. 2021: a network is warmed up on true gradients, then the chance of skipping rises. The documents that
this book starts from do not give the paper's estimator; those in `reservoir.training.gradient_estimators` are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

import torch
from torch import nn

from reservoir.layers.arguments import check_choice, check_number
from reservoir.training import gradient_estimators
from reservoir.training.gradient_estimators import Detour, EstimatorKind, GradientEstimator, SyntheticGradient
from reservoir.weights.generator import Stream
from reservoir.weights.naming import owned
from reservoir.weights.origins import initialise


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
            raise ValueError(
                f"layers must be a tuple of stream names, such as ('encoder.1',), got {self.layers!r}"
            )
        check_choice("estimate", self.estimate, get_args(EstimatorKind))
        for kind in self.watch:
            check_choice("watch", kind, get_args(EstimatorKind))
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
        word = Stream(seed, "backskipping").words(step, step + 1).item()
        return word < self.chance(step) * 2**32


class Backskipping:
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
        self.estimates = nn.ModuleDict()
        example = next(model.parameters())
        for name, detour in self.detours.items():
            d_model = next(p.shape[-1] for p in detour.inner.parameters())
            for kind in dict.fromkeys((plan.estimate, *plan.watch)):
                made = gradient_estimators.make(
                    kind, d_model, plan.width, stream=f"backskipping.{name}.{kind}"
                )
                initialise(made, seed=seed)
                detour.watched[kind] = self.estimates[_key(name, kind)] = made.to(example)
            detour.estimate = [self.of(name)]
        weights = list(self.estimates.parameters())
        self.optimiser = torch.optim.Adam(weights, lr=plan.lr, fused=True) if weights else None
        self.sums: dict[str, float] = {}
        self.steps, self.measured, self.skipped = 0, 0, 0

    def of(self, layer: str, kind: str | None = None) -> GradientEstimator:
        """The estimate of a layer: the one in use, or another that watches."""
        return cast(GradientEstimator, self.estimates[_key(layer, kind or self.plan.estimate)])

    def __enter__(self) -> Backskipping:
        self._exchange({detour.inner: detour for detour in self.detours.values()})
        return self

    def __exit__(self, *error: object) -> None:
        self._exchange({detour: detour.inner for detour in self.detours.values()})

    def _exchange(self, new: Mapping[nn.Module, nn.Module]) -> None:
        for parent in list(self.model.modules()):
            for name, child in list(parent.named_children()):
                if child in new and parent not in new.values():
                    setattr(parent, name, new[child])

    def begin(self, step: int) -> bool:
        """Set the detours for a step, counted from 1; returns whether it is skipped."""
        skipped = self.plan.skips(step, seed=self.seed)
        self.steps, self.skipped = self.steps + 1, self.skipped + skipped
        self.set(skipping=skipped)
        return skipped

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
        found: dict[str, float] = {}
        pairs = [(name, pair) for name, detour in self.detours.items() for pair in detour.pairs]
        for name, (h, above, below) in pairs:
            real = below.abs().amax(-1, keepdim=True) > 0  # padding has no gradient
            for kind in dict.fromkeys((self.plan.estimate, *self.plan.watch)):
                estimate = self.of(name, kind)
                if update:
                    estimate.observe(below)
                with torch.autocast(device, dtype=torch.bfloat16, enabled=autocast):
                    estimated = estimate(h, above) * real
                error = gradient_estimators.error(estimated, below)
                if estimate.learns:
                    total = total + error
                found[f"cosine_{kind}"] = found.get(f"cosine_{kind}", 0.0) + gradient_estimators.cosine(
                    estimated.detach(), below
                )
                found[f"error_{kind}"] = found.get(f"error_{kind}", 0.0) + error.item()
        for detour in self.detours.values():
            detour.pairs.clear()
        if self.optimiser is not None and total.requires_grad:
            total.backward()
            if update:
                self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
        if pairs and update:
            self.measured += 1
            for key, value in found.items():
                self.sums[key] = self.sums.get(key, 0.0) + value / len(pairs)

    def report(self) -> dict[str, float]:
        """Since the last report: the share of steps skipped, and cosines and errors on those that were not."""
        told = {"skipped": self.skipped / self.steps} if self.steps else {}
        told |= {key: value / self.measured for key, value in self.sums.items()}
        self.sums, self.steps, self.measured, self.skipped = {}, 0, 0, 0
        return told

    def numbers(self) -> dict[str, Any]:
        """What a checkpoint keeps in addition to the tensors of the estimates and of their optimiser."""
        return {
            "sums": self.sums,
            "counts": [self.steps, self.measured, self.skipped],
            "scales": {key: each.scale for key, each in self.estimates.items() if hasattr(each, "scale")},
        }

    def restore(self, numbers: Mapping[str, Any]) -> None:
        """Take up what `numbers` gave."""
        self.sums = dict(numbers["sums"])
        self.steps, self.measured, self.skipped = numbers["counts"]
        for key, scale in numbers["scales"].items():
            cast(SyntheticGradient, self.estimates[key]).scale = scale


def _key(layer: str, kind: str) -> str:
    return f"{layer} {kind}".replace(".", "-")


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
