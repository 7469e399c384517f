"""Why alerts were late, in words: fusion was down, or the way of the observations was slow. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meridian.orbit.time import format_ccsds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meridian.service.delays import Delay
    from meridian.service.outages import Outage


def why_late(delay: Delay) -> str:
    """What held alerts up. Time in which fusion was down is told as that, and not as time that the pipeline took."""
    others = delay.otherwise
    if others is None:
        return f"At the 99th percentile it took {_parts(delay)}."
    late = others.words - others.within
    rest = (
        f"{late} other{'s' * (late > 1)} took {_parts(others)} at the 99th percentile"
        if late
        else "the others came in time"
    )
    return f"{delay.late_by_outage} of them waited because fusion {_told(delay.outages)}; {rest}."


def _told(outages: Sequence[Outage]) -> str:
    last, before = outages[-1], len(outages) - 1
    was = "was starting" if last.is_first_start else "was down"
    times = f", and {before} times before" if before > 1 else ", and once before" if before else ""
    return f"{was} from {format_ccsds(last.from_ns)[:19]} to {format_ccsds(last.to_ns)[:19]} UTC{times}"


def _parts(delay: Delay) -> str:
    return f"{delay.source.p99_s:.0f} s until it came in and {delay.pipeline.p99_s:.0f} s from then on"
