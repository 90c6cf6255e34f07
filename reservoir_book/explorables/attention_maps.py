"""Type a sentence, touch a word: where each head of a small trained translator looks, computed in the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import traitlets
from torch import Tensor

from reservoir.datasets import Vocabulary
from reservoir.models import EncoderDecoder
from reservoir.training.translation import Decoding
from reservoir.weights import accounting
from reservoir_book import pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.plots import ORIGINS

BITS = 6  # of a weight: one character of base64, so that a page's compression sees weights
LEVELS = 2 ** (BITS - 1) - 1  # on either side of zero


def require(model: EncoderDecoder, **kind: Any) -> None:
    """Refuse a model that JavaScript cannot run: a ValueError names the first field that is otherwise."""
    for name, wanted in kind.items():
        if (found := getattr(model.config, name)) != wanted:
            raise ValueError(f"model must have {name}={wanted!r}, got {found!r}")


class AttentionMaps(Explorable, folder="attention_maps"):
    """The attention of a trained encoder-decoder over any sentence, and its greedy translation.

    Make it with `AttentionMaps.of(model, vocabulary, sentence=…)`. The page gets the model's matrices rounded to 6 bits
    with one scale a row, a fifth of their size; `rounded(model)` is the same model in PyTorch.

    Attributes:
        sentence: what the model reads.
        at: the piece in focus: "src-3" is the fourth piece that is read, "tgt-3" the fourth that is written.
        head: "mean", or layer and head, as in "1.2".
    """

    sentence = traitlets.Unicode().tag(sync=True)
    at = traitlets.Unicode("tgt-0").tag(sync=True)
    head = traitlets.Unicode("mean").tag(sync=True)
    examples = traitlets.List(traitlets.Unicode()).tag(sync=True)
    sizes = traitlets.Dict().tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    merges: traitlets.List = traitlets.List().tag(sync=True)
    names: traitlets.List = traitlets.List().tag(sync=True)
    numbers = traitlets.Bytes().tag(sync=True)
    steps = traitlets.Bytes().tag(sync=True)

    @classmethod
    def of(
        cls,
        model: EncoderDecoder,
        vocabulary: Vocabulary,
        *,
        sentence: str,
        focus: str = "",
        examples: Sequence[str] = (),
        **settings: Any,
    ) -> AttentionMaps:
        """The explorable of a trained model.

        Args:
            model: pre-LN with ReLU, sinusoidal positions and one table for both languages.
            vocabulary: of both languages.
            sentence: what it reads at first.
            focus: the word in focus at first, of the translation or of the sentence. What the model will write is not
                in an author's hands: where neither has the word, it is the first that is written.
            examples: other sentences to offer.
            settings: of `Explorable`.

        Raises:
            ValueError: the model is of another kind.
        """
        c = model.config
        require(model, norm_first=True, activation="relu", positions="sinusoidal", tie="all")
        names, numbers, steps = packed(model)
        shown = look(rounded(model), vocabulary, sentence)
        at = _place(focus, shown)
        settings.setdefault("label", "A translator and its attention")
        settings.setdefault("text", _description(shown, at))
        made = cls(
            sentence=sentence,
            at=at,
            examples=list(examples),
            sizes={n: getattr(c, n) for n in ("d_model", "n_heads", "encoder_layers", "decoder_layers")},
            tokens=vocabulary.tokens,
            merges=_merges(vocabulary),
            names=names,
            numbers=numbers,
            steps=steps,
            **settings,
        )
        made.still = _drawn(shown, at, c.n_heads)
        return made


def packed(model: EncoderDecoder) -> tuple[list, bytes, bytes]:
    """The model's tensors for the page: [name, rows, columns] of each, fp32 numbers, 6-bit steps.

    A matrix is `scale[row] · step` with a step between -31 and 31; a vector is kept as it is, with 0 columns. Steps are
    stored plus 31, four of them in three bytes, the first in the highest bits.
    """
    names, numbers, steps = [], [], []
    for name, parameter in model.named_parameters():  # a shared tensor stands here once
        if parameter.ndim == 1:
            names.append([name, len(parameter), 0])
            numbers.append(parameter.detach())
        else:
            names.append([name, *parameter.shape])
            scale, step = accounting.round_rows(parameter.detach(), LEVELS)
            numbers.append(scale)
            steps.append(step.flatten() + LEVELS)
    together = torch.cat(numbers).float().cpu().numpy().astype("<f4")
    flat = torch.cat(steps).cpu().numpy().astype(np.uint8)
    a, b, c, d = np.pad(flat, (0, -len(flat) % 4)).reshape(-1, 4).T
    three = np.stack([a << 2 | b >> 4, (b & 15) << 4 | c >> 2, (c & 3) << 6 | d], axis=1)
    return names, together.tobytes(), three.astype(np.uint8).tobytes()


def rounded(model: EncoderDecoder) -> EncoderDecoder:
    """A copy of `model`, on the CPU, with the weights that the page computes with."""
    return accounting.rounded(model, BITS).cpu().eval()


@torch.no_grad()
def look(model: EncoderDecoder, vocabulary: Vocabulary, sentence: str) -> dict[str, Any]:
    """What the page computes, in PyTorch: pieces read and written, and the maps of every head.

    Returns:
        src, tgt: pieces, each with its end; p: the probability of each piece written; encoder: the attention of the
        reading side, (layers × heads, src, src); cross: (layers × heads, tgt, src).
    """
    src = torch.tensor([[*vocabulary.encode(sentence), Vocabulary.eos]])
    memory, found, p = model.encode(src), [Vocabulary.bos], []
    most = Decoding().limit(src.shape[1])
    while len(found) <= most and found[-1] != Vocabulary.eos:
        chance, best = model.output(model.decode(torch.tensor([found]), memory))[0, -1].softmax(-1).max(-1)
        p.append(chance.item())
        found.append(int(best))
    maps: dict[str, list[Tensor]] = {"encoder": [], "cross": []}
    parts: dict[str, Any] = {"encoder": model.encoder, "cross": model.decoder}
    hooks = [
        getattr(layer, "mixing" if side == "encoder" else "cross").sublayer.register_forward_pre_hook(
            lambda part, inputs, side=side: maps[side].append(part.weights(*inputs[:2])[0])
        )
        for side, layers in parts.items()
        for layer in layers
    ]
    model.decode(torch.tensor([found[:-1]]), model.encode(src))
    for hook in hooks:
        hook.remove()
    read, written = ([vocabulary.tokens[i] for i in row] for row in (src[0].tolist(), found[1:]))
    return dict(src=read, tgt=written, p=p, **{side: torch.cat(each) for side, each in maps.items()})


def _merges(vocabulary: Vocabulary) -> list[list[int]]:
    """Pairs of ids that become one piece, in order."""
    model = json.loads(vocabulary.to_json())["model"]
    pairs = (pair if isinstance(pair, list) else pair.split(" ") for pair in model["merges"])
    return [[model["vocab"][piece] for piece in pair] for pair in pairs]


def _bare(piece: str) -> str:
    return {"</s>": "end", "<unk>": "□", "▁": "␣"}.get(piece, piece.replace("▁", ""))


def _place(focus: str, shown: dict[str, Any]) -> str:
    found = [f"{side}-{i}" for side in ("tgt", "src") for i, p in enumerate(shown[side]) if _bare(p) == focus]
    return found[0] if found else "tgt-0"


def _description(shown: dict[str, Any], at: str) -> str:
    """What is shown, in words."""
    side, i = at.split("-")
    maps = shown["cross" if side == "tgt" else "encoder"]
    mean = maps[:, int(i)].mean(0)
    first = int(mean.argmax())
    done = "written" if side == "tgt" else "read"
    german, english = ("".join(shown[each][:-1]).replace("▁", " ").strip() for each in ("src", "tgt"))
    ended = "" if english.endswith((".", "?", "!")) else "."
    return (
        f"The model reads “{german}” and writes “{english}”{ended} While “{_bare(shown[side][int(i)])}” is {done}, its "
        f"{len(maps)} heads look most at “{_bare(shown['src'][first])}”: {mean[first]:.2f} of their weight on average."
    )


def _drawn(shown: dict[str, Any], at: str, n_heads: int) -> str:
    """The still picture: each head's weights for the piece in focus."""
    side, i = at.split("-")
    maps = shown["cross" if side == "tgt" else "encoder"][:, int(i)]  # (heads, src)
    left, top, wide, high = 60, 92, 30, 22
    parts = [pictures.grid((0.05 + 0.95 * maps).tolist(), ORIGINS["trained"], wide, high, x=left, y=top)]
    for j, piece in enumerate(shown["src"]):
        turned = f"translate({left + (j + 0.6) * wide} {top - 8}) rotate(-45)"
        parts.append(pictures.text(0, 0, _bare(piece), transform=turned))
    for h in range(len(maps)):
        name = f"{h // n_heads + 1}.{h % n_heads + 1}"  # layer and head
        parts.append(pictures.text(left - 8, top + high * h + 15, name, text_anchor="end"))
    return pictures.svg(left + wide * len(shown["src"]) + 50, top + high * len(maps) + 4, *parts)
