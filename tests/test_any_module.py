"""Modules of others: named, drawn, frozen, masked, trained by their owners' loops, stored, and plain again."""

import copy
import math
import os
import pickle
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
import stock_models
import torch
import transformers
from stock_models import BUILD, bits, cnn, gpt2, inputs, learn, output
from torch import nn
from torch.nn.utils import parametrize

from reservoir.models import LanguageModelConfig
from reservoir.training import Budget, LanguageModellingTask, Optimiser, train
from reservoir.weights import (
    Freeze,
    Pretrained,
    Scheme,
    Seeded,
    WeightsError,
    freeze,
    initialise,
    load,
    mark_trained,
    materialise,
    origin_of,
    owned,
    pretrained,
    recorded_origin,
    report,
    save,
    supermask,
)
from reservoir.weights.files import read_header
from reservoir.weights.initialisation import Constant, Identity, Normal, Orthogonal
from reservoir.weights.storage import model_bytes
from reservoir_lab import cost

ROOT = Path(__file__).resolve().parent.parent
FROZEN = {"transformer": "transformer.encoder.layers.0", "gpt2": 0, "bert": 1, "vit": 0, "cnn": 0}


def drawn(name: str) -> nn.Module:
    return initialise(BUILD[name](), seed=0)


def frozen(name: str) -> nn.Module:
    return freeze(drawn(name), layers=FROZEN[name])


def masked(name: str) -> nn.Module:
    return supermask(drawn(name), keep=0.5, seed=0)


def pruned(name: str) -> nn.Module:
    return supermask(drawn(name), keep=0.3, by="weight", seed=0)


PLANS = {"drawn": drawn, "frozen": frozen, "masked": masked, "pruned": pruned}


def loaded(folder: Path) -> str:
    """What a fresh process prints of the models in a folder."""
    command = [sys.executable, stock_models.__file__, folder]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    return {item.path: item.parameter.detach().clone() for item in owned(model)}


# Trained, stored, loaded in another process


@pytest.mark.slow
def test_each_model_comes_back_in_another_process_bit_by_bit(tmp_path):
    expected = {}
    for name in BUILD:
        for plan, made in PLANS.items():
            model = made(name)
            before = tensors(model)
            still = {item.path for item in owned(model) if not item.parameter.requires_grad}
            learn(model, name)
            after = tensors(model)
            assert {path for path in before if not torch.equal(before[path], after[path])}.isdisjoint(still)
            assert plan == "drawn" or still or plan == "pruned"
            save(model, tmp_path / f"{name}-{plan}.safetensors")
            expected[f"{name}-{plan}"] = bits(model, name)
    found = dict(line.split() for line in loaded(tmp_path).splitlines())
    assert found == expected and len(set(expected.values())) == len(expected)


def test_statistics_of_batches_are_stored_and_begin_anew_when_drawn(tmp_path):
    model = learn(drawn("cnn"), "cnn")
    again = load(cnn(), save(model, tmp_path / "m.safetensors"))
    assert torch.equal(again[1].running_var, model[1].running_var) and again[1].num_batches_tracked == 3
    model.append(nn.BatchNorm1d(2, affine=False)).append(nn.BatchNorm1d(2))[-2](torch.ones(2, 2))
    assert [initialise(model, seed=0)[at].num_batches_tracked for at in (1, -2)] == [0, 0]


