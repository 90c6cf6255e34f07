"""Real processes for tests: forked from one that has imported everything, so that each starts at once."""

import multiprocessing
import os
import socket
import sys

PRELOAD = ["reservoir_lab.launch.cli", "torch._dynamo"]  # the second is what an optimiser needs


def context():
    """Where such processes come from."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(PRELOAD)
    return processes


def command(words, folder, log) -> None:
    """What a process runs: the command line, its records in `folder`, what it says in `log`."""
    from reservoir_lab.launch import cli

    os.environ["RESERVOIR_RESULTS"] = str(folder)
    sys.stdout = sys.stderr = open(log, "a", buffering=1)
    sys.exit(cli.main([str(word) for word in words]))


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def together(function, size: int, *arguments) -> None:
    """Call `function(*arguments)` in `size` processes that find one another as torchrun's do."""
    port = free_port()
    processes = [
        context().Process(target=_one, args=(function, rank, size, port, arguments)) for rank in range(size)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * size


def _one(function, rank, size, port, arguments) -> None:
    named = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in named.items()}, MASTER_ADDR="127.0.0.1")
    from reservoir_lab.runs.distribution import join_world

    with join_world():
        function(*arguments)
