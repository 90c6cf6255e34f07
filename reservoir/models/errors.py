"""The one error of files of weights."""


class WeightsError(ValueError):
    """A file of weights cannot be used; the message says which, and why."""
