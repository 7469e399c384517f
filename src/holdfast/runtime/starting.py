"""Starts a pipeline whose disk may be full: waits until there is room, and says so.

A start needs room, because every log is claimed by a commit. The reserve that earlier runs left is given back first.
While it waits it owns the pipeline's directory if it can, so that others see that somebody is about to start it.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.disk.space import DiskReserve
from holdfast.model.errors import HoldfastError, LogFull, StoreFull
from holdfast.runtime.layout import Layout
from holdfast.runtime.owner import Ownership

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

log = logging.getLogger("holdfast")

_RETRY_EVERY = 1.0


def start_when_there_is_room(
    start: Callable[[], None],
    directory: Path,
    *,
    is_asked_to_stop: Callable[[float], bool],
    waiting: Callable[[HoldfastError], None] = lambda _: None,
) -> bool:
    """Start, again and again while the disk has no room; False when it was asked to stop before.

    :param is_asked_to_stop: waits for so many seconds, and says whether somebody wants the start given up.
    :param waiting: told once why the start waits.
    """
    has_waited = False
    while True:
        try:
            start()
        except (LogFull, StoreFull) as error:
            if DiskReserve(Layout(directory).disks()).release():
                continue
            if not has_waited:
                log.warning("the pipeline in %s starts once its disk has room: %s", directory, error)
                waiting(error)
            has_waited = True
            with _owned_if_possible(directory):
                if is_asked_to_stop(_RETRY_EVERY):
                    return False
        else:
            return True


@contextmanager
def _owned_if_possible(directory: Path) -> Iterator[None]:
    """While this process is the owner, unless the disk has no room for that either."""
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
