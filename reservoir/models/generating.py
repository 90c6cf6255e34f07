"""How causal language models go on after a text: one token at a time, from the states of those before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from reservoir.layers import Linear
from reservoir.layers.arguments import check_number
from reservoir.models.pretrained import Familiar


class Generating(Familiar):
    """What language models share whose last states of token ids are `hidden` and whose logits are `output` of these.

    Attributes:
        hidden: token ids (batch, length) -> (batch, length, d_model); no position depends on what follows.
        output: (..., d_model) -> (..., vocab).
        room: how many tokens `hidden` can read at once; 0 for any number.
    """

    hidden: Callable[[Tensor], Tensor]
    output: Linear
    room: int

    @torch.inference_mode()
    def generate(  # type: ignore[override]
        self,
        ids: Tensor,
        *,
        max_new_tokens: int,
        end: int | None = None,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> Tensor:
        """Continue texts, without dropout. Of a text that is longer than `room`, the last tokens are read.

        Args:
            ids: (batch, length), at least one token each.
            max_new_tokens: how many to add.
            end: the token that ends a text; generation stops where every text has it next, and leaves it out.
            temperature: 0 takes the most probable token; 1 draws from the model's distribution, less from a sharper
                one.
            seed: of the draws.

        Returns:
            the texts with what follows: (batch, length + at most max_new_tokens).

        Raises:
            ValueError: there is no token to go on from, or the temperature is negative.
        """
        check_number("temperature", temperature, least=0)
        check_number("max_new_tokens", max_new_tokens, least=0, whole=True)
        if not ids.shape[1]:
            raise ValueError("there must be a token to go on from: give some text")
        draws = torch.Generator().manual_seed(seed)
        module = cast(nn.Module, self)  # what this is mixed into
        was_training = module.training
        module.eval()
        try:
            for _ in range(max_new_tokens):
                logits = self.output(self.hidden(ids[:, -self.room :])[:, -1])
                if temperature:  # drawn on the CPU, so that a seed says the same on every machine
                    chances = (logits.float().cpu() / temperature).softmax(-1)
                    token = torch.multinomial(chances, 1, generator=draws).to(ids.device)
                else:
                    token = logits.argmax(-1, keepdim=True)
                if end is not None and bool((token == end).all()):
                    break
                ids = torch.cat([ids, token], 1)
        finally:
            module.train(was_training)
        return ids
