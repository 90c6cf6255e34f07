"""Beam search: greedy with a beam of one, exhaustive with a wide one, and the same in a batch as alone."""

import itertools

import pytest
import torch

from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.training.translation import BOS, EOS, Decoding, beam_search, translate
from reservoir.weights import Scheme, initialise
from reservoir.weights.initialisation import Normal

SOURCES = [[4, 5, 6], [7], [3, 3, 8, 9, 4, 6, 5], [9, 8], [5, 5, 5, 4]]


def made(vocab: int = 12, seed: int = 0, **choices) -> EncoderDecoder:
    """An untrained model that has opinions: large weights make its distributions sharp and different at each step."""
    config = EncoderDecoderConfig(
        12, vocab, d_model=16, n_heads=2, d_ff=24, encoder_layers=2, decoder_layers=2, tie="none", **choices
    )
    scheme = Scheme(rules=(("output", Normal(1.0)),), linear=Normal(0.25), embedding=Normal(0.25))
    return initialise(EncoderDecoder(config), seed=seed, scheme=scheme).eval()


def padded(sources: list[list[int]]) -> torch.Tensor:
    rows = [[*source, EOS] for source in sources]
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


@torch.no_grad()
def log_probability(model: EncoderDecoder, source: list[int], ids: list[int]) -> float:
    """Of a whole translation and its end, by one pass without a cache."""
    out = torch.tensor([[*ids, EOS]])
    log_p = model(padded([source]), torch.tensor([[BOS, *ids]])).log_softmax(-1)
    return log_p.gather(2, out[..., None]).sum().item()


@torch.no_grad()
def argmax_loop(model: EncoderDecoder, source: list[int], max_length: int) -> list[int]:
    """Greedy search as one would write it first."""
    ids = []
    while len(ids) < max_length - 1:
        token = model(padded([source]), torch.tensor([[BOS, *ids]]))[0, -1].argmax().item()
        if token == EOS:
            break
        ids.append(token)
    return ids


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_beam_of_one_is_a_loop_of_argmax(norm_first):
    lengths = set()
    for seed in range(6):
        model = made(vocab=6, seed=seed, norm_first=norm_first)
        found = beam_search(model, padded(SOURCES), beam=1, max_length=9)
        expected = [argmax_loop(model, source, 9) for source in SOURCES]
        assert [[ids for _, ids in one] for one in found] == [[ids] for ids in expected]
        lengths.update(map(len, expected))
    assert len(lengths) > 2  # some ended early, some were cut


@torch.no_grad()
def plain_beam_search(model, source, beam, length_penalty, max_length) -> list[tuple[float, list[int]]]:
    """Beam search as one would write it first: one sentence, no cache, on to the last step."""
    live, done = [(0.0, [])], []
    for step in range(1, max_length + 1):
        reads = torch.tensor([[BOS, *ids] for _, ids in live])
        log_p = model(padded([source]).expand(len(live), -1), reads)[:, -1].log_softmax(-1).tolist()
        grown = [
            (s + p, [*ids, t]) for (s, ids), row in zip(live, log_p, strict=True) for t, p in enumerate(row)
        ]
        if step == max_length:
            grown = [one for one in grown if one[1][-1] == EOS]
        grown = sorted(grown, reverse=True)[: 2 * beam]
        done += [
            (s / ((5 + step) / 6) ** length_penalty, ids[:-1]) for s, ids in grown[:beam] if ids[-1] == EOS
        ]
        live = [one for one in grown if one[1][-1] != EOS][:beam]
    return sorted(done, reverse=True)[:beam]


@pytest.mark.parametrize("length_penalty", [0.0, 1.0, 2.0, 4.0, -0.5])
def test_a_search_that_stops_early_loses_nothing(length_penalty):
    for seed in (1, 2, 5):
        model = made(vocab=6, seed=seed)
        together = beam_search(model, padded(SOURCES), beam=2, length_penalty=length_penalty, max_length=9)
        for source, found in zip(SOURCES, together, strict=True):
            (score, ids), *_ = plain_beam_search(model, source, 2, length_penalty, 9)
            assert found[0] == (pytest.approx(score, abs=1e-4), ids)


