"""What the tensors of any module are called, which of them a caller means, and the masks that stand before them.

A tensor of `reservoir.layers` has a stream name that is written down where it is made. Every other tensor is called by
its path in the bare module: `DistributedDataParallel`, `torch.compile` and torch's parametrizations add nothing to it,
and a tied tensor has the name of the first place that holds it. The name that it had when it was drawn is kept with it,
so a model can become a part of another one later.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import _WeightNorm
from torch.optim.swa_utils import AveragedModel

from reservoir.layers.linear import Maskable
from reservoir.weights.files import WeightsError

RECORDED = "_reservoir"
"""The attribute in which a module records what is known of its tensors: by their attributes, (stream name, origin)."""
LAYER = re.compile(r"((?:[^.]+\.)*?)(\d+)\.")
Names = str | int | Iterable[str | int]
Where = Callable[[str, nn.Parameter], bool]


class WeightMask(nn.Module):
    """What all masks share: called with weights, a mask returns those that take part, and zeros in place of the others.

    Attributes:
        stream: name of the weights.
    """

    stream: str

    def chosen(self) -> Tensor:
        """Which weights take part: bool, of their shape."""
        raise NotImplementedError


class Owned(NamedTuple):
    """A parameter, the module that owns it, and its names.

    Args:
        stream: the name of its random stream.
        module, attribute: the owner, and what the parameter is called there.
        parameter: the weights themselves, without what a mask makes of them.
        path: its name in the model at hand, which a file uses; the stream name where that is explicit.
    """

    stream: str
    module: nn.Module
    attribute: str
    parameter: nn.Parameter
    path: str

    @property
    def mask(self) -> WeightMask | None:
        """The mask that chooses among its weights, if there is one."""
        if isinstance(self.module, Maskable):
            return cast("WeightMask | None", self.module.mask if self.attribute == "weight" else None)
        return next((one for one in self.chain if isinstance(one, WeightMask)), None)

    @property
    def others(self) -> list[nn.Module]:
        """Torch's parametrizations of the weights other than a mask, such as a spectral norm."""
        return [one for one in self.chain if not isinstance(one, WeightMask)]

    def put(self, mask: WeightMask | None) -> None:
        """Put a mask before the weights, in the place of the one that is there; None takes it away.

        Our own layers multiply by it themselves. Elsewhere it is a parametrization of torch, so whoever asks the module
        for its weight, a fused kernel for instance, gets the masked one. Others, such as a spectral norm, stay.
        """
        if isinstance(self.module, Maskable):
            self.module.mask = mask
            return
        if parametrize.is_parametrized(self.module):
            self._separate()
        old, chain = self.mask, cast(nn.ModuleList, self.chain)
        if old is not None and mask is not None:
            chain[list(chain).index(old)] = mask
        elif old is not None and self.others:
            chain.pop(list(chain).index(old))
        elif old is not None:
            self.strip()
        elif mask is not None:
            if chain:
                chain.append(mask)
            else:
                parametrize.register_parametrization(self.module, self.attribute, mask)
            if isinstance(self.module, nn.RNNBase):
                _give_masked_weights(type(self.module))
            cast(nn.Module, self.chain).register_state_dict_post_hook(_each_its_own)

    def strip(self) -> None:
        """Take off the mask and whatever else parametrizes the weights."""
        self._separate()
        parametrize.remove_parametrizations(self.module, self.attribute, leave_parametrized=False)

    def _separate(self) -> None:
        """Give the module a class of its own: a deep copy shares torch's, which would change the original too."""
        kind = type(self.module)
        self.module.__class__ = type(kind.__name__, kind.__bases__, dict(kind.__dict__))

    @property
    def chain(self) -> Sequence[nn.Module]:
        """Torch's parametrizations of the weights, in their order."""
        if not parametrize.is_parametrized(self.module, self.attribute):
            return ()
        return cast(Any, self.module).parametrizations[self.attribute]


def _give_masked_weights(kind: Any) -> None:
    """Have a class of recurrent layers give its kernel the weights as their masks leave them.

    The class keeps a list of its parameters for the kernel, which would be that of the weights without masks.
    """
    if isinstance(vars(kind).get("_flat_weights"), property):
        return
    kind._flat_weights = property(_flat_weights, lambda *_: None)
    kind._update_flat_weights = lambda _: None


