"""The gradient explorable: what is recorded is the truth, and JavaScript reads the arrows that Python stored."""

import numpy as np
import pytest
import torch
from javascript import JS, in_javascript
from small import small_run, write_text

from reservoir.datasets import Batch
from reservoir.training import Skip, train
from reservoir.weights import Freeze
from reservoir_book.explorables import Gradients
from reservoir_book.explorables.gradients import KINDS, LEVELS, Recorder, projected
from reservoir_lab.runs.building import build

SCRIPT = f"""
import {{ KINDS, arrows, cosine, worst }} from '{(JS / "gradients/model.mjs").as_uri()}';
const {{ bytes, frames, words }} = given;
const data = Uint8Array.from(bytes);
console.log(JSON.stringify(Array.from({{ length: frames }}, (_, frame) => {{
  const truth = arrows(data, {{ frame, words }});
  return {{ truth, ...Object.fromEntries(KINDS.map((kind) => {{
    const own = arrows(data, {{ frame, kind, words }});
    return [kind, {{ own, cosine: cosine(truth, own), worst: worst(truth, own) }}];
  }})) }};
}})));
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """A recorder after a short run, and the losses of the same run without one."""
    run = small_run(write_text(tmp_path_factory.mktemp("text")), model={"encoder_layers": 2, "dropout": 0.0})
    run = run.evolve(freeze=Freeze(layers=("encoder.1",)), precision="fp32")
    plan = Skip(layers=("encoder.1",), watch=("identity", "synthetic"), width=4)
    losses, recorders = [], []
    for recorded in (True, False):
        model, task, _ = build(run)
        batch = task.epoch(0)[0]
        length = int((batch.src[0] != 0).sum())
        tgt = batch.tgt_out[:1]
        one = Batch(batch.src[:1, :length], batch.tgt_in[:1], tgt, int((tgt != 0).sum()))
        recorder = Recorder(model, task, one, layer=1, every=3)
        options = dict(optimiser=run.optimiser, budget=run.budget, seed=0, precision="fp32", skip=plan)
        losses.append(train(model, task, listeners=[recorder] if recorded else [], **options).losses)
        recorders.append(recorder)
    return recorders[0], losses


def test_looking_changes_nothing(seen):
    recorder, (looked, alone) = seen
    assert looked == alone and recorder.steps == [1, 3, 6]


def test_what_is_recorded_is_the_gradient_and_its_estimates(seen):
    recorder, _ = seen
    assert all(each.shape == recorder.true[0].shape and each.abs().sum() > 0 for each in recorder.true)
    assert all(abs(value) <= 1 + 1e-6 for values in recorder.cosines.values() for value in values)
    flat = [recorder.estimated["identity"][-1].flatten(), recorder.true[-1].flatten()]
    found = torch.nn.functional.cosine_similarity(*flat, dim=0).item()
    assert recorder.cosines["identity"][-1] == pytest.approx(found, abs=1e-5)


def test_javascript_reads_the_arrows_and_their_angles(seen):
    recorder, _ = seen
    stored, share = projected(recorder)
    frames, _, words, _ = stored.shape
    given = {"bytes": stored.view(np.uint8).flatten().tolist(), "frames": frames, "words": words}
    assert 0 < share <= 1 + 1e-9
    for frame, found in enumerate(in_javascript(SCRIPT, given)):
        truth = stored[frame, 0] / LEVELS
        np.testing.assert_allclose(found["truth"], truth)
        assert np.linalg.norm(truth, axis=1).max() == pytest.approx(1.0, abs=0.02)
        for number, kind in enumerate(KINDS, start=1):
            own = stored[frame, number] / LEVELS
            np.testing.assert_allclose(found[kind]["own"], own)
            norms = np.linalg.norm(own) * np.linalg.norm(truth)
            assert found[kind]["cosine"] == pytest.approx((own * truth).sum() / norms if norms else 0.0)
            misses = np.linalg.norm(own - truth, axis=1)
            assert found[kind]["worst"]["miss"] == pytest.approx(misses.max())
            assert misses[found[kind]["worst"]["word"]] == pytest.approx(misses.max())


def test_the_widget_says_and_draws_what_it_shows(seen):
    recorder, _ = seen
    words = [str(i) for i in range(len(recorder.true[0]))]
    shown = Gradients.of(recorder, words, frame=-1)
    assert shown.frame == 2 and "At step 6" in shown.text
    with pytest.raises(ValueError, match="words must be one for each"):
        Gradients.of(recorder, words[1:])
