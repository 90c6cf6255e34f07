"""The library side by side with its peers: `make bench`, or `python -m benchmarks [names] [--quick]`.

A figure is a ratio measured in one run on one thread. Ours and the peer's turn alternate, so that whatever else the
machine does hits both; what is reported is the median of the ratios of neighbouring turns, with its quartiles.
"""