@pytest.mark.parametrize("plan", ["frozen", "masked"])
def test_a_large_file_is_at_most_two_per_cent_above_the_bound(tmp_path, plan):
    """What must be there: trained tensors and buffers, one bit for each masked weight, names and shapes."""
    model = nn.Sequential(*(nn.Sequential(nn.Linear(1800, 1800), nn.BatchNorm1d(1800)) for _ in range(3)))
    initialise(model, seed=0)
    freeze(model, layers=(0, 1)) if plan == "frozen" else supermask(model, keep=0.5, seed=0)
    learned = [p for n, p in model.named_parameters() if p.requires_grad and not n.endswith("scores")]
    with torch.no_grad():
        for parameter in learned:
            parameter.add_(0.5)
    bound = sum(t.nbytes for t in (*learned, *(b for b in model.buffers())))
    bound += sum(-(-p.numel() // 8) for n, p in model.named_parameters() if n.endswith("scores"))
    bound += sum(len(f"{name}{tuple(p.shape)}") for name, p in model.state_dict().items())
    size = save(model, tmp_path / "m.safetensors").stat().st_size
    assert bound > 1e6 and size <= 1.02 * bound
    assert report(model).stored_bytes <= bound


def test_a_file_of_another_model_or_a_damaged_one_is_refused(tmp_path):
    path = save(learn(frozen("gpt2"), "gpt2"), tmp_path / "m.safetensors")
    with pytest.raises(WeightsError, match="is not in both the model and the file"):
        load(cnn(), path)
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(WeightsError, match="damaged: its digest does not match"):
        load(gpt2(), path)
    with pytest.raises(TypeError, match=r"load\(build\(\), 'm.safetensors'\)"):
        load(path, path)
    with pytest.raises(WeightsError, match="path must name a file, such as"):
        save(gpt2(), tmp_path)
    with pytest.raises(WeightsError, match="is a folder, not a file"):
        load(gpt2(), tmp_path)


def test_state_that_is_no_tensor_is_not_lost_in_silence(tmp_path):
    class Counting(nn.Linear):
        def get_extra_state(self):
            return {"steps": 3}

        def set_extra_state(self, state):
            pass

    with pytest.raises(WeightsError, match=r"0\._extra_state is state that is no tensor"):
        save(nn.Sequential(Counting(2, 2)), tmp_path / "m.safetensors")


# Names


def test_what_carries_a_model_adds_nothing_to_its_names():
    plain = drawn("gpt2")
    names = [item.path for item in owned(plain)]
    assert names[0] == "transformer.wte.weight" and "lm_head.weight" not in names  # tied
    assert names == [name for name, _ in plain.named_parameters()]
    compiled, inner = gpt2(), gpt2()
    inner.transformer.h[1] = torch.compile(inner.transformer.h[1])
    twice = torch.compile(nn.DataParallel(gpt2()))
    parametrized = gpt2()
    parametrize.register_parametrization(parametrized.transformer.h[0].mlp.c_fc, "weight", nn.Identity())
    for model in (torch.compile(compiled), inner, twice, parametrized):
        assert sorted(item.path for item in owned(initialise(model, seed=0))) == sorted(names)
        assert all(torch.equal(tensors(model)[name], tensors(plain)[name]) for name in names)


def test_a_name_is_kept_when_the_model_becomes_part_of_another():
    first, second = initialise(cnn(), seed=0), initialise(cnn(), seed=1)
    both = nn.ModuleDict({"a": first, "b": second})
    assert [item.path for item in owned(both)][:2] == ["a.0.weight", "a.0.bias"]
    assert next(owned(both)).stream == "0.weight"
    supermask(freeze(both, layers="a"), keep=0.5, seed=0, patterns="b.*")
    alone = supermask(initialise(cnn(), seed=1), keep=0.5, seed=0)
    assert torch.equal(both["b"][0].weight, alone[0].weight)  # the same scores too
    assert {origin_of(item).name for item in owned(both) if item.path.startswith("a")} == {"seeded", "fixed"}


# Drawing


@pytest.mark.parametrize("name", BUILD)
def test_nothing_that_should_be_random_is_zero_or_left_as_it_was(name):
    model = BUILD[name]()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(float("nan"))
    for item in owned(initialise(model, seed=0)):
        assert item.parameter.isfinite().all(), item.path
        assert item.parameter.ndim == 1 or item.parameter.std() > 0.001, item.path
        assert isinstance(recorded_origin(item), Seeded)


def test_packed_projections_are_the_three_maps_that_they_are():
    attention = initialise(nn.MultiheadAttention(12, 2), seed=0)
    origins = {item.path: recorded_origin(item) for item in owned(attention)}
    assert origins["in_proj_weight"].blocks == 3
    bound = 2**-0.5 * (6 / 24) ** 0.5
    assert 0.9 * bound < attention.in_proj_weight.abs().max() <= bound
    assert not attention.in_proj_bias.any()
    packed = initialise(gpt2(), seed=0, scheme=Scheme()).transformer.h[0].attn.c_attn
    bound = (6 / 32) ** 0.5  # of a map from 16 to 16, not of one from 16 to 48
    assert 0.9 * bound < packed.weight.abs().max() <= bound


def test_a_turned_matrix_is_drawn_as_the_map_that_it_is():
    """transformers' Conv1D keeps its inputs first: it is the transpose of a linear map of the same name."""
    block = gpt2().transformer.h[0].mlp
    linear = nn.Linear(16, 64)
    linear.stream = "c_fc.weight"
    initialise(block, seed=0, scheme=Scheme())
    initialise(linear, seed=0)
    assert torch.equal(block.c_fc.weight, linear.weight.T)


def test_recurrent_gates_are_maps_of_their_own():
    lstm = initialise(nn.LSTM(6, 4, 2), seed=0)
    assert {recorded_origin(item).blocks for item in owned(lstm) if item.parameter.ndim == 2} == {4}
    assert not lstm.bias_hh_l1.any()


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.gates = nn.Parameter(torch.ones(3, 3))


def test_a_tensor_without_a_rule_is_refused_by_name_before_anything_is_drawn():
    model = Odd()
    before = model.linear.weight.clone()
    with pytest.raises(
        ValueError, match=r"no rule to draw gates, \(3, 3\) of Odd: give one, .*rules={'gates': "
    ):
        initialise(model, seed=0)
    assert torch.equal(model.linear.weight, before) and model.gates.min() == 1
    initialise(model, seed=0, rules={"gates": Normal(0.02)})
    assert 0 < model.gates.std() < 0.1
    initialise(model, seed=1, patterns="gates", rules={"*": Normal(3.0)})
    assert model.gates.std() > 1 and model.linear.weight.abs().max() < 2


def test_a_stream_given_to_a_module_of_others_zeroes_nothing():
    attention = nn.MultiheadAttention(8, 2)
    attention.stream, attention.out_proj.stream = "mine", "out"
    initialise(attention, seed=0)
    assert attention.in_proj_weight.std() > 0.1


def test_projections_of_attention_that_are_not_packed_are_maps_like_others():
    attention = initialise(nn.MultiheadAttention(64, 2, kdim=32, vdim=16), seed=0)
    for name, width in (("q", 64), ("k", 32), ("v", 16)):
        drawn = getattr(attention, f"{name}_proj_weight").abs().max().item()
        assert drawn == pytest.approx((6 / (64 + width)) ** 0.5, rel=0.02)


# Choosing


def still(model: nn.Module) -> set[str]:
    return {item.path for item in owned(model) if not item.parameter.requires_grad}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (dict(layers=[1]), "transformer.h.1."),
        (dict(layers=-2), "transformer.h.0."),
        (dict(layers="transformer.h.1"), "transformer.h.1."),
        (dict(patterns=["transformer.h.1.*"]), "transformer.h.1."),
        (dict(where=lambda name, parameter: name.startswith("transformer.h.1.")), "transformer.h.1."),
        (dict(plan=Freeze(layers=(1,))), "transformer.h.1."),
        (dict(plan=Freeze(layers="transformer.h.1")), "transformer.h.1."),
        (dict(), "transformer"),
    ],
)
def test_layers_patterns_and_predicates_freeze_what_they_name(options, named):
    model = freeze(drawn("gpt2"), **options)
    assert still(model) == {item.path for item in owned(model) if item.path.startswith(named)}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            dict(layers=[1]),
            r"several or none, the model has 'transformer.encoder.layers.1' and 'transformer.decoder",
        ),
        (
            dict(layers="encoder.1"),
            r"'encoder.1.\*' matches no parameter .* did you mean 'transformer.encoder",
        ),
        (dict(patterns="*.q_proj"), "matches no parameter"),
        (dict(where=lambda name, parameter: False), "where is true of no parameter"),
        (dict(plan=Freeze(attention=True), layers=[1]), r"or what to freeze, .*, not both"),
    ],
)
def test_a_choice_of_nothing_says_what_there_is(options, said):
    model = drawn("transformer")
    with pytest.raises(ValueError, match=said):
        freeze(model, **options)
    assert not still(model)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda: drawn("gpt2"), r"layers=7 is none of the 2 layers transformer\.h\.0 to transformer\.h\.1"),
        (
            lambda: nn.ModuleDict({"one": nn.Linear(3, 4)}),
            "layers=7 could be one of several or none",
        ),
    ],
)
def test_a_layer_that_is_not_there_is_counted(model, said):
    with pytest.raises(ValueError, match=said):
        freeze(model(), layers=[7])


