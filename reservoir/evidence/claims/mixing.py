"""What is said of mixing without attention, and by which rule our records decide it.

Every row has two layouts, with the norms after each sum or before each part, and stands for itself in that of the two
that ends its pretraining with the lower perplexity on the validation text: short tries had shown that no layout suits
all rows. Rules whose first records were known by then say so. Most pretraining runs have one seed: there a difference
of perplexity counts when it is more than `NOTABLE`, which is more than the three seeds of any row differ by. Fine-tuned
rows that a claim rests on have three seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import (
    CannotTellError,
    Range,
    Word,
    above,
    between,
    each,
    every,
    records,
    score,
    spread,
)
from reservoir.recipes.mixing import DEPTHS, LAYOUTS, MORE, PLACES, PRE_NORM

LEAST = 65.0
"""Percent of SST-2's sentences that attention must judge rightly before anything is held against it: half of them are
right by chance."""
NOISE = 2.0
"""Points of accuracy that a recipe with one seed may move: 872 sentences alone give a standard error of about 1.5."""
NOTABLE = 0.2
"""The share of its perplexity by which a pretraining run must differ from another: more than three seeds of one row lie
apart. Rules that use it were read again when those were known (`late`)."""
SEEDED = ("attention", "fourier", "linear", "random", "feed-forward")
CLOSE = 5.0  # points


def both(*names: str, corpora: tuple[str, ...] = ("",)) -> list[str]:
    """The recipes of some rows in either layout: of their pretraining, or of what `corpora` name, such as "sst-2/"."""
    return [f"mixing/{corpus}{layout}{name}" for name in names for corpus in corpora for layout in LAYOUTS]


def layout(name: str) -> str:
    """The layout of a row that ends its pretraining with the lower perplexity on the validation text, of seed 0.

    Raises:
        NotRunError: one of the two has not been run.
    """
    ends = {way: records(f"mixing/{way}{name}")[0].points[-1]["metrics"]["perplexity"] for way in LAYOUTS}
    return min(ends, key=ends.get)


def accuracy(name: str, corpus: str = "sst-2") -> Range:
    """Accuracy on the test sentences; a row with one seed borrows the widest spread of those with more."""
    lent = spread(both(*SEEDED, corpora=(f"{corpus}/",)))
    return score(f"mixing/{corpus}/{layout(name)}{name}").widened(max(lent, NOISE / 2))


def attention() -> Range:
    """The accuracy on SST-2 that all else is held against.

    Raises:
        CannotTellError: it is under `LEAST`.
    """
    found = accuracy("attention")
    if found.mean < LEAST:
        raise CannotTellError(
            f"attention judges {found} % rightly, and {LEAST:g} is the least to be held against"
        )
    return found


def perplexity(name: str) -> float:
    """Of a hidden token of WikiText-2's test text, after pretraining; the mean over seeds."""
    return in_layout(f"{layout(name)}{name}")


def in_layout(name: str) -> float:
    """The same of a row in the layout that its name says."""
    return score(f"mixing/{name}", metric="perplexity").mean


def lower(name: str, than: str, figure: Callable[[str], float] | None = None) -> tuple[Word, str]:
    """Whether a row's perplexity is notably lower than another's: refuted where it is notably higher."""
    ours, theirs = map(figure or perplexity, (name, than))
    gain = 1 - ours / theirs
    word: Word = "confirmed" if gain > NOTABLE else "refuted" if gain < -NOTABLE else "undecided"
    return word, f"perplexity {ours:.0f} against {theirs:.0f}, {-gain:+.1%}"


def all_of(found: dict[str, tuple[Word, str]]) -> tuple[Word, str]:
    """What several comparisons come to together, and what each of them saw, by its name."""
    return every(word for word, _ in found.values()), "; ".join(
        f"{n}: {seen}" for n, (_, seen) in found.items()
    )


@claim(
    "fnet/quality",
    rule="every seed of the Fourier encoder keeps 92 % of the accuracy of every seed of attention on SST-2; nothing is"
    " said of speed",
    recipes=both("fourier", "attention", corpora=("", "sst-2/")),
    late=True,
)
def quality() -> tuple[Word, str]:
    """The share of attention's accuracy."""
    ours, theirs = accuracy("fourier"), attention()
    share = ours / theirs * 100
    return above(share, 92.0), f"{ours} of {theirs} %: a share of {share.text(0)} %"


