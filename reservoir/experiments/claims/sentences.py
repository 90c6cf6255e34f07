"""Sentences of the five documents that chapters 4 to 10 do not quote, and by which rule records decide them.

Many are summaries: "on various tasks", "impressive", "resoundingly". A rule then names the tasks, and says how much. Of
most of these recipes some records were known when the rules were written, which the ledger says of each (`late`); what
was open then were further seeds, and rows that nobody had run.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from reservoir.experiments.claims import masked, mixing
from reservoir.experiments.claims.components import bleu as components_bleu
from reservoir.experiments.claims.components import perplexity
from reservoir.experiments.claims.ledger import claim
from reservoir.experiments.claims.ranges import Range, Word, above, below, each, every, records, score, spread
from reservoir.experiments.claims.reservoirs import NEARLY, SAME_LEARNING, area_by_cost, bleu
from reservoir.experiments.claims.supermasks import HALF, PAIRS, accuracy, share_of_trained
from reservoir.experiments.claims.supermasks import bleu as masked_bleu
from reservoir.experiments.claims.universal import LU, TWO, recipes_of, swept
from reservoir.experiments.recipes import family
from reservoir.experiments.recipes.reservoirs import DEPTHS, LEARNING

KINDS = ("ffn", "transformer")
STACKS = [f"{kind}-{depth}" for depth in DEPTHS for kind in KINDS]
REGULAR = tuple(f"reservoirs/regular-{depth}" for depth in (LEARNING, *DEPTHS))
IMPRESSIVE = 90.0  # percent of the score that everything trained has
MUCH = 0.25  # of the operations
STRONG = 5.0  # points of accuracy
BESIDES = ("embeddings", "attention", "feed-forward")


def _shares(names: dict[str, str], figure: Callable[[str], Range]) -> dict[str, Range]:
    """Name -> percent of what its rival has."""
    return {f"{name}:": figure(name) / figure(rival) * 100 for name, rival in names.items()}


def _same_depth(stack: str) -> str:
    return f"reservoirs/regular-{stack.rpartition('-')[2]}"


def _operations(recipe: str) -> Range:
    """Of the whole training; the same for every seed but for the batches that it draws."""
    return Range.exactly(sum(record.flops for record in records(recipe)) / len(records(recipe)))


def _less(recipe: str, than: str) -> Range:
    """Percent of the operations that are saved."""
    return (Range.exactly(1.0) - _operations(recipe) / _operations(than)) * 100


@claim(
    "reservoir-transformers/impressive",
    rule=f"at both depths, feed-forward and transformer reservoirs reach {IMPRESSIVE:g} % of the BLEU of the regular"
    " model as deep",
    recipes=(*(f"reservoirs/{stack}" for stack in STACKS), *REGULAR[1:]),
    late=True,
)
def impressive() -> tuple[Word, str]:
    shares = _shares({f"reservoirs/{stack}": _same_depth(stack) for stack in STACKS}, bleu)
    return each(shares, lambda share: above(share, IMPRESSIVE))


@claim(
    "reservoir-transformers/remain",
    rule=f"at both depths, whole transformer layers that stay random cost at most {NEARLY:g} BLEU against the regular"
    " model as deep",
    recipes=(*(f"reservoirs/transformer-{depth}" for depth in DEPTHS), *REGULAR[1:]),
    late=True,
)
def remain() -> tuple[Word, str]:
    gaps = {
        f"{depth} layers: lost": bleu(f"reservoirs/regular-{depth}") - bleu(f"reservoirs/transformer-{depth}")
        for depth in DEPTHS
    }
    return each(gaps, lambda gap: below(gap, NEARLY))


@claim(
    "reservoir-transformers/match",
    rule=f"at both depths, feed-forward reservoirs are at most {NEARLY:g} BLEU below the regular model as deep, with"
    " fewer operations in training",
    recipes=(*(f"reservoirs/ffn-{depth}" for depth in DEPTHS), *REGULAR[1:]),
    late=True,
)
def match() -> tuple[Word, str]:
    gaps, saved = {}, {}
    for depth in DEPTHS:
        ours, theirs = f"reservoirs/ffn-{depth}", f"reservoirs/regular-{depth}"
        gaps[f"{depth} layers: lost"] = bleu(theirs) - bleu(ours)
        saved[f"{depth} layers: % fewer operations"] = _less(ours, theirs)
    word, seen = each(gaps, lambda gap: below(gap, NEARLY))
    fewer, less = each(saved, above)
    return every([word, fewer]), f"{seen}; {less}"


@claim(
    "reservoir-transformers/improve",
    rule="at one of the two depths, one of feed-forward and transformer reservoirs is above the regular model as deep",
    recipes=(*(f"reservoirs/{stack}" for stack in STACKS), *REGULAR[1:]),
    late=True,
)
def improve() -> tuple[Word, str]:
    gaps = {f"{stack}:": bleu(f"reservoirs/{stack}") - bleu(_same_depth(stack)) for stack in STACKS}
    words = [above(gap) for gap in gaps.values()]
    word = next(w for w in ("confirmed", "undecided", "refuted") if w in words)
    return word, each(gaps, above)[1]


@claim(
    "reservoir-transformers/area",
    rule="over operations, the area under the curve of feed-forward reservoirs is above that of the regular model as"
    " deep, at both depths",
    recipes=(*(f"reservoirs/ffn-{depth}" for depth in DEPTHS), *REGULAR[1:]),
    late=True,
)
def area() -> tuple[Word, str]:
    gaps = {}
    for depth in DEPTHS:
        names = (f"reservoirs/ffn-{depth}", f"reservoirs/regular-{depth}")
        ours, theirs = (area_by_cost(name, among=names) for name in names)
        gaps[f"{depth} layers: BLEU more on average"] = ours - theirs
    return each(gaps, above)


def _added() -> dict[str, Range]:
    """What reservoirs add on the test sets of three tasks to the model with as many layers that learn, as a gain."""
    gains = {
        f"translation, {stack}: BLEU": bleu(f"reservoirs/{stack}") - bleu(SAME_LEARNING) for stack in STACKS
    }
    for kind in KINDS:
        name = f"characters, {kind}-6: bits fewer"
        gains[name] = _bits("characters/regular-4") - _bits(f"characters/{kind}-6")
    for kind in KINDS:
        ours, theirs = (_masked(f"masked/{row}-{depth}") for row, depth in ((kind, 4), ("regular", 3)))
        gains[f"masked, {kind}-4: nats fewer"] = theirs - ours
    return gains


def _bits(recipe: str) -> Range:
    def bits(name: str) -> Range:
        return score(name, metric="bits_per_byte")

    return bits(recipe).widened(spread(family("characters"), bits))


def _masked(recipe: str) -> Range:
    """Nats a hidden token; runs of one seed are taken to move by the share that chapter 7 calls as good."""
    values = [math.log(one.tests[next(iter(one.tests))]["perplexity"]) for one in records(recipe)]
    return Range.of(values).widened(masked.FREE / 2)


ADDED = (
    *(f"reservoirs/{name}" for name in (f"regular-{LEARNING}", *STACKS)),
    *(f"characters/{name}" for name in ("regular-4", "ffn-6", "transformer-6")),
    *(f"masked/{name}" for name in ("regular-3", "ffn-4", "transformer-4")),
)


@claim(
    "reservoir-transformers/generalization",
    rule="in translation, on characters and in masked language modelling, both kinds of reservoir beat the model with"
    " as many layers that learn, on the test set",
    recipes=ADDED,
    late=True,
)
def generalization() -> tuple[Word, str]:
    return each(_added(), above, 2)


@claim(
    "reservoir-transformers/improvements",
    rule="on each of the three tasks at least one kind of reservoir beats the model with as many layers that learn, on"
    " the test set; nothing is said of seconds",
    recipes=ADDED,
    late=True,
)
def improvements() -> tuple[Word, str]:
    gains, words = _added(), []
    for task in ("translation", "characters", "masked"):
        found = [above(gain) for name, gain in gains.items() if name.startswith(task)]
        words.append(next(w for w in ("confirmed", "undecided", "refuted") if w in found))
    return every(words), each(gains, above, 2)[1]


@claim(
    "bair/overall",
    rule="in translation, at both depths, both kinds of reservoir beat the model with as many layers that learn",
    recipes=(SAME_LEARNING, *(f"reservoirs/{stack}" for stack in STACKS)),
    late=True,
)
def overall() -> tuple[Word, str]:
    return each({f"{stack}:": bleu(f"reservoirs/{stack}") - bleu(SAME_LEARNING) for stack in STACKS}, above)


@claim(
    "bair/power",
    rule=f"whole transformer layers that stay random add BLEU to the four layers that learn, and take {MUCH:.0%} fewer"
    " operations than the regular model as deep, at both depths",
    recipes=(*(f"reservoirs/transformer-{depth}" for depth in DEPTHS), *REGULAR),
    late=True,
)
def power() -> tuple[Word, str]:
    gaps, saved = {}, {}
    for depth in DEPTHS:
        name = f"reservoirs/transformer-{depth}"
        gaps[f"{depth} layers: BLEU more"] = bleu(name) - bleu(SAME_LEARNING)
        saved[f"{depth} layers: % fewer operations"] = _less(name, f"reservoirs/regular-{depth}")
    word, seen = each(gaps, above)
    fewer, less = each(saved, lambda share: above(share, 100 * MUCH))
    return every([word, fewer]), f"{seen}; {less}"


def _cheaper() -> tuple[Word, str]:
    saved = {f"{stack}: %": _less(f"reservoirs/{stack}", _same_depth(stack)) for stack in STACKS}
    return each(saved, above)


for _name in ("bair/saving", "reservoir-transformers/cheaper"):
    claim(
        _name,
        rule="at both depths, both kinds of reservoir take fewer operations in training than the regular model as deep",
        recipes=(*(f"reservoirs/{stack}" for stack in STACKS), *REGULAR[1:]),
        late=True,
    )(_cheaper)


@claim(
    "reservoir-transformers/seed",
    rule="a record with reservoirs stores four bytes for each number that was trained and none for what was frozen",
    recipes=("reservoirs/transformer-6", "reservoirs/ffn-6"),
    late=True,
)
def seed() -> tuple[Word, str]:
    words, seen = [], []
    for name in ("transformer-6", "ffn-6"):
        found = records(f"reservoirs/{name}")[0].parameters
        frozen = found["total"] - found["trainable"]
        words.append("confirmed" if frozen and found["stored_bytes"] == 4 * found["trainable"] else "refuted")
        seen.append(f"{name}: {found['stored_bytes'] / 4:,.0f} numbers of {found['total']:,}")
    return every(words), "; ".join(seen)


@claim(
    "reservoir-transformers/sentences",
    rule=f"on SST-2, readouts on three random encoders are at most {STRONG:g} points below trained word vectors",
    recipes=[f"sentences/{name}" for name in ("projection", "lstm", "echo-states", "trained-bag")],
    late=True,
)
def sentences() -> tuple[Word, str]:
    gaps = {
        f"{name}: points below": score("sentences/trained-bag") - score(f"sentences/{name}")
        for name in ("projection", "lstm", "echo-states")
    }
    return each(gaps, lambda gap: below(gap, STRONG))


@claim(
    "poster/make-use",
    rule="random attention and random feed-forward layers are above identities in their place, by whatever",
    recipes=[f"components/{part}{end}" for part in BESIDES[1:] for end in ("", "-identity")],
    late=True,
)
def make_use() -> tuple[Word, str]:
    gaps = {
        f"{part}:": components_bleu(f"components/{part}") - components_bleu(f"components/{part}-identity")
        for part in BESIDES[1:]
    }
    return each(gaps, above)


@claim(
    "poster/task-specific",
    rule="what frozen embeddings cost, as a share of what frozen attention costs, differs between translation and the"
    " language model by a factor of two or more (cost: the share of BLEU lost; what the perplexity's logarithm gains)",
    recipes=[f"{name}/{row}" for name in ("components", "language") for row in ("baseline", *BESIDES[:2])],
    late=True,
)
def task_specific() -> tuple[Word, str]:
    def kept(part: str) -> Range:
        return components_bleu(f"components/{part}") / components_bleu("components/baseline")

    def grown(part: str) -> Range:
        ratio = perplexity(f"language/{part}") / perplexity("language/baseline")
        return Range(*(math.log(value) for value in (ratio.low, ratio.mean, ratio.high)), ratio.seeds)

    translation = (Range.exactly(1.0) - kept("embeddings")) / (Range.exactly(1.0) - kept("attention"))
    language = grown("embeddings") / grown("attention")
    apart = language / translation
    seen = f"{translation} times in translation, {language} times in the language model"
    if apart.low <= 1 <= apart.high:
        return "undecided", seen
    factor = apart if apart.low > 1 else Range.exactly(1.0) / apart
    return above(factor, 2.0), seen


@claim(
    "poster/subset",
    rule="with everything frozen but one of the three components, half of the BLEU is left, in each of the two rows"
    " that freeze embeddings and another",
    recipes=[f"components/{row}" for row in ("baseline", "embeddings-attention", "embeddings-feed-forward")],
    late=True,
)
def subset() -> tuple[Word, str]:
    shares = {
        f"{row}: %": components_bleu(f"components/{row}") / components_bleu("components/baseline") * 100
        for row in ("embeddings-attention", "embeddings-feed-forward")
    }
    return each(shares, lambda share: above(share, 50.0))


@claim(
    "poster/random-good",
    rule="making feed-forward layers a quarter as wide costs more BLEU than freezing them",
    recipes=("components/baseline", "components/feed-forward", "narrow/baseline"),
    late=True,
)
def random_good() -> tuple[Word, str]:
    whole = components_bleu("components/baseline")
    narrow, frozen = (
        whole - components_bleu("narrow/baseline"),
        whole - components_bleu("components/feed-forward"),
    )
    gap = components_bleu("components/feed-forward") - components_bleu("narrow/baseline")
    return above(gap), f"narrow costs {narrow} BLEU, frozen {frozen}"


@claim(
    "poster/on-the-fly",
    rule="a translator whose weights are made from a seed stores under a sixteenth of fp32's bytes, and reaches 90 BLEU"
    " on the book's own grammar",
    recipes=("seeds/miniature",),
    late=True,
)
def on_the_fly() -> tuple[Word, str]:
    found = records("seeds/miniature")[0].parameters
    reached = score("seeds/miniature")
    bytes_ = found["stored_bytes"] / (4 * found["trainable"])
    small: Word = "confirmed" if bytes_ < 1 / 16 else "refuted"
    seen = f"{reached} BLEU from {bytes_:.3f} of the bytes that its weights at all depths would take"
    return every([small, above(reached, 90)]), seen


@claim(
    "blog/unrelated",
    rule=f"at the rates that validation chose, the frozen pretrained body reaches {IMPRESSIVE:g} % of the accuracy of"
    " the transformer that is trained whole, on each of six tasks",
    recipes=recipes_of(LU, ("pretrained", "full")),
)
def unrelated() -> tuple[Word, str]:
    shares = {f"{task}: %": swept(task, "pretrained") / swept(task, "full") * 100 for task in LU}
    return each(shares, lambda share: above(share, IMPRESSIVE))


@claim(
    "blog/modalities",
    rule=f"the same frozen pretrained body is at most {STRONG:g} points below a transformer that is trained whole, on"
    " pictures of digits and on expressions",
    recipes=recipes_of(TWO, ("pretrained", "full")),
)
def modalities() -> tuple[Word, str]:
    gaps = {f"{task}: points below": swept(task, "full") - swept(task, "pretrained") for task in TWO}
    return each(gaps, lambda gap: below(gap, STRONG))


@claim(
    "blog/substrate",
    rule=f"with a mixing that nobody trains, Fourier's or a random one, the perplexity is more than"
    f" {mixing.NOTABLE:.0%} below that of a model whose tokens are not mixed",
    recipes=[f"mixing/{name}" for name in ("fourier", "random", "feed-forward")],
)
def substrate() -> tuple[Word, str]:
    found = {name: mixing.lower(name, "feed-forward") for name in ("fourier", "random")}
    return every(word for word, _ in found.values()), "; ".join(f"{n}: {s}" for n, (_, s) in found.items())


@claim(
    "one-layer/abstract",
    rule="half of one shared layer with random embeddings reaches at least 62 % of the trained model's BLEU, the lower"
    " of the two shares that the figures make",
    recipes=(f"keep/shared-random-{HALF}", "keep/trained"),
)
def one_layer() -> tuple[Word, str]:
    share = share_of_trained(f"keep/shared-random-{HALF}")
    return above(share, 62), f"{share} % of the trained model's BLEU"


@claim(
    "one-layer/competitive",
    rule="half of random layers of their own reaches at least 62 % of the trained model's BLEU, and 70 % of one random"
    " layer 79 % of a fine-tuned model's accuracy on MRPC and RTE",
    recipes=(
        f"keep/layers-random-{HALF}",
        "keep/trained",
        *(f"pairs/{corpus}-70" for corpus in PAIRS),
        *(f"fine-tune/{corpus}/regular-4" for corpus in PAIRS),
    ),
)
def competitive() -> tuple[Word, str]:
    share = share_of_trained(f"keep/layers-random-{HALF}")
    pairs = {
        f"{c.upper()}: %": accuracy(f"pairs/{c}-70") / accuracy(f"fine-tune/{c}/regular-4") * 100
        for c in PAIRS
    }
    word, seen = each(pairs, lambda one: above(one, 79))
    return every([above(share, 62), word]), f"{share} % of the BLEU; {seen}"


@claim(
    "one-layer/deeper",
    rule="half of one layer shared twice as often, on pretrained embeddings, reaches at least 79 % of the trained"
    " model's BLEU, the lower of the two shares",
    recipes=("keep/deep-pretrained-50", "keep/trained"),
)
def deeper() -> tuple[Word, str]:
    share = share_of_trained("keep/deep-pretrained-50")
    return above(share, 79), f"{share} % of the trained model's BLEU"


@claim(
    "one-layer/memory",
    rule=f"at one half, one shared layer is within {NEARLY:g} BLEU of layers of their own, and stores 30 % fewer bytes",
    recipes=(f"keep/shared-random-{HALF}", f"keep/layers-random-{HALF}"),
)
def memory() -> tuple[Word, str]:
    shared, own = (f"keep/{stack}-random-{HALF}" for stack in ("shared", "layers"))
    gap = masked_bleu(own) - masked_bleu(shared)
    ours, theirs = (records(name)[0].parameters["stored_bytes"] for name in (shared, own))
    fewer: Word = "confirmed" if ours <= 0.7 * theirs else "refuted"
    return every([below(gap, NEARLY), fewer]), f"{gap} BLEU below; {ours:,} of {theirs:,} bytes"


@claim(
    "one-layer/smaller",
    rule="half of one shared layer of twice the width stores fewer bytes than the trained model of the usual width, in"
    " fp32, and reaches 92 % of its BLEU",
    recipes=("keep/wide-pretrained-50", "keep/trained"),
)
def smaller() -> tuple[Word, str]:
    share = share_of_trained("keep/wide-pretrained-50")
    ours, theirs = (
        records(name)[0].parameters["stored_bytes"] for name in ("keep/wide-pretrained-50", "keep/trained")
    )
    fewer: Word = "confirmed" if ours < theirs else "refuted"
    return every(
        [above(share, 92), fewer]
    ), f"{share} % of the BLEU in {ours:,} bytes, the trained model's {theirs:,}"