# Masks


def test_every_kind_of_weight_is_masked_to_the_asked_share():
    kinds = set()
    for name in BUILD:
        model = masked(name)
        for item in owned(model, tied=True):
            if item.mask is not None:
                effective = getattr(item.module, item.attribute)
                assert torch.equal(effective != 0, item.mask.chosen() & (item.parameter != 0)), item.path
                assert int(item.mask.chosen().sum()) == round(0.5 * effective.numel())
                kinds.add(type(item.module).__name__.removeprefix("Parametrized"))
        assert not any(item.mask is None and item.parameter.ndim > 1 and item.attribute.endswith("weight")
                       for item in owned(model, tied=True))  # fmt: skip
    assert {"Linear", "Embedding", "Conv1D", "Conv2d", "MultiheadAttention"} <= kinds
    model = masked("gpt2")
    assert model.lm_head.parametrizations.weight[0] is model.transformer.wte.parametrizations.weight[0]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("grad", [True, False])
def test_fused_kernels_see_the_mask(training, grad):
    """In eval without gradients, nn.TransformerEncoder and nn.MultiheadAttention hand their weights to one kernel."""
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True), 2)
    attention = nn.MultiheadAttention(16, 2, batch_first=True)
    x = torch.randn(3, 5, 16, generator=torch.Generator().manual_seed(0))
    for model, arguments in ((encoder, (x,)), (attention, (x, x, x))):
        supermask(initialise(model, seed=0), keep=0.3, seed=0)
        plain = materialise(model)
        model.train(training), plain.train(training)
        with torch.set_grad_enabled(grad):
            ours, theirs = (one(*arguments) for one in (model, plain))
        ours, theirs = (one[0] if isinstance(one, tuple) else one for one in (ours, theirs))
        assert torch.allclose(ours, theirs, atol=1e-6)
        whole = initialise(type(model)(16, 2, batch_first=True), seed=0) if model is attention else None
        assert whole is None or not torch.allclose(ours, whole.train(training)(*arguments)[0], atol=1e-3)


def test_a_mask_needs_a_share_and_patterns_that_fit():
    with pytest.raises(ValueError, match="supermask needs the share of weights to keep"):
        supermask(drawn("cnn"), seed=0)
    with pytest.raises(ValueError, match="matches no matrix that can be masked of the model; did you"):
        supermask(drawn("cnn"), keep=0.5, patterns="9.weight", seed=0)
    model = supermask(drawn("gpt2"), keep=0.5, patterns="transformer.h.0.*", seed=0)
    assert {item.path for item in owned(model) if item.mask} == {
        item.path for item in owned(model) if item.path.startswith("transformer.h.0.") and item.parameter.ndim == 2
        and item.attribute == "weight"
    }  # fmt: skip


# Plain again


@pytest.mark.parametrize("name", BUILD)
def test_a_plain_copy_computes_the_same_and_has_the_state_dict_of_its_class(name):
    model = learn(masked(name), name)
    plain = materialise(model)
    with torch.no_grad():
        assert torch.equal(output(plain, name), output(model, name))
    assert plain.state_dict().keys() == BUILD[name]().state_dict().keys()
    assert any(item.mask for item in owned(model))  # the original has its masks still
    if name == "gpt2":
        assert plain.lm_head.weight is plain.transformer.wte.weight


