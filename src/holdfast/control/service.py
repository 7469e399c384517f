"""The application service over a pipeline that runs in this process: every face asks it, and none has logic of its own.

Its answers are plain values or values that `plain` makes plain.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING

from holdfast.config import load
from holdfast.control.belongings import Belongings
from holdfast.control.changing import sink_to_add, sink_to_remove
from holdfast.control.dlq import dead_letters_asked
from holdfast.control.document import keep_document, kept_document
from holdfast.control.ending import Ending, Manner
from holdfast.control.status import Status, status_of
from holdfast.control.tapping import tapped
from holdfast.model.errors import InvalidRequest

if TYPE_CHECKING:
    from holdfast.config import Document
    from holdfast.control.observer import Observer
    from holdfast.ledger import StopRecord
    from holdfast.runtime.engine import Engine

_PATIENCE = 30.0
"""Seconds beyond its deadline within which a drain must have ended."""
DRAIN_WITHIN = 30.0


class Service:
    """What can be asked of a running pipeline."""

    def __init__(self, engine: Engine, observer: Observer, ending: Ending) -> None:
        self._engine = engine
        self._observer = observer
        self._ending = ending
        self._asked: Mapping[str, Callable[..., object]] = {
            "status": self.status,
            "pause": self.pause,
            "resume": self.resume,
            "drain": self.drain,
            "stop": self.stop,
            "add_sink": self.add_sink,
            "remove_sink": self.remove_sink,
            "tap": self.tap,
            "dead_letters": self.dead_letters,
        }

    def ask(self, what: str, given: Mapping[str, object]) -> object:
        """Do what a request names."""
        if what not in self._asked:
            raise InvalidRequest(
                f"A pipeline cannot be asked for {what!r}.", remedy=f"Ask for one of {', '.join(self._asked)}."
            )
        call = self._asked[what]
        try:
            signature(call).bind(**given)
        except TypeError as error:
            raise InvalidRequest(f"The request {what!r} is not right: {error}.", remedy="Upgrade both ends.") from error
        return call(**given)

    def status(self) -> Status:
        """Where it stands, how well it is, and how fast it goes."""
        return status_of(self._observer.pictures())

    def pause(self) -> Status:
        """Admit nothing new; it stays so, also after a restart."""
        self._engine.pause()
        return self.status()

    def resume(self) -> Status:
        """Go on after a pause."""
        self._engine.resume()
        return self.status()

    def drain(self, within: float = DRAIN_WITHIN) -> StopRecord | None:
        """End in order. Returns once it has ended, with what remains."""
        self._ending.ask(Manner.DRAIN, float(within))
        return self._ending.wait(float(within) + _PATIENCE)

    def stop(self) -> StopRecord | None:
        """End now, also when a drain is under way."""
        is_draining = self._ending.asked.is_set()
        self._ending.ask(Manner.STOP)
        if is_draining:
            os.kill(os.getpid(), signal.SIGTERM)
        return self._ending.wait(_PATIENCE)

    def add_sink(self, name: str, document: str) -> Status:
        """Deliver to one more sink, as another document declares it; nothing else of it may differ."""
        old, new = self._documents(document)
        spec = sink_to_add(old, new, name)
        self._engine.delivery.add_sink(spec)
        keep_document(self._engine.plan.directory, document, new.folder)
        return self.status()

    def remove_sink(self, name: str, document: str) -> StopRecord:
        """Deliver no more to a sink that another document does not declare any more."""
        old, new = self._documents(document)
        sink_to_remove(old, new, name)
        record = self._engine.delivery.remove_sink(name)
        keep_document(self._engine.plan.directory, document, new.folder)
        return record

    def _documents(self, text: str) -> tuple[Document | None, Document]:
        """The document that the pipeline runs by, and the new one, with its paths beginning at the same folder."""
        old = kept_document(self._engine.plan.directory)
        return old, load(text, folder=old.folder if old else None)

    def tap(self, point: str = "outbox", rows: int = 10, wait: float = 1.0) -> object:
        """A few of the rows that pass a point next; what passes is not held up."""
        return tapped(self._engine, point, rows=int(rows), wait=float(wait))

    def dead_letters(self, what: str, chosen: Mapping[str, object], given: Mapping[str, object]) -> object:
        """Look at dead letters, see to them, or let them go their way again."""
        return dead_letters_asked(Belongings.of(self._engine), what, chosen, given)
