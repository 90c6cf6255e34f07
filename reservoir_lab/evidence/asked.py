"""What is asked of the bench: the sources' claims, and at most 15 predictions of our own.

A claim's name is that of its quotation in `data/sources`; paraphrases say themselves what they say. One that names no
task is asked on every task that has its rows, and pays for it (`cells.cells`). Those that the bench cannot ask say what
they would take.

Margins are points of the answers that are right, of which a trained model gets 90 to 100 %.
"""

from __future__ import annotations

from reservoir_lab.evidence.cells import (
    Ask,
    Claim,
    alike,
    as_good,
    better,
    cheaper,
    fewer,
    keeps,
    loses_more,
    more_area,
    ordered,
)

SAME = 5.0
"""Points: a twentieth of the scale. The poster calls rows "nearly the same" that are 1 % of their BLEU apart, and its
smallest cost of freezing that it reports as one is 4.5 % (24.3 to 23.2)."""
CLOSE = 8.0
"""Points: FNet's paper says that it keeps 92 % at the least."""
SMALL = 10.0
"""Points: twice what we call the same, for "a relatively small sacrifice"."""
QUARTER = "the narrow row has a quarter of the feed-forward width, as the poster's second model has"
ATTENTION, FEED_FORWARD, EMBEDDINGS = "frozen-attention", "frozen-feed-forward", "frozen-embeddings"
NEITHER = "frozen-attention-feed-forward"  # all of a body
BITS, MEMORY = "bits per trained number", ("memory-16", "memory-32", "memory-64")
OWN_TASKS = "the paper's own tasks and sizes; its comparisons are asked one by one, on the bench's"
PRINTED = "no run: it is arithmetic on what the source prints; Appendix B does it"
STORED = "no run: it says how numbers are stored; a test of the file format holds it"
FULL_SIZE = "training at the source's own size, on its data: appendix A4 says what that costs"

DISSOCIATION = better(f"circle/{FEED_FORWARD}", f"circle/{ATTENTION}") + better(
    f"facts/{ATTENTION}", f"facts/{FEED_FORWARD}", SAME
)