def test_a_plain_copy_is_exported_and_loads_without_this_library(tmp_path):
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True), 1)
    model = supermask(initialise(nn.Sequential(nn.Linear(4, 16), encoder), seed=0), keep=0.5, seed=0).eval()
    plain, x = materialise(model), torch.ones(2, 3, 4)
    program = torch.export.export(plain, (x,)).module()
    assert torch.allclose(program(x), model(x), atol=1e-6)
    torch.save(plain, tmp_path / "plain.pt")
    code = (
        "import sys, torch; sys.modules['reservoir'] = None\n"
        "model = torch.load(sys.argv[1], weights_only=False); print(model(torch.ones(2, 3, 4)).sum().item())"
    )
    command = [sys.executable, "-c", code, tmp_path / "plain.pt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(plain(x).sum().item(), rel=1e-6)


# On a base


@pytest.fixture
def base(tmp_path) -> Path:
    drawn("gpt2").save_pretrained(tmp_path / "base")
    return tmp_path / "base"


def test_a_base_is_stored_as_a_reference(tmp_path, base):
    model = pretrained(transformers.GPT2LMHeadModel.from_pretrained(base), base)
    freeze(model, where=lambda name, parameter: ".ln_" not in name)
    assert {origin_of(item).name for item in owned(model)} == {"pretrained", "trained"}
    learn(model, "gpt2")
    path = save(model, tmp_path / "m.safetensors")
    assert {name for name in read_header(path)[0] if not name.startswith("buffers/")} == {
        item.path for item in owned(model) if item.parameter.requires_grad
    }
    again = load(gpt2(), path)
    assert bits(again, "gpt2") == bits(model, "gpt2")
    assert [origin_of(item) for item in owned(again)] == [origin_of(item) for item in owned(model)]
    moved = base.rename(tmp_path / "elsewhere")
    with pytest.raises(WeightsError, match=r"refers to a base: .* give its folder as base=…, or, of a run"):
        load(gpt2(), path)
    held = transformers.GPT2LMHeadModel.from_pretrained(moved)  # which has the base's tensors already
    for again in (load(held, path), load(gpt2(), path, base=moved)):
        assert bits(again, "gpt2") == bits(model, "gpt2")
    initialise(gpt2(), seed=1).save_pretrained(moved)
    with pytest.raises(WeightsError, match="is not in the base as it was"):
        load(gpt2(), path, base=moved)


def test_a_base_is_stored_as_a_whole_where_asked_or_where_its_folder_is_gone_unless_it_has_moved(
    tmp_path, base
):
    def based() -> nn.Module:
        return freeze(pretrained(transformers.GPT2LMHeadModel.from_pretrained(base), base))

    model = based()
    shutil.rmtree(base)
    again = load(gpt2(), save(model, tmp_path / "m.safetensors"))
    assert bits(again, "gpt2") == bits(model, "gpt2")
    assert {origin_of(item).name for item in owned(again)} == {"pretrained"}
    next(model.parameters()).data[0] += 1
    for whole in (None, True):
        with pytest.raises(WeightsError, match=r"is said to be of .* but is not what that gives"):
            model_bytes(model, whole=whole)


def test_a_base_that_the_model_was_not_loaded_from_is_refused(tmp_path, base):
    with pytest.raises(WeightsError, match=r"no parameter of the model is a tensor of .*: load it first"):
        pretrained(initialise(gpt2(), seed=3, rules={"*": Normal(1.0)}), base)
    with pytest.raises(WeightsError, match=r"a base must be a folder with config.json and \*.safetensors"):
        pretrained(gpt2(), tmp_path / "nowhere")


def test_masks_over_a_base_leave_its_weights_as_they_are(tmp_path, base):
    model = supermask(
        pretrained(transformers.GPT2LMHeadModel.from_pretrained(base), base),
        keep=0.9,
        patterns="*.mlp.*.weight",
        seed=0,
    )
    freeze(model, where=lambda name, parameter: not name.endswith("scores"))
    assert isinstance(recorded_origin(next(owned(model))), Pretrained)
    learn(model, "gpt2")
    again = load(gpt2(), save(model, tmp_path / "m.safetensors"))
    assert bits(again, "gpt2") == bits(model, "gpt2")


# With other people's machinery


@pytest.mark.check
@pytest.mark.parametrize("plan", ["frozen", "masked"])
def test_a_compiled_model_learns_what_the_plain_one_does(tmp_path, plan):
    torch._dynamo.reset()
    plain, model = PLANS[plan]("gpt2"), PLANS[plan]("gpt2")
    compiled = torch.compile(model, backend="aot_eager")
    learn(plain, "gpt2"), learn(compiled, "gpt2")
    with torch.no_grad():
        torch.testing.assert_close(output(compiled, "gpt2"), output(plain, "gpt2"), atol=1e-3, rtol=1e-3)
    again = load(gpt2(), save(compiled, tmp_path / "m.safetensors"))
    assert bits(again, "gpt2") == bits(model, "gpt2")


def test_what_was_trained_before_it_was_frozen_is_stored_once_that_is_said(tmp_path):
    model = freeze(learn(drawn("gpt2"), "gpt2"), layers=[0])
    with pytest.raises(
        WeightsError,
        match=r"made before freeze .*let it move, call reservoir\.mark_trained\(model\), freeze it again",
    ):
        save(model, tmp_path / "m.safetensors")
    mark_trained(model.requires_grad_(True))
    again = load(gpt2(), save(freeze(model, layers=[0]), tmp_path / "m.safetensors"))
    assert bits(again, "gpt2") == bits(model, "gpt2") and still(again) == still(model)


def test_a_tensor_that_was_normalised_away_is_named():
    model = cnn()
    with warnings.catch_warnings():
        nn.utils.parametrizations.weight_norm(model[8])
    with pytest.raises(ValueError, match=r"no rule to draw 8\.parametrizations\.weight\.original[01]"):
        initialise(model, seed=0)


# What newcomers try first


def test_the_main_names_are_on_the_package_and_wait_until_they_are_used():
    names = ("initialise freeze supermask report save load materialise pretrained train from_pretrained"
             " save_pretrained Freeze Mask Scheme")  # fmt: skip
    code = (
        "import reservoir as r, sys; assert 'torch' not in sys.modules;"
        f" print(*(getattr(r, name).__name__ for name in {names.split()}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == names.split()


def test_training_what_was_never_initialised_says_so():
    model = LanguageModelConfig(9, d_model=8, n_heads=2, d_ff=8, layers=1).build()
    task = LanguageModellingTask(range(9), range(9), range(9), length=3, batch=2, seed=0)
    with pytest.raises(
        ValueError, match=r"was never initialised: call initialise\(model, seed=…\) before training"
    ):
        train(model, task, optimiser=Optimiser(), budget=Budget(1), seed=0)


def test_the_cost_of_a_step_is_counted_for_any_module():
    whole, part = drawn("gpt2"), freeze(drawn("gpt2"), layers=[0], patterns="*wte*")
    costs = [cost(model, lambda model=model: output(model, "gpt2").sum()) for model in (whole, part)]
    assert costs[0]["trainable"] == report(whole).total and costs[1]["trainable"] < costs[0]["trainable"]
    assert costs[1]["flops"] < costs[0]["flops"] and costs[0]["step_bytes"] == 12 * costs[0]["trainable"]
    assert all(parameter.grad is None for parameter in whole.parameters())
    forward = cost(freeze(whole), lambda: output(whole, "gpt2").sum())
    assert 0 < forward["flops"] < costs[1]["flops"] and not forward["step_bytes"]


def test_a_row_of_padding_is_not_trainable_but_takes_memory():
    model = initialise(stock_models.Translator(), seed=0)
    ids = torch.tensor([[3, 4, 0]])
    found, counts = cost(model, lambda: model(ids, ids).sum()), report(model)
    assert (found["trainable"], found["trainable_all_rows"]) == (counts.trainable, counts.trainable_all_rows)
    assert counts.trainable_all_rows - counts.trainable == model.embedding.embedding_dim
    assert found["step_bytes"] == 12 * counts.trainable_all_rows


def test_counting_a_step_leaves_the_gradients_as_they_were():
    model = drawn("gpt2")
    output(model, "gpt2").sum().backward()
    before = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    cost(model, lambda: output(model, "gpt2").sum())
    assert all(torch.equal(before[name], parameter.grad) for name, parameter in model.named_parameters())


# Nothing wrong in silence: what a new user's modules met


class NormedLinear(nn.Linear):
    """A map whose class has "Norm" in its name."""


class Offset(nn.Module):
    """A norm that starts elsewhere than at one, and a gate that starts at nothing, as their owner's `__init__` says."""

    def __init__(self, size: int = 4):
        super().__init__()
        self.weight, self.gate = nn.Parameter(torch.zeros(size)), nn.Parameter(torch.full((size,), 0.3))


class ZeroGamma(nn.BatchNorm1d):
    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.zeros_(self.weight)


class Table(nn.Module):
    """A tensor of its owner's own making, random and not constant."""

    def __init__(self):
        super().__init__()
        self.linear, self.rates = nn.Linear(3, 3), nn.Parameter(torch.empty(2, 5))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.linear.reset_parameters()
        nn.init.uniform_(self.rates, 1.0, 2.0)


def test_no_class_name_says_what_a_tensor_is_set_to():
    parts = NormedLinear(8, 4), Offset(), ZeroGamma(3), nn.Sequential(nn.LayerNorm(5))
    model = initialise(nn.Sequential(*parts), seed=0)
    plain = initialise(nn.Sequential(nn.Linear(8, 4)), seed=0)
    assert torch.equal(model[0].weight, plain[0].weight) and not model[0].bias.any()
    assert not model[1].weight.any() and (model[1].gate == 0.3).all() and not model[2].weight.any()
    assert (model[3][0].weight == 1).all()


def test_a_start_that_a_model_gives_its_own_layers_is_kept_and_a_zero_map_is_asked_about():
    model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4))
    nn.init.zeros_(model[1].weight), nn.init.constant_(model[2].bias, -4.5)
    initialise(model, seed=0)
    assert not model[1].weight.any() and (model[2].bias == -4.5).all() and not model[0].bias.any()
    nn.init.zeros_(model[2].weight)
    with pytest.raises(
        ValueError, match=r"2\.weight is zero .*\{'2\.weight': Constant\(0\.0\)\}.* scheme=Scheme"
    ):
        initialise(model, seed=0)
    assert not initialise(model, seed=0, rules={"2.weight": Constant(0.0)})[2].weight.any()
    model = gpt2()
    nn.init.zeros_(model.transformer.h[0].attn.c_attn.weight)  # as of an adapter that begins with nothing
    with pytest.raises(ValueError, match=r"attn\.c_attn\.weight is zero everywhere"):
        initialise(model, seed=0)
    model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4))
    assert initialise(model, seed=0, scheme=Scheme())[2].weight.all() and (model[1].weight == 1).all()


