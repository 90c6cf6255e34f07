"""Sentences that the chapters do not quote, of the poster, the essay and the one-layer paper, and how they are decided.

Of some of these recipes records were known when the rules were written, which the ledger says of each (`late`).
"""

from __future__ import annotations

import math

from reservoir.evidence.claims import mixing
from reservoir.evidence.claims.components import bleu, perplexity
from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import Range, Word, above, below, each, every, records, score
from reservoir.evidence.claims.supermasks import HALF, NEARLY, PAIRS, accuracy, share_of_trained
from reservoir.evidence.claims.supermasks import bleu as masked_bleu
from reservoir.evidence.claims.universal import LU, TWO, recipes_of, swept

IMPRESSIVE = 90.0  # percent of the score that everything trained has
STRONG = 5.0  # points of accuracy
BESIDES = ("embeddings", "attention", "feed-forward")


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
        f"{part}:": bleu(f"components/{part}") - bleu(f"components/{part}-identity") for part in BESIDES[1:]
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
        return bleu(f"components/{part}") / bleu("components/baseline")

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
        f"{row}: %": bleu(f"components/{row}") / bleu("components/baseline") * 100
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
    whole = bleu("components/baseline")
    narrow, frozen = (
        whole - bleu("narrow/baseline"),
        whole - bleu("components/feed-forward"),
    )
    gap = bleu("components/feed-forward") - bleu("narrow/baseline")
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
    recipes=mixing.both("fourier", "random", "feed-forward"),
    late=True,
)
def substrate() -> tuple[Word, str]:
    found = {name: mixing.lower(name, "feed-forward") for name in ("fourier", "random")}
    return mixing.all_of(found)


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
