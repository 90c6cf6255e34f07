"""A cache of the output of an encoder's frozen bottom layers, by sentence."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers import Dropout
from reservoir.models import EncoderDecoder


class CachedPrefix:
    """Computes an encoder's frozen embeddings and bottom layers once for each sentence.

    Put it into a model as `model.prefix = CachedPrefix(model, layers=2)`; `model.prefix = None` takes it out. The
    states of a sentence are kept in memory, (length, d_model) each, and a batch is put together from them.

    Args:
        model: its source embeddings and its lowest `layers` encoder layers frozen, without dropout on the embeddings
            and in these layers, which would differ from pass to pass.
        layers: how many; 0 caches the embeddings alone.

    Attributes:
        hits, misses: sentences that were known, and that were computed.

    Raises:
        ValueError: something in the prefix moves, or has dropout, or layers are left out by chance.
    """

    def __init__(self, model: EncoderDecoder, *, layers: int):
        if not 0 <= layers <= len(model.encoder):
            raise ValueError(f"layers must be from 0 to {len(model.encoder)}, got {layers}")
        parts = nn.ModuleList([model.src_embedding, model.src_positions, *model.encoder[:layers]])
        if moving := [name for name, parameter in parts.named_parameters() if parameter.requires_grad]:
            raise ValueError(
                f"{len(moving)} tensors of the prefix move: freeze the source embeddings and the lowest"
                f" {layers} layers first"
            )
        drops = [
            m for part in (model.dropout, parts) for m in part.modules() if isinstance(m, Dropout) and m.p
        ]
        if drops or model.layer_drop:
            raise ValueError(
                "a prefix with dropout or layer_drop differs from pass to pass: set them to 0 there"
            )
        self.layers, self.hits, self.misses = layers, 0, 0
        self._states: dict[tuple[int, ...], Tensor] = {}

    def __call__(self, model: EncoderDecoder, src: Tensor, mask: Tensor | None) -> Tensor:
        """Token ids (batch, src_len), and a mask of the same shape -> states (batch, src_len, d_model)."""
        lengths = [src.shape[1]] * len(src) if mask is None else mask.sum(1).tolist()
        keys = [tuple(row[:n]) for row, n in zip(src.tolist(), lengths, strict=True)]
        new = [i for i, key in enumerate(keys) if key not in self._states]
        self.misses += len(new)
        self.hits += len(keys) - len(new)
        if new:
            with torch.inference_mode(False), torch.no_grad():  # validation's states must do for training
                states = model.bottom(src[new], None if mask is None else mask[new], self.layers)
            for i, state in zip(new, states, strict=True):
                self._states[keys[i]] = state[: lengths[i]].clone()
        found = nn.utils.rnn.pad_sequence([self._states[key] for key in keys], batch_first=True)
        return F.pad(found, (0, 0, 0, src.shape[1] - found.shape[1]))  # as wide as the mask

    @property
    def bytes(self) -> int:
        """What the states take."""
        return sum(state.numel() * state.element_size() for state in self._states.values())