POSTER = (
    Claim("poster/similar", alike(ATTENTION, FEED_FORWARD, SAME)),
    Claim(
        "poster/least",
        better(FEED_FORWARD, EMBEDDINGS) + better(FEED_FORWARD, ATTENTION),
        says="of the three components, frozen feed-forward layers cost the least",
        where="poster, table 1, rows (1) to (3)",
    ),
    Claim(
        "poster/complementary",
        better(FEED_FORWARD, "frozen-feed-forward-embeddings")
        + better(ATTENTION, "frozen-attention-embeddings"),
        why="with feed-forward layers or attention frozen already, freezing the embeddings costs more still",
    ),
    Claim(
        "poster/retained",
        keeps("frozen-feed-forward-embeddings", "trained", 80),
        why="the row with 35 % of the parameters is the one in which attention alone is trained",
    ),
    Claim(
        "poster/diagonal",
        better(ATTENTION, "identity-attention", SAME) + better(FEED_FORWARD, "identity-feed-forward", SAME),
        why="read as identities in a part's place; “much” is by more than 5 points",
    ),
    Claim(
        "poster/diagonal-hollow",
        better(ATTENTION, "hollow-attention", SAME) + better(FEED_FORWARD, "hollow-feed-forward", SAME),
        why="read as maps whose diagonal is zero; “much” is by more than 5 points",
        says="random maps do better than maps without a diagonal, which is the other reading of the poster's sentence"
        " on the diagonal",
        where="poster, Transformer-big experiments",
    ),
    Claim(
        "poster/sensitive",
        loses_more(("narrow", "narrow-frozen"), ("trained", FEED_FORWARD)),
        tasks=("brackets", "facts", "grammar"),
        why=f"of the sensitivity alone, by feed-forward layers; {QUARTER}; the circle has no cost to compare",
    ),
    Claim("poster/small-ffn", alike("narrow", "narrow-frozen", SAME), why=QUARTER),
    Claim(
        "poster/width",
        better(FEED_FORWARD, "narrow"),
        why=f"wide and frozen above narrow and trained: {QUARTER}",
    ),
    Claim(
        "poster/embeddings",
        better(ATTENTION, EMBEDDINGS, SAME) + better(FEED_FORWARD, EMBEDDINGS, SAME),
        tasks=("grammar", "words"),
        why="of language models, so on the two tasks with words; “much” is by more than 5 points",
    ),
    Claim(
        "poster/drop",
        needs="a language model and a translator of the same text, ten seeds a row; the bench has one model of both",
    ),
    Claim(
        "poster/make-use",
        better(ATTENTION, "no-attention") + better(FEED_FORWARD, "no-feed-forward"),
        why="what is of use beats what is not there",
    ),
    Claim(
        "poster/task-specific",
        DISSOCIATION,
        why="the part whose freezing costs more on one task costs less on another",
    ),
    Claim(
        "poster/subset",
        keeps("frozen-attention-embeddings", "trained", 50)
        + keeps("frozen-feed-forward-embeddings", "trained", 50),
        why="half of the score is our reading of “surprisingly good”, as before the bench",
    ),
    Claim("poster/random-good", better(FEED_FORWARD, "narrow"), why=QUARTER),
    Claim("poster/on-the-fly", needs="no run: it is a question; Chapter 9 makes weights while they are used"),
    Claim(
        "poster/sizes",
        needs=PRINTED,
        says="“213M parameters”, “137M parameters”",
        where="poster, the headings of its tables [doc]",
    ),
    Claim(
        "poster/big-shares",
        needs=PRINTED,
        says="the shares of the parameters that are trained, row by row",
        where="poster, table 1, Trainable/All [doc]",
    ),
    Claim(
        "poster/narrow-shares",
        needs=PRINTED,
        says="the shares of the parameters that are trained, row by row",
        where="poster, table 2, Trainable/All [doc]",
    ),
    Claim(
        "poster/big-order",
        ordered(
            ("trained", 24.3),
            (FEED_FORWARD, 23.2),
            (EMBEDDINGS, 22.6),
            (ATTENTION, 22.3),
            ("frozen-feed-forward-embeddings", 21.5),
            ("frozen-attention-embeddings", 20.8),
            (NEITHER, 4.4),
            apart=1.0,
        ),
        why="every two rows that the poster has more than 1 BLEU apart; the two with a zero diagonal are asked alone",
        says="the order of the rows by BLEU",
        where="Frozen and random transformer components (poster), Transformer-big experiments [doc]",
    ),
    Claim(
        "poster/narrow-order",
        needs="rows of the narrow model with each other part frozen; two other claims ask of its feed-forward layers",
        says="the order of the rows by BLEU",
        where="Frozen and random transformer components (poster), Reducing FFN width [doc]",
    ),
    Claim(
        "poster/lm-order",
        ordered(
            ("trained", -37.4),
            (ATTENTION, -47.5),
            (FEED_FORWARD, -50.3),
            (EMBEDDINGS, -118.4),
            (NEITHER, -131.7),
            ("frozen-attention-embeddings", -157.3),
            ("frozen-feed-forward-embeddings", -209.3),
            apart=5.0,
        ),
        tasks=("grammar",),
        why="of a language model, which grammar's is; every two rows whose perplexities differ by more than 5",
        says="the order of the rows by PPL",
        where="Frozen and random transformer components (poster), LM [doc]",
    ),
    Claim(
        "poster/size-matters",
        tuple(
            one
            for part in (ATTENTION, FEED_FORWARD, EMBEDDINGS)
            for one in loses_more(
                ("brackets-16/trained", f"brackets-16/{part}"),
                ("brackets-128/trained", f"brackets-128/{part}"),
            )
        ),
        why="a cause cannot be asked; in its place, that freezing any part costs less in a large model",
    ),
    Claim(
        "poster/pretrained",
        needs="no run: it is a question; good embeddings are trained on far more text",
    ),
    Claim(
        "poster/epochs",
        cheaper("trained", "narrow", of="steps"),
        why=f"to nine tenths of what the narrow model reaches; {QUARTER}",
        says="“Smaller models take more epochs to converge”",
        where="poster, Reducing FFN width [doc]",
    ),
    Claim(
        "poster/language-size",
        needs="the dimensions of the language model, which the poster does not state",
        says="“38M parameters”",
        where="poster, the heading of its third table [doc]",
    ),
    Claim(
        "poster/lm-shares",
        needs="the dimensions of the language model, which the poster does not state",
        says="the shares of the parameters that are trained, row by row",
        where="poster, table 3, Trainable/All [doc]",
    ),
)

