from .batches import (
    Batch,
    Examples,
    Generated,
    Labelled,
    Pairs,
    Stored,
    TokenBatches,
    Windows,
    pad_sources,
)
from .grammar import tagged
from .series import lorenz, mackey_glass
from .shipped import DataError, cache_dir, shipped
from .vocabulary import Pieces, Vocabulary, train_bpe

__all__ = [
    "Batch",
    "DataError",
    "Examples",
    "Generated",
    "Labelled",
    "Pairs",
    "Pieces",
    "Stored",
    "TokenBatches",
    "Vocabulary",
    "Windows",
    "cache_dir",
    "lorenz",
    "mackey_glass",
    "pad_sources",
    "shipped",
    "tagged",
    "train_bpe",
]
