from . import own_pictures, papers
from .examples import images
from .fetching import Row, fetch, read_lines, read_text, status
from .own import Files
from .papers import ParallelCorpus, read_pairs, test_set
from .texts import CLASSES, LabelledCorpus, Text, labelled, parallel, text

__all__ = [
    "CLASSES",
    "Files",
    "LabelledCorpus",
    "ParallelCorpus",
    "Row",
    "Text",
    "fetch",
    "images",
    "labelled",
    "own_pictures",
    "papers",
    "parallel",
    "read_lines",
    "read_pairs",
    "read_text",
    "status",
    "test_set",
    "text",
]
