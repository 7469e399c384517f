"""The process from which Spark's Python workers are forked: it has imported what they import.

    python -m holdfast.runtime.workers.nursery NAME

It listens on an abstract socket of this name, to processes of its own user alone, and ends when its standard input
does. A worker gets the streams, the environment, the directory and the arguments of its stand-in. It is told to end
when the stand-in is gone without a word.

Each line of its standard input is the process id of a JVM. These end by themselves when the process does that started
both; one that has not after some seconds is killed from here, and so are workers that are left.
"""

from __future__ import annotations

import array
import gc
import json
import os
import runpy
import select
import selectors
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import NoReturn

PRELOADED = (
    "pyspark.worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "holdfast.log.datasource",
    "holdfast.runtime.evaluation",
)
_SETTLING = 10
"""Collections after which a worker has imported what it needs."""
_OLDEST = 2
_PATIENCE = 10.0
"""Seconds that a stand-in may take to say what it wants."""
_LEAVING = 3.0
"""Seconds that a JVM may take to end by itself."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A worker that is to be born."""

    arguments: list[str]
    """Those of the interpreter."""
    environment: dict[str, str]
    directory: str
    streams: tuple[int, int, int]

    def can_be_born_here(self) -> bool:
        """Only a module can be run in a process that is there already, and hashes cannot be changed in it."""
        same_hashes = self.environment.get("PYTHONHASHSEED", "0") == os.environ.get("PYTHONHASHSEED")
        return len(self.arguments) > 1 and self.arguments[0] == "-m" and same_hashes


class Nursery:
    """Forks workers, and tells their stand-ins how they ended."""

    def __init__(self, name: str) -> None:
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._door.bind(f"\0{name}")
        self._door.listen()
        self._selector = selectors.DefaultSelector()
        self._workers: dict[int, tuple[socket.socket, int]] = {}
        """By process id: the stand-in, and the descriptor that tells when the worker ends."""
        self._jvms: list[tuple[int, int]] = []
        """Process ids, and the descriptors that tell when they end."""
        self._is_over = False

    def serve(self) -> None:
        """Until standard input ends, and what belongs to it has ended."""
        self._selector.register(sys.stdin.fileno(), selectors.EVENT_READ, self._be_told)
        self._selector.register(self._door, selectors.EVENT_READ, self._admit)
        while not self._is_over:
            for key, _ in self._selector.select():
                key.data()
        self._end_jvms()
        for worker in self._workers:
            _kill_group(worker)

    def _be_told(self) -> None:
        """The next JVM to see to, or the end."""
        told = os.read(sys.stdin.fileno(), 4096)
        self._is_over = not told
        for pid in told.split():
            with suppress(ProcessLookupError):
                self._jvms.append((int(pid), os.pidfd_open(int(pid))))

    def _end_jvms(self) -> None:
        deadline = time.monotonic() + _LEAVING
        for pid, ending in self._jvms:
            if not select.select([ending], [], [], max(0.0, deadline - time.monotonic()))[0]:
                _kill_group(pid)

    def _admit(self) -> None:
        visitor, _ = self._door.accept()
        visitor.settimeout(_PATIENCE)
        wanted = _heard(visitor) if _is_ours(visitor) else None
        if wanted is not None and wanted.can_be_born_here():
            self._bear(visitor, wanted)
        else:
            visitor.close()
        if wanted is not None:
            for stream in wanted.streams:
                os.close(stream)

    def _bear(self, visitor: socket.socket, wanted: Wanted) -> None:
        worker = os.fork()
        if worker == 0:
            self._leave(visitor)
            _live(wanted)
        ending = os.pidfd_open(worker)
        self._workers[worker] = visitor, ending
        self._selector.register(ending, selectors.EVENT_READ, lambda: self._bury(worker))
        self._selector.register(visitor, selectors.EVENT_READ, lambda: self._part(worker))
        with suppress(OSError):
            visitor.sendall(b"%d" % worker)

    def _bury(self, worker: int) -> None:
        """The worker has ended: its stand-in is told how."""
        visitor, ending = self._workers.pop(worker)
        _, status = os.waitpid(worker, 0)
        self._selector.unregister(ending)
        os.close(ending)
        with suppress(KeyError):
            self._selector.unregister(visitor)
        with suppress(OSError):
            visitor.sendall(b"%d" % _exit_code(status))
        visitor.close()

    def _part(self, worker: int) -> None:
        """The stand-in is gone, or the worker has just ended and it waits for the word."""
        if worker in self._workers:
            visitor, ending = self._workers[worker]
            self._selector.unregister(visitor)
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(ending, signal.SIGTERM)

    def _leave(self, visitor: socket.socket) -> None:
        """What is the nursery's is no business of its children."""
        self._selector.close()
        self._door.close()
        visitor.close()
        for other, ending in self._workers.values():
            other.close()
            os.close(ending)
        for _, ending in self._jvms:
            os.close(ending)


