"""What is claimed of supermasks in random transformers, and by which rule our records decide it.

The rules were written down before the records were made, but for those that say `late`. Percentages that nobody has run
are left out of a rule that speaks of all of them, as long as there are three on its curve.
"""

from __future__ import annotations

from collections.abc import Callable

from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import (
    CannotTellError,
    NotRunError,
    Range,
    Word,
    above,
    between,
    each,
    score,
    spread,
)
from reservoir.recipes import family
from reservoir.recipes.supermasks import HALF, NARROW, PERCENTAGES

NEARLY = 1.0  # BLEU
LEAST = 5.0
"""BLEU that half of one shared layer must reach before anything is said: next to nothing, nothing differs."""
FEWEST = 3  # points that make a curve
PAIRS = ("mrpc", "rte")
COMMONEST = {"mrpc": 66.5, "rte": 52.7}
"""Percent of the test texts that are of the commonest class: what an answer without a look at the text scores."""
ALONE = 25.0  # BLEU that the larger model is to reach with masks alone
WITH_EMBEDDINGS = 30.0  # and with embeddings of a trained run


def bleu(recipe: str) -> Range:
    """BLEU on the first test set; one seed borrows the widest spread of the sweep.

    Raises:
        CannotTellError: the model in the middle of the sweep has hardly learned.
    """
    middle = score(f"keep/shared-random-{HALF}")
    if middle.mean < LEAST:
        raise CannotTellError(f"keep/shared-random-{HALF} reaches {middle} BLEU; {LEAST:g} is the least")
    return score(recipe).widened(spread([*family("keep"), *family("initial"), *family("supermask")]))


def accuracy(recipe: str) -> Range:
    """Accuracy in percent; one seed borrows the widest spread among the sentence pairs."""
    return score(recipe).widened(spread(family("pairs")))


def curve(row: str, figure: Callable[[str], Range] = bleu) -> dict[int, Range]:
    """Percentage -> figure, of those that have been run.

    Raises:
        NotRunError: fewer than three have.
    """
    found = {}
    for percent in PERCENTAGES:
        try:
            found[percent] = figure(f"{row}-{percent}")
        except NotRunError:
            continue
    if len(found) < FEWEST:
        raise NotRunError(f"{row} has been run at {len(found)} percentages; {FEWEST} are the fewest")
    return found


def differences(row: str, other: str) -> dict[str, Range]:
    """At each percentage that both have been run at, how far `row` is above `other`.

    Raises:
        NotRunError: there are fewer than three.
    """
    ours, theirs = curve(row), curve(other)
    both = sorted(ours.keys() & theirs.keys())
    if len(both) < FEWEST:
        raise NotRunError(f"{row} and {other} have {len(both)} percentages in common")
    return {f"{percent} %:": ours[percent] - theirs[percent] for percent in both}


def percentages(*rows: str) -> tuple[str, ...]:
    return tuple(f"{row}-{percent}" for row in rows for percent in PERCENTAGES)


def best_at(row: str, percent: int, figure: Callable[[str], Range] = bleu) -> dict[str, Range]:
    """How far the curve at one percentage is above each other one."""
    points = curve(row, figure)
    if percent not in points:
        raise NotRunError(f"{row}-{percent} has not been run at the laptop scale")
    return {
        f"above {other} %:": points[percent] - value for other, value in points.items() if other != percent
    }


@claim(
    "one-layer/no-difference",
    rule=f"with random embeddings, one shared layer is within {NEARLY:g} BLEU of layers of their own at every"
    " percentage",
    recipes=percentages("keep/shared-random", "keep/layers-random"),
)
def no_difference() -> tuple[Word, str]:
    gaps = differences("keep/shared-random", "keep/layers-random")
    return each(gaps, lambda gap: between(gap, -NEARLY, NEARLY))


@claim(
    "one-layer/best-half",
    rule="with one shared layer and random embeddings, BLEU at 50 % is above that at every other percentage",
    recipes=percentages("keep/shared-random"),
)
def best_half() -> tuple[Word, str]:
    return each(best_at("keep/shared-random", HALF), above)


