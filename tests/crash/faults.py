"""What the campaign does to a pipeline: which of its processes are killed, and whether its disk is full meanwhile."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.descendants import descendants_of, is_jvm, is_worker, is_worker_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from tests.crash.command import Command

PATIENCE = 120.0


class Fault(Enum):
    """One of the things that can happen. The value is what is said of it."""

    PROCESS = "the process was killed"
    JVM = "the JVM was killed"
    WORKER = "a Python worker was killed"
    WORKER_SERVER = "the process that forks Python workers was killed"
    SPARK = "the JVM, the workers and the process that forks them were killed"
    GROUP = "the process group was killed"
    SESSION = "the session was killed"
    EVERYTHING = "the session and all of Spark's processes were killed"
    FULL_DISK = "the disk was full"
    JVM_ON_FULL_DISK = "the disk was full and the JVM was killed"
    EVERYTHING_ON_FULL_DISK = "the disk was full and everything was killed"

    @property
    def fills_disk(self) -> bool:
        """Whether the disk is full while it happens."""
        return self in {Fault.FULL_DISK, Fault.JVM_ON_FULL_DISK, Fault.EVERYTHING_ON_FULL_DISK}

    @property
    def ends_process(self) -> bool:
        """Whether the process has to be started again; after all other faults it goes on by itself."""
        return self in _ENDING


_ENDING = {Fault.PROCESS, Fault.GROUP, Fault.SESSION, Fault.EVERYTHING, Fault.EVERYTHING_ON_FULL_DISK}


def strike(fault: Fault, command: Command, random: Random) -> None:
    """Kill what the fault kills, as soon as it is there."""
    deadline = time.monotonic() + PATIENCE
    while not (victims := _victims(fault, command, random)):
        if fault is Fault.FULL_DISK:
            return
        assert command.is_running, f"it ended before {fault.value}"
        assert time.monotonic() < deadline, f"there is nothing to kill for {fault.value!r}"
        time.sleep(0.02)
    for pid in victims:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _victims(fault: Fault, command: Command, random: Random) -> list[int]:
    """The processes to kill; none when one that the fault is about is not there yet."""
    family = descendants_of(command.pid)
    jvm = [each.pid for each in family if is_jvm(each)]
    server = [each.pid for each in family if is_worker_server(each)]
    workers = [each.pid for each in family if is_worker(each)]
    match fault:
        case Fault.FULL_DISK:
            return []
        case Fault.PROCESS:
            return [command.pid]
        case Fault.JVM | Fault.JVM_ON_FULL_DISK:
            return jvm
        case Fault.WORKER:
            return random.sample(workers, min(1, len(workers)))
        case Fault.WORKER_SERVER:
            return server or [each.pid for each in family if "-m pyspark.daemon" in each.command]
        case Fault.SPARK:
            return [*jvm, *server, *workers] if jvm else []
        case Fault.GROUP:
            return [pid for pid in _processes() if _of(os.getpgid, pid) == command.pid]
        case Fault.SESSION:
            return [pid for pid in _processes() if _of(os.getsid, pid) == command.session]
        case Fault.EVERYTHING | Fault.EVERYTHING_ON_FULL_DISK:
            return [command.session, command.pid, *(each.pid for each in family)]


def _processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())


def _of(asked: object, pid: int) -> int:
    assert callable(asked)
    try:
        found: int = asked(pid)
    except ProcessLookupError:
        return -1
    return found