KINDS = ("reservoir-ffn", "reservoir-transformer")
AS_DEEP = "every second layer is frozen; next to the model as deep, all of which is trained"
WHOLE = f"of whole reservoirs; {AS_DEEP}"
AS_MANY = "every second layer is frozen; next to the model with as many layers that learn"

TIME = "operations in place of time, to nine tenths of what the other model reaches (on the circle, to 90 %)"


def each(ask: object, *others: object) -> tuple[Ask, ...]:
    """The same question of feed-forward and of whole reservoirs."""
    return tuple(one for kind in KINDS for one in ask(kind, *others))  # type: ignore[operator]


BAIR = (
    Claim("bair/faster", each(cheaper, "half"), why=f"{TIME}; {AS_MANY}"),
    Claim("bair/overall", each(better, "half"), why=AS_MANY),
    Claim(
        "bair/power",
        better("reservoir-transformer", "half") + fewer("reservoir-transformer", "trained"),
        why="depth helps, and costs fewer operations than as many layers that all learn",
    ),
    Claim("bair/saving", each(fewer, "trained"), why=AS_DEEP),
    Claim("bair/gpt-3", needs="models as large as GPT-3 with and without reservoirs, to the same loss"),
    Claim("bair/cost", needs="the bill for a training run in 2020"),
    Claim("bair/larger", needs="a sweep over sizes of models and of data; it quotes others"),
)

RESERVOIRS = (
    Claim(
        "reservoir-transformers/backskipping",
        better("reservoir-transformer", "backskipping")
        + as_good("backskipping", "reservoir-transformer", SMALL),
        why="a sacrifice, and a small one: at most 10 points, twice what we call the same",
    ),
    Claim(
        "reservoir-transformers/backskipping-later", as_good("backskipping", "reservoir-transformer", SAME)
    ),
    Claim(
        "reservoir-transformers/time-iwslt",
        each(cheaper, "half"),
        any_of=True,
        why=f"“up to”: one kind of reservoir is enough; {TIME}; {AS_MANY}",
    ),
    Claim("reservoir-transformers/time-wmt", needs=FULL_SIZE),
    Claim(
        "masked/frozen-in-pretraining-4",
        each(as_good, "trained", SAME),
        any_of=True,
        tasks=("words",),
        why=f"a saving that costs at most 5 points is a benefit; of covered words; {AS_DEEP}",
        says="Layers frozen during pretraining: a benefit. (Here at 2 layers; appendix A8 has 4.)",
        where="Reservoir Transformers, §1: that frozen layers help in pretraining or fine-tuning",
    ),
    Claim(
        "masked/frozen-in-pretraining-6",
        needs="a masked task that needs six layers; the bench's has two",
        says="Layers frozen during pretraining: a benefit, at 6 layers.",
        where="Reservoir Transformers, §1: that frozen layers help in pretraining or fine-tuning",
    ),
    Claim(
        "masked/frozen-in-fine-tuning-4",
        needs="rows in which half of a pretrained body is frozen while the rest is fine-tuned",
        says="Layers frozen only while fine-tuning: a benefit, at 4 layers.",
        where="Reservoir Transformers, §1: that frozen layers help in pretraining or fine-tuning",
    ),
    Claim(
        "masked/frozen-in-fine-tuning-6",
        needs="the same, and a task that needs six layers",
        says="Layers frozen only while fine-tuning: a benefit, at 6 layers.",
        where="Reservoir Transformers, §1: that frozen layers help in pretraining or fine-tuning",
    ),
    Claim(
        "reservoir-transformers/masked-layers-frozen", needs="both of the above: pretraining and fine-tuning"
    ),
    Claim(
        "reservoir-transformers/ffn-best",
        better("reservoir-ffn", "reservoir-transformer")
        + better("reservoir-ffn", "reservoir-gru")
        + better("reservoir-ffn", "reservoir-conv"),
    ),
    Claim("reservoir-transformers/layer-drop", alike("reservoir-transformer", "layer-drop", SAME)),
    Claim(
        "reservoir-transformers/impressive",
        each(keeps, "trained", 90),
        why=f"nine tenths of the score is our reading of “impressive”; {AS_DEEP}",
    ),
    Claim(
        "reservoir-transformers/improvements",
        each(better, "half"),
        any_of=True,
        why=f"of the overall performance alone, and one kind is enough; {AS_MANY}",
    ),
    Claim(
        "reservoir-transformers/match",
        as_good("reservoir-ffn", "trained", SAME) + fewer("reservoir-ffn", "trained"),
        why=f"of feed-forward reservoirs; {AS_DEEP}",
    ),
    Claim(
        "reservoir-transformers/improve",
        each(better, "trained"),
        any_of=True,
        why=f"“may”: one kind is enough; {AS_DEEP}",
    ),
    Claim(
        "reservoir-transformers/bigger",
        needs="networks too deep to be trained whole, and trained with reservoirs; it introduces the work of others",
    ),
    Claim("reservoir-transformers/environment", needs="a meter on the power of the machines"),
    Claim("reservoir-transformers/gaussian", needs="no run: it is a theorem of others about infinite width"),
    Claim(
        "reservoir-transformers/priors",
        needs="the works that it quotes, in which random networks learn on or are pruned; “excellent” has no measure",
    ),
    Claim("reservoir-transformers/hardware", needs="a circuit"),
    Claim("reservoir-transformers/seed", needs=STORED),
    Claim(
        "reservoir-transformers/distributed", needs="machines apart from each other, and a device at the edge"
    ),
    Claim("reservoir-transformers/remain", as_good("reservoir-transformer", "trained", SAME), why=WHOLE),
    Claim(
        "reservoir-transformers/cover",
        needs="no run: Cover's theorem is on points in general position; Chapter 1 counts what it says",
    ),
    Claim(
        "reservoir-transformers/projections",
        needs="no run: it is Johnson and Lindenstrauss's lemma, which Chapter 1 shows on sentences",
    ),
    Claim(
        "reservoir-transformers/sentences",
        needs="the pretrained word vectors that the quoted paper puts under its random encoders",
    ),
    Claim("reservoir-transformers/first", needs="a search of everything printed before it"),
    Claim(
        "reservoir-transformers/area",
        more_area("reservoir-ffn", "trained"),
        why=f"of feed-forward reservoirs, over operations, up to where the cheaper of the two ends; {AS_DEEP}",
    ),
    Claim(
        "reservoir-transformers/generalization",
        each(better, "half"),
        tasks=("circle", "brackets", "grammar"),
        why=f"on sequences that nobody trained on, which facts has none of; {AS_MANY}",
    ),
    Claim("reservoir-transformers/cheaper", each(fewer, "trained"), why=AS_DEEP),
)

