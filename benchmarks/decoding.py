"""Translating a test set: our beam search next to CTranslate2's, on the same weights and with the same translations.

CTranslate2 is the C++ engine that many deploy translators with. It reads our weights through transformers' Pegasus,
whose layers are ours: pre-LN, sinusoidal positions, one table of embeddings. Both search with beams of equal width,
without a length penalty (the formulas differ), up to the same length, and keep the keys and values of what they have
read. The model is that of a finished run, since an untrained one does not know when to stop.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.measure import Measured, Settings, compare
from benchmarks.steps import transformers_sizes
from reservoir.layers import sinusoids
from reservoir.models import EncoderDecoder
from reservoir.training.translation import BOS, EOS, Decoding, beam_search
from reservoir_lab import recipes
from reservoir_lab.runs.building import load_trained
from reservoir_lab.runs.handlers import CheckpointError

BEAM, SENTENCES = 5, 50  # of a batch, of sentences of like length
RECIPE = "components/baseline"
Search = Callable[[Tensor], list[list[int]]]


def decoding(settings: Settings) -> Measured:
    """Multi30k's test2016 with beams of five, in fp32.

    Raises:
        RuntimeError: no trained model is at hand, or CTranslate2 finds another translation.
    """
    try:
        model, task, corpus = load_trained(recipes.get(RECIPE))
    except CheckpointError as error:
        raise RuntimeError(f"train the model first, with `reservoir run {RECIPE}`: {error}") from error
    return beside(model.eval(), task.src_vocabulary.encode_batch(corpus.tests["test2016"].src), settings)


def beside(model: EncoderDecoder, sources: Sequence[Sequence[int]], settings: Settings) -> Measured:
    """Our search and CTranslate2's on the same sentences.

    Raises:
        RuntimeError: they find different translations.
    """
    batches = in_batches(sources)
    with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
        theirs = engine(peer(model), Path(folder) / "engine")
        differ = sum(
            a != b for batch in batches for a, b in zip(search(model, batch), theirs(batch), strict=True)
        )
        if differ:
            raise RuntimeError(f"{differ} of {len(sources)} translations are not CTranslate2's")
        return compare(
            lambda turn: search(model, batches[turn % len(batches)]),
            lambda turn: theirs(batches[turn % len(batches)]),
            settings,
            warm_up=(0,),
        )


def in_batches(sources: Sequence[Sequence[int]]) -> list[Tensor]:
    """Sentences of like length together, each with its end-of-sentence, padded with 0; in a shuffled order."""
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    batches = []
    for start in range(0, len(order), SENTENCES):
        rows = [torch.tensor([*sources[i], EOS]) for i in order[start : start + SENTENCES]]
        batches.append(nn.utils.rnn.pad_sequence(rows, batch_first=True))
    shuffled = torch.randperm(len(batches), generator=torch.Generator().manual_seed(0))
    return [batches[i] for i in shuffled]


def longest(batch: Tensor) -> int:
    """Tokens that a translation may have, its end-of-sentence included."""
    return Decoding().limit(batch.shape[1])


def search(model: EncoderDecoder, batch: Tensor) -> list[list[int]]:
    """Our best translation of each sentence of a batch."""
    found = beam_search(model, batch, beam=BEAM, length_penalty=0.0, max_length=longest(batch))
    return [hypotheses[0][1] for hypotheses in found]


def engine(pegasus: nn.Module, folder: Path) -> Search:
    """CTranslate2's search with the weights of a Pegasus, which are written to a new folder; in fp32, on one thread.

    Raises:
        ImportError: ctranslate2, of the extra `peers`, is not installed.
    """
    import ctranslate2
    from ctranslate2.converters.transformers import PegasusLoader

    pegasus.config.normalize_before, pegasus.config.normalize_embedding = True, False
    for side in (pegasus.model.encoder, pegasus.model.decoder):
        side.embed_positions.offset = 0  # our first position is row 0
    loader = PegasusLoader()
    spec = loader.get_model_spec(pegasus)
    names = [str(token) for token in range(pegasus.config.vocab_size)]
    loader.set_vocabulary(spec, names)
    spec.config.bos_token = spec.config.decoder_start_token = names[BOS]
    spec.config.eos_token, spec.config.unk_token = names[EOS], names[0]
    spec.validate()
    spec.optimize(quantization="float32")
    folder.mkdir()
    spec.save(str(folder))
    translator = ctranslate2.Translator(
        str(folder), device="cpu", compute_type="float32", inter_threads=1, intra_threads=1
    )

    def translate(batch: Tensor) -> list[list[int]]:
        found = translator.translate_batch(
            [[str(i) for i in row if i] for row in batch.tolist()],
            beam_size=BEAM,
            length_penalty=0,
            max_decoding_length=longest(batch),
            max_input_length=0,
        )
        return [[int(token) for token in one.hypotheses[0]] for one in found]

    return translate


def generate(model: nn.Module, batch: Tensor) -> list[list[int]]:
    """Transformers' best translation of each sentence of a batch."""
    found = model.generate(
        batch,
        attention_mask=(batch != 0).long(),
        num_beams=BEAM,
        do_sample=False,
        length_penalty=0.0,
        max_new_tokens=longest(batch),
    )
    return [[i for i in row[1:].tolist() if i not in (0, EOS)] for row in found]


