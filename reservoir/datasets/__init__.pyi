from . import bits, listops, pictures
from .batches import Batch, TokenBatches, Windows, pad_sources
from .errors import DataError
from .examples import Examples, Generated, Labelled, Pairs, Stored
from .grammar import tagged
from .pictures import ImageCorpus, Images, digits
from .series import lorenz, mackey_glass
from .shipped import cache_dir, shipped
from .vocabulary import BytePieces, ByteVocabulary, Dictionary, Vocabulary, train_bpe, train_byte_pieces

__all__ = [
    "Batch",
    "BytePieces",
    "ByteVocabulary",
    "DataError",
    "Dictionary",
    "Examples",
    "Generated",
    "ImageCorpus",
    "Images",
    "Labelled",
    "Pairs",
    "Stored",
    "TokenBatches",
    "Vocabulary",
    "Windows",
    "bits",
    "cache_dir",
    "digits",
    "listops",
    "lorenz",
    "mackey_glass",
    "pad_sources",
    "pictures",
    "shipped",
    "tagged",
    "train_bpe",
    "train_byte_pieces",
]