FNETS_LAYOUT = "FNet's own transform, unscaled, and its own place of the norms, after each sum"
BODIES = "layers that were trained on another task and are frozen"
BLOG = (
    Claim("blog/as-well", as_good("body-frozen", "trained", SAME), why=BODIES),
    Claim(
        "blog/unrelated",
        keeps("body-frozen", "trained", 90),
        why=f"nine tenths is our reading of “well”; {BODIES}",
    ),
    Claim(
        "blog/modalities", needs="no run: it is a question; two modalities on one body are a row of Chapter 7"
    ),
    Claim(
        "blog/well-under",
        needs="no run: it is a count of GPT-2's weights and of what is added to it; a test makes it",
    ),
    Claim(
        "blog/close",
        better("post", "mix-fourier-post")
        + as_good("mix-fourier-post", "post", CLOSE)
        + fewer("mix-fourier-post", "post"),
        why=f"behind, at most 8 points, with fewer operations; {FNETS_LAYOUT}",
    ),
    Claim(
        "blog/substrate",
        better("mix-fourier", "no-attention"),
        why="components that make use of a frozen mixing are better with it than without; both with norms in front",
    ),
)
FNET = (
    Claim("fnet/quality", keeps("mix-fourier-post", "post", 92), why=f"of quality alone; {FNETS_LAYOUT}"),
    Claim(
        "fnet/speed",
        needs="BERT trained on the GPUs and TPUs of the paper; our benchmarks time single layers",
        says="80 % faster on GPUs and 70 % faster on TPUs at the standard length of 512 tokens.",
        where="FNet: Mixing Tokens with Fourier Transforms, abstract, as quoted elsewhere [2nd]",
    ),
)
LU, ROTHERMEL = "Lu et al. 2021", "Rothermel et al. 2021"
SWEPT = "every row has the best rate of the same sweep, and every seed a body of its own"
PRETRAINED = (
    Claim(
        "frozen-pretrained/trained-parts", needs="no run: it is a count of trained numbers; a test makes it"
    ),
    Claim(
        "lu/pretrained",
        better("body-frozen", NEITHER),
        why=SWEPT,
        says="a frozen pretrained body does better than a frozen random one",
        where=f"{LU}, accuracy on each task but the exclusive-or, on which both are perfect [2nd]",
    ),
    Claim(
        "lu/matched",
        better("body-matched", NEITHER),
        why=f"on four tasks of their seven it helps, on two it harms; {SWEPT}",
        says="the pretrained tensors' means and standard deviations alone make a random body better on bit memory,"
        " ListOps, MNIST and homology, and worse on CIFAR-10 and its pixels",
        where=f"{LU}, accuracy with matched statistics [2nd]",
    ),
    Claim(
        "lu/lstm",
        needs="rows of an LSTM",
        says="even with a random frozen body, a transformer is ahead of an LSTM on bit memory, the exclusive-or,"
        " ListOps and the pixels of CIFAR-10",
        where=f"{LU}, accuracy of the LSTM [2nd]",
    ),
    Claim(
        "lu/added",
        better("only-norms-readout", "only-readout")
        + better(NEITHER, "only-norms-readout")
        + loses_more(("only-norms-readout", "only-readout"), (NEITHER, "only-norms-readout")),
        tasks=("brackets", "facts", "grammar"),
        why="input and positions come together, in a body that is random",
        says="training the norms in addition to the output brings the most; then the input, then the positions bring"
        " more",
        where=f"{LU}, CIFAR-10, by what is trained [2nd]",
    ),
    Claim(
        "frozen-pretrained/accuracy-order",
        needs=OWN_TASKS,
        says="the order of the rows by accuracy",
        where="Pretrained Transformers as Universal Computation Engines, Test accuracy in per cent [2nd]",
    ),
    Claim(
        "frozen-pretrained/cifar10-added-order",
        needs=OWN_TASKS,
        says="the order of the rows by pretrained and random",
        where="Pretrained Transformers as Universal Computation Engines, CIFAR-10, by what is trained [2nd]",
    ),
)
CROSS_MODAL = (
    Claim(
        "rothermel/full",
        better("trained", "body-frozen"),
        why=SWEPT,
        says="with the learning rate swept, training the whole transformer beats a frozen pretrained one",
        where=f"{ROTHERMEL}, ListOps, MNIST, CIFAR-10 and its pixels [2nd]",
    ),
    Claim(
        "rothermel/fine-tuned",
        as_good("body-fine-tuned", "trained", SAME),
        why=SWEPT,
        says="with the learning rate swept, a pretrained transformer that is fine-tuned whole matches or beats one that"
        " is trained from scratch",
        where=f"{ROTHERMEL}, the two rows that are not frozen [2nd]",
    ),
    Claim(
        "rothermel/frozen",
        better("body-frozen", NEITHER),
        why=SWEPT,
        says="with the learning rate swept, a frozen pretrained body still beats a frozen random one",
        where=f"{ROTHERMEL}, ListOps, MNIST, CIFAR-10 and its pixels [2nd]",
    ),
    Claim(
        "rothermel/trained",
        alike("body-fine-tuned", "trained", SAME),
        why=SWEPT,
        says="where everything learns, having been pretrained hardly matters on ListOps, MNIST and CIFAR-10",
        where=f"{ROTHERMEL}, the two rows that are not frozen; the sentence leaves out the pixels of CIFAR-10, where"
        " the paper has 67.8 against 62.0 [2nd]",
    ),
    Claim(
        "cross-modal/accuracy-order",
        needs=OWN_TASKS,
        says="the order of the rows by accuracy",
        where="Don't Sweep your Learning Rate under the Rug: A Closer Look at Cross-modal Transfer of Pretrained"
        " Transformers, Test accuracy in per cent, learning rate swept, 3 seeds [2nd]",
    ),
)

