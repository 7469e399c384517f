"""The log of an edge as a source of a pipeline: followed by another process, which tells the edge how far it is.

What the pipeline has safely done is written beside the log, and the edge forgets nothing that is still needed (see
`consumers`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from holdfast.capture import Relay
from holdfast.model.positions import LogPosition
from meridian.sensors.consumers import Consumer, declare

if TYPE_CHECKING:
    from holdfast.model.positions import Position


class EdgeLog(Relay):
    """One log of an edge; as a source it is named like the log, with a hyphen in place of the dot.

    :param directory: the `output_dir` of the edge.
    :param log: the name of the log: `obs.radar-1`, `obs.optical`, `obs.isl`.
    :param consumer: who reads; each consumer of a log has a name of its own.
    """

    kind: ClassVar[str] = "edge_log"

    def __init__(self, directory: Path, log: str, *, consumer: str) -> None:
        super().__init__(directory / log, name=log.replace(".", "-"))
        self._edge = directory
        self._consumer = Consumer(log, consumer)

    def acknowledge(self, position: Position) -> None:
        """Let the edge forget what is up to here, once nobody else needs it."""
        assert isinstance(position, LogPosition), "a relay's own position"
        declare(self._edge, self._consumer, position.seq)
