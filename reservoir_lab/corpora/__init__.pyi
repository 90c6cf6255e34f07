from . import papers
from .fetching import Row, fetch, status
from .labelled_texts import CLASSES, LabelledCorpus, labelled
from .own import Files
from .pairs import ParallelCorpus, read_pairs, test_set
from .pictures import images
from .reading import read_lines, read_text
from .texts import Text, parallel, text

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
    "papers",
    "parallel",
    "read_lines",
    "read_pairs",
    "read_text",
    "status",
    "test_set",
    "text",
]
