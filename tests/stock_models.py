"""Five models of others, tiny, built as their owners build them.

As a script, `stock_models.py FOLDER` prints what stored models compute.
"""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import transformers  # which loads a model when it is named
from torch import Tensor, nn

from reservoir import weights as r


class Translator(nn.Module):
    """torch's own transformer between two tables and an output."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(31, 16, padding_idx=0)
        self.transformer = nn.Transformer(16, 2, 2, 1, 32, dropout=0.0, batch_first=True)
        self.output = nn.Linear(16, 31)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        return self.output(self.transformer(self.embedding(src), self.embedding(tgt)))


def gpt2() -> nn.Module:
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=41,
            n_positions=16,
            n_embd=16,
            n_layer=2,
            n_head=2,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=1,
            eos_token_id=2,
        )
    )


def bert() -> nn.Module:
    sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    return transformers.BertForMaskedLM(
        transformers.BertConfig(
            vocab_size=41,
            max_position_embeddings=16,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            **sizes,
        )
    )


def vit() -> nn.Module:
    sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    return transformers.ViTForImageClassification(
        transformers.ViTConfig(image_size=8, patch_size=4, num_channels=1, num_labels=3, **sizes)
    )


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, groups=2),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 3),
    )


BUILD: dict[str, Callable[[], nn.Module]] = {
    "transformer": Translator,
    "gpt2": gpt2,
    "bert": bert,
    "vit": vit,
    "cnn": cnn,
}


def inputs(name: str, step: int = 0) -> tuple[Tensor, ...]:
    """A batch of four."""
    draw = torch.Generator().manual_seed(step)
    if name in ("vit", "cnn"):
        return (torch.randn(4, 1, 8, 8, generator=draw),)
    ids = tuple(torch.randint(1, 31, (4, 8), generator=draw) for _ in range(2))
    return ids if name == "transformer" else ids[:1]


def output(model: nn.Module, name: str, step: int = 0) -> Tensor:
    """What a model computes for a batch."""
    found = model(*inputs(name, step))
    return found if isinstance(found, Tensor) else found.logits


def learn(model: nn.Module, name: str, steps: int = 3) -> nn.Module:
    """Train a model some steps, in a loop that knows nothing of this library."""
    moving = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(moving, lr=1e-2)
    model.train()
    for step in range(steps):
        optimiser.zero_grad()
        output(model, name, step).float().square().mean().sub(0.5).square().backward()
        optimiser.step()
    return model.eval()


@torch.no_grad()
def bits(model: nn.Module, name: str) -> str:
    """A digest of what a model computes, and of its state."""
    plain = r.materialise(model).eval()
    found = hashlib.sha256(output(model, name).numpy().tobytes())
    for key, tensor in sorted(plain.state_dict().items()):
        found.update(key.encode() + tensor.contiguous().numpy().tobytes())
    return found.hexdigest()


def load(folder: Path) -> None:
    """Print what each stored model computes."""
    for path in sorted(folder.glob("*.safetensors")):
        name = path.stem.partition("-")[0]
        print(path.stem, bits(r.load(BUILD[name](), path), name))


if __name__ == "__main__":
    torch.set_num_threads(1)
    load(Path(sys.argv[1]))
