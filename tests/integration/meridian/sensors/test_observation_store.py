"""The log of a source as the store of its observations: one row an id, however often an observation is delivered."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.sensor_logs import Logs

from meridian.sensors import Observation, Screened, SourceKind, Taken, from_observations
from meridian.sensors.landing import Landing
from meridian.sensors.observation import Angular, ClockQuality, StateVector, Uncertainty

NOW = 1_760_000_000 * 10**9
OPTICAL, ISL = SourceKind.OPTICAL, SourceKind.INTER_SATELLITE_LINK


def seen(kind: SourceKind, number: int, *, ingest_ns: int = NOW) -> Observation:
    is_optical = kind is OPTICAL
    return Observation(
        observation_id=f"00000000-0000-5000-8000-{number:012d}",
        source_id="optical-maui" if is_optical else "isl-90001",
        source_kind="Optical" if is_optical else "InterSatelliteLink",
        sensor_ts_ns=NOW - 10**9 + number,
        ingest_ts_ns=ingest_ns,
        target=Angular(1.0, 0.5) if is_optical else StateVector((7e6, 0.0, 0.0), (0.0, 7500.0, 0.0)),
        uncertainty=Uncertainty(1e-5 if is_optical else 5.0),
        clock_quality=ClockQuality("NtpSynced"),
    )


def store(landing: Landing, *observations: Observation, mark: int | None) -> None:
    """Land them as they come from the source, and wait until they are durable."""
    flight = landing.flight(Taken(Screened(from_observations(observations)), b"", NOW, mark), 0.0)
    for leg in flight.legs:
        leg.future = leg.begin()
        leg.arrived(leg.future.result(30))
    assert flight.has_landed


@pytest.mark.req("DLV-07")
@pytest.mark.parametrize("kind", [OPTICAL, ISL])
def test_an_observation_that_is_delivered_again_is_not_stored_again(tmp_path: Path, kind: SourceKind) -> None:
    marks = (1, 2, 3) if kind is OPTICAL else (None, None, None)
    logs = Logs(tmp_path)
    landing = logs.landing(kind)
    store(landing, seen(kind, 1), seen(kind, 2), mark=marks[0])
    store(landing, seen(kind, 2, ingest_ns=NOW + 5), seen(kind, 3), mark=marks[1])
    assert landing.meter.repeated == 1
    logs.close()
    again = Logs(tmp_path)
    landing = again.landing(kind)
    store(landing, seen(kind, 1, ingest_ns=NOW + 9), seen(kind, 3), seen(kind, 4), mark=marks[2])
    assert landing.meter.repeated == 2
    again.close()
    stored = logs.observations(kind)
    assert [each.observation_id for each in stored] == [seen(kind, number).observation_id for number in (1, 2, 3, 4)]
    assert {each.ingest_ts_ns for each in stored} == {NOW}, "the first that came stays"
