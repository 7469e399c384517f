"""Lines from standard input, or from any pipe. What comes through a pipe comes once: it can never be read again.

A line is safe when it is in the inbox, and there is no way to tell that to who wrote it. So a line that was written and
is not in the inbox when this process dies or is stopped is lost. Who cannot have that writes to a file and lets
`LogFiles` follow it. Lines are numbered on from the last one in the inbox, so those of several runs keep apart.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from holdfast.capture.contract import Captured, Source
from holdfast.capture.tailing.block import Block
from holdfast.capture.tailing.content import Piped
from holdfast.capture.tailing.events import Shape, make_events
from holdfast.capture.tailing.records import Framing
from holdfast.capture.tailing.tail import Tail
from holdfast.model.encoding import Encoding
from holdfast.model.envelope import event_ids
from holdfast.model.errors import InvalidSource
from holdfast.model.positions import FilePosition, Fingerprint, Seq

if TYPE_CHECKING:
    from holdfast.model.positions import Position

_BLOCK_BYTES = 8 * 2**20


class Stdin(Source):
    """A source of lines that ends when the pipe does.

    :param max_bytes: what is kept of one line. A longer one gets the header `cut` with the number of bytes left out.
    :param descriptor: of the pipe; standard input when there is none.
    """

    kind: ClassVar[str] = "stdin"

    def __init__(
        self,
        name: str = "stdin",
        *,
        encoding: Encoding = Encoding.UTF_8,
        max_bytes: int = 2**20,
        descriptor: int | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if max_bytes < 1:
            raise InvalidSource(f"Of a line {max_bytes} bytes are to be kept.", remedy="Keep some.", source=name)
        self.name = name
        self._framing = Framing(encoding)
        self._shape = Shape(name, encoding, max_bytes)
        self._block = Block(max(_BLOCK_BYTES, 2 * max_bytes), encoding.newline)
        self._now = now
        self._pipe = Piped(_standard_input(name) if descriptor is None else descriptor)
        self._tail = Tail(FilePosition(Fingerprint("", 0), self._pipe.inode, 0), window=1, now=0.0)
        self._tail.path = name
        self._tail.hold(self._pipe)
        self._lines = 0

    def open(self, after: Position | None) -> None:
        """Number on from the last line in the inbox."""
        if after is not None and not isinstance(after, Seq):
            raise InvalidSource(
                f"Source {self.name!r} is to go on from {after}, which is a position of another kind: {after.kind}.",
                remedy="Give the source another name, or the inbox back to the source that filled it.",
                source=self.name,
            )
        self._lines = after.value if after else 0

    def read(self, wait: float) -> Captured | None:
        """The lines that have come."""
        self._pipe.wait(wait)
        self._block.used = 0
        piece = self._tail.take(self._block, self._framing, number=1, is_all=False)
        if piece is None:
            return None
        first, self._lines = self._lines + 1, self._lines + len(piece.ends)
        positions = pa.array(np.arange(first, self._lines + 1)).cast(pa.string())
        places = event_ids(self.name, positions), positions
        made = make_events(self._shape, self._block.data(), [piece], places, self._now())
        return Captured(made.events, Seq(self._lines))

    @property
    def finished(self) -> bool:
        """Whether the pipe was closed, and all that came through it was read."""
        return self._pipe.size == self._tail.offset

    def close(self) -> None:
        """Nothing is given up: there is no second opening of a pipe."""


def _standard_input(name: str) -> int:
    """Its descriptor. Python has no `sys.stdin` in a process that was started with the descriptor closed."""
    if sys.stdin is None or sys.stdin.closed:
        raise InvalidSource(
            f"Source {name!r} reads standard input, and standard input is closed.",
            remedy="Pipe lines into the command, or name another source.",
            source=name,
        )
    return sys.stdin.fileno()
