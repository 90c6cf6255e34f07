"""What a stack costs in closed form: what PyTorch counts, what the page computes, and what its records are."""

from pathlib import Path

import pytest
import torch
import traitlets
from javascript import in_javascript
from torch.utils.flop_counter import FlopCounterMode

from reservoir.models import EncoderDecoderConfig
from reservoir.models.stack import LAYER_KINDS, stack
from reservoir.weights import Freeze, freeze, initialise, report, reservoir_layers
from reservoir_book.explorables import LayerStack
from reservoir_book.explorables.layer_stack import recorded
from reservoir_lab import recipes
from reservoir_lab.runs.flops import layer_cost

SIZES = {"d_model": 32, "d_ff": 96, "n_heads": 4, "kernel": 5, "length": 10}
STACKS = ["L", "R", "LRL", "RRLR", "LLRR"]
MODEL = Path(__file__).parent.parent / "reservoir_book/explorables/layer_stack/model.mjs"


def counted(letters: str, kind: str, below: bool) -> tuple[float, float]:
    """Forward and backward operations a token, as PyTorch counts them, of 3 sentences without padding."""
    c = EncoderDecoderConfig(
        9,
        9,
        d_model=SIZES["d_model"],
        n_heads=SIZES["n_heads"],
        d_ff=SIZES["d_ff"],
        norm_first=True,
        dropout=0.0,
        kernel=5,
    )
    kinds = ["transformer" if letter == "L" else kind for letter in letters]
    layers = initialise(stack(c, len(letters), prefix="encoder", kinds=kinds), seed=0)
    freeze(layers, Freeze(layers=reservoir_layers(letters)))
    x = torch.randn(3, SIZES["length"], c.d_model, requires_grad=below)
    with FlopCounterMode(display=False) as forward:
        y = x
        for layer in layers:
            y = layer(y)
    if not y.requires_grad:
        return forward.get_total_flops() / 30, 0.0
    with FlopCounterMode(display=False) as backward:
        y.sum().backward()
    return forward.get_total_flops() / 30, backward.get_total_flops() / 30


@pytest.mark.parametrize("kind", LAYER_KINDS)
@pytest.mark.parametrize("letters", STACKS)
@pytest.mark.parametrize("below", [True, False])
def test_the_closed_form_is_what_torch_counts(letters, kind, below):
    costs = LayerStack(stack=letters, kind=kind, embeddings=below, records={}, **SIZES).costs()
    forward, backward = counted(letters, kind, below)
    assert sum(cost["forward"] for cost in costs) == pytest.approx(forward)
    assert sum(cost["inputs"] + cost["weights"] for cost in costs) == pytest.approx(backward)


@pytest.mark.parametrize("kind", LAYER_KINDS)
def test_parameters_are_those_of_the_layer(kind):
    c = EncoderDecoderConfig(9, 9, d_model=32, n_heads=4, d_ff=96, norm_first=True, kernel=5)
    made = report(stack(c, 1, prefix="encoder", kinds=(kind,))).total
    assert layer_cost(kind, **SIZES).parameters == made


def test_the_page_computes_what_python_computes():
    asked = [
        {"stack": letters, "kind": kind, "below": below}
        for letters in STACKS
        for kind in LAYER_KINDS
        for below in (True, False)
    ]
    script = (
        f"import {{ stackCost }} from '{MODEL.as_uri()}';"
        "const [asked, sizes] = given;"
        "console.log(JSON.stringify(asked.map((one) => stackCost(one.stack, one.kind, one.below, sizes))));"
    )
    for one, found in zip(asked, in_javascript(script, [asked, SIZES]), strict=True):
        ours = LayerStack(
            stack=one["stack"], kind=one["kind"], embeddings=one["below"], records={}, **SIZES
        ).costs()
        for layer, expected in zip(found, ours, strict=True):
            assert {name: layer[name] for name in expected} == pytest.approx(expected)


def test_the_sizes_are_the_recipes():
    config = recipes.get("reservoirs/regular-6").model
    shown = LayerStack(records={})
    for name in ("d_model", "d_ff", "n_heads", "kernel"):
        assert getattr(shown, name) == getattr(config, name)


def test_records_are_found_by_their_stack():
    for key, record in recorded().items():
        run = recipes.get(record["name"])
        letters, _, kind = key.partition(" ")
        assert reservoir_layers(letters) == run.freeze.layers
        assert len(letters) == run.model.encoder_layers
        assert not kind or set(run.model.encoder_kinds) <= {"transformer", kind}
        assert len(record["curves"]) == len(record["test"]) == len(record["aucc"])


def test_a_stack_that_is_none_is_refused():
    with pytest.raises(traitlets.TraitError, match="got 'LXR'"):
        LayerStack(stack="LXR", records={})
