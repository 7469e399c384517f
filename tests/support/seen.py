"""Values of the service as a fusion that runs would show them, made up and the same every time."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from meridian.fusion.geometry import collisions
from meridian.fusion.life import Passage, Stage
from meridian.hosting import demonstration
from meridian.orbit.elements import Elements
from meridian.orbit.time import parse_ccsds
from meridian.service.delays import Delay, Spread
from meridian.service.seen import EdgeSeen, PipelineSeen, SensorSeen, SinkSeen
from meridian.service.values import (
    Alarm,
    ConjunctionSeen,
    Missed,
    Occupancy,
    Progress,
    Snapshot,
    SourceProgress,
    WordSaid,
)

SECOND = 1_000_000_000
NOW = parse_ccsds("2026-03-14T09:26:53.589") or 0


def _probability(plane: tuple[float, float], spread: tuple[float, float, float]) -> float:
    """Of touching, for bodies of ten metres."""
    return float(collisions(np.array([plane]), np.array([spread]), np.array([10.0]))[0])


def conjunction(number: int = 0, *, miss_m: float = 312.0, turned: float = -0.6) -> ConjunctionSeen:
    """One that stands; a later number is a later passage.

    :param turned: the correlation of where the second object passes along the miss and across it.
    """
    random = Random(number)
    a, b = f"{90_001 + number % 24}", f"{90_025 + number}"
    closest = NOW + round((312 + 977 * number + 120 * random.random()) * SECOND)
    encounter = closest - round(random.uniform(-2, 2) * SECOND)
    plane, spread = (miss_m, 0.0), (170.0**2, 95.0**2, turned * 170 * 95)
    return ConjunctionSeen(
        conjunction_id=Passage(a, b, encounter).conjunction_id,
        stage=Stage.RAISED if number % 3 == 1 else Stage.UPDATED,
        object_a=a,
        object_b=b,
        encounter_ns=encounter,
        closest_ns=closest,
        miss_m=miss_m,
        speed_m_s=random.uniform(2_000, 14_800),
        probability=_probability(plane, spread),
        radius_m=10.0,
        plane_m=plane,
        spread_m2=spread,
        windows=1 + number % 9,
    )


def conjunctions(count: int) -> list[ConjunctionSeen]:
    """Of all severities, the soonest first."""
    random = Random(5)
    return [
        conjunction(number, miss_m=(300, 520, 410, 640, 150, 900, 480, 700)[number % 8] * random.uniform(0.8, 1.2))
        for number in range(count)
    ]


def word(number: int) -> WordSaid:
    """A word on one of them."""
    about = conjunctions(number % 5 + 1)[-1]
    return WordSaid(
        alert_id=f"{Random(number).getrandbits(64):016x}",
        kind="retract" if number % 4 == 2 else "insert",
        sequence=number % 3,
        object_a=about.object_a,
        object_b=about.object_b,
        window_end_ns=NOW - (31 + 5 * number) * SECOND,
        is_early=number % 3 == 0,
        closest_ns=about.closest_ns,
        miss_m=about.miss_m,
        probability=about.probability,
        observed=(41 + number, 12),
        digests=(number, 7),
        newest_ns=NOW - (32 + 5 * number) * SECOND,
        batch=412 - number,
        caused_ns=NOW - (32 + 5 * number) * SECOND,
        received_ns=NOW - (31 + 5 * number) * SECOND,
    )


SOURCES = (
    SourceProgress(
        source="radar", watermark_ns=NOW - 4 * SECOND, observations=182_404, source_lag_s=0.064, pipeline_lag_s=0.81
    ),
    SourceProgress(
        source="optical",
        watermark_ns=NOW - 36 * SECOND,
        observations=9_120,
        source_lag_s=22.4,
        pipeline_lag_s=1.2,
        clock_ahead=3,
    ),
    SourceProgress(
        source="isl", watermark_ns=NOW - 7 * SECOND, observations=41_008, source_lag_s=0.256, pipeline_lag_s=0.78
    ),
)
PROGRESS = Progress(
    batch=412,
    at_ns=NOW - SECOND,
    watermark_ns=NOW - 36 * SECOND,
    sources=SOURCES,
    active=7,
    retained=2,
    taken=232_532,
    late=1_207,
    dropped=3,
    closed=390,
    told=118,
    retracted=9,
    tracks=298,
    state_bytes=18_400_000,
    seconds=0.34,
)
OCCUPANCIES = (
    Occupancy(edge="radar-1 -> obs.radar-1", count=212, capacity=4_096),
    Occupancy(edge="optical -> obs.optical", count=18, capacity=1_024),
    Occupancy(edge="isl -> obs.isl", count=95, capacity=1_024),
    Occupancy(edge="obs.radar-1 -> inbox", count=31_000, capacity=100_000),
    Occupancy(edge="obs.optical -> inbox", count=20, capacity=100_000),
    Occupancy(edge="obs.isl -> inbox", count=410, capacity=100_000),
    Occupancy(edge="inbox obs.radar-1 -> fusion", count=93_200, capacity=100_000),
    Occupancy(edge="inbox obs.optical -> fusion", count=1_100, capacity=100_000),
    Occupancy(edge="inbox obs.isl -> fusion", count=7_400, capacity=100_000),
    Occupancy(edge="outbox -> tables", count=20_000_000, capacity=1_000_000_000),
)
STALLED = Alarm(
    name="watermark-stalled",
    says="The watermark has stood still for 75 s; optical holds it.",
    remedy="Look whether the optical archive answers, and at its breaker in the metrics of the edge.",
)
FILLING = Alarm(
    name="dead-letters-full",
    says="The dead letters have room for 12 more rows.",
    remedy="See them with `holdfast dlq list`, then `meridian reprocess` them.",
    severity="critical",
)
PIPELINE = PipelineSeen(
    state="running",
    uptime_s=4_980.0,
    restarts=1,
    sinks=[SinkSeen(sink=name, state="sending") for name in ("alerts", "catalog", "words")],
    checkpoint_age_s=1.4,
    starts={"local": 1},
    checkpoint_bytes=2_048,
)
EDGE = EdgeSeen(
    is_well=True,
    sensors=[
        SensorSeen(source="radar-1", network="radar"),
        SensorSeen(source="optical", network="optical", breaker=2),
        SensorSeen(source="isl", network="isl"),
    ],
)
FULL = Snapshot(
    at_ns=NOW,
    progress=PROGRESS,
    conjunctions=conjunctions(12),
    words=[word(number) for number in range(10)],
    objects=298,
    occupancies=OCCUPANCIES,
    bottleneck="inbox obs.radar-1 -> fusion",
    dead_letters={"NotCatalogued": 4, "ValidationFailed": 1},
    drops={"radar kernel": 12},
    alarms=(STALLED,),
    is_edge_asked=True,
    edge=EDGE,
    pipeline=PIPELINE,
    delay=Delay(
        words=118,
        within=118,
        whole=Spread(4.2, 24.0, 26.1),
        source=Spread(0.064, 22.4, 24.2),
        pipeline=Spread(1.1, 1.6, 1.9),
        raised=Spread(1.2, 2.4, 4.0),
        closed=Spread(41.0, 44.0, 44.5),
    ),
)
EMPTY = Snapshot(at_ns=NOW, progress=None, conjunctions=(), words=(), objects=0)
CROWDED = replace(
    FULL,
    conjunctions=conjunctions(500),
    words=[word(number) for number in range(100)],
    alarms=(STALLED, FILLING, *(replace(STALLED, name=f"alarm-{number}") for number in range(6))),
)


def history(count: int = 240) -> list[Progress]:
    """A batch each 5 seconds, with a telescope archive that falls silent in the middle."""
    rows = []
    for number in range(count):
        at = NOW - (count - number) * 5 * SECOND
        silent = max(0, min(number, 150) - 110) * 5 if number < 170 else 0
        behind = {"radar": 4, "optical": 34 + silent + 3 * math.sin(number), "isl": 7}
        lags = {"radar": 0.064, "optical": 20 + 0.4 * silent, "isl": 0.256}
        sources = [
            replace(
                each,
                watermark_ns=None if number < 3 else at - round(behind[each.source] * SECOND),
                source_lag_s=lags[each.source],
                pipeline_lag_s=each.pipeline_lag_s * (1 + 0.25 * math.sin(number / 7)),
            )
            for each in SOURCES
        ]
        slowest = min((each.watermark_ns for each in sources if each.watermark_ns is not None), default=None)
        rows.append(replace(PROGRESS, batch=number, at_ns=at, watermark_ns=slowest, sources=sources))
    return rows


def misses() -> list[Missed]:
    """What was said of the first conjunction, nearer and better known from word to word."""
    found, random = [], Random(3)
    for number in range(24):
        off = 4_000 * math.exp(-number / 4) * random.uniform(-0.3, 1.0)
        miss = abs(conjunction().miss_m + off)
        spread = (max(40, abs(off)) ** 2 + 170.0**2, 95.0**2, 0.0)
        found.append(
            Missed(
                said_ns=NOW - (24 - number) * 47 * SECOND,
                window_end_ns=NOW - (24 - number) * 45 * SECOND,
                closest_ns=conjunction().closest_ns,
                miss_m=miss,
                probability=_probability((miss, 0.0), spread),
                is_early=number % 2 == 0,
                is_standing=number % 6 != 4,
            )
        )
    return [*found[:-1], replace(found[-1], miss_m=conjunction().miss_m, probability=conjunction().probability)]


def elements(number: int = 0, **changed: Any) -> Elements:
    """The orbit of an object."""
    made = Elements(
        norad=90_001 + number,
        designator=None,
        name=f"MERIDIAN {1 + number}",
        epoch_ns=NOW,
        mean_motion_rev_day=14.6,
        eccentricity=1e-4,
        inclination_deg=68.0,
        raan_deg=212.0,
        argument_of_perigee_deg=0.0,
        mean_anomaly_deg=40.0,
        bstar=1e-5,
    )
    return replace(made, **changed)


SITES = tuple(replace(site, name=name) for name, site in demonstration.SITES.items())
CATALOG = (
    elements(),
    elements(24, inclination_deg=98.0, mean_anomaly_deg=40.02),
    elements(5, inclination_deg=51.6, raan_deg=20.0, mean_anomaly_deg=190.0),
)
