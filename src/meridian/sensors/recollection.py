"""What was seen lately, kept across a crash with the number of the event up to which all was seen.

It is saved only when everything that was seen is in the inbox of whoever reads. So what is read again after a crash was
never counted before, and what lies between the saved number and the position can be replayed. A memory that is damaged
is set aside, and all objects are news again: more is of high priority then, and nothing is lost.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from holdfast.checkpoint.file import FileStore
from holdfast.checkpoint.operators import FlowSettings, StateKeeper
from holdfast.model.errors import HoldfastError, StoreFull, StoreReadOnly, StoreUnavailable
from holdfast.model.steps import StepHook, no_hook
from meridian.sensors.priority import RecentObjects

log = logging.getLogger(__name__)

_NAME = "recent"
_ATTEMPTS = 2
"""What is damaged is set aside, and the second attempt finds nothing."""
R = TypeVar("R")


async def _at_once(work: Callable[[], R], /) -> R:
    """In the thread of the capture, which has nothing else to do meanwhile."""
    return work()


class Recollection:
    """The memory of one reader of one log. Used from one thread at a time.

    :param directory: where it is kept, for this reader alone.
    :param cadence: seconds between two saves.
    """

    def __init__(self, directory: Path, *, cadence: float = 5.0, hook: StepHook = no_hook) -> None:
        self._directory = directory
        self._settings = FlowSettings(cadence=cadence, offload=_at_once, hook=hook)
        self._runner = asyncio.Runner()
        self._store: FileStore | None = None
        self._keeper: StateKeeper | None = None
        self.recent = RecentObjects()
        self.losses = 0
        """How often it could not be used and began anew."""

    def open(self, position: int) -> int:
        """Remember what was saved last; the number up to which all is remembered, of which `position` is the last.

        When nothing can be remembered that is `position` itself: what came before is forgotten.
        """
        for _ in range(_ATTEMPTS):
            self.close()
            try:
                return self._recovered(position)
            except (StoreFull, StoreReadOnly, StoreUnavailable) as error:
                self._tell_loss(str(error))
                break
            except (HoldfastError, ValueError) as error:
                self._tell_loss(str(error))
                self._set_aside()
        self.close()
        return position

    def saw_through(self, seq: int) -> None:
        """All events up to this one, and none behind it, are remembered and in the inbox; save that if it is time."""
        if self._keeper is not None:
            self._runner.run(_noted(self._keeper, seq))

    def save(self) -> None:
        """Save what `saw_through` was told last, whether it is time or not; what cannot be saved is replayed."""
        if self._keeper is not None:
            try:
                self._runner.run(self._keeper.close())
            except HoldfastError as error:
                log.warning("what was seen lately is not saved at %s: %s", self._directory, error)

    @property
    def recoveries(self) -> Mapping[str, int]:
        """How often something to remember was looked for, by where it was found: on this machine, or nowhere."""
        return {dict(labels)["path"]: count for labels, count in self._settings.paths.values().items()}

    def close(self) -> None:
        """Give up the files; what is not saved is replayed."""
        if self._store is not None:
            self._store.close()
        self._store = self._keeper = None
        self.recent = RecentObjects()
        self._runner.close()
        self._runner = asyncio.Runner()

    def _recovered(self, position: int) -> int:
        self._store = store = FileStore(self._directory)
        self._keeper = self._runner.run(
            StateKeeper.recover(_NAME, self.recent, store=store, epoch=store.take_over(), settings=self._settings)
        )
        offset = position if self._keeper.offset is None else self._keeper.offset
        if not isinstance(offset, int) or offset > position:
            message = f"it has seen the events up to {offset!r}, and its reader stands at {position}"
            raise ValueError(message)
        return offset

    def _tell_loss(self, why: str) -> None:
        self.losses += 1
        log.warning("all objects are news again, because the memory at %s cannot be used: %s", self._directory, why)

    def _set_aside(self) -> None:
        aside = self._directory.with_name(f"{self._directory.name}.damaged")
        shutil.rmtree(aside, ignore_errors=True)
        if self._directory.exists():
            self._directory.rename(aside)


async def _noted(keeper: StateKeeper, seq: int) -> None:
    """The state was changed when the events were read; a save that is due is done when this returns."""
    with keeper.change(seq):
        pass
    await asyncio.sleep(0)
