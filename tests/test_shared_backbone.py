"""One body for several tasks: each answers as its own model does, and costs what is its own."""

import pytest
import torch

from reservoir.models import LanguageModelConfig, SharedBackbone, Universal, UniversalConfig
from reservoir.weights import Freeze, Mask, freeze, initialise, owned, supermask

BODY = LanguageModelConfig(
    0, d_model=16, n_heads=2, d_ff=32, layers=2, positions="learned", max_length=12, dropout=0.0
)
NORMS = Freeze(attention=True, feed_forward=True)
MASKED = Freeze(patterns=("layer.*.bias", "layer.*.norm", "norm*", "positions"))


def trained(inputs: int, outputs: int, *, luck: int, masked: bool = False, tokens: bool = False) -> Universal:
    """A model on the body of seed 0 whose own tensors have moved."""
    model = UniversalConfig(inputs, outputs, tokens=tokens, body=BODY).build()
    initialise(model, seed=0)
    if masked:
        supermask(model, Mask(keep=0.5, patterns=("layer.*",)), seed=luck)
    freeze(model, MASKED if masked else NORMS)
    generator = torch.Generator().manual_seed(luck)
    with torch.no_grad():
        for item in owned(model):
            if item.parameter.requires_grad:
                item.parameter.add_(0.3 * torch.randn(item.parameter.shape, generator=generator))
    return model.eval()


@pytest.mark.parametrize("masked", [False, True])
def test_each_task_gets_the_answers_of_its_own_model_in_any_order(masked):
    models = {
        "pictures": trained(4, 10, luck=1, masked=masked),
        "expressions": trained(15, 3, luck=2, masked=masked, tokens=True),
    }
    inputs = {"pictures": torch.randn(3, 5, 4), "expressions": torch.randint(15, (3, 7))}
    with torch.inference_mode():
        expected = {task: model(inputs[task]) for task, model in models.items()}
    one = SharedBackbone(models)
    for task in ("pictures", "expressions", "pictures", "pictures", "expressions"):
        assert torch.equal(one(task, inputs[task]), expected[task])
    with torch.inference_mode():  # the models themselves stay as they were
        assert all(torch.equal(model(inputs[task]), expected[task]) for task, model in models.items())


def test_another_body_and_an_unknown_task_are_refused():
    model, other = trained(4, 10, luck=1), trained(4, 10, luck=2)
    with torch.no_grad():
        next(i.parameter for i in owned(other) if i.stream == "layer.1.attention.qkv")[0, 0] += 1
    with pytest.raises(
        ValueError, match=r"'a' and 'b' do not share a body: their 'layer\.1\.attention\.qkv' differ"
    ):
        SharedBackbone({"a": model, "b": other})
    with pytest.raises(ValueError, match="is frozen in one of 'a' and 'b' and not in the other"):
        SharedBackbone({"a": model, "b": trained(4, 10, luck=2, masked=True)})
    with pytest.raises(ValueError, match="at least one task"):
        SharedBackbone({})
    with pytest.raises(ValueError, match="task must be one of a, got 'c'"):
        SharedBackbone({"a": model})("c", torch.zeros(1, 2, 4))
