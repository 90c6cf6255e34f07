"""Where text comes from: fetch and verify, read, make pieces of words, make batches. Imports nothing else of ours."""

from reservoir.datasets.batches import Batch, Epoch, TokenBatches, pad_sources
from reservoir.datasets.byte_pieces import BytePieces, train_byte_pieces
from reservoir.datasets.byte_vocabulary import ByteVocabulary
from reservoir.datasets.corpora import Text, parallel, text
from reservoir.datasets.dictionary import Dictionary
from reservoir.datasets.errors import DataError
from reservoir.datasets.examples import Examples, Generated, Stored
from reservoir.datasets.fetching import Row, fetch, status
from reservoir.datasets.labelled_texts import CLASSES, Labelled, LabelledCorpus, labelled
from reservoir.datasets.miniature import tagged
from reservoir.datasets.newstest import test_set
from reservoir.datasets.pairs import Pairs, ParallelCorpus
from reservoir.datasets.pictures import ImageCorpus, Images, images
from reservoir.datasets.reading import read_lines, read_pairs, read_text
from reservoir.datasets.series import lorenz, mackey_glass
from reservoir.datasets.shipped import shipped
from reservoir.datasets.store import atomic_write, cache_dir
from reservoir.datasets.vocabulary import Vocabulary, train_bpe
from reservoir.datasets.windows import Windows

__all__ = [
    "CLASSES",
    "Batch",
    "BytePieces",
    "ByteVocabulary",
    "DataError",
    "Dictionary",
    "Epoch",
    "Examples",
    "Generated",
    "ImageCorpus",
    "Images",
    "Labelled",
    "LabelledCorpus",
    "Pairs",
    "ParallelCorpus",
    "Row",
    "Stored",
    "Text",
    "TokenBatches",
    "Vocabulary",
    "Windows",
    "atomic_write",
    "cache_dir",
    "fetch",
    "images",
    "labelled",
    "lorenz",
    "mackey_glass",
    "pad_sources",
    "parallel",
    "place",
    "read_lines",
    "read_pairs",
    "read_text",
    "shipped",
    "status",
    "tagged",
    "test_set",
    "text",
    "train_bpe",
    "train_byte_pieces",
]  # fmt: skip
