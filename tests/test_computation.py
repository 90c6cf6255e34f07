"""Sequences of any kind: every one once an epoch, padding without influence, and scores of bits that can be checked."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reservoir.datasets import DataError, Generated
from reservoir.datasets.batches import Examples, Minibatch, Stored, padded
from reservoir.models import LanguageModelConfig, LSTMConfig, UniversalConfig
from reservoir.training import ComputationTask
from reservoir.weights import initialise
from reservoir_lab.corpora import calculations
from reservoir_lab.corpora.calculations import BitMemory, BitXor
from reservoir_lab.corpora.content import MADE
from reservoir_lab.corpora.examples import ACIDS, encode, made_up, read_proteins
from reservoir_lab.runs import Bits, Expressions, Pictures
from reservoir_lab.runs.computation import Proteins

BODY = LanguageModelConfig(
    0, d_model=16, n_heads=2, d_ff=32, layers=2, positions="learned", max_length=40, dropout=0.0
)


@given(n=st.integers(1, 20), batch=st.integers(1, 7), number=st.integers(0, 3))
@settings(max_examples=30)
def test_an_epoch_has_every_sequence_once_in_an_order_of_its_own(n, batch, number):
    stored = Stored(torch.arange(n)[:, None], torch.arange(n))
    rows = torch.cat([one.y for one in stored.epoch(number, batch=batch, seed=3)])
    assert sorted(rows.tolist()) == list(range(n))
    again = torch.cat([one.y for one in stored.epoch(number, batch=batch, seed=3)])
    assert torch.equal(rows, again)
    assert torch.equal(torch.cat([one.y for one in stored.in_order(batch=batch)]), torch.arange(n))


def test_what_is_drawn_never_comes_twice():
    endless = Generated(BitMemory(8, 2, 4).draw)
    seen = [endless.epoch(n, batch=5, seed=0)[i].x for n in (0, 1) for i in (0, 1, Generated.EPOCH - 1)]
    assert all(not torch.equal(a, b) for i, a in enumerate(seen) for b in seen[:i])
    assert torch.equal(seen[0], endless.epoch(0, batch=5, seed=0)[0].x)
    with pytest.raises(IndexError):
        endless.epoch(0, batch=5, seed=0)[Generated.EPOCH]


@pytest.mark.parametrize("body", [BODY, LSTMConfig(16, 1)])
def test_what_a_sequence_is_filled_up_with_is_never_seen(body):
    model = initialise(UniversalConfig(12, 4, tokens=True, body=body).build(), seed=0).eval()
    rows = [[1, 2, 3], [4, 5, 6, 7, 8, 9, 10], [11]]
    stored = padded(rows, [0, 1, 2])
    together = model(*(lambda b: (b.x, b.last))(stored.take(torch.arange(3))))
    alone = torch.cat([model(torch.tensor([row])) for row in rows])
    torch.testing.assert_close(together, alone)
    spoilt = stored.take(torch.arange(3))
    spoilt.x[0, 3:] = 9
    torch.testing.assert_close(model(spoilt.x, spoilt.last), alone)


class Copies(torch.nn.Module):
    """Says of each bit what it sees at its place, and 0 where it sees nothing."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))

    def forward(self, x, last=None):
        return torch.stack([-x, x], -1).flatten(-2)


def test_copying_what_can_be_seen_is_half_of_bit_memory_and_none_of_what_is_hidden():
    memory = BitMemory(20, 3, 5)
    test = Generated(memory.draw).some(2000, seed=5)
    task = ComputationTask(Examples("bits", ("0", "1"), test, test, test), batch=8, seed=0)
    scores = task.score(Copies(), test)
    assert scores["hidden"] == pytest.approx(50, abs=2) and scores["accuracy"] == pytest.approx(75, abs=2)
    xor = Generated(BitXor(3).draw).some(10, seed=5)
    assert set(task.score(Copies(), xor)) == {"accuracy"}


def test_the_loss_is_the_mean_surprise_that_the_loop_divides_by(tmp_path):
    task = Bits(8, 20, kind="xor", length=3)
    config = task.fit(UniversalConfig(body=BODY), 0)
    model = initialise(config.build(), seed=0)
    trained = task.task(task.examples(), range(0), seed=0)
    batch = trained.epoch(0)[0]
    answers, positions = trained.size(batch)
    assert (answers, positions) == (8 * 3, 8 * 6)
    chances = torch.softmax(model(batch.x)[:, -3:], -1).gather(-1, batch.y)
    torch.testing.assert_close(trained.loss(model, batch), -chances.log().sum())


