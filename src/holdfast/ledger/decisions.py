"""What the ledger wants done. It decides; a shell with I/O executes these, in the order given.

A decision that cannot be executed is tried again before those behind it: that is what keeps dead letters in front of
cursors, and cursors in front of what the outside is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.ledger.cursors import Cursors
from holdfast.model.positions import Position


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Write the batch's rejected rows to the dead letters, then call `Rejecting.dead_lettered()`."""

    lane: str
    oseq: int


@dataclass(frozen=True, slots=True)
class Retry:
    """Send the batch again after a pause of the shell's choosing."""

    lane: str
    oseq: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Vanished:
    """Report that a `Sending` ticket was dropped without an outcome; the batch is held until `Ledger.retry`."""

    lane: str
    oseq: int
    attempt: int


@dataclass(frozen=True, slots=True)
class WriteCursors:
    """Write the cursors in one atomic write, then call `Ledger.persisted` with them."""

    cursors: Cursors


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Tell the sources that everything up to these positions is committed and durable."""

    positions: Mapping[str, Position]


@dataclass(frozen=True, slots=True)
class Release:
    """The outbox may forget every batch up to and including this one."""

    through: int


Decision = DeadLetter | Retry | Vanished | WriteCursors | Acknowledge | Release