def test_what_only_its_owner_can_draw_comes_from_the_seed_and_is_stored(tmp_path):
    made = [Table() for _ in range(3)]
    before = torch.get_rng_state()
    one, again, other = (initialise(model, seed=seed) for model, seed in zip(made, (0, 0, 1), strict=True))
    assert (
        torch.equal(one.rates, again.rates)
        and not torch.equal(one.rates, other.rates)
        and one.rates.min() >= 1
    )
    assert (
        not one.linear.bias.any() and one.linear.weight.abs().max() <= 1
    )  # of a layer of torch's, by the scheme
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(load(Table(), save(freeze(one), tmp_path / "m.safetensors")).rates, one.rates)
    assert report(one).stored_bytes == 4 * 10


def test_the_model_around_a_layer_is_asked_what_its_vectors_start_as(tmp_path):
    sizes = dict(hidden_size=16, num_hidden_layers=1, vocab_size=11, state_size=4, intermediate_size=32)
    config = transformers.MambaConfig(time_step_rank=2, **sizes)
    model, again = (initialise(transformers.MambaForCausalLM(config), seed=0) for _ in range(2))
    mixer = model.backbone.layers[0].mixer
    assert (mixer.dt_proj.bias < -1).all() and torch.equal(mixer.A_log[0], torch.arange(1.0, 5.0).log())
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), again.parameters(), strict=True))
    loaded = load(transformers.MambaForCausalLM(config), save(freeze(model), tmp_path / "m.safetensors"))
    assert torch.equal(loaded.backbone.layers[0].mixer.dt_proj.bias, mixer.dt_proj.bias)


@pytest.mark.parametrize(
    ("rules", "error", "said"),
    [
        (
            {"0.wieght": Normal(1.0)},
            ValueError,
            r"'0\.wieght' matches no parameter .* did you mean '0\.weight'\?",
        ),
        (
            {"*weight": nn.init.kaiming_normal_},
            TypeError,
            r"must be one of reservoir\.weights\.initialisation",
        ),
    ],
)
def test_rules_that_do_nothing_or_are_none_are_refused(rules, error, said):
    with pytest.raises(error, match=said):
        initialise(nn.Sequential(nn.Linear(3, 3)), seed=0, rules=rules)


def own(dtype: torch.dtype = torch.float32, numbers: torch.Tensor | None = None) -> nn.Module:
    model = nn.Module()
    moves = dtype.is_floating_point or dtype.is_complex
    model.weight = nn.Parameter(
        torch.zeros(8, 8, dtype=dtype) if numbers is None else numbers, requires_grad=moves
    )
    return model


def with_buffer(tensor: torch.Tensor) -> nn.Module:
    model = nn.Linear(4, 4)
    model.register_buffer("extra", tensor)
    return model


def on_meta() -> nn.Module:
    with torch.device("meta"):
        return nn.Linear(4, 4)


@pytest.mark.parametrize(
    ("stored", "into", "said"),
    [
        (lambda: nn.Linear(4, 4), lambda: nn.Linear(4, 4).bfloat16(), r"float32 for \w+, not torch\.bfloat16"),
        (lambda: nn.Linear(4, 4).half(), lambda: nn.Linear(4, 4).bfloat16(), r"not torch\.bfloat16"),
        (lambda: own(torch.int8), lambda: own(torch.uint8), r"int8 for weight, not torch\.uint8"),
        (lambda: own(torch.complex64), own, r"complex64 for weight, not torch\.float32: .*\.to\(torch\.complex64\)"),
        (lambda: with_buffer(torch.tensor([0.5, 1.5])), lambda: with_buffer(torch.zeros(2, dtype=torch.int64)),
         "buffers/extra, not torch.int64"),
        (lambda: nn.Linear(4, 4), on_meta, "on the meta device and holds no numbers"),
        (lambda: nn.Linear(4, 4), lambda: nn.LazyLinear(4), "weight has no shape yet: give the model one batch first"),
        (lambda: nn.Linear(4, 4), lambda: with_buffer(torch.eye(2).to_sparse()), "extra of the model is torch.sparse"),
    ],
)  # fmt: skip
def test_what_cannot_take_a_files_numbers_as_they_are_is_refused(tmp_path, stored, into, said):
    path = save(stored(), tmp_path / "m.safetensors")
    with pytest.raises(WeightsError, match=said):
        load(into(), path)