@pytest.mark.parametrize("length_penalty", [0.0, 1.0, -0.5])
@pytest.mark.parametrize("seed", range(2))
def test_a_wide_beam_finds_what_exhaustive_search_finds(length_penalty, seed):
    model = made(vocab=5, seed=seed)
    words = [token for token in range(5) if token != EOS]
    every = [list(ids) for length in range(4) for ids in itertools.product(words, repeat=length)]
    for source in SOURCES[:2]:
        score = {
            tuple(ids): log_probability(model, source, ids) / ((6 + len(ids)) / 6) ** length_penalty
            for ids in every
        }
        (found,) = beam_search(
            model, padded([source]), beam=len(every), length_penalty=length_penalty, max_length=4
        )
        assert found[0][0] == pytest.approx(max(score.values()), abs=1e-4)
        assert [s for s, _ in found] == sorted((s for s, _ in found), reverse=True)
        for s, ids in found:
            assert s == pytest.approx(score[tuple(ids)], abs=1e-4)


def test_no_translation_is_longer_than_its_limit():
    model = made(seed=3)
    for found in beam_search(model, padded(SOURCES), beam=3, max_length=4):
        assert all(len(ids) <= 3 for _, ids in found)  # the end of the sentence is the fourth
    (empty,) = beam_search(model, padded([[4]]), beam=3, max_length=1)
    assert [ids for _, ids in empty] == [[]]


def test_watching_sees_the_prefixes_and_their_probabilities():
    model, steps = made(seed=0), []
    src = padded([[4, 5, 6]])
    beam_search(model, src, beam=3, max_length=6, watch=lambda *seen: steps.append(seen))
    assert steps
    for number, (step, prefix, score) in enumerate(steps):
        assert step == number and prefix.shape == (3, step + 2) and (prefix[:, 0] == BOS).all()
        assert (prefix != EOS).all()
        with torch.no_grad():
            log_p = model(src.expand(3, -1), prefix[:, :-1]).log_softmax(-1)
        torch.testing.assert_close(log_p.gather(2, prefix[:, 1:, None]).sum((1, 2)), score, rtol=0, atol=1e-4)


# Translating many sentences


def test_translations_come_in_the_order_of_their_sources_whatever_the_batches():
    model = made(seed=2)
    sources = [*SOURCES, [], *reversed(SOURCES)]
    settings = dict(beam=3, max_ratio=1.0, max_extra=3)
    whole = translate(model, sources, decoding=Decoding(**settings))
    single = translate(model, sources, decoding=Decoding(**settings, max_tokens=1))
    assert whole[: len(SOURCES)] == whole[len(SOURCES) + 1 :][::-1]
    for source, one, other in zip(sources, whole, single, strict=True):
        if source:
            assert len(other) <= len(source) + 1 + 3
        # In a batch the longest source sets the limit, so only what ends before its own can be compared.
        if len(one) < len(source) + 3:
            assert one == other


def test_nothing_is_translated_into_nothing():
    assert translate(made(), []) == []
    assert translate(made(), [[], []]) == [[], []]


def test_a_model_that_never_stops_ends_at_its_last_position():
    model = made(positions="learned", max_length=16)
    with torch.no_grad():
        model.output.weight[EOS] = 0
        model.output.weight[EOS, 0] = -100 * model.output.weight.abs().max()
    source = [4, 5, 6, 7, 8, 9, 10, 11, 4, 5, 6, 7]
    assert all(len(found) <= 16 for found in translate(model, [source, source]))


@pytest.mark.parametrize("training", [True, False])
def test_translating_leaves_the_model_in_its_mode(training):
    model = made().train(training)
    first = translate(model, SOURCES, decoding=Decoding(beam=2))
    assert model.training == training
    assert first == translate(model.eval(), SOURCES, decoding=Decoding(beam=2))


@pytest.mark.parametrize("sources", ["tre due", ["tre due"], [[3], "tre due"], ["", "tre due"]])
def test_text_in_place_of_ids_is_told_what_takes_text(sources):
    with pytest.raises(
        TypeError, match=r"sources are token ids, got the text 'tre due'.*encode_batch.*open_model"
    ):
        translate(made(), sources)
