"""Holes in a sentence, epoch after epoch: how much a masked language model is asked about, and how soon all of it."""

from __future__ import annotations

from html import escape

import torch
import traitlets

from reservoir.training import mask
from reservoir.weights import Stream
from reservoir_book.explorables import pictures
from reservoir_book.explorables.base import Explorable

LINE = 17  # words in a line of the picture


class Masking(Explorable, source=__file__):
    """A text with the holes that `reservoir.training.mask` draws, one line an epoch.

    Epoch e is drawn from `Stream(seed, f"masking/{e}")`; each word counts as one token.

    Attributes:
        sentence: the text; its first 60 words are used.
        share: of the words, how many are asked about, in percent.
        epochs: how many lines there are.
        drawn: "anew" in each epoch, or "once".
        seed: of the holes.
    """

    label = traitlets.Unicode("Holes in a text").tag(sync=True)
    text = traitlets.Unicode(
        "A sentence of 34 words, four times, with other holes each time. In each line five words are asked about:"
        " four are hidden, none or one is replaced by another, none or one is left as it is."
    ).tag(sync=True)
    sentence = traitlets.Unicode(
        "the old man who sold his boat to a stranger never went back to the sea but every evening he walked down to the"
        " harbour and waited there until the last light was out"
    ).tag(sync=True)
    share = traitlets.Int(15, min=1, max=60).tag(sync=True)
    epochs = traitlets.Int(4, min=1, max=12).tag(sync=True)
    drawn = traitlets.Enum(["anew", "once"], "anew").tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)

    def picture(self) -> str:
        """The lines as they are at first."""
        words = self.sentence.split()[:60]
        ids, lines = 4 + torch.arange(len(words))[None], []
        for epoch in range(self.epochs):
            stream = Stream(self.seed, f"masking/{epoch if self.drawn == 'anew' else 0}")
            drawn = mask(ids, stream, mask_id=4 + len(words), share=self.share / 100)
            asked, read = set(drawn.positions.tolist()), (drawn.ids[0] - 4).tolist()
            spans = [
                escape(word)
                if place not in asked
                else "▇▇▇"
                if read[place] == len(words)
                else f'<tspan text-decoration="underline">{escape(words[read[place]])}</tspan>'
                for place, word in enumerate(words)
            ]
            lines += [" ".join(spans[start : start + LINE]) for start in range(0, len(spans), LINE)]
        look = {"font_family": "sans-serif", "font_size": 14, "fill": "currentColor"}
        texts = [pictures.element("text", each, x=8, y=24 * number + 20) for number, each in enumerate(lines)]
        return pictures.svg(680, 24 * len(lines) + 8, *texts, **look)