def peer(model: EncoderDecoder) -> nn.Module:
    """Transformers' Pegasus with the weights of `model`.

    Raises:
        ValueError: the model is none that Pegasus can be: pre-LN, tied throughout, on sinusoidal positions.
    """
    from transformers import PegasusConfig, PegasusForConditionalGeneration
    from transformers.utils import logging

    c = model.config
    if not (c.norm_first and c.tie == "all" and c.positions == "sinusoidal" and not any(c.encoder_kinds)):
        raise ValueError(f"Pegasus is pre-LN, tied throughout and on sinusoidal positions; got {c}")
    logging.set_verbosity_error()
    with torch.no_grad():
        built = PegasusForConditionalGeneration(
            PegasusConfig(**transformers_sizes(c), dropout=0.0, max_position_embeddings=c.max_length)
        ).eval()
        named = {name.replace("sublayer.", ""): tensor for name, tensor in model.state_dict().items()}
        table = {"model.shared.weight": named["src_embedding.weight"]}
        places = sinusoids(c.max_length, c.d_model)
        for side, depth in (("encoder", c.encoder_layers), ("decoder", c.decoder_layers)):
            table[f"model.{side}.embed_positions.weight"] = places
            for kind in ("weight", "bias"):
                table[f"model.{side}.layer_norm.{kind}"] = named[f"{side}_norm.{kind}"]
                for layer in range(depth):
                    table.update(_layer(named, side, layer, kind))
        missing, unknown = built.load_state_dict(table, strict=False)
        tied = {"lm_head.weight", "final_logits_bias"} | {
            f"model.{s}.embed_tokens.weight" for s in ("encoder", "decoder")
        }
        assert not unknown and set(missing) <= tied, (missing, unknown)
    return built


def _layer(named: dict[str, Tensor], side: str, layer: int, kind: str) -> dict[str, Tensor]:
    """The weights or biases of a layer by the peer's names: it has a map each for queries, keys and values."""
    ours, theirs = f"{side}.{layer}", f"model.{side}.layers.{layer}"
    parts = dict(zip("qkv", named[f"{ours}.mixing.qkv.{kind}"].chunk(3), strict=True))
    found = {f"{theirs}.self_attn.{part}_proj.{kind}": tensor for part, tensor in parts.items()}
    found[f"{theirs}.self_attn.out_proj.{kind}"] = named[f"{ours}.mixing.out.{kind}"]
    found[f"{theirs}.self_attn_layer_norm.{kind}"] = named[f"{ours}.mixing.norm.{kind}"]
    if side == "decoder":
        keys, values = named[f"{ours}.cross.kv.{kind}"].chunk(2)
        found[f"{theirs}.encoder_attn.q_proj.{kind}"] = named[f"{ours}.cross.query.{kind}"]
        found[f"{theirs}.encoder_attn.k_proj.{kind}"] = keys
        found[f"{theirs}.encoder_attn.v_proj.{kind}"] = values
        found[f"{theirs}.encoder_attn.out_proj.{kind}"] = named[f"{ours}.cross.out.{kind}"]
        found[f"{theirs}.encoder_attn_layer_norm.{kind}"] = named[f"{ours}.cross.norm.{kind}"]
    found[f"{theirs}.fc1.{kind}"] = named[f"{ours}.feed_forward.up.{kind}"]
    found[f"{theirs}.fc2.{kind}"] = named[f"{ours}.feed_forward.down.{kind}"]
    found[f"{theirs}.final_layer_norm.{kind}"] = named[f"{ours}.feed_forward.norm.{kind}"]
    return found
