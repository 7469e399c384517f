"""What an operator's checkpoint is: its state and its offsets as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.checkpoint.operators.dedup import InputCut
    from holdfast.checkpoint.operators.items import Offset


class SnapshotMode(Enum):
    """How the snapshots of several operators go together."""

    PER_OPERATOR = "each on its own cadence; repeated items are recognised downstream"
    """Operators with several inputs take them in turns, so that a restarted operator repeats itself exactly."""
    ALIGNED = "all at the same barrier; a restart sets all back to the newest complete snapshot"


@dataclass(frozen=True, slots=True)
class Cut:
    """Where an operator stands between two items: what it has applied and how much it has emitted."""

    operator: str
    snapshot_id: int
    """The snapshot this is a part of; later ones have higher ids."""
    inputs: Mapping[str, InputCut]
    emitted: int
    """The number of the last output."""

    @property
    def offsets(self) -> Mapping[str, Offset | None]:
        """Where each input is to be replayed from; None is the beginning."""
        return {name: cut.offset for name, cut in self.inputs.items()}


@dataclass(frozen=True, slots=True)
class OperatorSnapshot:
    """An operator's state together with the cut it belongs to."""

    cut: Cut
    buffers: Sequence[bytes | memoryview] = field(repr=False)

    @property
    def size(self) -> int:
        """Bytes of state."""
        return sum(len(buffer) for buffer in self.buffers)
