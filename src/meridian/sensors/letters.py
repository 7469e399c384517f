"""How many dead letters an edge keeps and for how long, and who may touch its logs. It does not read them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Lock

from holdfast.log import DeadLetterLimits, DeadLetterLog, Overflow
from holdfast.model.errors import PipelineBusy
from holdfast.runtime.owner import Ownership

FOLDER = "dead"
"""Where the dead letters lie in the directory of an edge."""
STAGE = "edge:"
"""What their stage begins with; the name of the log that they were meant for follows."""
LIMITS = DeadLetterLimits(max_entries=100_000, max_age=timedelta(days=30), overflow=Overflow.DROP_OLDEST)
"""No bad frame ever stops a good one: when there are too many, the oldest entry goes, and that is logged."""
_SWEEP_SECONDS = 60.0


@contextmanager
def owned(directory: Path) -> Iterator[None]:
    """The directory of an edge, which is ours until the end; `PipelineBusy` when an edge runs in it."""
    try:
        ownership = Ownership.take(directory)
    except PipelineBusy as error:
        raise PipelineBusy(
            f"Process {error.context['pid']} runs the edge in {directory}, and only it may write to its logs.",
            remedy="Stop it, do this, and start it again; while it runs, look with `--dry-run`.",
            pid=error.context["pid"],
        ) from error
    try:
        yield
    finally:
        ownership.release()


class LetterUpkeep:
    """Lets entries go whose time is over, now and then. Any thread may ask for it."""

    def __init__(
        self, dead: DeadLetterLog, *, every: float = _SWEEP_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._dead = dead
        self._every, self._clock = every, clock
        self._lock = Lock()
        self._due = clock()

    def tend(self) -> None:
        """Do it when it is due; how many went is logged by the dead letters themselves."""
        with self._lock:
            now = self._clock()
            if now < self._due:
                return
            self._due = now + self._every
        self._dead.sweep(released=0)
