"""The demonstration without Spark and faster than time: simulated sensors, the decoders of the edge, and fusion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from meridian.fusion.life import Conjunction
from meridian.fusion.spark import seen_in
from meridian.hosting.simulator import scenario
from meridian.operation.assembling import FromHome
from meridian.operation.catalog import read_elements
from meridian.operation.home import Home
from meridian.sensors import SourceKind, events_of, heartbeat
from meridian.sensors.isl_frame import BODY
from meridian.sensors.radar_frame import FRAME
from meridian.sensors.simulate import Emission, emissions
from tests.support.simulated import observed

SECOND = 10**9
_OPTICAL_DELAY = 30 * SECOND


def played(
    home: Home, start_ns: int, *, seconds: int, objects: frozenset[int], every_s: int = 5
) -> Iterator[tuple[float, Conjunction]]:
    """What becomes of conjunctions while sensors watch these objects, each with the seconds since the start.

    :param every_s: what leaves the sensors in so many seconds is one batch.
    """
    parts = FromHome.of(home)()
    known = frozenset(each.norad for each in read_elements(home.catalog) if each.norad)
    state, batch, until_ns = parts.before_anything, list[Emission](), start_ns + every_s * SECOND
    for emission in emissions(replace(scenario(home, start_ns=start_ns), seconds=seconds)):
        if emission.at_ns >= until_ns:
            events = [events_of(observed(batch, kind, known), kind.prefix) for kind in {each.kind for each in batch}]
            silent = heartbeat(SourceKind.OPTICAL, "optical", through_ns=until_ns - _OPTICAL_DELAY, now_ns=until_ns)
            events.append(events_of(silent, "optical"))
            state, news = state.after(seen_in(events, parts.contributions))
            yield from (((until_ns - start_ns) / SECOND, each) for each in news.conjunctions)
            until_ns, batch = until_ns + every_s * SECOND, []
        if _is_of(emission, objects):
            batch.append(emission)


def _is_of(emission: Emission, objects: frozenset[int]) -> bool:
    """Records of telescopes have no names. They are left out: each pair is judged for itself, also by radar alone."""
    if emission.kind is SourceKind.OPTICAL:
        return False
    if emission.kind is SourceKind.RADAR:
        return int(np.frombuffer(emission.data, FRAME)["target_track_id"][0]) in objects
    return int(np.frombuffer(emission.data[4:], BODY)["satellite_id"][0]) in objects