def test_a_wider_type_takes_the_numbers_as_they_are(tmp_path):
    model = nn.Linear(4, 4).bfloat16()
    assert torch.equal(
        load(nn.Linear(4, 4), save(model, tmp_path / "m.safetensors")).weight, model.weight.float()
    )


@pytest.mark.parametrize(
    "dtype", [torch.complex64, torch.int8, torch.uint8, torch.bool, torch.float8_e4m3fn, torch.float8_e5m2]
)
@pytest.mark.parametrize("frozen", [False, True])
def test_every_type_that_is_stored_is_loaded(tmp_path, dtype, frozen):
    model = own(dtype, torch.arange(64).reshape(8, 8).to(dtype))
    model.requires_grad_(model.weight.requires_grad and not frozen)
    loaded = load(own(dtype), save(model, tmp_path / "m.safetensors")).weight
    assert loaded.dtype == dtype and torch.equal(loaded.view(torch.uint8), model.weight.view(torch.uint8))


def test_complex_parameters_are_drawn_in_both_parts_and_given_back_by_the_seed(tmp_path):
    model = initialise(own(torch.complex64), seed=0, rules={"weight": Normal(1.0)})
    real, imaginary = model.weight.real, model.weight.imag
    assert 0.5 < real.std() < 0.9 and 0.5 < imaginary.std() < 0.9 and not torch.equal(real, imaginary)
    path = save(freeze(model), tmp_path / "m.safetensors")
    assert torch.equal(load(own(torch.complex64), path).weight, model.weight)
    assert "weight" not in read_header(path)[0]
    assert (initialise(model, seed=0, rules={"weight": Constant(0.5)}).weight == 0.5).all()
    for start, said in ((Orthogonal(), "complex, which Orthogonal"), (Identity(), None)):
        with pytest.raises(ValueError, match=said) if said else nullcontext():
            initialise(model, seed=0, rules={"weight": start})


def test_scores_of_complex_weights_get_the_gradient_of_what_they_multiply():
    model = initialise(nn.Linear(3, 2, bias=False, dtype=torch.complex64), seed=0)
    weight, x = model.weight.detach().clone(), torch.tensor([1 + 2j, -1j, 0.5])
    supermask(model, keep=1 / 6, seed=0, scaled=False)
    scores = model.parametrizations.weight[0].scores
    model(x).abs().square().sum().backward()
    kept = model.weight.detach()
    by_hand = torch.tensor(0.0) * scores.detach()
    free = torch.ones_like(scores, requires_grad=True)
    ((kept + (free - 1) * weight) @ x).abs().square().sum().backward()
    assert by_hand.shape == scores.grad.shape and scores.grad.any()
    assert torch.allclose(scores.grad, free.grad * scores.detach().sign(), atol=1e-6)


def test_whole_numbers_are_not_drawn():
    with pytest.raises(ValueError, match=r"weight is torch\.int8, which cannot be drawn"):
        initialise(own(torch.int8), seed=0, rules={"weight": Normal(1.0)})


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: own(torch.complex128), "complex128, which safetensors does not hold"),
        (
            lambda: with_buffer(torch.eye(2).to_sparse()),
            r"extra is torch\.sparse_coo: store it \.to_dense\(\)",
        ),
        (on_meta, "on the meta device and holds no numbers"),
    ],
)
def test_what_loading_could_not_bring_back_is_refused_when_it_is_stored(tmp_path, made, said):
    with pytest.raises(WeightsError, match=said):
        save(made(), tmp_path / "m.safetensors")


@pytest.mark.parametrize(
    "given", [[nn.Linear(2, 2)], nn.Linear(2, 2).state_dict(), torch.jit.script(nn.Linear(2, 2))], ids=type
)
@pytest.mark.parametrize("call", [lambda model: initialise(model, seed=0), report, freeze])
def test_what_is_no_module_is_refused_with_a_sentence(given, call):
    with pytest.raises(TypeError, match=r"this needs a module of torch\.nn, no list.* got "):
        call(given)


def experts() -> nn.Module:
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    return transformers.MixtralForCausalLM(
        transformers.MixtralConfig(vocab_size=11, num_key_value_heads=2, num_local_experts=4, **sizes)
    )


def mixed() -> nn.Module:
    return nn.ModuleDict({"bilinear": nn.Bilinear(3, 4, 5), "cell": nn.GRUCell(3, 4), "stack": nn.LSTM(3, 4)})


def test_masks_reach_experts_bilinear_maps_and_recurrent_layers_and_the_report_says_what_they_do_not(
    tmp_path,
):
    model = supermask(initialise(experts(), seed=0), keep=0.5, seed=0)
    reached = sum(item.parameter.numel() for item in owned(model) if item.mask is not None)
    assert reached == sum(p.numel() for p in experts().parameters() if p.ndim > 1)
    assert (model.model.layers[0].mlp.experts.gate_up_proj == 0).float().mean() == 0.5
    ids = torch.arange(8)[None]
    again = load(experts(), save(model.eval(), tmp_path / "e.safetensors"))
    assert torch.equal(again(ids).logits, model(ids).logits) and not report(model).unmasked
    model = supermask(initialise(mixed(), seed=0), keep=0.5, seed=0)
    assert (model["bilinear"].weight == 0).sum() == 30 and (model["cell"].weight_hh == 0).sum() == 24
    assert (model["stack"].weight_ih_l0 == 0).sum() == 24 and not report(model).unmasked
    model = supermask(
        initialise(nn.ModuleDict({"a": Table(), "b": nn.Linear(2, 2)}), seed=0), keep=0.5, seed=0
    )
    assert report(model).unmasked == ("a.rates (2, 5)",)
    assert "no mask can reach a.rates (2, 5)" in report(model).summary()


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_masked_recurrent_stack_computes_with_what_is_left_and_learns_which(tmp_path, kind):
    def build() -> nn.Module:
        return kind(3, 4, 2, bidirectional=True)

    x = torch.linspace(-1, 1, 30).view(5, 2, 3)
    model = supermask(initialise(build(), seed=0), keep=0.5, seed=0)
    optimiser = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1.0)
    before = model(x)[0]
    before.square().sum().backward()
    gradients = [p.grad for name, p in model.named_parameters() if "scores" in name]
    assert all(one.any() for one in gradients)
    optimiser.step()
    twin = copy.deepcopy(model).eval()  # right after a step, when torch still holds what came of it
    assert not torch.equal(twin(x)[0], before) and torch.equal(twin(x)[0], model.eval()(x)[0])
    plain = materialise(model)
    assert type(plain) is kind and torch.equal(plain(x)[0], twin(x)[0])
    assert torch.equal(load(build(), save(model, tmp_path / "m.safetensors"))(x)[0], twin(x)[0])
    assert load(model, tmp_path / "m.safetensors").double()(x.double())[0].dtype == torch.float64


