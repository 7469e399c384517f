"""Runs a reader on one input under a limit of processor time and of memory.

Processor time, because the machine may be busy; the alarm also interrupts a regular expression that goes back and back.
"""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SECONDS = 5.0
MEMORY = 512 * 2**20
"""Address space that one input may take in addition."""


class TooSlow(BaseException):
    """An input took more processor time than any of its size may. No reader can catch it by mistake."""


@contextmanager
def bounded(seconds: float = SECONDS, memory: int = MEMORY) -> Iterator[None]:
    """Within, the limits hold: `TooSlow` or `MemoryError`."""

    def ring(*_: object) -> None:
        raise TooSlow(f"more than {seconds} s of processor time")

    before = signal.signal(signal.SIGPROF, ring)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + memory, limits[1]))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGPROF, before)


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def refused_or_read(read: Callable[[bytes], object], data: bytes, refusals: tuple[type[Exception], ...]) -> None:
    """Give a reader an input: it may return or raise one of its refusals, in time and within memory."""
    with bounded():
        try:
            read(data)
        except refusals:
            return