SHARES = ("mask-10", "mask-30", "mask", "mask-70", "mask-90")
OWN_LAYERS = "of masks over layers of their own, not over one layer for all depths"


def best_of(best: str, *others: str) -> tuple[Ask, ...]:
    """One row is above each of the others."""
    return tuple(one for other in others if other != best for one in better(best, other))


ONE_LAYER = (
    Claim(
        "one-layer/abstract",
        keeps("mask-shared-everything", "trained", 62),
        why="62 %, cut off, is the lower share of the figures, 17.29 of 27.51; one layer, random embeddings",
    ),
    Claim(
        "one-layer/match",
        keeps("mask-shared-wider", "trained", 92),
        why="the lower of the two printed shares, at twice the width; embeddings are trained",
    ),
    Claim("one-layer/gain", needs=PRINTED),
    Claim(
        "one-layer/boost",
        better("mask-over-embeddings", "mask-everything"),
        why=f"embeddings that were trained, next to random ones under a mask, at one half; {OWN_LAYERS}",
    ),
    Claim(
        "one-layer/reaches",
        keeps("mask-over-embeddings", "trained", 74),
        why=f"the lower of the two printed shares; {OWN_LAYERS}",
    ),
    Claim(
        "one-layer/deeper",
        keeps("mask-shared-deeper", "trained", 79) + keeps("mask-shared-wider", "trained", 92),
        why="the lower of each two printed shares; embeddings are trained",
    ),
    Claim(
        "one-layer/memory",
        as_good("mask-shared", "mask", SAME) + fewer("mask-shared", "mask", of="stored bytes"),
        why="“similar” is at most 5 points below; by how much less memory follows from the sizes",
    ),
    Claim("one-layer/one-bit", needs=STORED),
    Claim(
        "one-layer/independent",
        needs="no run: it is an argument, and Appendix B shows that it does not follow",
    ),
    Claim(
        "one-layer/search-space",
        needs="no run: one half has the most subsets of all shares; Chapter 8 counts",
    ),
    Claim(
        "one-layer/roberta-result",
        keeps("mask-70", "trained", 79),
        why=f"the lower of the two printed shares, at the 70 % with which it was reached; {OWN_LAYERS}",
    ),
    Claim(
        "one-layer/no-difference",
        alike("mask-shared", "mask", SAME),
        why="at one half; other shares of a shared layer have no rows",
    ),
    Claim(
        "one-layer/ends",
        tuple(one for end in ("mask-10", "mask-90") for mid in SHARES[1:4] for one in better(mid, end)),
        why=f"10 and 90 % below 30, 50 and 70 %; {OWN_LAYERS}",
    ),
    Claim("one-layer/best-half", best_of("mask", *SHARES), why=f"above 10, 30, 70 and 90 %; {OWN_LAYERS}"),
    Claim(
        "one-layer/depth-or-width",
        better("mask-shared-deeper", "mask-shared") + better("mask-shared-wider", "mask-shared"),
        why="twice as deep, twice as wide",
    ),
    Claim("one-layer/wider-always", better("mask-shared-wider", "mask-shared"), why="at one half"),
    Claim("one-layer/transition", needs="rows of the deeper model with 60 % of the weights"),
    Claim("one-layer/xavier", better("mask-kaiming", "mask-xavier"), why=OWN_LAYERS),
    Claim(
        "one-layer/xavier-more",
        loses_more(("mask-kaiming-90", "mask-xavier-90"), ("mask-kaiming", "mask-xavier")),
        why=f"at 90 and at 50 %; {OWN_LAYERS}",
    ),
    Claim(
        "one-layer/best-seventy",
        best_of("mask-70", *SHARES),
        why=f"above 10, 30, 50 and 90 %; {OWN_LAYERS}",
    ),
    Claim("one-layer/roberta-share", needs="a RoBERTa of twice the width, pretrained, on QQP and MNLI"),
    Claim(
        "one-layer/competitive",
        keeps("mask", "trained", 79),
        why=f"79 % is the lowest share that the paper prints of language understanding; {OWN_LAYERS}",
    ),
    Claim("one-layer/footprint", needs=STORED),
    Claim("one-layer/larger-task", needs=FULL_SIZE),
    Claim(
        "one-layer/because-wide",
        needs="a cause is claimed: search spaces of different size at equal width",
    ),
    Claim(
        "one-layer/because-deep",
        needs="the chance of a good subnetwork, defined so that one can count",
    ),
    Claim("one-layer/less-memory", needs=PRINTED),
    Claim("one-layer/consistent", needs="QQP and MNLI at every share of weights"),
    Claim(
        "one-layer/smaller",
        keeps("mask-shared-wider", "trained", 92) + fewer("mask-shared-wider", "trained", of="stored bytes"),
        why="competitive is 92 %, the lower of the two printed shares; embeddings are trained",
    ),
    Claim(
        "one-layer/percentages",
        needs=PRINTED,
        says="89 % and 74 %, 90 % and 79 %, 98 % and 92 % of the fully weighted models' BLEU, as arithmetic",
        where="one-layer paper, abstract and §4 [doc]",
    ),
    Claim(
        "one-layer/translation-order",
        ordered(
            ("trained", 34.66),
            ("mask-shared-wider", 34.14),
            ("mask-shared-deeper", 31.51),
            ("mask-shared", 30.95),
            apart=1.0,
        ),
        why="of IWSLT's rows, every two that are more than 1 BLEU apart; embeddings are trained",
        says="the order of the rows by BLEU",
        where="What's Hidden in a One-layer Randomly Weighted Transformer?, Table 1 [doc]",
    ),
)

