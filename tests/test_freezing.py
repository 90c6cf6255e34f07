"""Freezing: what is frozen keeps its bits whatever trains around it, and gradients pass it at no other cost."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from reservoir.datasets import Batch
from reservoir.layers import Linear
from reservoir.layers.mixing import LinearMixing
from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.training.loop import Budget, train
from reservoir.training.state import Optimiser
from reservoir.training.task import smoothed_cross_entropy
from reservoir.weights import (
    Fixed,
    Freeze,
    Pretrained,
    Seeded,
    Trained,
    freeze,
    initialise,
    origin_of,
    owned,
    recorded_origin,
    report,
    reservoir_layers,
    set_origin,
)
from reservoir_lab.runs.handlers import Checkpoints

CONFIG = EncoderDecoderConfig(
    src_vocab=20,
    tgt_vocab=20,
    d_model=16,
    n_heads=2,
    d_ff=24,
    encoder_layers=3,
    decoder_layers=2,
    tie="output",
)
HARSH = Optimiser(lr=1e-2, weight_decay=0.1, clip=0.5, warmup=10)
PLANS = {
    "embeddings": Freeze(embeddings=True),
    "attention": Freeze(attention=True),
    "feed_forward": Freeze(feed_forward=True),
    "layers": Freeze(layers=("encoder.1", "decoder.0")),
    "patterns": Freeze(patterns=("decoder.*.cross.*", "*.norm.bias")),
    "several": Freeze(embeddings=True, feed_forward=True, layers=("encoder.2",)),
}


def copied(src: torch.Tensor) -> Batch:
    """Sources with themselves as targets."""
    tgt_in = torch.cat([torch.full_like(src[:, :1], 1), src], 1)
    tgt_out = torch.cat([src, torch.full_like(src[:, :1], 2)], 1)
    return Batch(src, tgt_in, tgt_out, int((tgt_out != 0).sum()))


class Copying:
    """Learn to write what was read: batches of random tokens, the same for the same epoch."""

    metric, larger_is_better = "loss", False

    def epoch(self, number: int) -> list[Batch]:
        generator = torch.Generator().manual_seed(number)
        rows = torch.randint(3, 20, (10, 4, 9), generator=generator)
        rows[:, 0, 6:] = 0
        return [copied(src) for src in rows]

    def size(self, batch: Batch) -> tuple[int, int]:
        return batch.n_tokens, 2 * batch.n_tokens

    def loss(self, model: EncoderDecoder, batch: Batch) -> torch.Tensor:
        hidden = model.hidden(batch.src, batch.tgt_in)
        return smoothed_cross_entropy(hidden, model.output.effective_weight(), batch.tgt_out, smoothing=0.1)[
            0
        ]

    def validate(self, model: EncoderDecoder) -> dict[str, float]:
        return {"loss": 0.0}


def made(plan: Freeze, **changes) -> EncoderDecoder:
    return freeze(initialise(EncoderDecoder(replace(CONFIG, **changes)), seed=3), plan)


def bits(model: nn.Module) -> dict[str, torch.Tensor]:
    """Every tensor by stream name, as the integers that its bits are."""
    return {item.stream: item.parameter.detach().clone().view(torch.int32) for item in owned(model)}


def moved(before: dict, after: dict) -> set[str]:
    return {stream for stream in before if not torch.equal(before[stream], after[stream])}


def frozen(model: nn.Module) -> set[str]:
    return {item.stream for item in owned(model) if not item.parameter.requires_grad}


def run(model: EncoderDecoder, steps: int, *, optimiser: Optimiser = HARSH, accumulate: int = 1, **options):
    budget = Budget(steps, accumulate=accumulate, validate_every=steps, checkpoint_every=50)
    return train(model, Copying(), optimiser=optimiser, budget=budget, seed=0, **options)


# A frozen tensor never moves


@pytest.mark.parametrize("how", ["fp32", "bf16", "accumulation"])
def test_a_frozen_tensor_keeps_its_bits_for_a_hundred_steps(how):
    model = made(PLANS["several"])
    before = bits(model)
    run(
        model,
        100,
        precision="bf16" if how == "bf16" else "fp32",
        accumulate=2 if how == "accumulation" else 1,
    )
    assert frozen(model) and moved(before, bits(model)) == before.keys() - frozen(model)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("name", ["adamw", "adam", "sgd"])
def test_a_plan_holds_under_every_optimiser(plan, name):
    model = made(plan)
    before = bits(model)
    run(model, 3, optimiser=replace(HARSH, name=name), precision="fp32")
    assert frozen(model) and moved(before, bits(model)) == before.keys() - frozen(model)


def test_a_frozen_tensor_keeps_its_bits_through_a_checkpoint(tmp_path):
    plan, path = PLANS["several"], tmp_path / "run.safetensors"
    through = made(plan)
    before = bits(through)
    run(through, 100, precision="fp32")
    run(made(plan), 50, precision="fp32", handlers=[Checkpoints(path)])
    resumed = made(plan)  # the checkpoint holds nothing of what is frozen: the seed gives it back
    run(resumed, 100, precision="fp32", handlers=[Checkpoints(path)])
    assert moved(before, bits(resumed)) == before.keys() - frozen(resumed)
    assert not moved(bits(through), bits(resumed))


def test_the_seed_gives_a_frozen_tensor_back():
    model = made(PLANS["several"])
    run(model, 5)
    for item in owned(model):
        origin = origin_of(item)
        assert isinstance(origin, Trained) == item.parameter.requires_grad
        if not isinstance(origin, Trained):
            assert torch.equal(recorded_origin(item).draw(item.parameter.shape), item.parameter)
            biases = item.attribute == "bias" or item.stream.endswith("norm")
            assert isinstance(origin, Fixed if biases else Seeded), item.stream


# Gradients pass what is frozen, and nothing else is spent on it


def gradients(model: EncoderDecoder, autocast: bool = False) -> dict[str, torch.Tensor | None]:
    model.eval()  # no dropout
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        Copying().loss(model, Copying().epoch(0)[0]).backward()
    return {item.stream: item.parameter.grad for item in owned(model)}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_others_get_the_gradients_that_they_got_before(plan):
    model = made(plan)
    whole, part = gradients(made(Freeze())), gradients(model)
    for stream, gradient in part.items():
        if stream in frozen(model):
            assert gradient is None
        else:
            torch.testing.assert_close(gradient, whole[stream])


def graph(tensor: torch.Tensor) -> list:
    """Every node of the autograd graph behind `tensor`."""
    found, todo = {}, [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in found:
            found[node] = None
            todo.extend(following for following, _ in node.next_functions)
    return list(found)


PREFIX = Freeze(layers=("encoder.0", "encoder.1"), patterns=("encoder.embedding",))


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
def test_a_frozen_prefix_has_no_backward_pass_at_all(autocast, norm_first):
    model = made(PREFIX, norm_first=norm_first).train()  # with dropout
    outputs = []
    for layer in model.encoder:
        layer.register_forward_hook(lambda module, args, output: outputs.append(output))
    batch = Copying().epoch(0)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        loss = Copying().loss(model, batch)
    assert [output.grad_fn is None for output in outputs] == [True, True, False]
    leaves = {id(node.variable) for node in graph(loss) if hasattr(node, "variable")}
    assert leaves == {id(p) for p in model.parameters() if p.requires_grad}


def test_a_wholly_frozen_encoder_leaves_no_graph():
    model = made(Freeze(patterns=("encoder.*",))).train()
    src = Copying().epoch(0)[0].src
    assert model.encode(src, model.src_mask(src)).grad_fn is None


@pytest.mark.parametrize("autocast", [False, True])
def test_a_frozen_layer_saves_the_products_of_its_weights_gradients(autocast):
    def backward_flops(plan: Freeze) -> int:
        model = made(plan)
        rows = torch.randint(3, 20, (40, 9))  # enough rows for the bf16 path of its own
        batch = Batch(rows, rows, rows, rows.numel())
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss = Copying().loss(model, batch)
        with FlopCounterMode(display=False) as counter:
            loss.backward()
        return counter.get_total_flops()

    none, middle, prefix = (
        backward_flops(plan) for plan in (Freeze(), Freeze(layers=("encoder.1",)), PREFIX)
    )
    products = (
        2 * (512 if autocast else 360) * (4 * 16 * 16 + 2 * 16 * 24)
    )  # under autocast rows are rounded up
    assert products <= none - middle < 1.2 * products
    assert none - prefix > 2 * (none - middle)


# Plans


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        (Freeze(layers=("encoder.7",)), "'encoder.7.*' matches no parameter"),
        (Freeze(attention=True, patterns=("*.up", "decoder.0.cros.*")), "did you mean 'decoder.0.cross"),
        (Freeze(patterns=("encoder.0.attention",)), "'encoder.0.attention' matches no parameter"),
        (Freeze(layers=("encoder.0",), after=5, patterns=("nothing",)), "'nothing' matches no parameter"),
    ],
)
def test_a_plan_that_matches_nothing_is_an_error(plan, named):
    model = made(Freeze())
    with pytest.raises(ValueError, match=named.replace(".", r"\.").replace("*", r"\*")):
        freeze(model, plan)
    assert not frozen(model)


@pytest.mark.parametrize("part", ["embeddings", "attention", "feed_forward"])
def test_a_component_that_the_model_lacks_is_named(part):
    """A mixing that is not attention has nothing that `attention=True` could freeze."""
    mixing = initialise(LinearMixing(8, 6, stream="layer.0.linear"), seed=0)
    with pytest.raises(ValueError, match=f"{part}=True matches no parameter of the model, .* layer.0.linear"):
        freeze(mixing, Freeze(**{part: True}, patterns=("layer.*",)))
    assert not frozen(mixing)


def test_packed_maps_can_be_drawn_otherwise_and_what_is_pretrained_cannot():
    layer = initialise(nn.TransformerEncoderLayer(6, 2, 8), seed=0)
    freeze(layer, attention=True, drawn="identity")
    assert torch.equal(layer.self_attn.in_proj_weight, torch.eye(6).repeat(3, 1))
    model = made(Freeze())
    for item in owned(model):
        set_origin(item, Pretrained("elsewhere"))
    with pytest.raises(ValueError, match="'orthogonal' needs weights that a seed has drawn, but encoder"):
        freeze(model, Freeze(attention=True, drawn="orthogonal"))


def test_the_components_part_the_weights_between_them():
    """Each weight is of one component; norms are of none, and a bias goes with its weight."""
    parts = [
        frozen(made(PLANS[name], positions="learned")) for name in ("embeddings", "attention", "feed_forward")
    ]
    everything = {item.stream for item in owned(made(Freeze(), positions="learned"))}
    assert all(not one & other for i, one in enumerate(parts) for other in parts[:i])
    rest = everything - set().union(*parts)
    assert rest == {stream for stream in everything if stream.removesuffix(".bias").endswith(".norm")}
    assert parts[0] == {"encoder.embedding", "decoder.embedding", "encoder.positions", "decoder.positions"}
    for stream in everything - rest:
        weight = stream.removesuffix(".bias")
        assert sum(weight in part for part in parts) == 1
        assert all((weight in part) == (stream in part) for part in parts)


@pytest.mark.parametrize("tie", ["none", "output", "all"])
def test_frozen_embeddings_include_the_output(tie):
    model = made(Freeze(embeddings=True), tie=tie)
    tables = (model.src_embedding.weight, model.tgt_embedding.weight, model.output.weight)
    assert not any(table.requires_grad for table in tables)


def test_a_layer_is_frozen_with_its_norms_and_biases():
    model = made(Freeze(layers=("decoder.1",)))
    assert {id(p) for p in model.decoder[1].parameters()} == {
        id(p) for p in model.parameters() if not p.requires_grad
    }


def test_a_layer_is_not_mistaken_for_one_whose_number_begins_alike():
    model = made(Freeze(layers=("encoder.1",)), encoder_layers=11)
    assert all(stream.startswith("encoder.1.") for stream in frozen(model))


def test_without_a_plan_the_whole_module_is_frozen():
    model = made(Freeze())
    assert freeze(model.encoder[0]) is model.encoder[0]
    still = {id(p) for p in model.parameters() if not p.requires_grad}
    assert {id(p) for p in model.encoder[0].parameters()} == still
    freeze(model)
    assert len(frozen(model)) == len(list(owned(model)))
    with pytest.raises(ValueError, match="nothing to train: every parameter of the model is frozen"):
        HARSH.build(model)


@pytest.mark.parametrize(
    "given",
    [
        {"layers": reservoir_layers("LLL")},
        {"layers": ()},
        {"patterns": []},
        {"attention": False},
        {"layers": (), "patterns": (), "feed_forward": False},
    ],
)
def test_what_is_given_but_empty_freezes_nothing(given):
    model = initialise(EncoderDecoder(CONFIG), seed=3)
    assert freeze(model, **given) is model and not frozen(model)


def test_what_is_given_but_empty_draws_nothing():
    model = initialise(EncoderDecoder(CONFIG), seed=3)
    before = bits(model)
    initialise(model, seed=4, patterns=())
    assert not moved(before, bits(model))
    assert moved(before, bits(initialise(model, seed=4)))


@pytest.mark.parametrize(("plan", "given"), [(Freeze(attention=True), {"layers": ()}), ("encoder.*", {})])
def test_an_empty_choice_beside_a_plan_and_a_pattern_in_its_place_are_refused(plan, given):
    with pytest.raises(ValueError, match=r"or what to freeze, .*, not both, got "):
        freeze(initialise(EncoderDecoder(CONFIG), seed=3), plan, **given)


# Reports and origins


def test_a_report_counts_every_tensor_once():
    model = made(PLANS["several"])
    found = report(model)
    assert found.total == sum(p.numel() for p in model.parameters())
    assert found.trainable == sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert found.stored_bytes == 4 * found.trainable  # what is frozen is a seed
    assert len({row.stream for row in found.rows}) == len(found.rows) == len(list(model.parameters()))
    assert {row.origin for row in found.rows if row.moves} == {"trained"}
    assert {row.origin for row in found.rows if not row.moves} == {"seeded", "fixed"}
    frame = found.frame()
    assert frame.parameters.sum() == found.total and len(frame) == len(found.rows)
    for text in (str(found), found._repr_html_()):
        assert f"{found.total:,} parameters" in text and f"{found.trainable:,}" in text


def test_what_was_trained_and_then_frozen_must_be_stored():
    model = made(Freeze())
    run(model, 2)
    freeze(model, Freeze(attention=True))
    after = {row.stream: row for row in report(model).rows}
    assert {row.origin for row in after.values()} == {"trained"}
    assert not after["encoder.0.attention.qkv"].moves
    assert report(model).stored_bytes == 4 * report(model).total


def test_what_is_thawed_counts_as_trained_at_once():
    model = made(Freeze(attention=True))
    model.requires_grad_(True)
    assert report(model).stored_bytes == 4 * report(model).total
    assert report(model).trainable_all_rows == report(model).total


def test_what_a_checkpoint_gave_is_stored_as_a_reference():
    model = made(Freeze(layers=("encoder.0",)))
    for item in owned(model.encoder[0]):
        set_origin(item, Pretrained("somewhere/else"))
    rows = [row for row in report(model).rows if row.stream.startswith("encoder.0.")]
    assert {row.origin for row in rows} == {"pretrained"} and sum(row.stored_bytes for row in rows) == 0
    model.requires_grad_(True)
    rows = [row for row in report(model).rows if row.stream.startswith("encoder.0.")]
    assert {row.origin for row in rows} == {"trained"} and all(row.stored_bytes for row in rows)


def test_a_tensor_that_nobody_drew_must_be_stored():
    model = freeze(Linear(3, 5, stream="lonely"))
    assert [row.stored_bytes for row in report(model).rows] == [60, 20]


def test_a_report_needs_no_memory():
    with torch.device("meta"):
        model = EncoderDecoder(CONFIG)
    freeze(initialise(model, seed=0), Freeze(attention=True))
    assert report(model) == report(made(Freeze(attention=True)))


def test_two_parameters_of_one_name_are_an_error():
    with pytest.raises(ValueError, match="two parameters are named 'a'"):
        list(owned(nn.Sequential(Linear(2, 2, stream="a"), Linear(2, 2, stream="a"))))
    shared = Linear(2, 2, stream="a")
    assert len(list(owned(nn.Sequential(shared, shared)))) == 2  # one module in two places is no clash
