"""Where the time of batches goes, as whoever runs them tells it: added up since the process was started. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.model.histogram import COARSE_BOUNDS


@dataclass(frozen=True, slots=True)
class BatchTime:
    """What one batch took, in seconds.

    :param phases: by the names of whoever ran it.
    :param state: what it took to write the state, added up over tasks; nothing when there is no state.
    """

    batch_id: int
    phases: Mapping[str, float]
    state: float | None


@dataclass(frozen=True, slots=True)
class Timing:
    """What all batches took.

    :param state_counts: how many took how long to write their state, by `COARSE_BOUNDS`.
    """

    batches: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)
    state_counts: tuple[int, ...] = (0,) * (len(COARSE_BOUNDS) + 1)
    state_seconds: float = 0.0

    def after(self, batch: BatchTime) -> Timing:
        """With one more."""
        phases = {name: self.phases.get(name, 0.0) + seconds for name, seconds in batch.phases.items()}
        counts = list(self.state_counts)
        if batch.state is not None:
            counts[bisect_left(COARSE_BOUNDS, batch.state)] += 1
        return Timing(
            self.batches + 1,
            {**self.phases, **phases},
            tuple(counts),
            self.state_seconds + (batch.state or 0.0),
        )
