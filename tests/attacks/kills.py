"""Kill a process at each of its changes of the file system in turn: a child, forked from one that has imported all."""

import os
import sys
import time
import traceback
from pathlib import Path

from reservoir import files

CHANGES = {
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "ctypes.dlsym",
}  # the last precedes an exchange of names
KILLED = 9


def in_a_child(operation, *, after: int | None = None) -> bool:
    """Call `operation` in another process, killed before its change number `after`; whether it was killed."""
    pid = os.fork()
    if not pid:
        _be_killed(after)
        try:
            operation()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, KILLED), f"the process ended with {status}"
    return status == KILLED


def _be_killed(after: int | None) -> None:
    left = [after]

    def change() -> None:
        if left[0] == 0:
            os._exit(KILLED)
        left[0] -= 1

    def hook(event, arguments) -> None:
        writes = (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if event in CHANGES or (writes and ".part" in str(arguments[0])):
            change()

    def in_two_halves(path: Path, content) -> None:
        if not isinstance(content, bytes):
            return write(path, content)
        half = len(content) // 2
        with path.open("xb") as stream:
            stream.write(content[:half])
            stream.flush()
            change()
            stream.write(content[half:])

    files.BORN, write = time.time(), files._write
    if after is not None:
        files._write = in_two_halves
        sys.addaudithook(hook)


def every_kill(operation, before, afterwards) -> int:
    """Kill `operation` at each change in turn, after `before`; then call `afterwards`. Returns the number of kills."""
    for number in range(10_000):
        before()
        killed = in_a_child(operation, after=number)
        afterwards()
        if not killed:
            return number
    raise AssertionError("it never ends")
