"""The speeds that readers wait for, and the library next to its peers: `make bench`, `python -m benchmarks [names]`.

Each line of the list is a ratio with one bar. Ours and the peer's turn alternate, so that whatever else the machine
does hits both; what is recorded is the median of the ratios of neighbouring turns, with its quartiles.
"""
