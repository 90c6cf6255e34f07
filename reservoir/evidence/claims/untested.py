"""Claims that nothing here can decide, each with what it would take; and sentences that claim no result at all."""

from __future__ import annotations

from reservoir.evidence.claims.ledger import description, untested

ONE_CORE = "no GPU was at hand for the records of this book"
GPUS = "hours on the paper's GPUs, of both models, to the same score"

untested(
    "bair/gpt-3",
    needs="training runs of a model as large as GPT-3 with and without reservoirs, to the same loss",
    why="what is saved at one size says nothing of another until several sizes have been run; ours has none above a few"
    " million parameters",
)
untested(
    "bair/cost",
    needs="the bill for a training run in 2020",
    why="it quotes others; no run of ours bears on it",
)
untested(
    "bair/larger",
    needs="a sweep over sizes of models and of data",
    why="it quotes others; the recipes hold size and data still, so that what is frozen is all that differs",
)
untested(
    "reservoir-transformers/time-wmt",
    needs=f"WMT14 with 24 encoder layers, {GPUS}",
    why=f"{ONE_CORE}; the claim on IWSLT has a rule in operations instead of hours",
)
untested(
    "reservoir-transformers/bigger",
    needs="networks too deep to be trained in full, and trained with reservoirs",
    why="a hope for later work; our deepest encoder has eight layers",
)
untested(
    "reservoir-transformers/environment",
    needs="a meter on the power of the machines",
    why="records count operations, and what a machine draws for them depends on the machine",
)
untested(
    "reservoir-transformers/gaussian",
    needs="no run: it is a theorem of others about infinite width",
    why="finite networks can show a tendency at most, and chapter 1 does",
)
untested(
    "reservoir-transformers/priors",
    needs="networks that go on learning, or are pruned, from random and from other starts, in the works that it quotes",
    why="“excellent” has no measure; chapter 10 searches random networks by pruning, which is one of the two cases",
)
untested(
    "reservoir-transformers/hardware",
    needs="a circuit",
    why="the book builds none; chapter 11 measures what it costs a processor to make weights in place of reading them",
)
untested(
    "reservoir-transformers/distributed",
    needs="machines apart from each other, and a device at the edge",
    why="in processes of one machine the bytes of gradients shrink as the trained share does, and a test says so;"
    " nobody has timed a network, or put a model on a small device",
)
untested(
    "reservoir-transformers/cover",
    needs="no run: Cover's theorem is on points in general position, and the sentence says more than it",
    why="“any” transformation is too many, as a constant one shows; chapter 1 counts what the theorem says",
)
untested(
    "reservoir-transformers/projections",
    needs="no run: it is Johnson and Lindenstrauss's lemma",
    why="proved; chapter 1 shows it on sentences",
)
untested(
    "reservoir-transformers/first",
    needs="a search of everything printed before it",
    why="priority is no matter for records",
)
untested(
    "poster/size-matters",
    needs="the same models at many sizes, and a way to hold everything else still",
    why="a cause is claimed; the poster varies one width, and chapter 4 follows it",
)
untested(
    "one-layer/larger-task",
    needs="WMT14 with pretrained and with random embeddings",
    why=f"{ONE_CORE}, and the difference between two sizes of task needs the larger one",
)
untested(
    "one-layer/because-wide",
    needs="models of equal width and search spaces of different size",
    why="a cause is claimed for what `one-layer/depth-or-width` measures, and width changes more than the search space",
)
untested(
    "one-layer/because-deep",
    needs="the chance of a good subnetwork in one layer, for shares above and below one half",
    why="the chance is not defined so that it could be counted; `one-layer/transition` measures what it explains",
)
untested(
    "one-layer/consistent",
    needs="QQP and MNLI at every share of weights",
    why="the corpora are too large for a core; MRPC and RTE stand in for them in two other claims",
)
untested(
    "one-layer/roberta-share",
    needs="a RoBERTa of twice the width, pretrained",
    why="`pairs-wide/…` are its recipes; QQP and MNLI are too large for a core",
)

SETUP = "says how it was done; the recipes do the same"
description("bair/setup", instead=f"{SETUP}: `reservoirs/…` all have two decoder layers")
description(
    "bair/compared-with",
    instead="says what is held against what; chapter 5 has both readings, and a rule for each",
)
description(
    "reservoir-transformers/still-backpropagate",
    instead="defines a reservoir; tests hold ours to it, bit by bit",
)
description(
    "reservoir-transformers/readout",
    instead="on reservoirs with a readout alone, which chapters 1 and 2 train so; chapter 5 caches a frozen prefix",
)
description("blog/weight-class", instead="a question: `whole/weight-class-…` has a rule for each cost")
description(
    "blog/mixer",
    instead="tells MLP-Mixer from the others; `mixing/trained-mixer` sets them against each other",
)
description("blog/terminology", instead="a definition; chapter 2 starts from it")
description(
    "blog/kept",
    instead="the released code freezes the token embedding, which these tasks do not use; the recipes follow the code",
)
description(
    "frozen-pretrained/listops",
    instead="a fault of the released loader; ours keeps the brackets, and counts them",
)
description(
    "one-layer/redundant",
    instead="a conclusion: `one-layer/independent` looks at its argument, `one-layer/no-difference` at the outcome",
)
description(
    "one-layer/p-squared", instead="a footnote's mark that reads like an exponent; appendix B says so"
)
description(
    "one-layer/top-k",
    instead="defines the mask, by S where the code has |S|; `ours/magnitude` compares the two",
)
description("one-layer/scale", instead="defines the draw; `ours/scaling` asks what it is worth")
description(
    "one-layer/roberta-setup", instead="names two models where elsewhere a third is named; see appendix B"
)
description("one-layer/roberta-large", instead="names the larger model of `one-layer/roberta-share`")
description("one-layer/code-abs", instead="how the released code differs; ours ranks |S|, and can rank S")
description(
    "one-layer/code-scale", instead="how the released code differs; ours scales what it is asked to scale"
)
description(
    "one-layer/code-xavier", instead="how the released code differs; ours draws what it is asked to draw"
)
description(
    "one-layer/code-stale", instead="a trap of the released code; ours makes the mask anew at every step"
)
description("one-layer/code-plain", instead=f"{SETUP}: all models of chapter 10 are bare")
