"""When a source calls for somebody: drops, a clock that stays ahead, a consumer of its log that stays behind. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Sample:
    """What a source had counted at a time."""

    at: float
    """Seconds by a clock that never goes back."""
    taken: int
    dropped: int
    """By the kernel, or for their size."""
    ahead: int
    """Observations whose time was ahead of ours."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When an alarm is raised."""

    seconds: float = 60.0
    """So far back is looked."""
    dropped: float = 0.01
    """The share of what came that may be dropped."""
    ahead: float = 0.01
    """The share of what was taken that may be ahead, for so long."""


class Watch:
    """Looks at the samples of one source."""

    def __init__(self, thresholds: Thresholds | None = None) -> None:
        self._thresholds = thresholds or Thresholds()
        self._samples: deque[Sample] = deque()

    def alarms(self, sample: Sample) -> dict[str, str]:
        """The alarms that hold now, by name. A drop counts at once, a clock only when it stays ahead."""
        first = self._kept(sample)
        taken, dropped = sample.taken - first.taken, sample.dropped - first.dropped
        ahead, limits = sample.ahead - first.ahead, self._thresholds
        found = {}
        if dropped > limits.dropped * (taken + dropped):
            found["drops"] = f"{dropped} of {taken + dropped} were dropped in the last {limits.seconds:.0f} s."
        if sample.at - first.at >= limits.seconds and ahead > limits.ahead * taken:
            found["clock_ahead"] = f"{ahead} of {taken} were ahead of our clock in the last {limits.seconds:.0f} s."
        return found

    def _kept(self, sample: Sample) -> Sample:
        """The sample from as long ago as is looked at; when there is none, the beginning, when nothing was counted."""
        if not self._samples:
            self._samples.append(Sample(sample.at, taken=0, dropped=0, ahead=0))
        self._samples.append(sample)
        while len(self._samples) > 1 and self._samples[1].at <= sample.at - self._thresholds.seconds:
            self._samples.popleft()
        return self._samples[0]


class LagWatch:
    """Looks at the consumers of one log.

    :param seconds: what the log held so long ago each consumer must have processed.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: deque[tuple[float, int]] = deque()
        """The newest event of the log, and when that was."""

    def alarms(self, at: float, end: int, cursors: Mapping[str, int]) -> dict[str, str]:
        """The alarm that holds now, if there is one.

        :param end: the newest event of the log.
        :param cursors: up to which event each consumer has processed it.
        """
        self._ends.append((at, end))
        while len(self._ends) > 1 and self._ends[1][0] <= at - self._seconds:
            self._ends.popleft()
        since, before = self._ends[0]
        late = {name: end - seq for name, seq in sorted(cursors.items()) if seq < before}
        if at - since < self._seconds or not late:
            return {}
        told = ", ".join(f"{name} is {lag} events behind" for name, lag in late.items())
        return {"consumer_lag": f"{told}, and has been for more than {self._seconds:g} s."}
