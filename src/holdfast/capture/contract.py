"""What a source promises to capture. An adapter frames: it finds transaction borders and positions, no more.

There are two kinds: a `Source` is read, a `Receiver` is pushed to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast.capture.reception import Intake
    from holdfast.model.positions import Position


@dataclass(frozen=True, slots=True)
class Captured:
    """Events read from a source, in its order; `tx_end` marks where its transactions end."""

    events: pa.RecordBatch
    """Of the schema `holdfast.model.envelope.CAPTURED`."""
    position: Position
    """Where the source stands after these events. The inbox keeps it once they end a transaction."""


class Source(ABC):
    """Something that is read once, in order, from a position on. Used from one thread at a time.

    The position given to `open` is that *after* the last event in the inbox: that event must not come again, the next
    one must.
    """

    kind: ClassVar[str]
    name: str
    schema: str | None = None
    """The columns of `before` and `after` in Spark's words, when all events are of one table."""
    stalled_after: float = 30.0
    """Seconds after which a call that has not come back means that the source hangs; `read` owes an answer sooner."""

    @abstractmethod
    def open(self, after: Position | None) -> None:
        """Start reading after this position; from the beginning when there is none. `SourceGap` when it is gone."""

    @abstractmethod
    def read(self, wait: float) -> Captured | None:
        """The next events; None when there were none within `wait` seconds."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether the source has ended: no event will ever come again."""

    def latest(self) -> Position | None:
        """Where the source ends just now, once it is open; a run that takes in what is available goes as far.

        None when it cannot say: then it goes on until a read gives nothing. A source that may never pause must say.
        """
        return None

    def captured(self, position: Position) -> None:  # noqa: B027 (most sources need not know)
        """Everything up to here is durable in the inbox: it will not be asked for again. Called between two reads."""

    def acknowledge(self, position: Position) -> None:  # noqa: B027 (most sources need not know)
        """Everything up to here is safe downstream; the source may forget it."""

    @abstractmethod
    def close(self) -> None:
        """Give up connections and files. Closing twice is fine, and so is opening again afterwards."""

    def check_connection(self) -> None:
        """Raise what keeps the source from being read now. Nothing is read, and nothing stays open."""
        try:
            self.open(None)
        finally:
            self.close()


@dataclass(frozen=True, slots=True)
class Boundary:
    """What came to a receiver and what was answered, in this process: every byte received is in one of the rest."""

    received: int = 0
    """Bytes of bodies, as sent."""
    accepted: int = 0
    """Bytes whose events are durable."""
    refused: int = 0
    """Bytes of which nothing was taken in."""
    under_way: int = 0
    """Bytes whose sender waits for an answer."""
    answers: Mapping[int, int] = field(default_factory=dict)
    """How often each status was answered."""


class Receiver(ABC):
    """Something that comes by itself and cannot be asked for again: requests, datagrams, lines on a socket.

    Whoever pushes is told that it is taken in when it is durable in the inbox, and not before.
    """

    kind: ClassVar[str]
    name: str
    schema: str | None = None
    """The columns of `before` and `after` in Spark's words, when all events are of one table."""
    linger: float
    """After how many seconds, about, a push is durable: so long it waits for others, to become durable together."""
    keys_kept: int
    """How many of the newest idempotency keys are remembered."""

    @abstractmethod
    def serve(self, intake: Intake) -> None:
        """Start taking in, and return. `SourceUnavailable` when that is not possible now."""

    @abstractmethod
    def check_connection(self) -> None:
        """`SourceUnavailable` when it could not take in now, as when its address is in use. It serves nobody."""

    @abstractmethod
    def boundary(self) -> Boundary:
        """What came and what was answered."""

    def acknowledge(self, position: Position) -> None:  # noqa: B027 (who pushed was answered long ago)
        """Everything up to here is safe downstream."""

    @abstractmethod
    def stop(self) -> None:
        """Take in nothing more; what was taken in is answered when this returns.

        Stopping twice is fine, and so is serving again afterwards.
        """


Input = Source | Receiver
"""What a pipeline can be given to read."""