PREDICTIONS = (
    Claim(
        "ours/look-up",
        better("trained", ATTENTION),
        tasks=("circle",),
        says="To look things up, attention has to be learned: frozen at random, it leaves the circle unsolved.",
    ),
    Claim(
        "ours/remember",
        better("trained", FEED_FORWARD, SAME),
        tasks=("facts",),
        says="To remember, feed-forward layers have to be learned: frozen, they cost facts more than 5 points.",
    ),
    Claim(
        "ours/mean",
        better("trained", EMBEDDINGS, 10),
        tasks=("grammar",),
        says="Where words mean something, embeddings have to be learned: frozen, they cost more than 10 points.",
    ),
    Claim(
        "ours/dissociation",
        DISSOCIATION,
        says="Which part may stay random depends on the task: on the circle feed-forward layers, on facts attention.",
    ),
    Claim(
        "ours/free",
        as_good(f"circle/{FEED_FORWARD}", "circle/trained", SAME)
        + as_good(f"facts/{ATTENTION}", "facts/trained", SMALL),
        why="“little” is at most half as many operations again on the circle, and at most 10 points on facts",
        says="What a task does not need costs little to freeze: feed-forward layers on the circle, attention on facts.",
    ),
    Claim(
        "ours/depth",
        better("trained", "half-longer"),
        tasks=("circle", "brackets"),
        says="Depth cannot be replaced by training for longer: half of the layers with twice the steps stay behind.",
    ),
    Claim(
        "ours/no-depth",
        as_good("half", "reservoir-ffn", SAME),
        tasks=("brackets", "grammar"),
        says="A random feed-forward layer adds no depth: half of the layers are as good without it.",
    ),
    Claim(
        "ours/whole-random-layers",
        better("trained", "reservoir-transformer"),
        tasks=("circle", "brackets"),
        says="Whole random layers do not replace learned ones where depth is needed.",
    ),
    Claim(
        "ours/masks-route",
        keeps("mask", "trained", 95),
        tasks=("brackets",),
        says="A mask can route: on brackets it keeps 95 % of what training reaches.",
    ),
    Claim(
        "ours/masks-store-less",
        keeps("trained", "mask", 200, of=BITS),
        tasks=MEMORY,
        why="twice as many bits for each number, weight or score, that is trained",
        says="A mask stores less: trained weights remember at least twice as many bits a number.",
    ),
    Claim(
        "ours/pruned",
        better("pruned", "mask"),
        tasks=("facts",),
        says="Weights that were trained and then pruned to one half are better than random ones under a mask.",
    ),
    Claim(
        "ours/smaller-rival",
        better("rounded-24 at 8 bits", "mask"),
        tasks=("facts",),
        why="24 KB, three quarters as wide, against 32 KB of bits and trained embeddings",
        says="A smaller trained model, rounded to 8 bits, remembers more in fewer bytes than a mask.",
    ),
    Claim(
        "ours/bits",
        keeps(ATTENTION, "trained", 80, of=BITS)
        + keeps(FEED_FORWARD, "trained", 80, of=BITS)
        + keeps(EMBEDDINGS, "trained", 80, of=BITS),
        tasks=MEMORY,
        why="of tables too large for the model; the prototype's rows had 88 % and more",
        says="Memory is counted in trained numbers, wherever they are: whatever is frozen, each number that is left"
        " remembers at least 80 % of the bits.",
    ),
    Claim(
        "ours/bits-by-width",
        keeps("memory-16/trained", "memory-64/trained", 80, of=BITS)
        + keeps("memory-64/trained", "memory-16/trained", 80, of=BITS),
        why="the model grows twelve and a half times",
        says="A trained number remembers as many bits in a small model as in a large one, to a fifth.",
    ),
    Claim(
        "ours/either-half",
        better("frozen-queries-keys", ATTENTION) + better("frozen-values-output", ATTENTION),
        tasks=("circle-64", "circle-128"),
        why="whether more runs learn than with both; with four heads; at width 32 frozen queries and keys fail",
        says="In a model that is wide enough either half of attention may stay random, but not both.",
    ),
)
"""At most 15."""

