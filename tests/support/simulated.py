"""What the edge makes of what simulated networks send, and where that says objects are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import numpy as np

from meridian.orbit.elements import Elements
from meridian.orbit.frames import Floats, sidereal_time, turned
from meridian.orbit.propagation import Propagator
from meridian.orbit.sites import Site
from meridian.sensors import Catalog, ObservationColumns, Screen, SourceKind, isl_frame, optical_record, radar_frame
from meridian.sensors import standard_rules as rules
from meridian.sensors.columns import joined
from meridian.sensors.screening import Candidates
from meridian.sensors.simulate.emission import Emission


def observed(given: Iterable[Emission], kind: SourceKind, known: frozenset[int]) -> ObservationColumns:
    """The observations of one network, by the decoders and rules of the edge; nothing may be refused."""
    screen = Screen(rules(Catalog(known=known)))
    screened = [screen(decoded(each)) for each in given if each.kind is kind]
    assert not [refusal for each in screened for refusal in each.refused]
    return joined([each.good for each in screened])


def decoded(emission: Emission) -> Candidates:
    """What left a network, as it is read."""
    match emission.kind:
        case SourceKind.RADAR:
            return radar_frame.decode(emission.data, emission.at_ns)
        case SourceKind.OPTICAL:
            found = optical_record.decode(json.dumps([emission.record]).encode(), emission.at_ns)
            assert isinstance(found, Candidates)
            return found
        case SourceKind.INTER_SATELLITE_LINK:
            return isl_frame.decode([emission.data[4:]], emission.at_ns)


def positions_by_radar(seen: ObservationColumns, sites: Mapping[str, Site]) -> Floats:
    """Where in TEME the frames of radars say that objects are, n by 3."""
    return np.array(
        [
            _position(sites[source], *row["values"][:4], np.array([row["sensor_ts_ns"]]))
            for source, row in zip(seen.source_ids.to_pylist(), seen.records, strict=True)
        ]
    )


def positions_by_catalog(seen: ObservationColumns, elements: Iterable[Elements], *, later_ns: int = 0) -> Floats:
    """Where the elements have the object that each observation names, then or a little later, n by 3."""
    catalog = {each.object_id: Propagator([each]) for each in elements}
    times = (seen.records["sensor_ts_ns"] + later_ns).tolist()
    pairs = zip(seen.object_ids.to_pylist(), times, strict=True)
    return np.array([catalog[name].state(0, time)[0] for name, time in pairs])


def _position(site: Site, distance: float, _: float, azimuth: float, elevation: float, time: np.ndarray) -> Floats:
    across = np.cos(elevation)
    local = distance * np.array([across * np.sin(azimuth), across * np.cos(azimuth), np.sin(elevation)])
    found: Floats = turned((site.fixed_m + local @ site.horizon)[None], -sidereal_time(time))[0]
    return found