@claim(
    "one-layer/ends",
    rule="on both curves with random embeddings, BLEU at 10 % and at 90 % is below that at every percentage between",
    recipes=percentages("keep/shared-random", "keep/layers-random"),
)
def ends() -> tuple[Word, str]:
    gaps = {}
    for stack in ("shared", "layers"):
        points = curve(f"keep/{stack}-random")
        low, high = PERCENTAGES[0], PERCENTAGES[-1]
        if low not in points or high not in points:
            raise NotRunError(f"keep/{stack}-random has not been run at {low} and {high} %")
        for end in (low, high):
            nearest = min((points[p] - points[end] for p in points if low < p < high), key=lambda g: g.mean)
            gaps[f"{stack}, the lowest of the others is above {end} % by"] = nearest
    return each(gaps, above)


@claim(
    "one-layer/boost",
    rule="with one shared layer, pretrained embeddings are above random masked ones at every percentage",
    recipes=percentages("keep/shared-pretrained", "keep/shared-random"),
)
def boost() -> tuple[Word, str]:
    return each(differences("keep/shared-pretrained", "keep/shared-random"), above)


def share_of_trained(recipe: str) -> Range:
    """BLEU of a model as a share of the fully trained one's, in percent."""
    return bleu(recipe) / bleu("keep/trained") * 100


@claim(
    "one-layer/reaches",
    rule="half of one shared layer on pretrained embeddings reaches at least 74 % of the trained model's BLEU, the"
    " lower of the two shares",
    recipes=("keep/shared-pretrained-50", "keep/trained"),
)
def reaches() -> tuple[Word, str]:
    share = share_of_trained("keep/shared-pretrained-50")
    return above(share, 74), f"{share} % of the trained model's BLEU"


@claim(
    "one-layer/match",
    rule="half of one shared layer of twice the width on pretrained embeddings reaches at least 92 % of the BLEU of the"
    " trained model of the usual width, the lower of the two shares",
    recipes=("keep/wide-pretrained-50", "keep/trained"),
)
def match() -> tuple[Word, str]:
    share = share_of_trained("keep/wide-pretrained-50")
    return above(share, 92), f"{share} % of the trained model's BLEU"


@claim(
    "one-layer/depth-or-width",
    rule="at 50 % and on pretrained embeddings, twice the depth and twice the width are both above the usual size, and"
    " the width is above the depth",
    recipes=("keep/deep-pretrained-50", "keep/wide-pretrained-50", "keep/shared-pretrained-50"),
)
def depth_or_width() -> tuple[Word, str]:
    usual, deep, wide = (bleu(f"keep/{stack}-pretrained-50") for stack in ("shared", "deep", "wide"))
    return each(
        {"deeper by": deep - usual, "wider by": wide - usual, "wider above deeper by": wide - deep}, above
    )


@claim(
    "one-layer/wider-always",
    rule="with random embeddings, one shared layer of twice the width is above the usual one at every percentage",
    recipes=percentages("keep/wide-random", "keep/shared-random"),
)
def wider_always() -> tuple[Word, str]:
    return each(differences("keep/wide-random", "keep/shared-random"), above)


@claim(
    "one-layer/transition",
    rule=f"from 50 to 60 % the deeper model loses more than {NEARLY:g} BLEU, and more than the usual one does",
    recipes=tuple(f"keep/{stack}-random-{percent}" for stack in ("deep", "shared") for percent in (50, 60)),
)
def transition() -> tuple[Word, str]:
    lost = {
        stack: bleu(f"keep/{stack}-random-50") - bleu(f"keep/{stack}-random-60")
        for stack in ("deep", "shared")
    }
    sharp = above(lost["deep"], NEARLY)
    more = above(lost["deep"] - lost["shared"])
    word = sharp if sharp == more else "refuted" if "refuted" in (sharp, more) else "undecided"
    return word, f"the deeper model loses {lost['deep']}, the usual one {lost['shared']}"


