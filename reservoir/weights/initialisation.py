"""The initialisations that the sources use, drawn from a stream: what a frozen tensor is, said in one line of JSON.

An initialisation knows the distribution, a stream the randomness, the model the shape; from the three, `draw` makes
the same bits anywhere. Shapes are PyTorch's: (fan_out, fan_in) for a matrix, and (fan_out, fan_in, *window) for a
convolution, where the window multiplies both fans.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from reservoir.layers.arguments import check_number
from reservoir.weights import draws
from reservoir.weights.draws import Elementwise, Stream


@dataclass(frozen=True)
class Initialisation:
    """What all kinds share.

    Args:
        keep: the share of weights that a mask will keep, in (0, 1]. The weights are drawn larger by √(1/keep), so
            that what is left has the variance of the unmasked layer (Ramanujan et al. 2020). It applies to every
            kind, to each by its own scale. 1 for a layer without a mask.
    """

    keep: float = field(default=1.0, kw_only=True)
    random: ClassVar[bool] = True  # whether what is drawn depends on the stream
    kinds: ClassVar[dict[str, type["Initialisation"]]] = {}

    def __init_subclass__(cls):
        Initialisation.kinds[cls.__name__] = cls

    def __post_init__(self):
        for option in fields(self):
            value = getattr(self, option.name)
            check_number(option.name, value)
            if not isinstance(value, int | float):  # one of NumPy's, which JSON does not know
                object.__setattr__(self, option.name, float(value))
        check_number("keep", self.keep, above=0, most=1)

    def draw(
        self,
        stream: Stream,
        shape: Sequence[int],
        *,
        blocks: int = 1,
        device: torch.device | str | None = None,
    ) -> Tensor:
        """A tensor drawn from `stream`; the meta device gets an empty one.

        Args:
            stream: the seed and the name of this tensor.
            shape: of the result.
            blocks: how many matrices are stacked along the rows, such as the 3 of a fused query, key and value map.
                Each is initialised as the smaller matrix that it is.
            device: where to draw; PyTorch's default device when None.

        Returns:
            a float32 tensor of the given shape.
        """
        shape = torch.Size(shape)
        if blocks < 1 or (blocks > 1 and (not shape or shape[0] % blocks)):
            raise ValueError(f"blocks must divide the rows of shape {tuple(shape)}, got {blocks}")
        empty = torch.empty(shape, dtype=torch.float32, device=device)
        if empty.is_meta or not empty.numel():
            return empty
        return self._draw(stream, shape, blocks, empty.device)

    def scaled(self, keep: float) -> "Initialisation":
        """The same initialisation for a layer of which a mask keeps the share `keep` of the weights."""
        return replace(self, keep=keep)

    def to_json(self) -> dict[str, Any]:
        """A dictionary of plain numbers and the name of the kind, from which `from_json` makes an equal object."""
        return {"kind": type(self).__name__, **asdict(self)}

    @staticmethod
    def from_json(saved: Mapping[str, Any]) -> "Initialisation":
        """What `to_json` gave; options left out get their defaults."""
        options = dict(saved)
        kind = options.pop("kind", None)
        if kind not in Initialisation.kinds:
            names = ", ".join(Initialisation.kinds)
            raise ValueError(f"kind must be one of {names}, got {kind!r}")
        return Initialisation.kinds[kind](**options)

    @property
    def _enlargement(self) -> float:
        return math.sqrt(1 / self.keep)

    def _fans(self, shape: torch.Size, blocks: int) -> tuple[int, int]:
        """(fan_in, fan_out) of one block, counted as torch.nn.init counts them."""
        if len(shape) < 2:
            raise ValueError(
                f"{type(self).__name__} needs a shape of two dimensions or more, (fan_out, fan_in, ...), "
                f"got {tuple(shape)}"
            )
        window = math.prod(shape[2:])
        return shape[1] * window, shape[0] // blocks * window

    def elementwise(self, shape: Sequence[int], *, blocks: int = 1) -> Elementwise | None:
        """What each element is drawn as, or None for a kind that can only be drawn whole.

        Args:
            shape, blocks: as in `draw`.
        """
        return None

    def _draw(self, stream: Stream, shape: torch.Size, blocks: int, device: torch.device) -> Tensor:
        drawn = self.elementwise(shape, blocks=blocks)
        assert drawn is not None  # a kind that can only be drawn whole says how
        return drawn(stream, shape, device=device)


@dataclass(frozen=True)
class XavierUniform(Initialisation):
    """Uniform with standard deviation gain · √(2 / (fan_in + fan_out)) (Glorot & Bengio 2010, eq. 16)."""

    gain: float = 1.0

    def elementwise(self, shape, *, blocks=1):
        fan_in, fan_out = self._fans(shape, blocks)
        return Elementwise("uniform", self.gain * math.sqrt(6 / (fan_in + fan_out)) * self._enlargement)


@dataclass(frozen=True)
class HollowXavierUniform(XavierUniform):
    """XavierUniform with zeros on the diagonal: what is left after "zeroing the diagonal", read word by word."""

    def elementwise(self, shape, *, blocks=1):
        return None  # a place on the diagonal is not drawn as the others are

    def _draw(self, stream, shape, blocks, device):
        drawn = super().elementwise(shape, blocks=blocks)(stream, shape, device=device)
        rows = shape[0] // blocks
        for number in range(blocks):
            drawn[number * rows : (number + 1) * rows].flatten(1).fill_diagonal_(0.0)
        return drawn


@dataclass(frozen=True)
class Identity(Initialisation):
    """Ones on the diagonal, zeros elsewhere, in each block; where it is not square, the rest is zero. No randomness."""

    random: ClassVar[bool] = False
    gain: float = 1.0

    def _draw(self, stream, shape, blocks, device):
        fan_in, _ = self._fans(shape, blocks)
        value = self.gain * self._enlargement
        one = torch.eye(shape[0] // blocks, fan_in, device=device) * value
        return one.repeat(blocks, 1).view(shape)


@dataclass(frozen=True)
class KaimingUniform(Initialisation):
    """Uniform with standard deviation √(2 / ((1 + a²) · fan_in)) (He et al. 2015, eq. 15).

    Args:
        a: slope of the rectifier's negative side. √5 is what torch.nn.Linear takes, and means a bound of
            1 / √fan_in; 0 is for a ReLU.
    """

    a: float = math.sqrt(5)

    def elementwise(self, shape, *, blocks=1):
        fan_in, _ = self._fans(shape, blocks)
        return Elementwise("uniform", math.sqrt(6 / ((1 + self.a * self.a) * fan_in)) * self._enlargement)


@dataclass(frozen=True)
class SignedConstant(Initialisation):
    """Plus or minus the standard deviation of Kaiming's normal, gain / √fan_in (Ramanujan et al. 2020).

    Args:
        gain: √2 is for a ReLU.
    """

    gain: float = math.sqrt(2)

    def elementwise(self, shape, *, blocks=1):
        fan_in, _ = self._fans(shape, blocks)
        return Elementwise("sign", self.gain / math.sqrt(fan_in) * self._enlargement)


@dataclass(frozen=True)
class SparseSign(Initialisation):
    """Mostly zeros, else plus or minus √(1 / share): variance one, whatever the fans (Achlioptas 2003).

    Args:
        share: how many of the entries are not zero, in (0, 1]; a third is the paper's.
    """

    share: float = 1 / 3

    def __post_init__(self):
        super().__post_init__()
        check_number("share", self.share, above=0, most=1)

    def _draw(self, stream, shape, blocks, device):
        scale = math.sqrt(1 / self.share) * self._enlargement
        return draws.sparse(stream, shape, scale=scale, share=self.share, device=device)


@dataclass(frozen=True)
class Normal(Initialisation):
    """Nearly normal around 0, as `reservoir.weights.draws.normal` says, its standard deviation whatever the fans."""

    std: float

    def elementwise(self, shape, *, blocks=1):
        return Elementwise("normal", self.std * self._enlargement)


@dataclass(frozen=True)
class NormalAround(Initialisation):
    """`Normal` around a mean that need not be 0: what is left of a learned tensor when all but two numbers are lost."""

    mean: float
    std: float

    def _draw(self, stream, shape, blocks, device):
        scale = self._enlargement
        return draws.normal(stream, shape, std=self.std * scale, device=device).add_(self.mean * scale)


@dataclass(frozen=True)
class Uniform(Initialisation):
    """Uniform on [-bound, bound), whatever the fans."""

    bound: float

    def elementwise(self, shape, *, blocks=1):
        return Elementwise("uniform", self.bound * self._enlargement)


@dataclass(frozen=True)
class Orthogonal(Initialisation):
    """Orthonormal columns, or rows where those are fewer, times `gain` (Saxe et al. 2014).

    Dimensions after the first count as one. Stacked blocks are orthogonal each, from streams `<name>/0`, `<name>/1`…
    """

    gain: float = 1.0

    def _draw(self, stream, shape, blocks, device):
        fan_in, _ = self._fans(shape, blocks)
        streams = [stream] if blocks == 1 else [stream.sub(number) for number in range(blocks)]
        gain = self.gain * self._enlargement
        drawn = [
            draws.orthogonal(part, shape[0] // blocks, fan_in, gain=gain, device=device) for part in streams
        ]
        return torch.cat(drawn).view(shape)


@dataclass(frozen=True)
class Constant(Initialisation):
    """The same value everywhere: zeros for a bias, ones for a norm's weight. Uses no randomness."""

    random: ClassVar[bool] = False
    value: float

    def _draw(self, stream, shape, blocks, device):
        return torch.full(shape, self.value * self._enlargement, dtype=torch.float32, device=device)
