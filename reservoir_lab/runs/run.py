"""What a run is: all that decides what is trained, on what and for how long, in one frozen dataclass.

Nothing here does anything: `building` makes the model and the data, `execution` trains, tests and records.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from reservoir.datasets import DataError
from reservoir.layers.arguments import check_choice
from reservoir.models import (
    ClassifierConfig,
    EncoderDecoderConfig,
    LanguageModelConfig,
    MaskedLanguageModelConfig,
    TaggerConfig,
    TextClassifierConfig,
    UniversalConfig,
)
from reservoir.training import Budget, Optimiser, Skip
from reservoir.training.task import Precision
from reservoir.weights import Freeze, Mask
from reservoir.weights.draws import checked_seed
from reservoir_lab.corpora.content import content_digest
from reservoir_lab.runs import registry
from reservoir_lab.runs.computation import Bits, Expressions, OnPuzzle, Pictures, Proteins, Sequences
from reservoir_lab.runs.registry import Scale
from reservoir_lab.runs.start import InitFromRelease, InitFromRun
from reservoir_lab.runs.tasks import Classification, LanguageModelling, MaskedLanguageModelling, Translation

TaskConfig = (
    Translation
    | LanguageModelling
    | MaskedLanguageModelling
    | Classification
    | Bits
    | Expressions
    | Pictures
    | Proteins
    | Sequences
    | OnPuzzle
)
"""A task's settings: its data, the sizes that follow from them, what is trained on, and how it is tested."""
Model = (
    EncoderDecoderConfig
    | LanguageModelConfig
    | MaskedLanguageModelConfig
    | ClassifierConfig
    | TextClassifierConfig
    | UniversalConfig
    | TaggerConfig
)

FEW = 4  # fields that a sentence names
NAME = re.compile(r"\w[\w.+-]*(/\w[\w.+-]*)*")
NOT_THE_RESULT = {"device", "budget.checkpoint_every", "base"}
"""Fields that are not meant to change the result: where a run is executed, how often it can be resumed, and whence."""


ABSENT: Any = object()
"""What stands for a field that is not there; None is a value."""


