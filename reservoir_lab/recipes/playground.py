"""Chapter 4 in the page, with 5, 6 and 8: the playground's presets, with the origin of each part as a letter.

The page's `settings.mjs` reads the same letters, one for each part from the bottom up: the embeddings; for each encoder
layer its attention, feed-forward layer and norms; the encoder's last norm; for each decoder layer its attention,
attention to the source, feed-forward layer and norms; the decoder's last norm. `t` is trained; `s` is seeded and
frozen, with biases of zero; `m` is a mask over such weights; `f` is fixed: a Fourier transform in place of attention,
norms of ones and zeros.

Chapter 9: a translator that is nothing but a seed and bits, small enough to ship inside a web page.
"""

from collections.abc import Iterator

from reservoir.training import Budget, Decoding
from reservoir.weights import Freeze, Mask
from reservoir_lab.recipes import transformer
from reservoir_lab.runs.registry import Scale, enter, recipe
from reservoir_lab.runs.run import Run

FAMILIES = {"seeds": "Chapter 9: a translator that is nothing but a seed and bits, for a web page."}

LONGEST = 32
"""Tokens of a sentence with its end, for which the Fourier transform is made."""
PRESETS: dict[str, tuple[str, str]] = {
    "trained": ("Everything is trained.", "t ttt ttt t tttt tttt t"),
    "attention": ("All attention is frozen.", "t stt stt t sstt sstt t"),
    "feed-forward": ("The feed-forward layers are frozen.", "t tst tst t ttst ttst t"),
    "embeddings": ("The embeddings are frozen.", "s ttt ttt t tttt tttt t"),
    "frozen": ("Attention and feed-forward layers are frozen.", "t sst sst t ssst ssst t"),
    "reservoir": ("The second of three encoder layers is frozen.", "t ttt ssf ttt t tttt tttt t"),
    "fourier": ("Fourier transforms take the place of the encoder's attention.", "t ftt ftt t tttt tttt t"),
    "masks": ("Nothing is trained but masks, which keep half of the weights.", "m mmf mmf f mmmf mmmf f"),
}
"""Preset -> what it is, and its letters; the spaces are for people."""
STREAMS = {
    "embedding": "embedding",
    "attention": "{}.attention.*",
    "cross": "{}.cross.[qko]*",
    "feed_forward": "{}.feed_forward.[ud]*",
    "norms": "{}.*.norm*",
    "norm": "{}.norm*",
}
"""Kind of part -> pattern over its stream names."""
ALLOWED = {"norms": "tf", "norm": "tf", "encoder attention": "tsmf"}


def parts(encoder: int, decoder: int) -> Iterator[tuple[str, str]]:
    """Where each part of a model of so many layers lies, and its kind, in the order of the letters."""
    yield "", "embedding"
    for side, depth, within in (("encoder", encoder, ()), ("decoder", decoder, ("cross",))):
        for layer in range(depth):
            yield from ((f"{side}.{layer}", kind) for kind in ("attention", *within, "feed_forward", "norms"))
        yield side, "norm"


def lettered(run: Run, letters: str, *, encoder: int = 2, decoder: int = 2, keep: float = 0.5) -> Run:
    """A run of a translator whose parts have the origins that `letters` say.

    Args:
        run: an encoder-decoder's.
        letters: one for each of `parts`; spaces do not count.
        encoder, decoder: layers on either side.
        keep: share of the weights that masks keep.

    Raises:
        ValueError: there are more or fewer letters than parts, or a part cannot be what its letter says.
    """
    named, letters = list(parts(encoder, decoder)), letters.replace(" ", "")
    if len(letters) != len(named):
        raise ValueError(
            f"letters must be {len(named)} for {encoder} and {decoder} layers, got {len(letters)}"
        )
    frozen, masked, mixing = [], [], ["attention"] * encoder
    for (where, kind), letter in zip(named, letters, strict=True):
        allowed = ALLOWED.get(kind) or ALLOWED.get(f"{where.split('.')[0]} {kind}", "tsm")
        if letter not in allowed:
            said = f"{where} {kind}".strip()
            raise ValueError(f"the letter of {said} must be one of {', '.join(allowed)}, got {letter!r}")
        streams = STREAMS[kind].format(where)
        if letter == "f" and kind == "attention":
            mixing[int(where.split(".")[1])] = "fourier-normalised"
        elif letter in "sf":
            frozen.append(streams)
        elif letter == "m":
            masked.append(streams)
            frozen += [f"{streams}.bias"] if where else []
    sizes = {"encoder_layers": encoder, "decoder_layers": decoder, "max_length": LONGEST}
    return run.evolve(
        model=sizes | {"encoder_mixing": tuple(mixing) if "fourier-normalised" in mixing else ()},
        freeze=Freeze(patterns=tuple(frozen)),
        mask=Mask(keep=keep, patterns=tuple(masked)) if masked else Mask(),
    )


def preset(name: str, scale: Scale) -> Run:
    """The recipe transformer/miniature with the origins of a preset, tested by greedy search as on the page."""
    run = transformer.miniature(scale)
    if scale != "smoke":
        run = run.evolve(task={"decoding": Decoding(beam=1)})
    letters = PRESETS[name][1]
    return lettered(run, letters, encoder=sum(len(group) == 3 for group in letters.split()))


for _name, (_about, _) in PRESETS.items():
    enter(f"playground/{_name}", _about, preset, _name)


@recipe("seeds/miniature")
def miniature(scale: Scale) -> Run:
    """The miniature grammar by a supermask: one random layer a side, used twice; half of its weights, chosen."""
    run = transformer.miniature(scale).evolve(
        mask=Mask(keep=0.5),
        freeze=Freeze(patterns=("*.bias", "*norm")),
        model={"d_model": 128, "d_ff": 512, "share_layers": True},
    )
    if scale == "smoke":
        return run.evolve(model={"d_model": 64, "d_ff": 128})
    steps = {"laptop": 600, "full": 3000}[scale]
    return run.evolve(
        task={"decoding": Decoding(beam=1)},  # as the page's translator searches
        optimiser={"lr": 5e-3, "warmup": 60},
        budget=Budget(steps=steps, validate_every=steps // 10, checkpoint_every=100),
    )
