"""Weights that nobody has drawn or loaded yet: they are NaN, and refused when they are first used."""

from __future__ import annotations

import math

import torch
from torch import nn


class Undrawn(nn.Module):
    """What layers share whose weights come from a named stream.

    Attributes:
        stream: the name, or the prefix of the names.
        drawn: whether the weights were seen to be drawn or loaded.
    """

    stream: str
    drawn = False

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Fill the memory with NaN: `reservoir.weights.initialise` draws every weight from its stream."""
        for parameter in self.parameters(recurse=False):
            parameter.fill_(math.nan)

    def check_drawn(self) -> None:
        """Look at the weights once, before they are first used.

        Raises:
            ValueError: nobody has drawn or loaded them.
        """
        if torch.compiler.is_compiling() or self.drawn:
            return
        first = next(self.parameters(recurse=False), None)
        if first is None or first.is_meta:
            return
        if bool(first.isnan().all()):
            raise ValueError(
                f"the weights of {self.stream} were never initialised: call reservoir.initialise(model, seed=0)"
                " first, or load some"
            )
        self.drawn = True
