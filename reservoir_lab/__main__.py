"""`reservoir`, as a process of its own: see `reservoir_lab.launch.cli`.

A process that trains keeps its memory: the C library gives back nothing that is freed, and asks for large pages. Each
step of training frees the tensors of the one before. By default glibc gives large ones back to the system, which hands
them out again a page of 4 kB at a time, each filled with zeros first. Tunables change that without changing a bit of a
result: a step in bf16 is some 1.2 to 1.4 times as fast on a Xeon. But glibc reads them
only when a process starts.
"""

import os
import sys

from reservoir_lab import launch

NAME = "GLIBC_TUNABLES"
TUNABLES = {
    "hugetlb": 1,  # ask for pages of 2 MB
    "mmap_threshold": 2**30,  # smaller tensors than this come from the heap, where memory is used again …
    "trim_threshold": 2**30,  # … and whose free end, up to this size, is kept
    "top_pad": 2**26,  # how much more than it needs the heap grows by
}


def tunables() -> str:
    """The value of `GLIBC_TUNABLES` that training wants."""
    return ":".join(f"glibc.malloc.{name}={value}" for name, value in TUNABLES.items())


def has_glibc() -> bool:
    """Whether this process runs on glibc, which alone reads the tunables."""
    return "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", ())


def keep_memory() -> None:
    """Start this process over with the tunables, unless they are set already or its C library is another one."""
    if has_glibc() and NAME not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {NAME: tunables()})


def main() -> int:
    """The command line, in a process of its own."""
    if sys.argv[1:2] == ["run"]:  # which a process with other settings is worth
        keep_memory()
    return launch.cli.main()


if __name__ == "__main__":
    sys.exit(main())
