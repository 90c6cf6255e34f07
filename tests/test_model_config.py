"""Configurations refuse what cannot be built, by name and at once, and survive JSON."""

import json

import pytest
import torch

from reservoir.models import (
    ClassifierConfig,
    EncoderDecoderConfig,
    LanguageModelConfig,
    LlamaConfig,
    LSTMConfig,
    MaskedLanguageModelConfig,
    TextClassifierConfig,
    UniversalConfig,
)
from reservoir.models.config import LIMITS
from reservoir.training import translate
from reservoir.weights import initialise

CONFIGS = [
    ClassifierConfig(40, 3),
    EncoderDecoderConfig(40, 40, encoder_layers=2, encoder_kinds=("transformer", "gru")),
    LSTMConfig(8),
    LanguageModelConfig(40),
    LlamaConfig(40),
    MaskedLanguageModelConfig(40, layers=1, mixing=("fourier",)),
    TextClassifierConfig(40, classes=2),
    *(UniversalConfig(3, 2, body=body) for body in (LanguageModelConfig(), LlamaConfig(), LSTMConfig())),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_a_configuration_survives_json(config):
    assert type(config).from_json(json.loads(json.dumps(config.to_json()))) == config


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"d_model": 0}, "d_model must be a whole number from 1 to 131,072, got 0"),
        ({"d_model": 10**12}, "d_model must be a whole number from 1"),
        ({"d_model": 10**5000}, "d_model must be a whole number from 1 to 131,072, got int"),
        ({"d_model": "64"}, "d_model must be .* got '64'"),
        ({"d_model": True}, "d_model must be .* got True"),
        ({"d_model": 12, "n_heads": 8}, "d_model must be a positive multiple of n_heads, got 12 and 8"),
        ({"n_heads": 0}, "n_heads must be a whole number from 1"),
        ({"d_ff": -1}, "d_ff must be a whole number from 1"),
        ({"encoder_layers": 10**6}, "encoder_layers must be a whole number from 0 to 128"),
        ({"decoder_layers": 0}, "decoder_layers must be a whole number from 1 to 128, got 0"),
        ({"max_length": -5}, "max_length must be"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        ({"layer_drop": 10**400}, "layer_drop must be"),
        ({"tie": 3}, "tie must be 'all', 'output' or 'none', got 3"),
        ({"activation": ["relu"]}, "activation must be"),
        ({"share_layers": "no"}, "share_layers must be true or false, got 'no'"),
        ({"encoder_kinds": "ffn"}, "encoder_kinds must be a tuple of names"),
        ({"encoder_mixing": ({},) * 6}, "encoder_mixing must be a tuple of names"),
        ({"tie": "x" * 10**6}, "tie must be .* got 'x{40,60}…$"),
    ],
)
def test_a_value_that_cannot_be_is_named_at_once(wrong, message):
    with pytest.raises(ValueError, match=message) as found:
        EncoderDecoderConfig(40, 40, **wrong)
    assert len(str(found.value)) < 200


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "must be a mapping, got list"),
        ({"kinds": {}}, "kinds must be a tuple of names"),
    ],
)
def test_json_that_describes_no_configuration_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        LanguageModelConfig.from_json(values)


@pytest.mark.parametrize(
    "body", [3, {}, {"kind": "GRUConfig"}, {"kind": ["LSTMConfig"]}, {"kind": "LSTMConfig", "d_model": 0}]
)
def test_a_body_of_no_known_kind_is_refused(body):
    with pytest.raises(ValueError, match=r"(body|d_model) must be"):
        UniversalConfig.from_json({"body": body})


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_a_size_beyond_its_limit_is_refused(config):
    for name, value in vars(config).items():
        if type(value) is int:
            low, high = LIMITS[name]
            assert low <= value <= high
            with pytest.raises(ValueError, match=f"{name} must be"):
                type(config)(**{**vars(config), name: high + 1})


@pytest.mark.parametrize("share_layers", [False, True])
@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (EncoderDecoderConfig, "encoder_layers"),
        (LanguageModelConfig, "layers"),
        (MaskedLanguageModelConfig, "layers"),
        (TextClassifierConfig, "layers"),
    ],
)
def test_a_stack_may_have_no_layers(kind, field, share_layers):
    sizes = dict(d_model=8, n_heads=2, d_ff=16, share_layers=share_layers)
    vocabularies = (12, 12) if kind is EncoderDecoderConfig else (12,)
    classes = {"classes": 3} if kind is TextClassifierConfig else {}
    model = initialise(kind(*vocabularies, **sizes, **classes, **{field: 0}).build(), seed=0).eval()
    ids = torch.tensor([[4, 5, 6], [7, 0, 0]])
    assert model(*[ids] * len(vocabularies)).isfinite().all()
    if kind is EncoderDecoderConfig:
        assert len(translate(model, [[4, 5], [6]])) == 2


def test_heads_of_an_odd_width_cannot_be_turned():
    with pytest.raises(
        ValueError, match="n_kv_heads must divide n_heads, and a head must have an even width"
    ):
        LlamaConfig(d_model=12, n_heads=4)
    with pytest.raises(ValueError, match="n_kv_heads must divide"):
        LlamaConfig(d_model=64, n_heads=8, n_kv_heads=3)


def test_sizes_are_filled_in_once():
    config = LanguageModelConfig(layers=1)
    assert config.sized(30).vocab == 30 == config.sized(30).sized(50).vocab
    assert UniversalConfig().sized(3, 2).sized(9, 9) == UniversalConfig(3, 2)
    with torch.device("meta"):
        assert LanguageModelConfig(30, layers=1).build().embedding.num_embeddings == 30
