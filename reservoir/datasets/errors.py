"""The one error of the data side."""


class DataError(RuntimeError):
    """Data that is missing, damaged, malformed or unknown. Its text is one sentence that says what would do."""
