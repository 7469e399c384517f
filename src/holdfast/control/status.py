"""The answer to "how is it?": the picture, the judgement, and how fast things go. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.control.health import Health, judge
from holdfast.control.snapshot import Snapshot

_OVER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Rates:
    """Rows a second, over the last few seconds."""

    captured: dict[str, float]
    """By source."""
    delivered: dict[str, float]
    """By sink."""


@dataclass(frozen=True, slots=True)
class Status:
    """Where a pipeline stands, how well it is, and how fast it goes."""

    snapshot: Snapshot
    health: Health
    rates: Rates


def status_of(pictures: Sequence[Snapshot]) -> Status:
    """The status at the last of these pictures."""
    return Status(pictures[-1], judge(pictures), rates(pictures))


def rates(pictures: Sequence[Snapshot]) -> Rates:
    """How fast things went lately."""
    now = pictures[-1]
    start = next(picture for picture in pictures if (now.at - picture.at).total_seconds() <= _OVER_SECONDS)
    seconds = (now.at - start.at).total_seconds()
    captured = {source.name: source.end for source in start.sources}
    delivered = {lane.name: lane.rows_out for lane in start.lanes}

    def rate(before: int, after: int) -> float:
        return round(max(0, after - before) / seconds, 1) if seconds > 0 else 0.0

    return Rates(
        {source.name: rate(captured.get(source.name, source.end), source.end) for source in now.sources},
        {lane.name: rate(delivered.get(lane.name, lane.rows_out), lane.rows_out) for lane in now.lanes},
    )