def test_a_second_mask_takes_the_place_of_the_first():
    model = masked("cnn")
    supermask(model, keep=0.25, seed=0)
    assert (model[0].weight != 0).sum() == round(0.25 * model[0].weight.numel())

    class Expert(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.zeros(3, 8, 8))

    model = nn.ModuleDict({"expert": Expert(), "map": nn.Linear(8, 8)})
    supermask(initialise(model, seed=0, rules={"expert.w": Normal(0.02)}), keep=0.5, by="weight", seed=0)
    mark_trained(model)  # as all training does
    supermask(model, keep=0.25, by="weight", seed=0)
    assert (model["expert"].w != 0).sum() == 48 and not report(model).unmasked


def test_what_is_masked_in_a_copy_stays_as_it_is_in_the_original():
    model = supermask(initialise(nn.LSTM(3, 4), seed=0), keep=0.5, patterns="*ih*", seed=0).eval()
    x = torch.linspace(-1, 1, 30).view(5, 2, 3)
    before, copied = model(x)[0], copy.deepcopy(model)
    supermask(copied, keep=0.5, patterns="*hh*", seed=0)
    assert torch.equal(model(x)[0], before) and not torch.equal(copied(x)[0], before)


def test_memory_that_nobody_has_filled_is_drawn_as_any_other():
    def blank(device: str | None = None) -> nn.Module:
        return nn.Sequential(nn.Linear(4, 4, device=device), nn.LayerNorm(4, device=device))

    unfilled = blank("meta").to_empty(device="cpu")
    for parameter in unfilled.parameters():  # as fresh memory mostly is
        nn.init.zeros_(parameter)
    drawn, expected = initialise(unfilled, seed=0).state_dict(), initialise(blank(), seed=0).state_dict()
    assert all(torch.equal(drawn[name], tensor) for name, tensor in expected.items())
    model = blank()
    nn.init.zeros_(model[0].weight)
    with pytest.raises(ValueError, match=r"rules=\{'0.weight': Constant") as error:
        initialise(model, seed=0)
    assert "0.weight is zero everywhere" in str(error.value)
    initialise(model, seed=0, rules={"0.weight": Constant(0.0)})


@pytest.mark.parametrize(
    ("norm", "later"), [("weight_norm", False), ("spectral_norm", False), ("spectral_norm", True)]
)
def test_masks_compose_with_other_parametrizations(tmp_path, norm, later):
    normed = getattr(nn.utils.parametrizations, norm)

    def build() -> nn.Module:
        return nn.Sequential(nn.Linear(16, 16))

    model = initialise(build(), seed=0)
    model = supermask(model, keep=0.5, seed=0) if later else model
    normed(model[0])
    model = model if later else supermask(model, keep=0.5, seed=0)
    x = torch.linspace(-1, 1, 32).view(2, 16)
    model(x).sum().backward()
    model.eval()
    assert (model[0].weight == 0).sum() == 128 and not report(model).unmasked
    plain, into = materialise(model), build()
    assert torch.allclose(plain(x), model(x), atol=1e-6)
    if norm == "spectral_norm":
        assert type(plain[0]) is nn.Linear and plain.state_dict().keys() == {"0.weight", "0.bias"}
    if later:
        with pytest.raises(
            WeightsError, match=r"0\.weight is masked before _SpectralNorm.* save materialise"
        ):
            save(model, tmp_path / "m.safetensors")
        assert torch.equal(load(into, save(plain, tmp_path / "m.safetensors"))(x), plain(x))
    else:
        normed(into[0])
        path = save(model, tmp_path / "m.safetensors")
        assert torch.equal(load(load(into, path), path)(x), model(x))  # in the place of the first mask


def test_a_norm_of_weights_leaves_the_seed_of_a_frozen_map(tmp_path):
    model, into = initialise(nn.Sequential(nn.Linear(128, 128)), seed=0), nn.Sequential(nn.Linear(128, 128))
    nn.utils.parametrizations.weight_norm(model[0]), nn.utils.parametrizations.weight_norm(into[0])
    path = save(freeze(model), tmp_path / "m.safetensors")
    assert path.stat().st_size < 2000 and torch.equal(load(into, path)[0].weight, model[0].weight)
    assert "unknown origin" not in report(model).summary()


def test_a_prefix_that_something_around_the_model_adds_is_named(tmp_path):
    around = nn.Module()
    around.model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    path = save(around, tmp_path / "a.safetensors")
    with pytest.raises(
        WeightsError, match=r"all names of the file begin with 'model\.': save the .* model\.model"
    ):
        load(around.model, path)
    path = save(around.model, tmp_path / "m.safetensors")
    with pytest.raises(
        WeightsError, match=r"all names of the model begin with 'model\.': load the .* model\.model"
    ):
        load(around, path)
    load(around.model, path)


def test_a_report_says_what_the_file_holds_to_the_byte(tmp_path):
    for name, plan in (("bert", frozen), ("gpt2", masked), ("cnn", pruned), ("cnn", drawn)):
        model = freeze(plan(name)) if plan is frozen else plan(name)
        size = save(model, tmp_path / "m.safetensors").stat().st_size
        assert report(model).summary().endswith(f" bytes to store, {size:,} as a file")
    model = freeze(drawn("gpt2"))
    model.transformer.wte.weight.data[0, 0] += 1
    assert "but they cannot be: transformer.wte.weight is said to be drawn" in report(model).summary()
    with torch.device("meta"):
        assert "0 bytes to store, its list of contents and buffers aside" in report(freeze(cnn())).summary()


