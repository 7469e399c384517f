"""Where a pipeline stands, as a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.runtime.lifecycle import State

if TYPE_CHECKING:
    from holdfast.capture.runner import CaptureStatus
    from holdfast.deliver import DeliveryStatus
    from holdfast.log import DeadLetterStatus
    from holdfast.runtime.acknowledging import Acknowledgement
    from holdfast.runtime.isolation import Isolating
    from holdfast.runtime.publisher import Replay
    from holdfast.runtime.timing import Timing


@dataclass(frozen=True, slots=True)
class SparkStatus:
    """What Spark is doing."""

    active: bool
    batch_id: int | None
    """The newest batch published in this generation."""
    restarts: int
    """How often the query was started again in this process."""
    replays: Sequence[Replay]
    """Batches that Spark ran again, newest last."""
    isolating: Isolating | None
    """The search for rows that make a batch fail, while there is one."""
    starts: Mapping[str, int]
    """How often the query was started in this process, by where it began: `fresh`, or from its `local` checkpoint."""
    timing: Timing
    """What the batches of this process took."""
    last_failure: str | None = None
    """Why the query was last started again in this process."""
    lost_lately: int = 0
    """How often its JVM or a Python worker was lost within the last ten minutes."""


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """A pipeline from its sources to its sinks."""

    name: str
    state: State
    error: str | None
    captures: Sequence[CaptureStatus]
    acknowledgements: Mapping[str, Acknowledgement]
    """By the name of each source, up to where it was told that it may forget."""
    spark: SparkStatus
    delivery: DeliveryStatus
    dead_letters: DeadLetterStatus