INITIAL_AT = (50, 90)
"""The percentages at which initialisations are compared."""


def at_both(row: str, other: str) -> dict[str, Range]:
    """How far `row` is above `other` at those percentages."""
    return {f"{percent} %:": bleu(f"{row}-{percent}") - bleu(f"{other}-{percent}") for percent in INITIAL_AT}


def of_both(row: str, other: str) -> tuple[str, ...]:
    """The recipes that this takes."""
    return tuple(f"{name}-{percent}" for name in (row, other) for percent in INITIAL_AT)


XAVIER = ("initial/kaiming", "initial/xavier")


@claim(
    "one-layer/xavier",
    rule="at 50 % and at 90 %, kaiming-uniform is above Xavier-uniform, both scaled by √(1/σ)",
    recipes=of_both(*XAVIER),
)
def xavier() -> tuple[Word, str]:
    return each(at_both(*XAVIER), above)


@claim(
    "one-layer/xavier-more",
    rule="what Xavier-uniform loses at 90 % is more than at 50 %",
    recipes=of_both(*XAVIER),
)
def xavier_more() -> tuple[Word, str]:
    half, most = at_both(*XAVIER).values()
    return above(most - half), f"{half} BLEU lost at 50 %, {most} at 90 %"


@claim(
    "ours/scaling",
    says="weights drawn √(1/σ) times as large make better subnetworks than weights drawn as ever",
    where="the paper's choice, which its released code leaves out for kaiming-uniform",
    rule="kaiming-uniform with the factor is above kaiming-uniform without, at 50 % and at 90 %",
    recipes=of_both("initial/kaiming", "initial/unscaled"),
)
def scaling() -> tuple[Word, str]:
    return each(at_both("initial/kaiming", "initial/unscaled"), above)


@claim(
    "ours/signed",
    says="a constant with random signs makes better subnetworks than kaiming-uniform",
    where="Ramanujan et al. 2020, on pictures",
    rule="the signed constant is above kaiming-uniform at 50 % and at 90 %",
    recipes=of_both("initial/signed", "initial/kaiming"),
)
def signed() -> tuple[Word, str]:
    return each(at_both("initial/signed", "initial/kaiming"), above)


@claim(
    "ours/usual-draws",
    says="weights drawn as a transformer's usually are make better subnetworks than kaiming-uniform ones",
    where="the paper's choice, which its released code overrides for attention",
    rule="the usual draws are above kaiming-uniform at 50 % and at 90 %, both scaled by √(1/σ)",
    recipes=of_both("keep/shared-random", "initial/kaiming"),
)
def usual_draws() -> tuple[Word, str]:
    return each(at_both("keep/shared-random", "initial/kaiming"), above)


@claim(
    "ours/magnitude",
    says="the top of |S|, as the code has it, finds better subnetworks than the top of S, as the formula reads",
    where="where the paper and its code differ",
    rule="at 50 % of one shared layer, choosing by |S| is above choosing by S in BLEU",
    recipes=("keep/shared-random-50", "keep/by-score-50"),
)
def magnitude() -> tuple[Word, str]:
    gap = bleu("keep/shared-random-50") - bleu("keep/by-score-50")
    return above(gap), f"{gap} BLEU above"


@claim(
    "ours/nearly-all",
    says="choosing by |S| cannot keep nearly all, since the scores of what is left out may not leave nought",
    where="where the paper and its code differ",
    rule="at 90 % of one shared layer, choosing by S is above choosing by |S| in BLEU",
    recipes=("keep/shared-random-90", "keep/by-score-90"),
    late=True,
)
def nearly_all() -> tuple[Word, str]:
    gap = bleu("keep/by-score-90") - bleu("keep/shared-random-90")
    return above(gap), f"{gap} BLEU above"