@claim(
    "mixing/above-chance",
    says="The same, counted from where guessing stands: Fourier keeps 92 % of what attention has learned.",
    where="ours: half of SST-2 is right by chance",
    rule="as above, after 50 is taken from each accuracy",
    recipes=both("fourier", "attention", corpora=("", "sst-2/")),
    late=True,
)
def above_chance() -> tuple[Word, str]:
    """The share of attention's accuracy above one half."""
    ours, theirs = accuracy("fourier") - 50.0, attention() - 50.0
    if ours.low <= 0:
        return "refuted", f"the worst of Fourier's seeds is {ours.low:.1f} points from one half"
    share = ours / theirs * 100
    return above(share, 92.0), f"a share of {share.text(0)} %"


@claim(
    "blog/close",
    rule=f"on SST-2 attention is above Fourier at every seed, by at most {CLOSE:g} points; and Fourier's pretraining"
    " makes fewer products",
    recipes=both("fourier", "attention", corpora=("", "sst-2/")),
    late=True,
)
def close() -> tuple[Word, str]:
    """What attention is ahead, and the products of matrices that it takes."""
    gap = attention() - accuracy("fourier")
    ours, theirs = (records(f"mixing/{layout(name)}{name}")[0].flops for name in ("fourier", "attention"))
    less: Word = "confirmed" if ours < theirs else "refuted"
    word = every([above(gap), between(gap, -CLOSE, CLOSE), less])
    return word, f"{gap} points behind, {ours / theirs:.0%} of the operations in products"


@claim(
    "mixing/pretraining-pays",
    says="Fine-tuning a pretrained encoder beats training it from scratch, with attention and with Fourier.",
    where="what every row of fine-tuning rests on",
    rule="on SST-2 every seed that was pretrained is above every seed from scratch",
    recipes=[
        f"{recipe}{way}"
        for recipe in both("attention", "fourier", corpora=("sst-2/",))
        for way in ("", "-scratch")
    ],
    late=True,
)
def pretraining_pays() -> tuple[Word, str]:
    """Points that pretraining is worth."""
    gaps = {
        f"{name}:": score(f"mixing/sst-2/{layout(name)}{name}")
        - score(f"mixing/sst-2/{layout(name)}{name}-scratch")
        for name in ("attention", "fourier")
    }
    return each(gaps, above)


@claim(
    "mixing/some-mixing",
    says="Tokens have to be mixed somehow: without any mixing a model is worse than with each of the others.",
    where="what the paper's FF-only row is for",
    rule=f"FF-only's perplexity is more than {NOTABLE:.0%} above that of attention, Fourier, Linear and Random",
    recipes=both(*SEEDED),
    late=True,
)
def some_mixing() -> tuple[Word, str]:
    """Each of the four against FF-only."""
    found = {name: lower(name, "feed-forward") for name in SEEDED[:-1]}
    return all_of(found)


@claim(
    "mixing/learned-mixing",
    says="A mixing that learns beats the same one frozen as it was drawn: Linear beats Random.",
    where="the order of two of the paper's rows",
    rule=f"Linear's perplexity is more than {NOTABLE:.0%} below Random's, and on SST-2 every seed is above every seed",
    recipes=both("linear", "random", corpora=("", "sst-2/")),
    late=True,
)
def learned_mixing() -> tuple[Word, str]:
    """Both stages."""
    word, seen = lower("linear", "random")
    gap = accuracy("linear") - accuracy("random")
    return every([word, above(gap)]), f"{seen}; {gap} points on SST-2"


@claim(
    "mixing/fixed-as-good",
    says="A fixed transform mixes as well as a matrix that learns to: Fourier is not behind Linear.",
    where="the blog's “set of tools”: two neighbouring rows of the paper",
    rule=f"Fourier's perplexity is not more than {NOTABLE:.0%} above Linear's, and on SST-2 it is not more than"
    f" {NOISE:g} points below",
    recipes=both("fourier", "linear", corpora=("", "sst-2/")),
    late=True,
)
def fixed_as_good() -> tuple[Word, str]:
    """Both stages."""
    ours, theirs = perplexity("fourier"), perplexity("linear")
    first: Word = "confirmed" if ours <= (1 + NOTABLE) * theirs else "refuted"
    gap = accuracy("fourier") - accuracy("linear")
    seen = f"perplexity {ours:.0f} against {theirs:.0f}; {gap} points on SST-2"
    return every([first, above(gap, -NOISE)]), seen