@dataclass(frozen=True)
class Run:
    """A whole run, as data.

    Args:
        recipe, scale: its name.
        seed: of the weights, of the order of the data and of dropout.
        task: the data and how it is scored.
        model: sizes; vocabularies of 0 are filled in from the data.
        freeze: which parts are not trained.
        skip: which backward passes are left out.
        mask: which weights are never trained, but chosen among instead.
        optimiser, budget: how it is trained, and for how long.
        precision: of products, "fp32" or "bf16"; weights are fp32 either way. The machine has no say in it: on a
            processor without bf16 units a bf16 run is slow, and the same.
        compiled: use `torch.compile`, on a GPU.
        device: "cpu", "cuda", or "auto" for the GPU if there is one.
        start: the run or the released model whose tensors this one begins with; None begins at its own seed alone.
        base: the recipe that a run with a name and data of its own was made from; empty for all others.
    """

    recipe: str
    scale: Scale
    task: TaskConfig
    model: Model
    budget: Budget
    seed: int = 0
    freeze: Freeze = field(default_factory=Freeze)
    skip: Skip = field(default_factory=Skip)
    mask: Mask = field(default_factory=Mask)
    optimiser: Optimiser = field(default_factory=Optimiser)
    precision: Precision = "fp32"
    compiled: bool = False
    device: str = "auto"
    start: InitFromRun | InitFromRelease | None = None
    base: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", checked_seed(self.seed))
        check_choice("scale", self.scale, registry.SCALES)
        check_choice("precision", self.precision, get_args(Precision))
        if not NAME.fullmatch(self.recipe):
            raise ValueError(
                f"recipe must be a name such as mine or family/row, of letters, digits and ._+-, got {self.recipe!r}"
            )

    def evolve(self, **changes: Any) -> Run:
        """The same run with some fields changed; a dictionary changes some fields of a field.

        `run.evolve(seed=1, budget={"steps": 100})`
        """
        return replace(
            self,
            **{
                name: replace(getattr(self, name), **value) if isinstance(value, dict) else value
                for name, value in changes.items()
            },
        )

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON values."""
        return json.loads(json.dumps(asdict(self)))

    def identity(self) -> str:
        """A digest of everything that decides the outcome: the fields, and the content of the data.

        Fields that are not meant to change the result (`NOT_THE_RESULT`) are left out. A field that was added later,
        marked so in its metadata, counts only where it is not at its default.

        Raises:
            DataError: the data are not there, and only their content could tell which they are.
        """
        said = {
            leaf.name: leaf.value for leaf in leaves(self) if not (leaf.later and leaf.value == leaf.default)
        }
        said["data"] = content_digest(self.task.data)
        return hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=16).hexdigest()

    def overrides(self) -> dict[str, Any]:
        """The fields that differ from the registered recipe, by dotted name; the seed is not one of them.

        A run whose recipe is not registered, made in a notebook or a script, overrides nothing.
        """
        if self.recipe not in registry.RECIPES:
            return {}
        standard = registry.get(self.recipe, scale=self.scale, seed=self.seed)
        found = differences(standard.to_json(), self)
        return {name: ours for name, (_, ours) in found.items() if ours is not ABSENT}


class Leaf(NamedTuple):
    """A field of a run that is not made of fields itself.

    Args:
        name: dotted, such as "optimiser.lr".
        value, default: as JSON values; the default is `ABSENT` where there is none.
        later: whether the field was added when there were records and weights already.
    """

    name: str
    value: Any
    default: Any
    later: bool


def leaves(run: Run) -> Iterator[Leaf]:
    """The fields of a run that decide its outcome, one by one.

    A run that begins with another of its own seed and one that names that seed are the same run.
    """
    if isinstance(run.start, InitFromRun | InitFromRelease) and run.start.same_seed:
        run = run.evolve(start={"seed": run.seed, "same_seed": False})
    return (leaf for leaf in every_leaf(run) if leaf.name not in NOT_THE_RESULT)


def differences(recorded: Mapping[str, Any], run: Run) -> dict[str, tuple[Any, Any]]:
    """The fields in which a run differs from what was recorded, by dotted name: (recorded, the run's).

    A field that a record lacks, since it was added later, has its default. A recorded precision of "auto" agrees with
    any: then the machine decided, and the record does not say how. `ABSENT` stands where the record has no
    such field and there is no default, or where the run has no such field.

    Args:
        recorded: the fields of a run as a record has them.
        run: what they are compared with.
    """
    theirs, found = dict(flat(recorded)), {}
    if theirs.pop("start.same_seed", False):
        theirs["start.seed"] = theirs["seed"]
    for leaf in leaves(run):
        # Of a part for which the run has None.
        within = [name for name in theirs if name.startswith(f"{leaf.name}.")]
        parts = {name.removeprefix(f"{leaf.name}."): theirs.pop(name) for name in within}
        value = parts or theirs.pop(leaf.name, leaf.default)
        if value != leaf.value and (leaf.name, value) != ("precision", "auto"):
            found[leaf.name] = (value, leaf.value)
    surplus = {name: (value, ABSENT) for name, value in theirs.items() if name not in NOT_THE_RESULT}
    return found | surplus


def other_fields(record: Any, run: Run) -> str:
    """In which fields a record was made by another run than `run`, in words; empty if in none."""
    found = [data] if (data := other_data(record, run)) else []
    for name, values in differences(record.run, run).items():
        theirs, ours = ("absent" if one is ABSENT else json.dumps(one, ensure_ascii=False) for one in values)
        found.append(f"{name} {theirs} (now {ours})")
    more = f" and {len(found) - FEW} other fields" if len(found) > FEW else ""
    return ", ".join(found[:FEW]) + more


def other_data(record: Any, run: Run) -> str:
    """That the corpus has another content by now, in words; empty if it has not, or if that cannot be known here."""
    try:
        now = content_digest(run.task.data) if record.data else ""
    except DataError:  # it cannot be had here, and so not compared
        now = record.data
    same = now == record.data
    return "" if same else f"other data in {run.task.data} (digest {record.data[:8]}, now {now[:8]})"


def every_leaf(part: Any, prefix: str = "", default: Any = ABSENT) -> Iterator[Leaf]:
    """The fields of a run, one by one.

    Args:
        part: the run, or a part of it.
        prefix: of the names.
        default: what the part is by default.
    """
    for entry in fields(part):
        value, name = getattr(part, entry.name), f"{prefix}{entry.name}"
        if type(default) is type(part):
            usual = getattr(default, entry.name)
        elif entry.default is not MISSING:
            usual = entry.default
        else:
            usual = ABSENT if entry.default_factory is MISSING else entry.default_factory()
        if is_dataclass(value):
            yield from every_leaf(value, f"{name}.", usual)
        else:
            later = bool(entry.metadata.get("omit_if_default"))
            yield Leaf(name, _json(value), _json(usual), later)


def flat(part: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of a run as JSON, by dotted name."""
    for name, value in part.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _json(value: Any) -> Any:
    return [_json(one) for one in value] if isinstance(value, list | tuple) else value


def run_from_json(values: Mapping[str, Any]) -> Run:
    """The run that `Run.to_json` described; fields that are missing, since they came later, have their defaults.

    JSON does not say which kind of task or model a part is of: its fields do.

    Raises:
        ValueError: a part has the fields of no kind, or of two, or is no object with fields.
    """
    return _made(Run, values, "run")


def _made(hint: Any, value: Any, where: str) -> Any:
    if get_origin(hint) in (Union, UnionType):
        if value is None and NoneType in get_args(hint):
            return None
        if isinstance(value, Mapping):
            return _made(_kind(get_args(hint), value, where), value, where)
        others = (one for one in get_args(hint) if one is not NoneType and not is_dataclass(one))
        hint = next(others, get_args(hint)[0])
    if is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise ValueError(f"{where} must be an object with fields, got {value!r}")
        hints = get_type_hints(hint)
        made = {name: _made(hints.get(name), one, f"{where}.{name}") for name, one in value.items()}
        try:
            return hint(**made)  # type: ignore[operator]
        except TypeError as error:
            raise ValueError(f"{where} is no {getattr(hint, '__name__', hint)}: {error}") from None
    if isinstance(value, list):
        kinds = [one for one in get_args(hint) if one is not Ellipsis] or [Any]
        return tuple(_made(kinds[min(i, len(kinds) - 1)], one, where) for i, one in enumerate(value))
    return value


def _kind(kinds: tuple[Any, ...], value: Mapping[str, Any], where: str) -> Any:
    """The dataclass that has these fields, and no other field without a default."""
    fitting = []
    for kind in filter(is_dataclass, kinds):
        names = {entry.name: entry for entry in fields(kind)}
        absent = [entry for name, entry in names.items() if name not in value]
        if value.keys() <= names.keys() and all(
            entry.default is not MISSING or entry.default_factory is not MISSING for entry in absent
        ):
            fitting.append((len(absent), kind))
    least = min((absent for absent, _ in fitting), default=0)
    found = [kind for absent, kind in fitting if absent == least]
    if len(found) != 1:
        raise ValueError(f"{where} has the fields {', '.join(value)}, which are those of {len(found)} kinds")
    return found[0]
