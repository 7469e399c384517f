"""Starts a pipeline that something outside keeps from starting: waits until that is over, and says so.

There are two such things. A disk without room: a start claims every log with a commit. The reserve that earlier runs
left is given back first. And the lock of a SQLite file, which an owner that was stopped in the middle of a commit keeps
until it continues or ends. While it waits it owns the pipeline's directory if it can, so that others see that somebody
is about to start it.
"""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.disk.space import DiskReserve
from holdfast.disk.sqlite import is_locked
from holdfast.model.errors import HoldfastError, LogFull, StoreFull
from holdfast.runtime.layout import Layout
from holdfast.runtime.owner import LOCK, Ownership, recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

log = logging.getLogger("holdfast")

_RETRY_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class StartDelay:
    """Why a start waits."""

    reason: str
    """What it waits for, as the end of a sentence: `waits for …`."""
    what: str
    remedy: str
    is_about_room: bool = False


def start_when_possible(
    start: Callable[[], None],
    directory: Path,
    *,
    is_asked_to_stop: Callable[[float], bool],
    waiting: Callable[[StartDelay], None] = lambda _: None,
) -> bool:
    """Start, again and again while the disk has no room or a file is locked; False when it was asked to stop before.

    :param is_asked_to_stop: waits for so many seconds, and says whether somebody wants the start given up.
    :param waiting: told why the start waits, once for each reason.
    """
    told: set[str] = set()
    while True:
        try:
            start()
        except HoldfastError as error:
            delay = start_delay(error, directory)
            if delay is None:
                raise
        else:
            return True
        if delay.is_about_room and DiskReserve(Layout(directory).disks()).release():
            continue
        if delay.reason not in told:
            told.add(delay.reason)
            log.warning("the start of the pipeline in %s waits for %s: %s", directory, delay.reason, delay.what)
            waiting(delay)
        with _owned_if_possible(directory):
            if is_asked_to_stop(_RETRY_EVERY):
                return False


def start_delay(error: HoldfastError, directory: Path) -> StartDelay | None:
    """Why a start that failed so is worth waiting for; None when it is not."""
    if isinstance(error, LogFull | StoreFull):
        return StartDelay("room on the disk", error.what, error.remedy, is_about_room=True)
    if is_locked(error.__cause__):
        owner, remedy = _owner_and_remedy(directory)
        return StartDelay("a lock that another process holds", f"{error.what}{owner}", remedy)
    return None


def _owner_and_remedy(directory: Path) -> tuple[str, str]:
    """Who probably holds the lock, and what to do about it."""
    holder = recorded(directory / LOCK)
    if holder is None or holder.pid == os.getpid() or not holder.lives:
        return "", "End the process that uses the file."
    if holder.process.is_stopped:
        remedy = f"Continue process {holder.pid} with `kill -CONT {holder.pid}`, or end it."
        return f" Process {holder.pid} has owned the pipeline and is stopped.", remedy
    return f" Process {holder.pid} has owned the pipeline.", f"Wait for process {holder.pid}, or end it."


@contextmanager
def _owned_if_possible(directory: Path) -> Iterator[None]:
    """While this process is the owner, unless another one is, or the disk has no room for that either."""
    try:
        ownership = Ownership.take(directory)
    except HoldfastError as error:
        log.debug("the start waits without owning %s: %s", directory, error)
        yield
        return
    try:
        yield
    finally:
        ownership.release()
