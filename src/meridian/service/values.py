"""What there is to see of a running fusion, as values. Times are nanoseconds since 1970; nothing here reads or draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from meridian.fusion.life import Stage

Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConjunctionSeen:
    """One passage of one pair, as it stands.

    :param stage: where it is in its life.
    :param encounter_ns: the passage by the catalog alone, which names it; `closest_ns` is by all that was observed.
    :param plane_m: where the second object passes the first in the plane across their relative velocity.
    :param spread_m2: the covariance there: along x, along y, and both.
    :param radius_m: of both objects together.
    :param windows: in how many windows it was told of.
    """

    conjunction_id: str
    stage: Stage
    object_a: str
    object_b: str
    encounter_ns: int
    closest_ns: int
    miss_m: float
    speed_m_s: float
    probability: float
    radius_m: float
    plane_m: tuple[float, float]
    spread_m2: Triple
    windows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSaid:
    """One word on an alert: an alert is a pair in a window, and is told of, taken back and told of anew."""

    alert_id: str
    kind: str
    """`insert` or `retract`."""
    sequence: int
    object_a: str
    object_b: str
    window_end_ns: int
    is_early: bool
    closest_ns: int
    miss_m: float
    probability: float
    observed: tuple[int, int]
    """How many observations of each object it is from."""
    digests: tuple[int, int]
    """Which ones: the sums, modulo two to the 64, of the first halves of their ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectKnown:
    """A row of the catalog: one object, as all sensors together know it.

    :param covariance: of place and velocity, six by six, in metres and metres a second.
    """

    object_id: str
    status: str
    sources: Sequence[str]
    observations: int
    epoch_ns: int
    last_seen_ns: int
    position_m: Triple
    velocity_m_s: Triple
    covariance: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProgress:
    """How far one sensor network has come.

    :param source: `radar`, `optical` or `isl`.
    :param observations: that fusion has taken from it so far.
    :param source_lag_s: how long after its time the newest batch came in at the edge, at the 99th percentile.
    :param pipeline_lag_s: how long after it came in it was judged.
    """

    source: str
    watermark_ns: int | None
    observations: int = 0
    source_lag_s: float = 0.0
    pipeline_lag_s: float = 0.0
    clock_ahead: int = 0
    """Observations from the future."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What one batch of the correlator did, and where it left things; counts are since the beginning.

    :param at_ns: when it was judged, by our clock.
    :param active: windows that are open; `retained` ones are closed and kept for late observations.
    :param dropped: observations that came too late for every window.
    """

    batch: int
    at_ns: int
    watermark_ns: int | None
    sources: Sequence[SourceProgress]
    active: int
    retained: int
    taken: int
    late: int
    dropped: int
    closed: int
    told: int
    retracted: int
    tracks: int
    state_bytes: int
    seconds: float
    """How long the correlator worked on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """How full one queue is on the way from the sensors to the subscriber, upstream first where there are several."""

    edge: str
    count: int
    capacity: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return min(self.count / self.capacity, 1.0) if self.capacity else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """Something that somebody has to look at, with what to do about it."""

    name: str
    says: str
    remedy: str
    severity: str = "warning"
    """`warning` or `critical`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything at one moment."""

    at_ns: int
    progress: Progress | None
    """Nothing before the first batch."""
    conjunctions: Sequence[ConjunctionSeen]
    """Those on which somebody may have to act, the soonest first."""
    words: Sequence[WordSaid]
    """The newest, the last one first."""
    objects: int
    """How many objects the catalog has a track of."""
    occupancies: Sequence[Occupancy] = ()
    bottleneck: str | None = None
    """The edge that holds the others up."""
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    """By kind of error."""
    drops: Mapping[str, int] = field(default_factory=dict)
    """What the edge dropped, by source and cause."""
    alarms: Sequence[Alarm] = ()
    is_running: bool = True