HELD_OUT = (
    Claim(
        "held-out/look-up",
        better("trained", ATTENTION),
        tasks=("recall",),
        says="To recall values, attention has to be learned.",
    ),
    Claim(
        "held-out/free",
        as_good(FEED_FORWARD, "trained", SAME) + as_good(EMBEDDINGS, "trained", SAME),
        tasks=("recall",),
        why="“nothing” is at most half as many operations again to nine answers in ten",
        says="What recall does not need, feed-forward layers and embeddings, costs nothing to freeze.",
    ),
    Claim(
        "held-out/depth",
        better("trained", "half-longer") + better("trained", "reservoir-ffn"),
        tasks=("recall",),
        says="Neither twice the steps nor a random feed-forward layer stands in for the second layer.",
    ),
    Claim(
        "held-out/masks-route",
        keeps("mask", "trained", 95),
        tasks=("recall",),
        says="A mask can route: it recalls 95 % of what training does.",
    ),
)
"""What the predictions say of a task that was built after they were written, before any row of it was run but the one
with everything trained, for the length of training."""

SOURCES = {
    "poster": POSTER,
    "bair": BAIR,
    "reservoir-transformers": RESERVOIRS,
    "blog": BLOG,
    "fnet": FNET,
    "frozen-pretrained": PRETRAINED,
    "cross-modal": CROSS_MODAL,
    "one-layer": ONE_LAYER,
    "ours": PREDICTIONS,
    "held-out": HELD_OUT,
}
"""By source; the claims of one share the level."""
CLAIMS = tuple(one for source in SOURCES.values() for one in source)