def _kill_group(pid: int) -> None:
    """A process of ours that has not ended, with its group when it leads one."""
    with suppress(ProcessLookupError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)


def _is_ours(visitor: socket.socket) -> bool:
    """An abstract socket has no permissions of its own."""
    credentials = visitor.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return bool(struct.unpack("3i", credentials)[1] == os.getuid())


def _heard(visitor: socket.socket) -> Wanted | None:
    """What a stand-in wants; None when it broke off."""
    streams = array.array("i")
    try:
        length, carried, *_ = visitor.recvmsg(4, socket.CMSG_LEN(3 * streams.itemsize))
        for level, kind, descriptors in carried:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                streams.frombytes(descriptors)
        with visitor.makefile("rb") as file:
            said = json.loads(file.read(int.from_bytes(length, "big")))
        first, second, third = streams
        return Wanted(said["arguments"], said["environment"], said["directory"], (first, second, third))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        for stream in streams:
            os.close(stream)
        return None


def _live(wanted: Wanted) -> NoReturn:
    """Be the worker."""
    code = 1
    try:
        _become(wanted)
        runpy.run_module(wanted.arguments[1], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _become(wanted: Wanted) -> None:
    """Take over the streams, the directory, the environment, the path and the arguments."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for place, stream in enumerate(wanted.streams):
        os.dup2(stream, place)
        os.close(stream)
    os.chdir(wanted.directory)
    os.environ.clear()
    os.environ.update(wanted.environment)
    asked = [place for place in wanted.environment.get("PYTHONPATH", "").split(os.pathsep) if place]
    sys.path[:0] = [place for place in asked if place not in sys.path]
    sys.argv = wanted.arguments[1:]
    sys.modules.pop(wanted.arguments[1], None)  # what is run is not at the same time imported


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


class Settling:
    """Keeps what a worker has come to hold out of later collections: modules, and what is made once and kept.

    Spark's worker collects garbage after every task, and with the modules that it needs that takes 60 ms. What survives
    the first few of these collections is there to stay; what comes later is collected as ever.
    """

    def __init__(self) -> None:
        self._left = 0

    def begin(self) -> None:
        """In a process that is new."""
        self._left = _SETTLING

    def __call__(self, phase: str, about: dict[str, int]) -> None:
        """Called by the collector."""
        if self._left and phase == "stop" and about["generation"] == _OLDEST:
            self._left -= 1
            gc.freeze()


def _draw_anew() -> None:
    """Forked processes do not share their random numbers."""
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


if __name__ == "__main__":
    nursery = Nursery(sys.argv[1])
    for module in PRELOADED:
        import_module(module)
    gc.freeze()
    gc.callbacks.append(settling := Settling())
    os.register_at_fork(after_in_child=_draw_anew)
    os.register_at_fork(after_in_child=settling.begin)
    nursery.serve()
