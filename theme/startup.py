"""Run by every kernel of the book's environment as it starts: missing names are explained from the first cell on."""

from IPython import get_ipython

from reservoir_book.kernel import explain_names

explain_names(get_ipython())
