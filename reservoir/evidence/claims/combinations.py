"""What we expect of combinations that no source tried, and by which rule their records decide it.

All are ours, and the rules were written down before the records were made. The translators are held against chapter
4's rows, which have the same text, steps and sizes; what counts as the same, and as nearly the same, is as there.
"""

from __future__ import annotations

from reservoir.evidence.claims.components import NEARLY, SAME, bleu
from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import (
    Range,
    Word,
    above,
    below,
    between,
    each,
    records,
    spread,
)
from reservoir.evidence.claims.universal import SAME as POINTS
from reservoir.evidence.claims.universal import at_best_rate, swept
from reservoir.recipes.combinations import PERCENTAGES, TASK
from reservoir.recipes.universal import RATES, sweep_of

OURS = "a question of ours, chapter 12"
FNET = 92.0  # per cent: the lower of the two shares that FNet's paper says it keeps
LEARNED, PARTS = "components/baseline", ("embeddings", "attention", "feed-forward")


def ours(row: str) -> str:
    """The recipe of a translator of chapter 12."""
    return f"combinations/{row}"


def bought_back(part: str) -> Range:
    """BLEU that a bit for each weight of a component is above the component frozen."""
    return bleu(ours(f"masked-{part}")) - bleu(f"components/{part}")


@claim(
    "combinations/fourier",
    says="What FNet keeps of BERT's accuracy, a translator whose encoder has no attention keeps of its BLEU.",
    where=f"{OURS}, after Lee-Thorp et al. 2022",
    rule=f"every seed of the Fourier encoder keeps {FNET:g} % of the BLEU of every seed of the usual one",
    recipes=(ours("fourier"), LEARNED),
)
def fourier() -> tuple[Word, str]:
    share = bleu(ours("fourier")) / bleu(LEARNED) * 100
    return above(share, FNET), f"{share} % of the BLEU"


@claim(
    "combinations/fourier-post-norm",
    says="With norms behind the sublayers a translator's transforms lose less, as chapter 8's language models do.",
    where=f"{OURS}, after Lee-Thorp et al. 2022, whose encoder is post-LN",
    rule="what transforms in the encoder cost, in BLEU below attention in the same layout, is less with norms behind"
    " the sublayers than in front, whatever seeds are compared",
    recipes=(ours("fourier-post-norm"), ours("post-norm"), ours("fourier"), LEARNED),
)
def fourier_post_norm() -> tuple[Word, str]:
    behind = bleu(ours("post-norm")) - bleu(ours("fourier-post-norm"))
    front = bleu(LEARNED) - bleu(ours("fourier"))
    return above(front - behind), f"{behind} BLEU less behind, {front} in front"


@claim(
    "combinations/reservoir-among-transforms",
    says="A frozen feed-forward layer helps between layers without attention too.",
    where=f"{OURS}, after Shen et al. 2021",
    rule="its BLEU is above that of the two layers alone, whatever seeds are compared",
    recipes=(ours("fourier-reservoirs"), ours("fourier")),
)
def reservoirs() -> tuple[Word, str]:
    gap = bleu(ours("fourier-reservoirs")) - bleu(ours("fourier"))
    return above(gap), f"{gap} BLEU more"


@claim(
    "combinations/transform-or-draw",
    says="Where an encoder's maps are frozen, a fixed transform mixes its tokens better than attention as drawn.",
    where=OURS,
    rule="with frozen feed-forward layers, BLEU with transforms is above that with frozen attention, whatever seeds are"
    " compared",
    recipes=(ours("fourier-frozen"), ours("attention-frozen")),
)
def transform_or_draw() -> tuple[Word, str]:
    gap = bleu(ours("fourier-frozen")) - bleu(ours("attention-frozen"))
    return above(gap), f"{gap} BLEU more"


@claim(
    "combinations/bits",
    says="One bit a weight buys back some of what freezing costs, whatever the component.",
    where=OURS,
    rule="for embeddings, attention and feed-forward layers alike, the masked row is above the frozen one, whatever"
    " seeds are compared",
    recipes=[name for part in PARTS for name in (ours(f"masked-{part}"), f"components/{part}")],
)
def bits() -> tuple[Word, str]:
    return each({f"{part}:": bought_back(part) for part in PARTS}, above)


