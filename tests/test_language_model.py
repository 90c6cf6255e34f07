"""The language model: no token sees what follows, the loss is the textbook's, and scoring is window by window."""

import math
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from reservoir.models import LanguageModel, LanguageModelConfig
from reservoir.training import LanguageModellingTask
from reservoir.weights import initialise, owned, report
from reservoir_lab.runs import LanguageModelling

SIZES = dict(vocab=30, d_model=16, n_heads=2, d_ff=24, layers=2, dropout=0.0)


def make(**changes) -> LanguageModel:
    return initialise(LanguageModel(LanguageModelConfig(**{**SIZES, **changes})), seed=0).eval()


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("kinds", [(), ("transformer", "ffn")])
def test_no_token_depends_on_what_follows(norm_first, positions, kinds):
    model = make(norm_first=norm_first, positions=positions, max_length=20, kinds=kinds)
    ids = torch.randint(0, 30, (2, 12))
    changed = ids.clone()
    changed[:, 7:] = (changed[:, 7:] + 1) % 30
    assert torch.equal(model(ids)[:, :7], model(changed)[:, :7])
    assert not torch.allclose(model(ids)[:, 7:], model(changed)[:, 7:])


def test_order_matters_and_the_logits_have_the_vocabularys_width():
    model = make()
    ids = torch.tensor([[3, 4, 5, 6]])
    assert model(ids).shape == (1, 4, 30)
    assert not torch.allclose(model(ids)[:, -1], model(ids[:, [1, 0, 2, 3]])[:, -1])


def test_tying_shares_one_table():
    tied, untied = make(), make(tie=False)
    assert tied.output.weight is tied.embedding.weight
    assert report(untied).total - report(tied).total == 30 * 16
    assert {item.stream for item in owned(untied)} - {item.stream for item in owned(tied)} == {"output"}


def test_loss_and_score_are_the_textbooks():
    model, ids = make(), torch.randint(0, 30, (100,)).tolist()
    task = LanguageModellingTask(ids, ids, ids, length=8, batch=3, seed=0)
    batch = task.epoch(0)[0]
    plain = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten(), reduction="sum")
    torch.testing.assert_close(task.loss(model, batch), plain)
    assert task.size(batch)[0] == batch[:, 1:].numel()

    nats = 0.0
    for start in range(0, 99, 8):
        window = torch.tensor([ids[start : start + 9]])
        nats += F.cross_entropy(model(window[:, :-1])[0], window[0, 1:], reduction="sum").item()
    found, tokens = task.score(model, task.valid)
    assert tokens == 99 and math.isclose(found, nats, rel_tol=1e-5)
    assert math.isclose(task.validate(model)["perplexity"], math.exp(nats / 99), rel_tol=1e-4)


def test_a_hopeless_model_has_finite_scores():
    """Its record is JSON, which holds no infinity; and what took an hour to train does not end in an OverflowError."""
    task = SimpleNamespace(score=lambda *_: (1e5, 3), test=[], vocabulary=SimpleNamespace(line_end=0))
    scores = LanguageModelling("x").test(None, task, SimpleNamespace(test="three short words"))["test"]
    assert scores["perplexity"] == scores["word_perplexity"] == math.exp(50)
    assert scores["bits_per_byte"] == pytest.approx(1e5 / math.log(2) / len("three short words"))


def test_going_on_takes_the_most_probable_token_each_time_and_stops_at_the_end():
    model, ids = make(), torch.randint(0, 30, (40,)).tolist()
    start = torch.tensor([ids[:5]])
    said = model.generate(start, max_new_tokens=6, end=-1)[0, 5:].tolist()
    for at, token in enumerate(said):
        assert int(model(torch.tensor([ids[:5] + said[:at]]))[0, -1].argmax()) == token
    assert len(said) == 6
    assert model.generate(start, max_new_tokens=6, end=said[0]).equal(start)


def test_going_on_leaves_dropout_out_and_the_model_in_its_mode():
    model, ids = make(dropout=0.5), torch.randint(0, 30, (2, 5))
    expected = model.eval().generate(ids, max_new_tokens=6)
    assert torch.equal(model.train().generate(ids, max_new_tokens=6), expected) and model.training


def test_a_choice_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match=r"positions .*'rotary'"):
        LanguageModelConfig(positions="rotary")


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_texts_go_on_past_the_positions_by_a_seed_or_by_the_most_probable_token(positions):
    model, ids = make(positions=positions, max_length=6), torch.tensor([[3, 4, 5], [6, 7, 8]])
    found = model.generate(ids, max_new_tokens=9)  # on which the model can be trained again
    assert found.shape == (2, 12) and torch.equal(found[:, :3], ids)
    seen = found[:, :-1] if positions == "sinusoidal" else found[:, -7:-1]
    assert torch.equal(found[:, -1], model(seen)[:, -1].argmax(-1))
    drawn = [model.generate(ids, max_new_tokens=9, temperature=1.0, seed=seed) for seed in (1, 1, 2)]
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    cold = model.generate(ids, max_new_tokens=9, temperature=1e-6)
    assert torch.equal(cold, found)
    with pytest.raises(ValueError, match="there must be a token to go on from"):
        model.generate(ids[:, :0], max_new_tokens=1)