@pytest.mark.parametrize(
    "task",
    [
        Bits(3, 3, length=20, strings=2, patch=5),
        Bits(3, 3, kind="xor", length=4),
        Expressions(3, 3, n=3, depth=3, arguments=4, shortest=8, longest=28),
        Pictures(3, 3, patch=4),
        Pictures(3, 3, patch=0),
        Proteins(3, 3, corpus="made-up", longest=60),
    ],
    ids=["memory", "xor", "expressions", "patches", "pixels", "proteins"],
)
def test_what_is_counted_on_paper_is_what_a_batch_holds(task):
    """A plan that nobody has loaded data for has the sizes of the run: inputs, positions, answers."""
    paper, real = task.shapes(3)[0], task.examples().valid.part(slice(3)).in_order(batch=3)[0]
    sizes = task.fit(UniversalConfig(body=BODY), task.vocabulary)
    assert paper.y.shape == real.y.shape and real.y.max() < sizes.outputs
    if sizes.tokens:  # cut to the longest of the three
        assert real.x.shape[1] <= paper.x.shape[1] and real.x.max() < sizes.inputs == task.vocabulary
    else:
        assert paper.x.shape == real.x.shape and real.x.shape[-1] == sizes.inputs


def test_training_validation_and_test_are_disjoint_and_labels_are_values():
    task = Expressions(8, 50, n=300, depth=3, arguments=4, shortest=8, longest=28)
    examples = task.examples()
    parts = [
        {tuple(batch.x[0, : int(batch.last[0]) + 1].tolist()) for batch in part.in_order(batch=1)}
        for part in (examples.train, examples.valid, examples.test)
    ]
    assert (len(examples.train), len(examples.valid), len(examples.test)) == (300, 50, 50)
    shared = parts[0] & (parts[1] | parts[2])
    assert len(shared) <= 2  # short expressions may be drawn twice
    batch = examples.test.take(torch.arange(5))
    for row, last, label in zip(batch.x, batch.last, batch.y, strict=True):
        assert calculations.value([calculations.VOCABULARY[i] for i in row[: last + 1]]) == label


def test_the_expressions_of_a_run_are_those_that_the_digest_of_its_data_stands_for():
    train = Expressions(8, 4, n=8, shortest=20, longest=60).examples().train
    found = []
    for row, last, label in zip(train.x, train.last, train.y.tolist(), strict=True):
        found.append(str(([calculations.VOCABULARY[i] for i in row[: last + 1]], label)))
    assert found == list(MADE["expressions"]())


def test_pictures_are_read_patch_by_patch_or_pixel_by_pixel():
    by_patch, by_pixel = Pictures(8, 100, patch=2), Pictures(8, 100, patch=0, shrink=2)
    assert by_patch.examples().train.take(torch.arange(3)).x.shape == (3, 16, 4)
    few = by_pixel.examples().test.take(torch.arange(3))
    assert few.x.shape == (3, 16, 1) and 0 <= few.x.min() and few.x.max() <= 1
    assert (
        by_patch.fit(UniversalConfig(body=BODY), 0).inputs,
        by_pixel.fit(UniversalConfig(body=BODY), 0).inputs,
    ) == (4, 1)
    with pytest.raises(DataError, match="a picture of 8 × 8 pixels cannot be shrunk 3 times"):
        Pictures(8, 100, patch=0, shrink=3).examples().test.take(torch.arange(1))


def write(tmp_path, text: str):
    path = tmp_path / "remote_homology_train.json"
    path.write_text(text)
    return path


def test_proteins_are_read_as_tape_has_them(tmp_path):
    path = write(tmp_path, '[{"primary": "MKV", "fold_label": 7}, {"primary": "ACDEFG", "fold_label": 0}]')
    found = read_proteins(path, longest=4).take(torch.arange(2))
    assert found.y.tolist() == [7, 0] and found.last.tolist() == [2, 3]
    assert found.x[0, :3].tolist() == encode("MKV") and min(encode(ACIDS)) == 5 and max(encode(ACIDS)) == 29


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "is no JSON list of proteins"),
        ('[{"primary": "MKV"}]', "is no JSON list of proteins .*fold_label"),
        ("[]", "holds no proteins"),
        ('[{"primary": "MJV", "fold_label": 0}]', "protein 1: 'J' is none of the amino acids"),
        ('[{"primary": "", "fold_label": 0}]', "protein 1: 'nothing' is none of"),
        ('[{"primary": "MKV", "fold_label": 1200}]', "fold_label must be from 0 to 1199, got 1200"),
    ],
)
def test_a_wrong_file_of_proteins_is_refused(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_proteins(write(tmp_path, text), longest=9)


def test_made_up_folds_can_be_told():
    found = made_up(50, seed=1)
    for row, last, fold in zip(found.x, found.last, found.y, strict=True):
        assert bytes(encode(ACIDS[3 * fold : 3 * fold + 3])) in bytes(row[: last + 1].tolist())
    assert isinstance(found.take(torch.arange(2)), Minibatch)
