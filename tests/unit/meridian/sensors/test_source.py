"""What each kind of source declares about itself."""

from __future__ import annotations

import pytest

from meridian.sensors import TRAITS, ObservationSource, SourceKind
from meridian.sensors.source import Delivery, Ordering, Replay
from meridian.sensors.sources.isl_tcp import IslTcp
from meridian.sensors.sources.optical_http import OpticalHttp
from meridian.sensors.sources.radar_udp import RadarUdp

RADAR, OPTICAL, ISL = SourceKind


@pytest.mark.req("ING-17")
@pytest.mark.parametrize(
    ("kind", "replay", "ordering", "delivery", "lateness_s"),
    [
        (RADAR, Replay.NEVER, Ordering.NONE, Delivery.AT_MOST_ONCE, 0.1),
        (OPTICAL, Replay.FOR_A_DAY, Ordering.BY_TIME, Delivery.AT_LEAST_ONCE, 30.0),
        (ISL, Replay.NEVER, Ordering.PER_SENSOR, Delivery.AT_LEAST_ONCE, 10.0),
    ],
)
def test_a_source_declares_what_it_can_be_relied_on_for(
    kind: SourceKind, replay: Replay, ordering: Ordering, delivery: Delivery, lateness_s: float
) -> None:
    traits = TRAITS[kind]
    assert (traits.replay, traits.ordering, traits.delivery) == (replay, ordering, delivery)
    assert traits.max_lateness_ns == lateness_s * 1e9


@pytest.mark.req("ING-11", "ING-17")
@pytest.mark.parametrize(("source", "kind"), [(RadarUdp, RADAR), (OpticalHttp, OPTICAL), (IslTcp, ISL)])
def test_all_sources_keep_the_one_contract(source: type[ObservationSource], kind: SourceKind) -> None:
    assert issubclass(source, ObservationSource)
    assert source.kind is kind
    assert not source.__abstractmethods__
