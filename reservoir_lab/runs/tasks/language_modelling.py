"""Language modelling, also of hidden tokens, as part of a run: which text, how it is cut, how it is scored."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import torch

from reservoir.datasets import Vocabulary, train_bpe
from reservoir.training import LanguageModellingTask, MaskedBatch, MaskedLanguageModellingTask
from reservoir.training.task import device_of, perplexity
from reservoir_lab.corpora import Files, Text, text
from reservoir_lab.corpora.texts import ByteVocabulary, train_byte_pieces
from reservoir_lab.runs.tasks import BatchSpec, Settings, share_of, token_ids

SAMPLES = 8  # lines that a record shows
WORDS = 6  # of a line, that the model is given
A_WORD = 5  # bytes, the space with them
TOKENS, EVERY = 40, 7  # of a line with holes, at most; and one hole in so many
HOLE = "[…]"  # how a record writes a hidden token
UNKNOWN = "\ue000"  # stands for a word that the text's makers left out; no vocabulary has this character
WIKITEXT = {"<unk>": UNKNOWN, " @-@ ": "-", " @,@ ": ",", " @.@ ": "."}
"""WikiText writes rare words as <unk>, and marks that stood inside a word between two @."""


@dataclass(frozen=True)
class LanguageModelling(Settings):
    """Which text is modelled, and how it is cut.

    Args:
        text: a name that `reservoir_lab.corpora.text` knows, or "files:PATH" for a text of your own.
        vocabulary: size of the BPE vocabulary; bytes need none.
        unit: "pieces" of words, as BPE cuts them; "byte-pieces", the same over bytes, which leave nothing out; or
            "bytes".
        length: tokens of a window.
        batch: windows in a batch.
        characters: how much of the training text is read, to the end of a line; 0 takes all.
        valid_tokens: how many tokens of the validation text are read at each validation point; 0 takes all.
        files: how files of your own are split.
    """

    corpus_field: ClassVar[str] = "text"
    text: str
    vocabulary: int = 4000
    length: int = 128
    batch: int = 16
    unit: Literal["pieces", "byte-pieces", "bytes"] = "pieces"
    characters: int = field(default=0, metadata={"omit_if_default": True})
    valid_tokens: int = field(default=0, metadata={"omit_if_default": True})
    files: Files = field(default_factory=Files)

    def __post_init__(self) -> None:
        if self.unit not in ("pieces", "byte-pieces", "bytes"):
            raise ValueError(f"unit must be 'pieces', 'byte-pieces' or 'bytes', got {self.unit!r}")

    def load(self, vocabulary: Vocabulary | None = None) -> tuple[Text, Vocabulary | ByteVocabulary]:
        """The text, and the vocabulary: the given one, that of bytes, or one made from its training part."""
        corpus = text(self.text, files=self.files)
        if self.characters:
            end = corpus.train.find("\n", self.characters) + 1
            corpus = replace(corpus, train=corpus.train[: end or None])
        if vocabulary is None and self.unit == "bytes":
            return corpus, ByteVocabulary()
        train = train_byte_pieces if self.unit == "byte-pieces" else train_bpe
        return corpus, vocabulary or train(corpus.train.split("\n"), self.vocabulary)

    def batch_spec(self, *, processes: int = 1) -> BatchSpec:
        """What one process sees of a batch, without any text."""
        rows = share_of(self.batch, processes)
        windows = token_ids(rows, self.length + 1)
        return BatchSpec(lambda model: LanguageModellingTask.loss(model, windows), rows * self.length, rows)

    def task(self, corpus: Text, vocabulary: Vocabulary, *, seed: int) -> LanguageModellingTask:
        """What the training loop trains on."""
        train, valid, test = map(vocabulary.encode_text, (corpus.train, corpus.valid, corpus.test))
        valid = valid[: self.valid_tokens or None]
        sizes = dict(length=self.length, batch=self.batch)
        return LanguageModellingTask(train, valid, test, **sizes, seed=seed, vocabulary=vocabulary)

    def test(self, model: Any, task: LanguageModellingTask, corpus: Text) -> tuple[dict, list]:
        """Perplexity on the test text: per token, per word (which other vocabularies share), and bits per byte."""
        nats, tokens = task.score(model, task.test)
        words, size = len(corpus.test.split()), len(corpus.test.encode("utf-8", "surrogateescape"))
        metrics = {
            "perplexity": perplexity(nats, tokens),
            "word_perplexity": perplexity(nats, words),
            "bits_per_byte": nats / math.log(2) / size,
            "tokens": tokens,
        }
        return {"test": metrics}, _samples(model, task, corpus)


def _samples(model: Any, task: LanguageModellingTask, corpus: Text) -> list[dict]:
    """How some lines of the test text begin, how they go on, and how the model would."""
    found: list[dict] = []
    vocabulary: Any = task.vocabulary
    end, a_word = vocabulary.line_end, A_WORD if isinstance(vocabulary, ByteVocabulary) else 1
    for line in corpus.test.split("\n"):
        words = line.split()
        if len(words) <= WORDS or len(found) == SAMPLES:
            continue
        start, rest = " ".join(words[:WORDS]), words[WORDS : 4 * WORDS]
        ids = torch.tensor([vocabulary.encode(start)], device=device_of(model))
        said = model.generate(ids, max_new_tokens=4 * WORDS * a_word, end=end)[0, ids.shape[1] :].tolist()
        # Bytes may stop inside a character.
        whole = vocabulary.decode(said).encode("utf-8", "replace").decode()
        found.append({"source": start, "reference": " ".join(rest), "continuation": whole})
    return found


@dataclass(frozen=True)
class MaskedLanguageModelling(Settings):
    """Which text is modelled, how it is cut, and how much of it is hidden.

    Args:
        text: a name that `reservoir_lab.corpora.text` knows, or "files:PATH" for a text of your own.
        vocabulary: size of the BPE vocabulary; the mask is one token more.
        lowercase: whether texts are lowercased.
        length: tokens of a window, the beginning-of-sentence included.
        batch: windows in a batch.
        share: of the tokens, how many the model is asked about.
        valid_tokens: how many tokens of the validation text are read at each validation point; 0 takes all.
        files: how files of your own are split.
    """

    corpus_field: ClassVar[str] = "text"
    text: str
    vocabulary: int = 6000
    lowercase: bool = True
    length: int = 128
    batch: int = 16
    share: float = 0.15
    valid_tokens: int = 0
    files: Files = field(default_factory=Files)

    def load(self, vocabulary: Vocabulary | None = None) -> tuple[Text, Vocabulary]:
        """The text, and the vocabulary: the given one, or that made from its training part."""
        corpus = text(self.text, files=self.files)
        parts = [corpus.train, corpus.valid, corpus.test]
        if self.text.startswith("wikitext"):
            parts = [_readable(part) for part in parts]
        if vocabulary is None:
            lines = parts[0].replace(UNKNOWN, " ").split("\n")
            vocabulary = train_bpe(lines, self.vocabulary, lowercase=self.lowercase)
        return Text(corpus.name, *parts, notes=corpus.notes), vocabulary

    def batch_spec(self, *, processes: int = 1) -> BatchSpec:
        """What one process sees of a batch, without any text."""
        rows = share_of(self.batch, processes)
        asked = token_ids(max(1, round(self.share * rows * self.length)))
        batch = MaskedBatch(token_ids(rows, self.length), asked, asked)
        tokens = rows * self.length
        return BatchSpec(lambda model: MaskedLanguageModellingTask.loss(model, batch), tokens, rows)

    def task(self, corpus: Text, vocabulary: Vocabulary, *, seed: int) -> MaskedLanguageModellingTask:
        """What the training loop trains on."""
        train, valid, test = map(vocabulary.encode_text, (corpus.train, corpus.valid, corpus.test))
        valid = valid[: self.valid_tokens or None]
        sizes: dict[str, Any] = dict(length=self.length, batch=self.batch, share=self.share)
        return MaskedLanguageModellingTask(train, valid, test, **sizes, seed=seed, vocabulary=vocabulary)

    def test(self, model: Any, task: MaskedLanguageModellingTask, corpus: Text) -> tuple[dict, list]:
        """Perplexity and accuracy on hidden tokens of the test text, and lines with holes and what the model puts in.

        The perplexity of a hidden token, which has neighbours on both sides, is no language model's perplexity: the
        two must not be compared.
        """
        return {"test": task.score(model, task.test)}, _lines_with_holes(model, task, corpus)


def _readable(part: str) -> str:
    for written, meant in WIKITEXT.items():
        part = part.replace(written, meant)
    return part


def _lines_with_holes(model: Any, task: MaskedLanguageModellingTask, corpus: Text) -> list[dict]:
    """Lines of the test text with holes: what stood there, and what the model would put there."""
    found, vocabulary = [], task.vocabulary
    for line in corpus.test.split("\n"):
        ids = vocabulary.encode(line)[:TOKENS]
        if len(ids) <= EVERY:
            continue
        holes = [place for place in range(EVERY // 2, len(ids), EVERY) if ids[place] > Vocabulary.unk]
        read = [task.mask_id if place in holes else id for place, id in enumerate(ids)]
        guesses = task.fill(model, [Vocabulary.bos, *read], best=1)
        found.append(
            {
                "source": _written(vocabulary, read),
                "reference": ", ".join(_piece(vocabulary, ids[place]) for place in holes),
                "prediction": ", ".join(_piece(vocabulary, best[0][0]) for best in guesses),
            }
        )
        if len(found) == SAMPLES:
            break
    return found


def _written(vocabulary: Vocabulary, ids: list[int]) -> str:
    """A text with `HOLE` where the mask stands."""
    pieces = [f" {HOLE}" if id == len(vocabulary) else vocabulary.tokens[id] for id in ids]
    return "".join(pieces).replace("▁", " ").replace("<unk>", " ?").strip()


def _piece(vocabulary: Vocabulary, id: int) -> str:
    """A token as one reads it: a piece that goes on a word has a dash before it."""
    piece = vocabulary.tokens[id]
    return piece.removeprefix("▁") if piece.startswith("▁") else f"-{piece}"
