"""The bench: a training step next to PyTorch's own layers at the same size, and twenty seeds of a row."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import torch
from torch import Tensor, nn

import reservoir_lab.recipes  # noqa: F401 (enters the recipes)
from benchmarks.measure import Amount, Comparison, Settings, compare
from reservoir.models import Tagger, TaggerConfig
from reservoir_lab.runs import registry
from reservoir_lab.runs.building import build
from reservoir_lab.runs.execution import train_run
from reservoir_lab.runs.run import Run

TASKS = ("circle", "brackets", "facts")
ROW = "brackets/trained"
SEEDS, LONGEST = 20, 150.0  # of a row, and seconds of one core that they may take


class Theirs(nn.Module):
    """A tagger of PyTorch's own layers, with the sizes of ours."""

    def __init__(self, config: TaggerConfig):
        super().__init__()
        c = self.config = config
        self.embedding = nn.Embedding(c.vocab, c.d_model, padding_idx=0)
        self.positions = nn.Parameter(0.3 * torch.randn(c.max_length, c.d_model))
        layer = nn.TransformerEncoderLayer(
            c.d_model, c.n_heads, c.d_ff, dropout=0.0, batch_first=True, norm_first=c.norm_first
        )
        self.layers = nn.TransformerEncoder(
            layer, c.layers, nn.LayerNorm(c.d_model), enable_nested_tensor=False
        )
        self.readout = nn.Linear(c.d_model, c.outputs, bias=False)

    def forward(self, ids: Tensor, places: int | None = None) -> Tensor:
        """Return the output at the last places, or at all: (batch, length) -> (batch, places, outputs)."""
        length = ids.shape[1]
        x = self.embedding(ids) + self.positions[:length]
        if self.config.causal:
            mask = nn.Transformer.generate_square_subsequent_mask(length, device=ids.device)
            x = self.layers(x, mask=mask, is_causal=True)
        else:
            x = self.layers(x)
        return self.readout(x if places is None else x[:, -places:])


class Steps:
    """Training steps of a run with one model, on batches that were drawn before."""

    def __init__(self, run: Run, model: nn.Module, device: torch.device):
        self.model, self.clip = model.to(device).train(), run.optimiser.clip
        _, self.task, _ = build(run)
        self.batches = list(itertools.islice(self.task.epoch(0), 8))
        o = run.optimiser
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(),
            lr=o.lr,
            betas=o.betas,
            eps=o.eps,
            weight_decay=o.weight_decay,
            fused=True,
        )

    def __call__(self, turn: int) -> None:
        """Ten steps."""
        for number in range(10):
            loss = self.task.loss(self.model, self.batches[(turn + number) % 8])
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimiser.step()


def run(settings: Settings) -> Iterator[Comparison | Amount]:
    """A step on three tasks, and twenty seeds of a row one after the other."""
    for task in TASKS:
        of = registry.get(f"bench/{task}/trained", scale="laptop").evolve(device=settings.device.type)
        model, _, _ = build(of)
        assert isinstance(model, Tagger)
        yield compare(
            Steps(of, model, settings.device),
            Steps(of, Theirs(model.config), settings.device),
            case=f"a step on {task}, fp32",
            peer="nn.TransformerEncoder",
            unit="steps",
            work=lambda turn: 10,
            settings=settings,
            required=0.9,
        )
    of, few = registry.get(f"bench/{ROW}", scale="laptop"), 1 if settings.brief else 3
    begun = time.process_time()
    for seed in range(few):
        model, task, _ = build(of.evolve(seed=seed))
        train_run(of.evolve(seed=seed), model, task)
    spent = (time.process_time() - begun) * SEEDS / few
    yield Amount(
        f"twenty seeds of {ROW}, processor time", "what a reader waits", "s", spent, LONGEST, required=1
    )