@claim(
    "ours/sharing",
    says="one shared layer costs little when its weights are trained, too",
    where="the control that the paper lacks",
    rule=f"the trained shared layer is within {NEARLY:g} BLEU of trained layers of their own",
    recipes=("keep/trained-shared", "keep/trained"),
)
def sharing() -> tuple[Word, str]:
    gap = bleu("keep/trained-shared") - bleu("keep/trained")
    return between(gap, -NEARLY, NEARLY), f"{gap} BLEU above layers of their own"


@claim(
    "ours/pruning",
    says="for the same bytes, masks over random weights are worth more than a trained model pruned by magnitude",
    where="the other control that the paper lacks",
    rule="half of one shared layer, with random embeddings, is above the pruned model in BLEU",
    recipes=("keep/shared-random-50", "keep/pruned"),
)
def pruning() -> tuple[Word, str]:
    gap = bleu("keep/shared-random-50") - bleu("keep/pruned")
    return above(gap), f"{gap} BLEU above"


@claim(
    "ours/narrow",
    says="for the same bytes, masks over random weights are better than a narrow trained model in few bits",
    where="the rival that the paper lacks",
    rule="half of one shared layer, with random embeddings, is above the model with eight bits a weight and the wider"
    " one with four, both scored before rounding",
    recipes=("keep/shared-random-50", "keep/narrow-8", "keep/narrow-4"),
    late=True,
)
def narrow() -> tuple[Word, str]:
    ours = bleu("keep/shared-random-50")
    return each({f"{bits} bits:": ours - bleu(f"keep/narrow-{bits}") for bits in NARROW}, above)


@claim(
    "ours/alone",
    says="masks alone, over one shared random layer and random embeddings, translate",
    where="the bar that this book set itself",
    rule=f"the larger model reaches at least {ALONE:g} BLEU in ten minutes of one core",
    recipes=("supermask/random",),
)
def alone() -> tuple[Word, str]:
    figure = bleu("supermask/random")
    return above(figure, ALONE), f"{figure} BLEU"


@claim(
    "ours/with-embeddings",
    says="with a trained run's embeddings they translate nearly as well as what is trained",
    where="the other bar",
    rule=f"the larger model on pretrained embeddings reaches at least {WITH_EMBEDDINGS:g} BLEU in ten minutes of one"
    " core",
    recipes=("supermask/pretrained",),
)
def with_embeddings() -> tuple[Word, str]:
    figure = bleu("supermask/pretrained")
    return above(figure, WITH_EMBEDDINGS), f"{figure} BLEU"


@claim(
    "one-layer/best-seventy",
    rule="on MRPC and on RTE, accuracy at 70 % is above that at every other percentage",
    recipes=percentages(*(f"pairs/{corpus}" for corpus in PAIRS)),
)
def best_seventy() -> tuple[Word, str]:
    gaps = {
        f"{corpus.upper()} {name}": gap
        for corpus in PAIRS
        for name, gap in best_at(f"pairs/{corpus}", 70, accuracy).items()
    }
    return each(gaps, above)


@claim(
    "one-layer/roberta-result",
    rule="on MRPC and on RTE, 70 % of one random layer reaches at least 79 % of the fine-tuned model's accuracy, the"
    " lower of the two shares, and more than the commonest class would",
    recipes=tuple(
        name for corpus in PAIRS for name in (f"pairs/{corpus}-70", f"fine-tune/{corpus}/regular-4")
    ),
)
def pairs_reach() -> tuple[Word, str]:
    shares, gains = {}, {}
    for corpus in PAIRS:
        ours, whole = accuracy(f"pairs/{corpus}-70"), accuracy(f"fine-tune/{corpus}/regular-4")
        shares[f"{corpus.upper()}: share"] = ours / whole * 100
        gains[f"{corpus.upper()}: above the commonest class by"] = ours - COMMONEST[corpus]
    reached, seen = each(shares, lambda share: above(share, 79))
    gained, more = each(gains, above)
    order: tuple[Word, ...] = ("refuted", "undecided", "confirmed")
    return next(word for word in order if word in (reached, gained)), f"{seen}; {more}"
