"""A stand-in for a GPU: its tensors say that they are on `cuda:0`, compute on the processor, and refuse to be mixed.

A tensor that was left on the processor is then an error, as it is on a GPU, and not a slow copy. What CUDA allows is
allowed: numbers without dimensions, and indices, may be on the processor. The meta device does not notice any of this.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from reservoir.weights import storage

GPU, CPU = torch.device("cuda", 0), torch.device("cpu")
ATEN = torch.ops.aten
COPIES = {ATEN.copy_.default, ATEN._to_copy.default, ATEN._copy_from.default}
FROM_ZEROS = {ATEN.index_add.default}
"""What autograd adds to zeros of its own making, which do not know of the stand-in; the library has no use of it."""
INDEXED = {ATEN.index.Tensor, ATEN.index_put_.default, ATEN._index_put_impl_.default, ATEN.index_put.default}
PACKED = ("_pack_padded_sequence", "_pad_packed_sequence", "_pack_padded_sequence_backward", "gru", "lstm")
"""Operations on packed sequences, whose lengths CUDA wants on the processor."""
ASKED = {"device": GPU, "is_cuda": True, "is_cpu": False}


class MixedDevices(RuntimeError):
    """What CUDA says: two tensors of an operation are not on the same device."""


class OnGPU(Tensor):
    """A tensor of the stand-in: `held` is where its numbers are."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor, requires_grad: bool = False):
        made = Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=CPU,  # what autograd sees: a processor's queue
            requires_grad=requires_grad,
        )
        made.held = held.detach()
        return made

    def __tensor_flatten__(self):
        return ["held"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, outer_size, outer_stride):
        return OnGPU(inner["held"])

    def __repr__(self, **options):
        return f"OnGPU({self.held!r})"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(getattr(func, "__self__", None), "__name__", "")
        if name in ASKED and getattr(func, "__name__", "") == "__get__":
            return ASKED[name]
        if func in (Tensor.numpy, Tensor.__array__):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        if func in (Tensor.data_ptr, Tensor.untyped_storage, Tensor.tolist):
            return func(args[0].held)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors: list[Tensor] = []
        bare, options = mapped(tensors.append, args), mapped(tensors.append, kwargs)
        apart = [t for t in tensors if type(t) is not OnGPU and t.ndim]
        if apart and func in INDEXED and isinstance(args[0], OnGPU):
            apart = [t for t in apart if not any(t is index for index in args[1])]
        if apart and func._overloadpacket.__name__ in PACKED:
            apart = [t for t in apart if t.dtype != torch.int64]
        if apart and func not in COPIES | FROM_ZEROS:
            raise MixedDevices(f"{func}: a tensor of shape {tuple(apart[0].shape)} is on the processor")
        # A tensor made in inference mode could not take the place of a view.
        with torch.inference_mode(False), torch.no_grad():
            out = func(*bare, **options)
            if func is ATEN._to_copy.default or (func in COPIES and not isinstance(args[0], OnGPU)):
                return args[0] if func is ATEN.copy_.default else OnGPU(out)
            if func._schema.is_mutable and isinstance(out, Tensor):  # in place, or into `out`
                for t in tensors:
                    if unwrapped(t) is out:
                        return t
            kept = torch.int64 if func._overloadpacket.__name__ in PACKED else None
            return wrapped(out, kept)


def mapped(seen: Callable[[Tensor], None], x: Any) -> Any:
    """Arguments with what is held in the place of the stand-in's tensors; `seen` is told of every tensor."""
    if isinstance(x, Tensor):
        seen(x)
        return unwrapped(x)
    if isinstance(x, list | tuple):
        return [mapped(seen, one) for one in x]
    return {name: mapped(seen, one) for name, one in x.items()} if isinstance(x, dict) else x


def wrapped(x: Any, kept: torch.dtype | None) -> Any:
    """Results as tensors of the stand-in, but for those of one type of numbers."""
    if isinstance(x, Tensor):
        return x if x.dtype == kept else OnGPU(x)
    return type(x)(wrapped(one, kept) for one in x) if isinstance(x, list | tuple) else x


def unwrapped(x):
    """What is held, of a tensor of the stand-in; anything else as it is."""
    return x.held if isinstance(x, OnGPU) else x


def to_gpu(x):
    """The same tensor on the stand-in, with gradients flowing to where it came from."""
    return x if isinstance(x, OnGPU) or not isinstance(x, Tensor) else _Move.apply(x)


def to_cpu(x):
    """The same tensor on the processor."""
    return _Back.apply(x) if isinstance(x, OnGPU) else x


class _Move(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return OnGPU(x.detach().clone())

    @staticmethod
    def backward(ctx, grad):
        return unwrapped(grad)


class _Back(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.held.detach().clone()

    @staticmethod
    def backward(ctx, grad):
        return OnGPU(grad)


class Placed(TorchFunctionMode):
    """Takes `cuda` in the place of a device, wherever it is asked for, and gives tensors of the stand-in."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func in (Tensor.cuda, Tensor.cpu):
            return (to_gpu if func is Tensor.cuda else to_cpu)(args[0])
        if func is torch._C._nn._parse_to:  # Module.to asks it what it was given
            if args and isinstance(args[0], Tensor):
                args = (args[0].device, args[0].dtype)
            return func(*args, **kwargs)
        if (
            getattr(func, "__name__", "") == "_pad_packed_sequence"
        ):  # makes a tensor inside, where nobody is asked
            padded, lengths = func(*map(to_cpu, args), **kwargs)
            return (to_gpu(padded) if isinstance(args[0], OnGPU) else padded), lengths
        target = None
        if func is Tensor.to:
            for value in args[1:]:
                if isinstance(value, str | torch.device):
                    target = torch.device(value)
                elif isinstance(value, Tensor):
                    target, kwargs["dtype"] = value.device, value.dtype
                elif isinstance(value, torch.dtype):
                    kwargs["dtype"] = value
            args = args[:1]
        if kwargs.get("device") is not None:
            target = torch.device(kwargs.pop("device"))
        if target is None:
            return func(*args, **kwargs)  # Tensor.to with a dtype alone is among them
        if target.type == "meta":
            return func(*args, **kwargs, device=target)
        if func is Tensor.to:
            found = (to_gpu if target.type == "cuda" else to_cpu)(args[0])
            return found if kwargs.get("dtype") is None else func(found, kwargs["dtype"])
        found = func(*map(to_cpu, args), **kwargs)
        return to_gpu(found) if target.type == "cuda" else to_cpu(found)


@contextmanager
def gpu_stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine that seems to have one GPU."""
    for name, value in {
        "is_available": True,
        "device_count": 1,
        "is_bf16_supported": False,
        "get_device_name": "a stand-in",
        "synchronize": None,
        "get_rng_state": torch.empty(0, dtype=torch.uint8),
        "set_rng_state": None,
        "current_device": 0,
    }.items():
        monkeypatch.setattr(torch.cuda, name, lambda *args, value=value, **options: value)
    monkeypatch.setattr(storage, "PLAIN", (*storage.PLAIN, OnGPU))  # on a GPU it would be a plain tensor
    with Placed():
        yield