@claim(
    "mixing/hybrids",
    says="A few layers of attention among transforms recover most of what attention is ahead.",
    where="what the paper's Hybrid rows are for",
    rule="in the best of four places, two layers of attention of four make up more than half of the distance between"
    " Fourier and attention in nats a hidden token",
    recipes=both("attention", "fourier", *(f"hybrid-{place}" for place in PLACES)),
    late=True,
)
def hybrids() -> tuple[Word, str]:
    """The share of the distance in nats that the best hybrid makes up."""
    whole, none = (math.log(perplexity(name)) for name in ("attention", "fourier"))
    if none - whole < NOTABLE:
        raise CannotTellError(f"attention is {none - whole:.2f} nats ahead of Fourier: too little to make up")
    parts = {where: (none - math.log(perplexity(f"hybrid-{where}"))) / (none - whole) for where in PLACES}
    best = max(parts, key=parts.get)
    shown = ", ".join(f"{where} {share:.0%}" for where, share in parts.items())
    return ("confirmed" if parts[best] > 0.5 else "refuted"), f"made up: {shown}"


@claim(
    "mixing/on-top",
    says="If only some layers have attention, it belongs to the top.",
    where="ours, of the paper's four places",
    rule=f"with two layers of attention on top the perplexity is more than {NOTABLE:.0%} below that of the three other"
    " places",
    recipes=both(*(f"hybrid-{place}" for place in PLACES)),
    late=True,
)
def on_top() -> tuple[Word, str]:
    """The top against the three other places."""
    found = {where: lower("hybrid-top", f"hybrid-{where}") for where in PLACES if where != "top"}
    return all_of(found)


@claim(
    "mixing/random-features",
    says="Attention by random features pretrains as well as attention.",
    where="what such features are for (Choromanski et al. 2021)",
    rule=f"its perplexity is at most {NOTABLE:.0%} above attention's",
    recipes=both("random-features", "attention"),
    late=True,
)
def random_features() -> tuple[Word, str]:
    """Features that nobody trains, in the place of the softmax."""
    word, seen = lower("random-features", "attention")
    return ("refuted" if word == "refuted" else "confirmed"), seen


@claim(
    "mixing/trained-mixer",
    says="The mixing of MLP-Mixer, which is trained, beats the transform, which is not.",
    where="the blog's footnote 1 sets them against each other",
    rule=f"its perplexity is more than {NOTABLE:.0%} below Fourier's",
    recipes=both("mixer", "fourier"),
    late=True,
)
def trained_mixer() -> tuple[Word, str]:
    """A network over tokens against a transform."""
    return lower("mixer", "fourier")


@claim(
    "mixing/normalised",
    says="Divided by the root of the number of entries, a transform trains better than as the paper writes it.",
    where="ours: in a small pre-LN model the unnormalised one drowns the residual",
    rule=f"its perplexity is more than {NOTABLE:.0%} lower in both layouts",
    recipes=both("fourier", "fourier-unnormalised"),
    late=True,
)
def normalised() -> tuple[Word, str]:
    """The same encoder but for one factor."""
    found = {
        words: lower(f"{way}fourier", f"{way}fourier-unnormalised", in_layout)
        for way, words in zip(LAYOUTS, ("post-LN", "pre-LN"), strict=True)
    }
    return all_of(found)


@claim(
    "mixing/layout",
    says="Where the norms stand decides what can mix: the transform wants them after the sum, attention before it.",
    where="ours, after short tries",
    rule=f"the transform's perplexity is more than {NOTABLE:.0%} lower in the post-LN layout, attention's in the"
    " pre-LN one",
    recipes=both("fourier", "attention"),
    late=True,
)
def by_layout() -> tuple[Word, str]:
    """Either of the two against itself."""
    found = {
        "Fourier": lower("fourier", f"{PRE_NORM}fourier", in_layout),
        "attention": lower(f"{PRE_NORM}attention", "attention", in_layout),
    }
    return all_of(found)


@claim(
    "mixing/even",
    says="As the paper writes it, the transform wants an even number of layers: with an odd one the stack learns less.",
    where="ours: two transforms bring a text back, mirrored, and the residual is too faint to do without that",
    rule=f"with one layer less and with one layer more the perplexity is more than {NOTABLE:.0%} above that of four"
    " layers; and the normalised transform with one layer more is not",
    recipes=["mixing/fourier-unnormalised", "mixing/fourier"]
    + [f"mixing/{name}-{more}" for name, more in DEPTHS],
    late=True,
)
def even() -> tuple[Word, str]:
    """Three, four and five layers; the rule is from the page's own runs on the miniature."""
    raw = "fourier-unnormalised"
    found = {more: lower(raw, f"{raw}-{more}", in_layout) for more in MORE}
    control, seen = lower("fourier", "fourier-one-more", in_layout)
    stays: Word = "refuted" if control == "confirmed" else "confirmed"
    parts = [f"four layers against {more.replace('-', ' ')}: {words}" for more, (_, words) in found.items()]
    return every([*(word for word, _ in found.values()), stays]), "; ".join([*parts, f"normalised: {seen}"])
