"""The attention explorable: JavaScript and PyTorch agree on pieces, translations and the attention of every head."""

import base64
from functools import cache

import numpy as np
import pytest
import torch
from javascript import JS, in_javascript

from reservoir.datasets import Vocabulary, train_bpe
from reservoir.models import EncoderDecoderConfig
from reservoir.training import Decoding, translate
from reservoir.weights import initialise
from reservoir_book.explorables import AttentionMaps
from reservoir_book.explorables.attention_maps import look, packed, rounded
from reservoir_lab.corpora import parallel

SCRIPT = f"""
import {{ Translator }} from '{(JS / "attention_maps/model.mjs").as_uri()}';
const {{ state, sentences }} = given;
const view = (text) => {{
  const b = Buffer.from(text, 'base64');
  return new DataView(b.buffer, b.byteOffset, b.byteLength);
}};
const translator = new Translator({{ ...state, numbers: view(state.numbers), steps: view(state.steps) }});
const lists = (maps) => maps.map((map) => [...map]);
const plain = (shown) => ({{ ...shown, encoder: lists(shown.encoder), cross: lists(shown.cross) }});
console.log(JSON.stringify(sentences.map((sentence) => plain(translator.look(sentence)))));
"""
SENTENCES = [
    "Die Schwester sagt, dass der Lehrer das alte Buch liest.",
    "Weil sie uns die Tasche nicht zeigen, wartet der Lehrer.",
    "  Hundekuchen   und\tKüchenfenster!? ",
    "U-Bahn, „Xylophon“ – l’été № 5 …",
    "▁Der▁Hund</s><pad>",
    "Ku\u0308che",  # the umlaut as a character of its own
    ".",
    "",
]


@cache
def vocabulary() -> Vocabulary:
    train = parallel("miniature", src="de", tgt="en").train
    return train_bpe([*train.src, *train.tgt], 400, cache=False)


@cache
def model():
    """A translator of a few steps' worth of chance: random weights, which make every head another."""
    sizes = dict(d_model=32, n_heads=4, d_ff=48, encoder_layers=2, decoder_layers=3, norm_first=True)
    built = EncoderDecoderConfig(len(vocabulary()), len(vocabulary()), dropout=0.0, **sizes).build()
    initialise(built, seed=3)
    with torch.no_grad():  # sharper heads and outputs, and norms and biases that do something
        generator = torch.Generator().manual_seed(0)
        for parameter in built.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.add_(0.2 * noise if parameter.ndim == 1 else 0.05 * noise)
    return built.eval()


def on_the_page(explorable: AttentionMaps, sentences: list[str]) -> list[dict]:
    state = {name: getattr(explorable, name) for name in ("sizes", "tokens", "merges", "names")}
    for name in ("numbers", "steps"):
        state[name] = base64.b64encode(getattr(explorable, name)).decode()
    return in_javascript(SCRIPT, {"state": state, "sentences": sentences})


def test_attention_and_translation_agree_to_1e_5():
    made = AttentionMaps.of(model(), vocabulary(), sentence=SENTENCES[0])
    same = rounded(model())
    for sentence, shown in zip(SENTENCES, on_the_page(made, SENTENCES), strict=True):
        wanted = look(same, vocabulary(), sentence)
        assert (shown["src"], shown["tgt"]) == (wanted["src"], wanted["tgt"]), sentence
        np.testing.assert_allclose(shown["p"], wanted["p"], atol=1e-5)
        for side in ("encoder", "cross"):
            maps = np.array(shown[side]).reshape(wanted[side].shape)
            np.testing.assert_allclose(maps, wanted[side], atol=1e-5)
            np.testing.assert_allclose(maps.sum(-1), 1, atol=1e-5)


def test_the_page_writes_what_greedy_search_finds_and_stops_where_it_does():
    same, stopped = rounded(model()), 0
    for sentence in SENTENCES[:3]:
        shown = look(same, vocabulary(), sentence)
        (found,) = translate(same, [vocabulary().encode(sentence)], decoding=Decoding(beam=1))
        most = Decoding().limit(len(shown["src"]))
        stopped += len(shown["tgt"]) == most
        # At the limit a search ends the sentence, whatever the page shows that the model would write there.
        assert len(shown["tgt"]) == len(found) + 1 <= most
        assert shown["tgt"][:-1] == [vocabulary().tokens[i] for i in found], sentence
    assert stopped


def test_pieces_agree_on_the_whole_test_set_and_on_odd_text():
    pairs = parallel("miniature", src="de", tgt="en").tests["test"]
    sentences = [*SENTENCES, *pairs.src[:150], *pairs.tgt[:50]]
    odd = [
        "a-b.c",
        "¿?¡!",
        "«»",
        "3,5 % £",
        "x\u00a0y",
        "\u2028",
        "A\u0301",
        "😀 Hund",
        "$+<=>^`|~",
        "ﬁ",
        "_",
    ]
    made = AttentionMaps.of(model(), vocabulary(), sentence=SENTENCES[0])
    for sentence, shown in zip(sentences + odd, on_the_page(made, sentences + odd), strict=True):
        assert shown["ids"]["src"] == [*vocabulary().encode(sentence), Vocabulary.eos], sentence


def test_what_the_model_does_not_know_is_said():
    made = AttentionMaps.of(model(), vocabulary(), sentence=SENTENCES[0])
    first, strange = on_the_page(made, [SENTENCES[0], "Der Xylophonbauer singt é."])
    assert first["unknown"] == [] and "é" in strange["unknown"]
    assert "Xylophonbauer" in strange["spelt"] and "." not in strange["spelt"]


def test_rounding_loses_half_a_step_at_most_and_is_done_once():
    once = rounded(model())
    for (name, exact), kept in zip(model().named_parameters(), once.parameters(), strict=True):
        if exact.ndim > 1:
            step = exact.abs().amax(1, keepdim=True) / 31
            assert ((exact - kept).abs() <= 0.501 * step).all(), name
        else:
            assert torch.equal(exact, kept), name
    assert packed(once)[2] == packed(model())[2]


def test_the_words_and_the_picture_say_what_is_shown_first():
    made = AttentionMaps.of(model(), vocabulary(), sentence=SENTENCES[0], focus="Lehrer")
    assert made.at == f"src-{look(rounded(model()), vocabulary(), SENTENCES[0])['src'].index('▁Lehrer')}"
    assert SENTENCES[0] in made.text and "“Lehrer” is read, its 8 heads" in made.text
    shown = look(rounded(model()), vocabulary(), SENTENCES[0])
    most = shown["encoder"][:, int(made.at.removeprefix("src-"))].mean(0)  # over the heads
    piece = shown["src"][int(most.argmax())].replace("▁", "")
    assert f"look most at “{piece}”: {most.max():.2f} of their weight" in made.text


def test_a_word_that_is_not_there_leaves_the_focus_on_the_first():
    assert AttentionMaps.of(model(), vocabulary(), sentence=SENTENCES[0], focus="Mond").at == "tgt-0"


def test_a_model_of_another_kind_is_refused():
    post = EncoderDecoderConfig(400, 400, d_model=8, n_heads=2, d_ff=8).build()
    with pytest.raises(ValueError, match="model must have norm_first=True, got False"):
        AttentionMaps.of(post, vocabulary(), sentence="Ja.")
