"""A whole training step against other libraries' encoder-decoders: transformers' Marian and BART, and x-transformers.

Each is built at the sizes of `benchmarks.step` and takes its batches, loss, clipping and optimiser; ours has its norms
where the peer has them. Dropout lies after each sublayer alone, as our recipes and fairseq's have it. Marian has
sinusoidal positions as ours; BART learns its positions and has a norm more; x-transformers has its own defaults, at the
same widths, heads and depths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.measure import Comparison, Settings, compare
from benchmarks.step import SIZES, SMOOTHING, batches, our_loss, stepper
from reservoir.datasets import Batch
from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.training.translation import BOS, EOS
from reservoir.weights import initialise

POSITIONS = 256
MARIAN = {"laptop": 1.5, "IWSLT": 1.35}  # times Marian's step in bf16, by size
ANY = 1.15  # times any library's step in fp32


def transformers_sizes(c: EncoderDecoderConfig) -> dict[str, Any]:
    """The sizes of a model of ours as transformers' encoder-decoders call them, and what begins and ends a sentence."""
    return dict(
        vocab_size=c.src_vocab,
        d_model=c.d_model,
        encoder_layers=c.encoder_layers,
        decoder_layers=c.decoder_layers,
        encoder_attention_heads=c.n_heads,
        decoder_attention_heads=c.n_heads,
        encoder_ffn_dim=c.d_ff,
        decoder_ffn_dim=c.d_ff,
        activation_function=c.activation,
        scale_embedding=True,
        pad_token_id=0,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=EOS,
    )


def transformers_model(kind: str, config: EncoderDecoderConfig) -> nn.Module:
    """Transformers' "Marian" or "Bart" at our sizes, one table of embeddings for both sides and the output."""
    import transformers

    sizes = transformers_sizes(config) | dict(
        dropout=config.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        max_position_embeddings=POSITIONS,
    )
    made = {
        "Marian": ("MarianConfig", "MarianMTModel"),
        "Bart": ("BartConfig", "BartForConditionalGeneration"),
    }
    config_class, model_class = (getattr(transformers, name) for name in made[kind])
    return model_class(config_class(**sizes))


class XTransformers(nn.Module):
    """The x-transformers library's encoder-decoder at our sizes, as logits of a batch."""

    def __init__(self, config: EncoderDecoderConfig):
        from x_transformers import XTransformer

        super().__init__()
        c = config
        side = {
            "num_tokens": c.src_vocab,
            "heads": c.n_heads,
            "attn_dim_head": c.d_model // c.n_heads,
            "ff_mult": c.d_ff // c.d_model,
            "max_seq_len": POSITIONS,
            "attn_flash": True,
            "layer_dropout": 0.0,
        }
        depths = {"enc": c.encoder_layers, "dec": c.decoder_layers}
        options = {f"{which}_{name}": value for which in depths for name, value in side.items()}
        options |= {f"{which}_depth": depth for which, depth in depths.items()}
        self.model = XTransformer(dim=c.d_model, tie_token_emb=True, **options)

    def forward(self, batch: Batch) -> Tensor:  # -> (batch, tgt_len, vocab)
        mask = batch.src != 0
        seen = self.model.encoder(batch.src, mask=mask, return_embeddings=True)
        return self.model.decoder.net(batch.tgt_in, context=seen, context_mask=mask)


def smoothed(logits: Callable[[Batch], Tensor]) -> Callable[[Batch], Tensor]:
    """The loss of a peer, from its logits."""

    def loss(batch: Batch) -> Tensor:
        found = logits(batch).flatten(0, 1)
        target = batch.tgt_out.flatten()
        return F.cross_entropy(found, target, label_smoothing=SMOOTHING, ignore_index=0, reduction="sum")

    return loss


def of_transformers(model: nn.Module) -> Callable[[Batch], Tensor]:
    """The logits of a model of transformers."""

    def logits(batch: Batch) -> Tensor:
        seen = (batch.src != 0).long()
        return model(input_ids=batch.src, attention_mask=seen, decoder_input_ids=batch.tgt_in).logits

    return logits


def peers(config: EncoderDecoderConfig) -> Iterator[tuple[str, bool, nn.Module, Callable[[Batch], Tensor]]]:
    """Name, whether its norms come first, the model, its loss; a library that is not installed is left out, aloud."""
    for kind in ("Marian", "Bart"):
        try:
            model = transformers_model(kind, config)
        except ModuleNotFoundError:
            print("libraries: transformers is not installed; pip install 'reservoir-book[peers]' brings it")
            break
        yield (
            f"transformers' {kind.upper() if kind == 'Bart' else kind}",
            False,
            model,
            smoothed(of_transformers(model)),
        )
    try:
        model = XTransformers(config)
    except ModuleNotFoundError:
        print("libraries: x-transformers is not installed; pip install 'reservoir-book[peers]' brings it")
        return
    yield "x-transformers", True, model, smoothed(model)


def run(settings: Settings) -> Iterator[Comparison]:
    """Each size in both precisions, eager; on a GPU compiled as well, as in `benchmarks.step`."""
    on_gpu = settings.device.type == "cuda"
    for name, size in settings.chosen(SIZES).items():
        data = batches(size, settings.device)
        tokens = [batch.n_tokens + int((batch.src != 0).sum()) for batch in data]
        config = replace(size.config, attention_dropout=0.0, activation_dropout=0.0)
        turns = product((False, True) if settings.compiled and on_gpu else (False,), settings.precisions)
        for compiled, dtype in turns:
            for peer, first, model, loss in peers(config):
                ours = initialise(EncoderDecoder(replace(config, norm_first=first)), seed=0)
                ours, model = (one.to(settings.device).train() for one in (ours, model))
                if compiled:
                    for layer in (*ours.encoder, *ours.decoder):
                        layer.compile(dynamic=True)
                    model.compile(dynamic=True)
                low = dtype == torch.bfloat16
                asked = (MARIAN[name] if "Marian" in peer else None) if low else ANY
                yield compare(
                    stepper(ours, our_loss(ours), data, dtype),
                    stepper(model, loss, data, dtype),
                    case=f"{name}, {'bf16' if low else 'fp32'}, {'compiled' if compiled else 'eager'}",
                    peer=peer,
                    unit="tokens",
                    work=lambda turn, tokens=tokens: tokens[turn % len(tokens)],
                    settings=settings,
                    warm_up=range(len(data)),
                    required=None if compiled else asked,
                )
