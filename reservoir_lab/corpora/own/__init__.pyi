from .parts import FILES, Files, Rows, path_of, train_files
from .pictures import own_pictures, read_picture
from .texts import languages, numbers_of, own_labelled, own_pairs, own_sequences, own_text

__all__ = [
    "FILES",
    "Files",
    "Rows",
    "languages",
    "numbers_of",
    "own_labelled",
    "own_pairs",
    "own_pictures",
    "own_sequences",
    "own_text",
    "path_of",
    "read_picture",
    "train_files",
]
