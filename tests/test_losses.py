"""The chunked cross-entropy: PyTorch's own values and gradients, whatever the chunks, the dtype and what is frozen."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from reservoir.training import task as losses
from reservoir.training.task import smoothed_cross_entropy

D, VOCAB, PADDING = 12, 37, 3


@pytest.fixture(params=[0, 1, 2, losses.GROUP])
def chunks(request, monkeypatch):
    """All rows at once; or chunks of 256 rows of which the last is shorter, in groups of one, two or more."""
    if request.param:
        monkeypatch.setattr(losses, "CHUNK", 1)
        monkeypatch.setattr(losses, "GROUP", request.param)


def problem(length: int = 200):
    """Hidden states (5, length, D), an output matrix, targets of which some are padding."""
    torch.manual_seed(0)
    hidden = (2 * torch.randn(5, length, D)).requires_grad_()
    weight = torch.randn(VOCAB, D, requires_grad=True)
    target = torch.randint(VOCAB, (5, length))
    target[2:, length // 2 :] = PADDING
    return hidden, weight, target


def torchs(hidden, weight, target, smoothing):
    """What PyTorch makes of it: smoothed loss and plain negative log-likelihood."""
    logits = F.linear(hidden, weight).flatten(0, -2).float()
    settings = dict(ignore_index=PADDING, reduction="sum")
    return (
        F.cross_entropy(logits, target.flatten(), label_smoothing=smoothing, **settings),
        F.cross_entropy(logits, target.flatten(), **settings),
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_values_and_gradients_are_torchs(smoothing, chunks):
    hidden, weight, target = problem()
    loss, nll = smoothed_cross_entropy(hidden, weight, target, smoothing=smoothing, padding=PADDING)
    expected, expected_nll = torchs(hidden, weight, target, smoothing)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(nll, expected_nll)
    for ours, theirs in zip(
        torch.autograd.grad(loss / 7, (hidden, weight)),
        torch.autograd.grad(expected / 7, (hidden, weight)),
        strict=True,
    ):
        assert ours.dtype == theirs.dtype == torch.float32
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("hidden_dtype", [torch.float32, torch.bfloat16])
def test_values_and_gradients_are_torchs_under_autocast(hidden_dtype, chunks):
    hidden, weight, target = problem()
    hidden = hidden.detach().to(hidden_dtype).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, nll = smoothed_cross_entropy(hidden, weight, target, smoothing=0.1, padding=PADDING)
        expected, expected_nll = torchs(hidden, weight, target, 0.1)
    assert loss.dtype == nll.dtype == torch.float32
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=0)
    torch.testing.assert_close(nll, expected_nll, rtol=1e-4, atol=0)
    for ours, theirs in zip(
        torch.autograd.grad(loss, (hidden, weight)),
        torch.autograd.grad(expected, (hidden, weight)),
        strict=True,
    ):
        assert ours.dtype == theirs.dtype
        # Products of bf16 numbers, 8 bits each, whose sums are split differently.
        torch.testing.assert_close(
            ours.float(), theirs.float(), rtol=2**-6, atol=2**-7 * theirs.abs().max().item()
        )


def test_large_logits_do_not_overflow():
    hidden, weight, target = problem()
    loss, _ = smoothed_cross_entropy(1000 * hidden, weight, target, smoothing=0.1, padding=PADDING)
    torch.testing.assert_close(loss, torchs(1000 * hidden, weight, target, 0.1)[0])


@pytest.mark.parametrize("autocast", [False, True])
def test_the_number_of_rows_does_not_matter(autocast, chunks):
    for length in (1, 51, 52, 103):  # 5 × 51 is one row short of a block, and padding is left out
        hidden, weight, target = problem(length)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss, _ = smoothed_cross_entropy(hidden, weight, target, smoothing=0.1, padding=PADDING)
            expected, _ = torchs(hidden, weight, target, 0.1)
        torch.testing.assert_close(loss, expected, rtol=1e-3, atol=0)


@pytest.mark.parametrize("autocast", [False, True])
def test_a_batch_of_padding_alone_has_no_loss_and_no_gradient(autocast):
    hidden, weight, target = problem(4)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        loss, nll = smoothed_cross_entropy(
            hidden, weight, torch.full_like(target, PADDING), smoothing=0.1, padding=PADDING
        )
    loss.backward()
    assert loss == nll == 0
    assert (hidden.grad == 0).all() and (weight.grad == 0).all()


def test_padding_gets_no_gradient():
    hidden, weight, target = problem()
    smoothed_cross_entropy(hidden, weight, target, smoothing=0.1, padding=PADDING)[0].backward()
    assert (hidden.grad[target == PADDING] == 0).all()
    assert (hidden.grad[target != PADDING] != 0).any(-1).all()


@pytest.mark.parametrize("frozen", ["hidden", "weight"])
@pytest.mark.parametrize("autocast", [False, True])
def test_the_gradient_of_one_does_not_need_the_others(frozen, autocast, chunks):
    def gradients(*names):
        hidden, weight, target = problem()
        leaves = dict(hidden=hidden, weight=weight)
        for name, leaf in leaves.items():
            leaf.requires_grad_(name in names)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss, _ = smoothed_cross_entropy(hidden, weight, target, smoothing=0.1, padding=PADDING)
        loss.backward()
        return {name: leaf.grad for name, leaf in leaves.items()}

    moves = "weight" if frozen == "hidden" else "hidden"
    alone = gradients(moves)
    assert alone[frozen] is None
    assert torch.equal(alone[moves], gradients("hidden", "weight")[moves])


def test_nothing_is_differentiated_where_nothing_moves(monkeypatch):
    hidden, weight, target = problem()
    needed = []
    forward = losses._SmoothedCrossEntropy.forward
    watched = staticmethod(
        lambda ctx, *given: needed.append(any(ctx.needs_input_grad)) or forward(ctx, *given)
    )
    with monkeypatch.context() as patch, torch.no_grad():
        patch.setattr(losses._SmoothedCrossEntropy, "forward", watched)
        loss, nll = smoothed_cross_entropy(hidden, nn.Parameter(weight), target, padding=PADDING)
    assert needed == [False]
    assert not loss.requires_grad and torch.equal(loss, nll)
    loss, nll = smoothed_cross_entropy(hidden, weight, target, padding=PADDING)
    assert loss.requires_grad and not nll.requires_grad


def test_second_derivatives_are_refused_instead_of_being_halved():
    hidden, weight, target = problem()
    loss, _ = smoothed_cross_entropy(hidden, weight, target, padding=PADDING)
    with pytest.raises(RuntimeError, match="create_graph=True would leave terms out"):
        torch.autograd.grad(loss, hidden, create_graph=True)