def _flat_weights(stack: nn.RNNBase) -> list[Tensor]:
    return [getattr(stack, name) for name in stack._flat_weights_names]


def _each_its_own(module: nn.Module, state: dict[str, Any], prefix: str, _: object) -> None:
    """Copy what a state dictionary holds already under another name, such as the mask of a tied table.

    transformers refuses to write tensors that share memory, but for those that it has tied itself.
    """
    others = (value for name, value in state.items() if not name.startswith(prefix))
    plain = [one for one in others if isinstance(one, Tensor) and one.layout == torch.strided]
    known = {one.data_ptr() for one in plain if one.numel()}
    for name, value in state.items():
        if name.startswith(prefix) and value.data_ptr() in known:
            state[name] = value.clone()


def bare(model: nn.Module) -> nn.Module:
    """The module inside those that only carry it: data parallelism, averages of weights and `torch.compile`.

    Raises:
        TypeError: it is no module, or one of TorchScript's.
    """
    if not isinstance(model, nn.Module) or isinstance(model, torch.jit.ScriptModule):
        raise TypeError(
            f"this needs a module of torch.nn, no list, state or script of one, got {type(model).__name__}"
        )
    while True:
        if isinstance(model, DataParallel | DistributedDataParallel | AveragedModel):
            model = model.module
        elif isinstance(inner := model._modules.get("_orig_mod"), nn.Module):
            model = inner
        else:
            return model


def explicit(module: nn.Module) -> str | None:
    """The stream name that a module was given, or None if its tensors are called by their paths."""
    stream = getattr(module, "stream", None)
    return stream if isinstance(stream, str) else None


def owned(model: nn.Module, *, tied: bool = False) -> Iterator[Owned]:
    """Every parameter once.

    A weight of a module with a stream name has that name, a bias the same with ".bias" behind it; every other parameter
    is called by its path.

    Args:
        model: any module.
        tied: whether to name a tied parameter at each of its places, instead of at the first alone.

    Raises:
        ValueError: two parameters have the same name, or one has no shape yet.
    """
    seen: set[int] = set()
    names: set[str] = set()
    for place, module in _walk(bare(model), "", set()):
        base, recorded = explicit(module), module.__dict__.get(RECORDED, {})
        if isinstance(module, WeightMask) and place and not place.endswith(".mask"):
            base = None  # a parametrization: it is called after the tensor that it stands before
        for attribute, parameter in own_parameters(module):
            if id(parameter) in seen and not tied:
                continue
            seen.add(id(parameter))
            path = f"{place}.{attribute}" if place else attribute
            if is_lazy(parameter):
                raise ValueError(f"{path} has no shape yet: give the model one batch first")
            if base is not None:
                path = base if attribute == "weight" else f"{base}.{attribute}"
            if path in names:
                raise ValueError(
                    f"two parameters are named {path!r}: give {place or type(module).__name__} a stream of its own,"
                    " or none"
                )
            names.add(path)
            stream = path if base is not None or attribute not in recorded else recorded[attribute][0]
            yield Owned(stream, module, attribute, parameter, path)


def _walk(module: nn.Module, place: str, seen: set[int]) -> Iterator[tuple[str, nn.Module]]:
    module = bare(module)
    if id(module) in seen:
        return
    seen.add(id(module))
    yield place, module
    for name, child in module.named_children():
        below = f"{place}.{name}" if place else name
        if isinstance(child, WeightMask) and isinstance(module, parametrize.ParametrizationList):
            below = ".".join(part for part in place.split(".") if part != "parametrizations")
        yield from _walk(child, below, seen)