def test_a_report_is_of_the_model_as_it_was_and_can_be_kept(tmp_path):
    model = drawn("cnn")
    found = report(model)
    text = found.summary()
    assert freeze(model) and pickle.loads(pickle.dumps(found)).summary() == text
    masks = supermask(drawn("cnn"), keep=0.5, seed=0)
    next(p for name, p in masks.named_parameters() if "scores" in name).data.fill_(math.nan)
    assert "but they cannot be: " in str(report(masks))


def test_layers_of_two_sizes_are_masked_under_compilation_as_without_it():
    def build() -> nn.Module:
        layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
        return supermask(initialise(layers, seed=0), keep=0.5, seed=0)

    plain, compiled = build(), torch.compile(build(), backend="eager")
    for model in (plain, compiled):
        model(torch.linspace(-1, 1, 16).view(2, 8)).square().sum().backward()
    for one, other in zip(plain.parameters(), compiled.parameters(), strict=True):
        assert one.grad is other.grad is None or torch.equal(one.grad, other.grad)


class Stateful(nn.Linear):
    def get_extra_state(self) -> dict[str, int]:
        return {"step": 3}

    def set_extra_state(self, state: dict[str, int]) -> None:
        pass


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Stateful(4, 4), "_extra_state is state that is no tensor"),
        (lambda: with_buffer(torch.eye(2).to_sparse()), r"extra is torch\.sparse_coo: store it"),
    ],
)
def test_a_mask_takes_no_sentence_from_an_error(tmp_path, build, said):
    model = supermask(initialise(build(), seed=0), keep=0.5, seed=0)
    assert "but they cannot be: " in report(model).summary() and model.state_dict()
    with pytest.raises(WeightsError, match=said):
        save(model, tmp_path / "m.safetensors")


def test_copies_and_averages_of_a_masked_model_are_stored_as_the_model_is(tmp_path):
    model = masked("gpt2")
    average = torch.optim.swa_utils.AveragedModel(model)
    learn(model, "gpt2")
    average.update_parameters(model), average.update_parameters(model)
    twin = copy.deepcopy(model)
    assert (
        bits(twin, "gpt2") == bits(model, "gpt2") and twin.lm_head.weight.shape == model.lm_head.weight.shape
    )
    supermask(twin, keep=0.1, seed=1)
    assert bits(twin, "gpt2") != bits(model, "gpt2")
    assert bits(load(gpt2(), save(average, tmp_path / "a.safetensors")), "gpt2") == bits(
        average.module.eval(), "gpt2"
    )


@pytest.mark.slow
def test_a_masked_tied_model_is_stored_in_training_and_resumed_to_the_same_bits(tmp_path):
    """The Trainer with its default checkpoints, cut off after the first of them."""
    pytest.importorskip("accelerate", reason="transformers' Trainer needs accelerate")
    from transformers import Trainer, TrainingArguments

    rows = [{"input_ids": row, "labels": row} for row in inputs("gpt2")[0]] * 4

    def trained(folder: Path, resume: str | None) -> nn.Module:
        torch.manual_seed(0)
        model = masked("gpt2")
        arguments = TrainingArguments(
            folder, max_steps=4, save_steps=2, per_device_train_batch_size=2, report_to=[], use_cpu=True,
            disable_tqdm=True, learning_rate=0.1, logging_strategy="no",
        )  # fmt: skip
        before, fixed = tensors(model), still(model)
        Trainer(model, arguments, train_dataset=rows).train(resume_from_checkpoint=resume)
        assert {path for path, now in tensors(model).items() if torch.equal(before[path], now)} == fixed
        return model

    whole = trained(tmp_path / "a", None)
    resumed = trained(tmp_path / "b", str(tmp_path / "a" / "checkpoint-2"))
    assert bits(resumed, "gpt2") == bits(whole, "gpt2") != bits(masked("gpt2"), "gpt2")
    load(gpt2(), save(whole, tmp_path / "m.safetensors")).save_pretrained(tmp_path / "plain")


def test_two_modules_of_one_stream_are_named():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[0].stream = model[1].stream = "mine"
    with pytest.raises(ValueError, match="two parameters are named 'mine': give 1 a stream of its own"):
        initialise(model, seed=0)


SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
CODER = dict(vocab_size=40, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
             decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32)  # fmt: skip
FAMILIES: dict[str, Callable[[], nn.Module]] = {
    "t5": lambda: transformers.T5Model(
        transformers.T5Config(vocab_size=40, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2)
    ),
    "bart": lambda: transformers.BartModel(transformers.BartConfig(max_position_embeddings=8, **CODER)),
    "whisper": lambda: transformers.WhisperModel(
        transformers.WhisperConfig(
            num_mel_bins=8, max_source_positions=8, max_target_positions=8, pad_token_id=0, bos_token_id=1,
            eos_token_id=2, decoder_start_token_id=1, **CODER,
        )
    ),
    "distilbert": lambda: transformers.DistilBertModel(
        transformers.DistilBertConfig(vocab_size=40, dim=16, n_layers=1, n_heads=2, hidden_dim=32)
    ),
    "llama": lambda: transformers.LlamaModel(transformers.LlamaConfig(**SIZES)),
    **{name: BUILD[name] for name in ("transformer", "vit", "gpt2", "bert")},
    "mixtral": experts,
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_components_of_the_families_that_people_use_are_found_and_share_nothing(family):
    model, found = initialise(FAMILIES[family](), seed=0), {}
    for part in ("embeddings", "attention", "feed_forward"):
        freeze(model.requires_grad_(True), **{part: True})
        found[part] = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
        assert found[part] and not any("norm" in name.lower().split(".")[-2] for name in found[part])
    assert not (found["attention"] & found["feed_forward"]) and not (
        found["embeddings"] & found["feed_forward"]
    )
    matrices = {name for name, parameter in model.named_parameters() if parameter.ndim > 1}
    left = matrices - set().union(*found.values())
    assert not any("layer" in name or "block" in name for name in left), left


@pytest.mark.parametrize("by", ["weight", "score"])
def test_feed_forward_layers_under_a_mask_are_frozen_as_those_without_one(by):
    how = {} if by == "score" else {"by": by}
    model = freeze(supermask(drawn("gpt2"), keep=0.5, seed=0, patterns="*h.0.*", **how), feed_forward=True)
    maps = [item for item in owned(model) if ".mlp." in item.path and item.attribute == "weight"]
    assert maps and not any(item.parameter.requires_grad for item in maps)