DESCRIBED = {
    "bair/setup": "says how it was done; the recipes do the same: `reservoirs/…` all have two decoder layers",
    "bair/compared-with": "says what is compared with what; chapter 5 has both readings, and a rule for each",
    "reservoir-transformers/still-backpropagate": "defines a reservoir; tests hold ours to it, bit by bit",
    "reservoir-transformers/readout": "on a reservoir under a readout, as in chapters 1 and 2",
    "blog/weight-class": "a question: Chapter 10 has every method on the same axes",
    "blog/mixer": "tells MLP-Mixer from the others; the rows `mix-mixer` and `mix-fourier` are on the bench",
    "blog/terminology": "a definition; chapter 2 starts from it",
    "blog/kept": "the released code freezes the token embedding, which its tasks do not use",
    "frozen-pretrained/listops": "a fault of the released loader; ours keeps the brackets, and counts them",
    "one-layer/redundant": "a conclusion: `one-layer/no-difference` asks of the outcome",
    "one-layer/p-squared": "a footnote's mark that reads like an exponent; appendix B says so",
    "one-layer/top-k": "defines the mask, by S where the code has |S|; chapter 8 says why either works",
    "one-layer/scale": "defines the draw; Chapter 8 asks what it is worth",
    "one-layer/roberta-setup": "names two models where elsewhere a third is named; see appendix B",
    "one-layer/roberta-large": "names the larger model of `one-layer/roberta-share`",
    "one-layer/code-abs": "how the released code differs; ours ranks |S|, and can rank S",
    "one-layer/code-scale": "how the released code differs; ours scales what it is asked to scale",
    "one-layer/code-xavier": "how the released code differs; ours draws what it is asked to draw",
    "one-layer/code-stale": "a trap of the released code; ours makes the mask anew at every step",
    "one-layer/code-plain": "says how it was done; chapter 8's translators do the same, most of its models do not",
    "bair/plan": "a plan; appendix A7 carries it out",
}
"""Sentences that say how something was done, ask or define, and what the book does instead of judging them."""
