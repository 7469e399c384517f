"""What Spark takes for its Python worker: it asks the nursery for one, and stands for it until that has ended.

Run without `site`, so that it costs a few milliseconds; it imports nothing of Holdfast. When the nursery is gone or
does not want to, it becomes the worker itself.
"""

import array
import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> int:
    """Stand for a worker of the nursery; how it ended."""
    interpreter = os.environ["HOLDFAST_PYTHON"]
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)  # one that comes before the worker is known waits for it
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    worker = _asked_for(connection, os.environ["HOLDFAST_NURSERY"])
    if worker is None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        os.execv(interpreter, [interpreter, *sys.argv[1:]])
    _stand_for(worker)
    answer = connection.recv(20)
    return int(answer) if answer else 1


def _asked_for(connection: socket.socket, nursery: str) -> int | None:
    """The process id of the new worker; None when there is none to be had."""
    wanted = {"arguments": sys.argv[1:], "environment": dict(os.environ), "directory": os.getcwd()}  # noqa: PTH109 (pathlib costs more than the rest)
    payload = json.dumps(wanted).encode()
    streams = array.array("i", [0, 1, 2])
    try:
        connection.connect(f"\0{nursery}")
        connection.sendmsg([len(payload).to_bytes(4, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
        connection.sendall(payload)
        answer = connection.recv(20)
    except OSError:
        return None
    return int(answer) if answer else None


def _stand_for(worker: int) -> None:
    """Pass on what the worker is told by signals, until it has ended."""
    try:
        watched = os.pidfd_open(worker)
    except ProcessLookupError:
        return

    def pass_on(number: int, _: object) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(watched, number)

    for number in PASSED_ON:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    select.select([watched], [], [])


if __name__ == "__main__":
    sys.exit(main())