@claim(
    "combinations/bits-where-it-hurts",
    says="The bits buy most where freezing costs most: in the embeddings.",
    where=OURS,
    rule="what they buy back in the embeddings is more than what they buy back in attention and in feed-forward layers",
    recipes=[name for part in PARTS for name in (ours(f"masked-{part}"), f"components/{part}")],
)
def where_it_hurts() -> tuple[Word, str]:
    most = bought_back("embeddings")
    return each({f"above {part}:": most - bought_back(part) for part in PARTS[1:]}, above)


@claim(
    "combinations/bit-a-weight",
    says="One bit a weight is nearly as good as thirty-two, whatever the component.",
    where=OURS,
    rule=f"each of the three masked rows is at most {NEARLY:g} BLEU below the row in which everything is trained",
    recipes=(LEARNED, *(ours(f"masked-{part}") for part in PARTS)),
)
def bit_a_weight() -> tuple[Word, str]:
    gaps = {f"{part}:": bleu(LEARNED) - bleu(ours(f"masked-{part}")) for part in PARTS}
    return each(gaps, lambda gap: below(gap, NEARLY))


@claim(
    "combinations/attention-by-bits",
    says="Over frozen embeddings, attention that is chosen is as good as attention that is learned.",
    where=OURS,
    rule=f"masked attention over frozen embeddings is within {SAME:g} BLEU of learned attention over frozen embeddings",
    recipes=(ours("masked-attention-frozen-embeddings"), "components/embeddings"),
)
def attention_by_bits() -> tuple[Word, str]:
    gap = bleu(ours("masked-attention-frozen-embeddings")) - bleu("components/embeddings")
    return between(gap, -SAME, SAME), f"{gap} BLEU more"


@claim(
    "combinations/small-file",
    says="Bits for the embeddings and nothing for the feed-forward layers is nearly as good as everything trained.",
    where=OURS,
    rule=f"it is at most {NEARLY:g} BLEU below the row in which everything is trained",
    recipes=(ours("masked-embeddings-frozen-feed-forward"), LEARNED),
)
def small_file() -> tuple[Word, str]:
    gap = bleu(LEARNED) - bleu(ours("masked-embeddings-frozen-feed-forward"))
    ratio = _bytes(ours("masked-embeddings-frozen-feed-forward")) / _bytes(LEARNED)
    return below(gap, NEARLY), f"{gap} BLEU less in {ratio:.0%} of the bytes"


def _bytes(recipe: str) -> int:
    return records(recipe)[0].parameters["stored_bytes"]


def sweep(percent: int) -> list[str]:
    """The recipes of a masked GPT, in the order of their rates."""
    return [ours(f"gpt-masks-{percent}/{rate}") for rate in RATES]


def gpt_masked(percent: int) -> Range:
    """Accuracy of a masked GPT at the rate that validation chose; one seed borrows the other share's spread."""
    lent = spread(PERCENTAGES, lambda other: at_best_rate(sweep(other)))
    return at_best_rate(sweep(percent)).widened(lent)


@claim(
    "combinations/masks-for-norms",
    says="In a frozen GPT, masks can stand in for the norms that Lu et al. train.",
    where=f"{OURS}, after Lu et al. 2021",
    rule=f"on digits, at the rate that validation chose for each, the better of the two masked bodies is at most"
    f" {POINTS:g} points below the one whose norms and positions are trained",
    recipes=[*(name for percent in PERCENTAGES for name in sweep(percent)), *sweep_of(TASK, "pretrained")],
)
def masks_for_norms() -> tuple[Word, str]:
    found = {}
    for percent in PERCENTAGES:
        found[percent] = gpt_masked(percent)
    best = max(found, key=lambda percent: found[percent].mean)
    gap = swept(TASK, "pretrained") - found[best]
    return below(gap, POINTS), f"{best} % of the weights: {gap} points less"


@claim(
    "combinations/masks-over-gpt",
    says="Under masks, too, a body that has read is worth more than a random one.",
    where=OURS,
    rule="on digits, half of the weights kept, at the rate that validation chose for each, every seed of the pretrained"
    " body is above every seed of the random one",
    recipes=[*sweep(PERCENTAGES[0]), *sweep_of(TASK, "masked")],
)
def masks_over_gpt() -> tuple[Word, str]:
    gap = gpt_masked(PERCENTAGES[0]) - swept(TASK, "masked")
    return above(gap), f"{gap} points more"
