"""A translator that is a seed and bits, in the page: JavaScript draws the weights, applies the bits and translates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import traitlets

from reservoir.datasets import Vocabulary, shipped
from reservoir.models import EncoderDecoder, from_pretrained
from reservoir.models.pretrained import CONFIG, TOKENIZER, WEIGHTS
from reservoir.training import Decoding, translate
from reservoir.weights.files import WeightsError
from reservoir.weights.storage import read_contents
from reservoir_book import pictures
from reservoir_book.explorables.attention_maps import require
from reservoir_book.explorables.base import Explorable

SHIPPED = ("translator", "miniature")
"""Folders of `data/models`, the best first: the page takes the first that is there."""
SENTENCES = {
    "translator": (
        "Ein kleines Mädchen spielt im Park mit einem braunen Hund.",
        "Zwei Männer reparieren das Dach eines Hauses.",
        "Eine Frau in einem roten Kleid sitzt auf einer Bank und liest ein Buch.",
        "Kinder rennen am Strand durch das Wasser.",
        "Ein alter Mann steht vor einem Laden und wartet.",
    ),
    "miniature": (
        "Die Schwester sagt, dass der Lehrer das alte Buch liest.",
        "Der Hund sieht die Katze nicht.",
        "Weil sie uns die Tasche nicht zeigt, wartet der Lehrer.",
        "Weil sie uns die Tasche nicht zeigen, wartet der Lehrer.",
        "Oft zeigt der Junge einem Bruder dieses große Bild.",
    ),
}
"""Sentences of the kind that each has learned."""
DRAWABLE = {"XavierUniform", "KaimingUniform", "SignedConstant", "Normal", "Uniform", "Constant"}


def shipped_model() -> Path:
    """The folder of the best translator that ships.

    Raises:
        WeightsError: none does.
    """
    folders = [shipped() / "models" / name for name in SHIPPED]
    for folder in folders:
        if (folder / WEIGHTS).is_file():
            return folder
    raise WeightsError(f"none of {', '.join(map(str, folders))} is there: install the library again")


def sentences_for(folder: Path) -> tuple[str, ...]:
    """German sentences of the kind that the model of a folder of `data/models` has learned."""
    return SENTENCES.get(folder.name, SENTENCES["miniature"])


class StoredTranslator(Explorable, folder="stored_translator"):
    """A stored encoder-decoder, and its greedy translation of whatever is typed, in a worker next to the page.

    Make it with `StoredTranslator.of(folder, sentence=…)`. The page gets the folder's files as they are.

    Attributes:
        sentence: what the model reads.
        damaged: whether the file is loaded with a bit turned over, and refused.
        bit: which bit that is.
        place: stream of the matrix of which a corner is shown; the first if empty.
    """

    sentence = traitlets.Unicode().tag(sync=True)
    damaged = traitlets.Bool(False).tag(sync=True)
    bit = traitlets.Int(0).tag(sync=True)
    place = traitlets.Unicode("").tag(sync=True)
    examples = traitlets.List(traitlets.Unicode()).tag(sync=True)
    config = traitlets.Unicode().tag(sync=True)
    tokenizer = traitlets.Unicode().tag(sync=True)
    weights = traitlets.Bytes().tag(sync=True)

    @classmethod
    def of(
        cls, folder: Path | str, *, sentence: str, examples: Sequence[str] = (), **settings: Any
    ) -> StoredTranslator:
        """The explorable of a folder that `save_pretrained` wrote, with a tokenizer.

        Args:
            folder: a pre-LN encoder-decoder with ReLU and sinusoidal positions, what is drawn in it drawn by element.
            sentence: what it reads at first.
            examples: other sentences to offer.
            settings: of `Explorable`.

        Raises:
            WeightsError: the files are missing or damaged.
            ValueError: the model is of another kind.
        """
        folder = Path(folder)
        model, vocabulary = checked(from_pretrained(folder), folder), Vocabulary.from_file(folder / TOKENIZER)
        data = (folder / WEIGHTS).read_bytes()
        written = greedy(model, vocabulary, [sentence])[0]
        settings.setdefault("label", "A translator that is a seed and bits")
        settings.setdefault(
            "text",
            f"The model is a seed and a file of {len(data):,} bytes. It reads “{sentence}” and writes “{written}”.",
        )
        made = cls(
            sentence=sentence,
            bit=8 * _first_mask(data) + 11,
            examples=list(examples),
            config=(folder / CONFIG).read_text(encoding="utf-8"),
            tokenizer=(folder / TOKENIZER).read_text(encoding="utf-8"),
            weights=data,
            **settings,
        )
        made.still = _drawn(sentence, written, len(data))
        return made


def checked(model: torch.nn.Module, folder: Path) -> EncoderDecoder:
    """The model, if the page can run it; a ValueError if not."""
    if not isinstance(model, EncoderDecoder):
        raise ValueError(f"model must be an EncoderDecoder, got {type(model).__name__}")
    kinds = {"encoder_kinds": (), "encoder_mixing": ()}
    require(model, norm_first=True, activation="relu", positions="sinusoidal", **kinds)
    if model.config.tie == "none":
        raise ValueError("model must have tie='all' or 'output', got 'none'")
    for name, origin in read_contents(folder / WEIGHTS).drawn.items():
        if (drawn := type(origin.initialisation).__name__) not in DRAWABLE:
            raise ValueError(f"{name} is drawn by {drawn}, which a page does not draw")
    return model


def greedy(model: EncoderDecoder, vocabulary: Vocabulary, sentences: Sequence[str]) -> list[str]:
    """What the page writes, in PyTorch."""
    found = translate(model, vocabulary.encode_batch(sentences), decoding=Decoding(beam=1))
    return [vocabulary.decode(ids) for ids in found]


def _first_mask(data: bytes) -> int:
    """Where the first mask of a file begins."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    masks = [said["data_offsets"][0] for name, said in header.items() if name.endswith(".mask")]
    return 8 + size + min(masks, default=0)


def _drawn(sentence: str, written: str, size: int) -> str:
    """The still picture: sentence, bytes, translation."""
    lines = sentence, f"↓  a seed and {size:,} bytes", written
    return pictures.svg(720, 130, *(pictures.text(20, 36 + 34 * i, words) for i, words in enumerate(lines)))
