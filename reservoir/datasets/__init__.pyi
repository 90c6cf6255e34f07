from . import bits, listops, papers, pictures
from .batches import Batch, TokenBatches, Windows, pad_sources
from .corpora import Pairs, ParallelCorpus, Text, parallel, read_pairs, test_set, text
from .errors import DataError
from .examples import Examples, Generated, Stored
from .fetching import Row, fetch, status
from .labelled_texts import CLASSES, Labelled, LabelledCorpus, labelled
from .manifest import cache_dir
from .miniature import tagged
from .own import Files
from .pictures import ImageCorpus, Images, images
from .reading import read_lines, read_text
from .series import lorenz, mackey_glass
from .shipped import shipped
from .vocabulary import BytePieces, ByteVocabulary, Dictionary, Vocabulary, train_bpe, train_byte_pieces

__all__ = [
    "CLASSES",
    "Batch",
    "BytePieces",
    "ByteVocabulary",
    "DataError",
    "Dictionary",
    "Examples",
    "Files",
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
    "bits",
    "cache_dir",
    "fetch",
    "images",
    "labelled",
    "listops",
    "lorenz",
    "mackey_glass",
    "pad_sources",
    "papers",
    "parallel",
    "pictures",
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
]
