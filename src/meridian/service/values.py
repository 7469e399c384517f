"""What there is to see of a running fusion, as values. Times are nanoseconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.flow import Metric
from meridian.fusion.life import Stage
from meridian.service.accounts import Accounts
from meridian.service.delays import Delay, Lags
from meridian.service.seen import DeadLetters, EdgeSeen, FeedSeen, PipelineSeen

Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConjunctionSeen:
    """One passage of one pair, as it stands.

    :param stage: where it is in its life.
    :param encounter_ns: the passage by the catalog alone, which names it; `closest_ns` is by all that was observed.
    :param plane_m: where the second object passes the first in the plane across their relative velocity.
    :param spread_m2: the covariance there: along x, along y, and both.
    :param radius_m: of both objects together.
    :param probability: that they touch; not-a-number when it is not known.
    :param windows: in how many windows it was told of.
    """

    conjunction_id: str
    stage: Stage
    object_a: str
    object_b: str
    name_a: str = ""
    """In the catalog; empty when it has none."""
    name_b: str = ""
    encounter_ns: int
    closest_ns: int
    miss_m: float
    speed_m_s: float
    probability: float
    radius_m: float
    plane_m: tuple[float, float]
    spread_m2: Triple
    windows: int

    @property
    def called(self) -> tuple[str, str]:
        """What people call the two objects: by name, or by number where the catalog has no name."""
        return self.name_a or self.object_a, self.name_b or self.object_b


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSaid:
    """One word on an alert: an alert is a pair in a window, and is told of, taken back and told of anew."""

    alert_id: str
    kind: str
    """`insert` or `retract`."""
    sequence: int
    object_a: str
    object_b: str
    name_a: str = ""
    """In the catalog; empty when it has none."""
    name_b: str = ""
    window_end_ns: int
    is_early: bool
    closest_ns: int
    miss_m: float
    probability: float
    observed: tuple[int, int]
    """How many observations of each object it is from."""
    digests: tuple[int, int]
    """Which ones: the sums, modulo two to the 64, of the first halves of their ids."""
    newest_ns: int
    """The time of the newest of them."""
    batch: int
    """That said it."""
    caused_ns: int | None
    """The time of the observation that had it said; nothing when its window was closed, and that was all."""
    received_ns: int | None
    """When that one came in."""

    @property
    def called(self) -> tuple[str, str]:
        """What people call the two objects: by name, or by number where the catalog has no name."""
        return self.name_a or self.object_a, self.name_b or self.object_b


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
    :param pipeline_lag_s: how long after it came in at the edge the oldest observation of the newest batch was judged;
        0 when the batch has none of this network, or nobody knows any more when it was judged.
    """

    source: str
    watermark_ns: int | None
    observations: int = 0
    source_lag_s: float = 0.0
    pipeline_lag_s: float = 0.0
    clock_ahead: int = 0
    """Observations from the future."""
    received_ns: int | None = None
    """When the oldest observation of the newest batch came in; nothing when the batch has none."""
    source_lags: Sequence[int] = ()
    """All observations so far, by how long after their time they came in: in the buckets of `LAG_BOUNDS_S`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What one batch of the correlator did, and where it left things; counts are since the beginning.

    :param at_ns: when the newest observation so far came in, by our clock; when the batch was judged, if none did.
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
    judged_ns: int | None = None
    """When its rows were published, by our clock: from then on they are not lost. Nothing when nobody knows."""
    seconds: float = 0.0
    """From the publishing of the batch before to that of this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """How full one queue is on the way from the sensors to the subscriber, upstream first where there are several."""

    edge: str
    count: int
    capacity: int
    dropped: int = 0
    """What it has let go so far, because it was full."""

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
    about: str = ""
    """The source, operator or log that it is about, where there are several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """What one word says of how near a passage is.

    :param said_ns: how far all sources had come when it was said.
    """

    said_ns: int
    window_end_ns: int
    closest_ns: int
    miss_m: float
    probability: float
    is_early: bool
    is_standing: bool
    """Whether it was not taken back by a later word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything at one moment."""

    at_ns: int
    progress: Progress | None
    """Nothing before the first batch."""
    conjunctions: Sequence[ConjunctionSeen]
    """Those on which somebody may have to act, the soonest first."""
    withdrawn: Sequence[ConjunctionSeen] = ()
    """Those that were withdrawn though their time is still to come, the soonest first."""
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
    """Whether a process answers for fusion."""
    is_edge_asked: bool = False
    """Whether anybody knows where the edge is."""
    edge: EdgeSeen | None = None
    """Nothing when it does not answer."""
    pipeline: PipelineSeen | None = None
    """Nothing when nobody answers."""
    feeds: Sequence[FeedSeen] = ()
    figures: Sequence[Metric] = ()
    """What is counted within the process that looks, as by the branches from the logs into fusion."""
    dead: Sequence[DeadLetters] = ()
    """Of the edge and of fusion, by place and kind; counts only rise."""
    accounts: Accounts = field(default_factory=Accounts)
    pipeline_lags: Mapping[str, Lags] = field(default_factory=dict)
    """By network, of the batches that were looked at."""
    delay: Delay = field(default_factory=Delay)
    """From observation to alert."""

    def stopped(self) -> Snapshot:
        """The same after fusion has stopped in order."""
        pipeline = None if self.pipeline is None else replace(self.pipeline, state="stopped")
        return replace(self, is_running=False, pipeline=pipeline)
