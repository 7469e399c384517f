"""What leaves a sensor network, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meridian.sensors.observation import SourceKind
    from meridian.sensors.simulate.archive import Record


@dataclass(frozen=True, slots=True)
class Emission:
    """Something that leaves a network."""

    at_ns: int
    """When it leaves; later than what it says by its lateness."""
    kind: SourceKind
    data: bytes = b""
    """A datagram, or a frame with its length."""
    record: Record | None = None
    """Of the archive."""
