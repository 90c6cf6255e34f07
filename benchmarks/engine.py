"""CTranslate2, the C++ engine that many deploy translators with, on the weights of one of our models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor, nn

from reservoir.training.translation import BOS, EOS


def engine(pegasus: nn.Module, folder: Path, *, precision: str, threads: int = 1):
    """A CTranslate2 translator with the weights of a Pegasus.

    Args:
        pegasus: transformers' model, as `benchmarks.decoding.peer` makes it: pre-LN and tied throughout.
        folder: where the converted model is written; made anew.
        precision: "float32" or "int8", for the products.
        threads: of the engine.

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
    spec.optimize(quantization=precision)
    folder.mkdir()
    spec.save(str(folder))
    return ctranslate2.Translator(
        str(folder), device="cpu", compute_type=precision, inter_threads=1, intra_threads=threads
    )


def search(translator, batch: Tensor, *, beam: int, longest: int) -> list[list[int]]:
    """The engine's best translation of each sentence of a padded batch."""
    sources: Sequence[Sequence[str]] = [[str(i) for i in row if i] for row in batch.tolist()]
    found = translator.translate_batch(
        sources, beam_size=beam, length_penalty=0, max_decoding_length=longest, max_input_length=0
    )
    return [[int(token) for token in one.hypotheses[0]] for one in found]
