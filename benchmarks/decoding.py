"""Translating a test set: sentences a second of our beam search and of others', on the same weights.

The peers are CTranslate2 (`benchmarks.engine`), in fp32 and in int8, and transformers' Pegasus, whose layers are ours:
pre-LN, sinusoidal positions, one table of embeddings. They are given our weights, our batches and the same search:
beams of equal width, no length penalty (the libraries' formulas differ, and agree where there is none), the same
longest translation. All keep keys and values of what they have read. "Same" counts the sentences whose
two translations agree in every token.

The model is that of a finished run, since an untrained one does not know when to stop:
`reservoir run components/baseline` trains the small one in minutes.
"""

from __future__ import annotations

import operator
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks import engine
from benchmarks.libraries import transformers_sizes
from benchmarks.measure import Comparison, Line, Settings, compare
from reservoir.layers import sinusoids
from reservoir.layers.linear import packed_for_inference
from reservoir.models import EncoderDecoder
from reservoir.training.translation import EOS, Decoding, beam_search
from reservoir_lab import recipes
from reservoir_lab.runs.building import load_trained
from reservoir_lab.runs.checkpoint import CheckpointError

BEAM, SENTENCES = 5, 50  # of a batch, of sentences of like length
MODELS = {"laptop": "components/baseline", "chapter 3's": "transformer/multi30k"}
FASTER, LEVEL, SAME = 2.0, 0.85, 0.99  # than transformers; with CTranslate2 in fp32; translations


@dataclass(frozen=True)
class Agreement:
    """Of how many sentences two searches find the same translation.

    Args:
        case: what was translated.
        peer: by whom.
        same, of: sentences.
        required: the share that is asked for.
    """

    case: str
    peer: str
    same: int
    of: int
    required: float | None = SAME

    def __str__(self) -> str:
        mark = "" if self.required is None else "✓" if self.same >= self.required * self.of else "✗"
        return f"{self.case}: {self.same} of {self.of} translations are those of {self.peer} {mark}".rstrip()

    @property
    def line(self) -> Line:
        """A row of the table, whose ratio is the share that is the same."""
        ours, theirs = f"{self.same} the same", f"{self.of} sentences"
        return Line(self.case, self.peer, ours, theirs, self.same / self.of, required=self.required)


def run(settings: Settings) -> Iterator[Comparison | Agreement]:
    """Multi30k's test2016 with beams of five, in fp32."""
    found = 0
    for size, recipe in settings.chosen(MODELS).items():
        try:
            model, task, corpus = load_trained(recipes.get(recipe))
        except CheckpointError as error:
            print(f"decoding, {size}: not measured: {error}")
            continue
        found += 1
        model = model.to(settings.device).eval()
        sources = task.src_vocabulary.encode_batch(corpus.tests["test2016"].src)
        case = f"{size} model, test2016, beam {BEAM}"
        yield from beside_others(model, sources, case=case, settings=settings)
    if not found:
        print("decoding: nothing was measured, since no trained model is at hand")


def beside_others(
    model: EncoderDecoder, sources: Sequence[Sequence[int]], *, case: str, settings: Settings
) -> Iterator[Comparison | Agreement]:
    """Our search and the peers' on the same sentences: how fast, and whether they find the same."""
    pegasus = peer(model).to(settings.device)
    batches = [batch.to(settings.device) for batch in in_batches(sources)]
    # Every side lays its matrices out before it is timed: CTranslate2 when it reads them, `translate` for all batches.
    laid_out = packed_for_inference(model, rows=SENTENCES * BEAM)
    with torch.inference_mode(), laid_out, tempfile.TemporaryDirectory() as folder:
        ours = [ids for batch in batches for ids in search(model, batch)]
        for name, theirs, faster, same in peers(pegasus, Path(folder), settings):
            others = [ids for batch in batches for ids in theirs(batch)]
            yield Agreement(case, name, sum(map(operator.eq, ours, others)), len(ours), same)
            yield compare(
                lambda turn: search(model, batches[turn % len(batches)]),
                lambda turn, theirs=theirs: theirs(batches[turn % len(batches)]),
                case=case,
                peer=name,
                unit="sentences",
                work=lambda turn: len(batches[turn % len(batches)]),
                settings=settings,
                warm_up=(0,),
                required=faster,
            )


Search = Callable[[Tensor], list[list[int]]]


def peers(
    pegasus: nn.Module, folder: Path, settings: Settings
) -> Iterator[tuple[str, Search, float | None, float | None]]:
    """Each peer's name, its search, the ratio of speeds and the share of equal translations that are asked for."""
    yield "transformers' generate", lambda batch: generate(pegasus, batch), FASTER, SAME
    if settings.device.type != "cpu":
        return
    for precision, faster, same in (("float32", LEVEL, 1.0), ("int8", None, None)):
        try:
            translator = engine.engine(pegasus, folder / precision, precision=precision)
        except ImportError:
            print("decoding: CTranslate2 is not installed: pip install ctranslate2, or the extra peers")
            return

        def translate(batch: Tensor, translator=translator) -> list[list[int]]:
            return engine.search(translator, batch, beam=BEAM, longest=longest(batch))

        yield f"CTranslate2, {precision}", translate, faster, same


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
    found = beam_search(model, batch, beam=BEAM, length_penalty=0.0, max_length=longest(batch), wanted=1)
    return [hypotheses[0][1] for hypotheses in found]


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