def own_parameters(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """A module's own parameters; one that is parametrized by its name in the bare module."""
    if isinstance(module, parametrize.ParametrizationList) and hasattr(module, "original"):
        return  # its owner has named it
    yield from module.named_parameters(recurse=False)
    if parametrize.is_parametrized(module):
        for name, chain in cast(Any, module).parametrizations.items():
            if hasattr(chain, "original"):
                yield name, chain.original
            elif name in (recorded := module.__dict__.get(RECORDED, {})) and isinstance(
                chain[0], _WeightNorm
            ):
                # Its second original is the tensor as it was, and remembers where that came from.
                chain.__dict__.setdefault(RECORDED, {"original1": recorded[name]})


def state_buffers(model: nn.Module) -> dict[str, Tensor]:
    """Buffers that are part of the model's state, by path, without those of masks."""
    model = bare(model)
    parameters = dict(model.named_parameters(remove_duplicate=False))
    masks = {
        name for name, module in model.named_modules(remove_duplicate=False) if isinstance(module, WeightMask)
    }
    found = {
        name.replace("_orig_mod.", ""): tensor
        for name, tensor in model.state_dict(keep_vars=True).items()
        if name not in parameters and name.rpartition(".")[0] not in masks
    }
    if others := [name for name, value in found.items() if not isinstance(value, Tensor)]:
        raise WeightsError(f"{others[0]} is state that is no tensor, which a file of weights cannot hold")
    return found


def matches(item: Owned, pattern: str) -> bool:
    """Whether a pattern fits one of a parameter's names; `*` stands for anything."""
    return fnmatchcase(item.path, pattern) or fnmatchcase(item.stream, pattern)


def listed(names: Names) -> tuple[str, ...]:
    """One name or number, or several, as a tuple of texts."""
    return (str(names),) if isinstance(names, str | int) else tuple(str(name) for name in names)


def chosen(
    items: Sequence[Owned],
    *,
    layers: Names | None = None,
    patterns: Names | None = None,
    where: Where | None = None,
    what: str = "parameter",
) -> list[Owned]:
    """The parameters that a caller names by layers, patterns or a predicate.

    All of them if none of the three is given. What is given but empty, such as the reservoirs of a stack without any,
    names none.

    Args:
        items: to choose from.
        layers: whole layers, by name, such as "encoder.layers.1", or by number where the model has a single stack of
            layers; -1 is the last.
        patterns: over names; `*` stands for anything.
        where: called with name and parameter, says whether it is meant.
        what: what an error calls them.

    Raises:
        ValueError: a layer, a pattern or the predicate matches nothing, or a number fits several stacks.
    """
    if layers is None and patterns is None and where is None:
        return list(items)
    globs = [f"{layer_name(items, layer)}.*" for layer in listed(() if layers is None else layers)]
    globs += listed(() if patterns is None else patterns)
    for glob in globs:
        if not any(matches(item, glob) for item in items):
            raise ValueError(nearest(glob, items, what))
    found = [
        item
        for item in items
        if any(matches(item, glob) for glob in globs)
        or (where is not None and where(item.path, item.parameter))
    ]
    if where is not None and not found:
        raise ValueError(f"where is true of no {what} of the model, which has {_some(items)}")
    return found


def nearest(glob: str, items: Sequence[Owned], what: str) -> str:
    """The message that a pattern matches nothing, with the nearest name."""
    names = [item.path for item in items]
    near = difflib.get_close_matches(glob, names, n=1, cutoff=0.3) or names[:1]
    return f"{glob!r} matches no {what} of the model" + (f"; did you mean {near[0]!r}?" if near else "")


def layer_name(items: Sequence[Owned], layer: str) -> str:
    """The name of a layer, given as a name or as its number in the only stack.

    Raises:
        ValueError: it is a number, and the model has no stack of layers, several, or none of that number.
    """
    if not re.fullmatch(r"-?\d+", layer) or any(matches(item, f"{layer}.*") for item in items):
        return layer
    stacks: dict[str, set[int]] = {}
    for item in items:
        if found := LAYER.match(item.path):
            stacks.setdefault(found[1], set()).add(int(found[2]))
    if len(stacks) != 1:
        there = " and ".join(repr(one + layer) for one in stacks) or f"no numbered layers: {_some(items)}"
        raise ValueError(f"layers={layer} could be one of several or none, the model has {there}; give names")
    ((prefix, numbers),) = stacks.items()
    count, number = max(numbers) + 1, int(layer)
    if not -count <= number < count:
        raise ValueError(f"layers={layer} is none of the {count} layers {prefix}0 to {prefix}{count - 1}")
    return f"{prefix}{number % count}"


def _some(items: Sequence[Owned]) -> str:
    return ", ".join(item.path for item in items[:3]) + (", …" if items[3:] else "") or "none"
