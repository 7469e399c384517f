"""Ten times the load for five minutes on a clock that is moved, from the edge's log through the branch into fusion.

The log, the branch with its classifier and its memory, the inbox, and the correlator are the real ones. What is made up
is the time, and that fusion does so many observations a second. In the middle of the burst all but what is on disk is
lost, with a batch under way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from tests.support.burst_sky import PEAK, Crowd, Radars
from tests.support.made_up_objects import EPOCH
from tests.support.pages import ROOT
from tests.support.priority_rule import PriorityRule

from holdfast.flow import Bottleneck, EdgePlan, Priority, Sampler
from holdfast.log import Inbox, InboxReader, Limits
from meridian.fusion.emissions import Meeting
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.saved import restored, saved
from meridian.fusion.spark import Fused, heard_in, observations_in, seen_in
from meridian.fusion.state import Fusion, News, Seen
from meridian.fusion.watermarks import Heard
from meridian.fusion.windows import SECOND
from meridian.sensors import ObservationColumns, Row, SourceKind, columns_of, events_of, heartbeat
from meridian.sensors.branch import BRANCH, CorrelatorBranch, left_out_at
from meridian.sensors.columns import joined
from meridian.sensors.recollection import Recollection
from meridian.sensors.watched import FILE

LOG = "obs.radar-1"
RUNBOOK = ROOT / "docs" / "operations" / "back-pressure.md"
ROW = re.compile(r"^\| (\d+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| (\d+) % \|$", re.MULTILINE)
PLAN = EdgePlan(BRANCH.capacity // 20, BRANCH.policy)
PROCESSING = 1_000
"""Observations that fusion does in a second."""
BURST_FROM, BURST_SECONDS, END = 60, 300, 390
KILLED_AT = BURST_FROM + BURST_SECONDS // 2 + 1
"""One second behind a flush."""
FLUSH_EVERY, FLUSH_SECONDS = 30, 0.15
SLICE = 30
"""Seconds that who sees everything looks at together."""
Findings = dict[Meeting, ConjunctionRisk | None]


def is_burst(second: int) -> bool:
    return BURST_FROM <= second < BURST_FROM + BURST_SECONDS


class Clock:
    """A timer that is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


class Held(NamedTuple):
    """What is held at one moment."""

    waiting: int
    """Events that fusion has not done, in the log and in the inbox."""
    remembered: int
    """Objects, by the classifier."""
    evidence: int
    """Rows, by the correlator."""


class Counted(NamedTuple):
    """What became of everything up to one moment."""

    logged: int
    let_in: int
    left_out: int


@dataclass
class Fusing:
    """Fusion, batch by batch."""

    parts: Fused
    done: int = 0
    flushed: bytes = b""
    """The state as it was saved last."""
    findings: Findings = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)
    evidence: int = 0
    """Rows of it that the state has."""

    def __post_init__(self) -> None:
        self.state = self.parts.before_anything

    def after(self, events: list[pa.RecordBatch], quiet: int) -> tuple[Fusion, News]:
        silent = {kind.prefix: Heard(quiet=quiet) for kind in SourceKind if kind is not SourceKind.RADAR}
        return self.state.after(seen_in(events, self.parts.contributions) + Seen(heard=silent))

    def commit(self, state: Fusion, news: News, done: int) -> None:
        self.state, self.done = state, done
        self.findings |= findings_in(news)
        self.evidence = len(state.correlator.evidence)

    def restored(self) -> Fusion:
        return restored(self.flushed, self.parts.before_anything)


class Played:
    """The burst, and what was seen of it."""

    def __init__(self, place: Path, radars: Radars, held: ExitStack) -> None:
        self.place, self.radars, self._held = place, radars, held
        self.log = held.enter_context(Inbox.open(place / LOG, name=LOG, epoch=1, flush_interval=0.0))
        self.inbox = held.enter_context(Inbox.open(place / "pipeline", name=LOG, epoch=1))
        self.reader = held.enter_context(InboxReader.open(place / "pipeline"))
        self.branch = self.opened()
        self.fusing = Fusing(radars.crowd())
        self.clock = Clock()
        self.sampler = Sampler(
            lambda: [self.branch.stats()],
            consumers={self.branch.name: "fusion"},
            sources={},
            timer=self.clock,
            every=1,
        )
        self.held: list[Held] = []
        self.counted: list[Counted] = []
        self.watched: set[str] = set()
        self.watching: list[tuple[int, int, frozenset[str]]] = []
        """Who was watched when the events between two numbers of the log were captured."""
        self.always_watched: set[str] = set()
        """From the beginning of the burst to the end."""
        self.named: Bottleneck | None = None
        self.flushes = 0

    def opened(self) -> CorrelatorBranch:
        memory = Recollection(self.place / "memory", cadence=1.0)
        branch = CorrelatorBranch(self.place, LOG, consumer="fusion", memory=memory, plan=PLAN)
        branch.open(self.inbox.position())
        self._held.callback(branch.close)
        self.memory = memory
        return branch

    def play(self) -> None:
        for second in range(END):
            self.clock.now = second
            self.see(second)
            self.capture()
            self.fuse()
            self.look(second)
        while self.fusing.done < self.inbox.end():
            self.clock.now += 1
            self.fuse()
        over = EPOCH + 10 * END * SECOND
        self.log.push(events_of(self.beat(over), LOG)).result()
        self.capture()
        self.fuse(quiet=over)

    def see(self, second: int) -> None:
        start, seen = self.log.end(), self.radars.seen(second, is_burst=is_burst(second))
        self.log.push(events_of(joined([seen, self.beat(EPOCH + second * SECOND)]), LOG)).result()
        self.watching.append((start, self.log.end(), frozenset(self.watched)))

    def beat(self, through: int) -> ObservationColumns:
        return heartbeat(SourceKind.RADAR, "radar-1", through_ns=through, now_ns=through)

    def capture(self) -> None:
        while (found := self.branch.read(0)) is not None:
            self.inbox.append(found.events, position=found.position)
            self.branch.captured(found.position)

    def fuse(self, quiet: int | None = None) -> None:
        now = EPOCH + (int(self.clock.now) + 1) * SECOND
        is_flushing = self.clock.now % FLUSH_EVERY == 0
        self.flushes += is_flushing
        rows = int(PROCESSING * (1 - is_flushing * FLUSH_SECONDS))
        upto = self.reader.admit(self.fusing.done, Limits(rows=rows, nbytes=1 << 30))
        events = list(self.reader.read(self.fusing.done, upto))
        state, news = self.fusing.after(events, quiet or now)
        if self.clock.now == KILLED_AT:
            self.branch, self.fusing.state = self.opened(), self.fusing.restored()
            return
        self.fusing.commit(state, news, upto)
        if is_flushing:
            self.fusing.flushed = saved(state)
        if events:
            self.fusing.latencies += self.ages(events, now)
            position = self.reader.position_at(upto)
            assert position is not None
            self.branch.acknowledge(position)
        self.publish(state)

    def ages(self, events: list[pa.RecordBatch], now: int) -> list[float]:
        records = np.concatenate([columns_of(batch).records for batch in events])
        observed = records[records["row"] == Row.OBSERVATION]
        return ((now - observed["sensor_ts_ns"]) / SECOND).tolist()

    def publish(self, state: Fusion) -> None:
        """As fusion's operation does."""
        standing = state.conjunctions.standing()
        objects = {name for each in standing for name in (each.passage.a, each.passage.b)}
        if objects != self.watched:
            self.watched = objects
            (self.place / FILE).write_text(json.dumps({"objects": sorted(objects)}))

    def look(self, second: int) -> None:
        self.sampler.sample()
        self.held.append(Held(self.branch.stats().occupancy, len(self.memory.recent), self.fusing.evidence))
        self.counted.append(Counted(self.log.end(), self.inbox.end(), left_out_at(self.inbox.position())))
        self.always_watched = self.watched & self.always_watched if second >= BURST_FROM else self.watched
        if second == BURST_FROM + 30:
            self.named = self.sampler.bottleneck()


@pytest.fixture(scope="module")
def radars() -> Radars:
    return Radars(Crowd())


@pytest.fixture(scope="module")
def burst(radars: Radars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with ExitStack() as held:
        played = Played(tmp_path_factory.mktemp("burst"), radars, held)
        played.play()
        yield played


@pytest.fixture(scope="module")
def unlimited(radars: Radars) -> Findings:
    """What fusion says when it sees everything at once as it comes."""
    parts, found = radars.crowd(), Findings()
    state = parts.before_anything
    for start in range(0, END + SLICE, SLICE):
        quiet = EPOCH + (start if start < END else 10 * END) * SECOND
        rows = [radars.seen(second, is_burst=is_burst(second)) for second in range(start, min(start + SLICE, END))]
        columns = joined([*rows, heartbeat(SourceKind.RADAR, "radar-1", through_ns=quiet, now_ns=quiet)])
        silent = {kind.prefix: Heard(quiet=quiet) for kind in SourceKind}
        seen = Seen(parts.contributions.evidence(observations_in(columns)), heard_in(columns)) + Seen(heard=silent)
        state, news = state.after(seen)
        found |= findings_in(news)
    return found


def findings_in(news: News) -> Findings:
    return {word.meeting: None if word.takes_back else word.finding for word in news.words}


@pytest.mark.req("FLW-10")
def test_every_alert_of_who_sees_everything_is_there(burst: Played, unlimited: Findings) -> None:
    newcomers = {burst.radars.names[each] for each in burst.radars.crowd.only_in_burst}
    assert any(meeting.a in newcomers for meeting in unlimited)
    assert unlimited.keys() <= burst.fusing.findings.keys()
    assert burst.flushes >= 10


@pytest.mark.req("FLW-10")
def test_an_alert_of_objects_that_are_watched_is_the_same_to_the_last_digit(burst: Played, unlimited: Findings) -> None:
    watched = [meeting for meeting in unlimited if {meeting.a, meeting.b} <= burst.always_watched]
    assert len(watched) > 30
    assert [burst.fusing.findings[meeting] for meeting in watched] == [unlimited[meeting] for meeting in watched]


@pytest.mark.req("FLW-10", "PRI-02", "PRI-04")
def test_nothing_of_high_priority_is_left_out(burst: Played) -> None:
    with InboxReader.open(burst.place / "pipeline") as reader:
        came = np.concatenate([batch["position"].cast(pa.int64()).to_numpy() for batch in reader.read(0)])
    is_there = np.zeros(burst.log.end() + 1, bool)
    is_there[came] = True
    rule = PriorityRule()
    with InboxReader.open(burst.place / LOG) as reader:
        for start, end, watched in burst.watching:
            for batch in reader.read(start, end):
                must_come = np.array(rule.is_high(columns_of(batch), watched))
                assert is_there[batch["seq"].to_numpy()[must_come]].all()
    assert rule.high > 10_000
    assert len({watched for _, _, watched in burst.watching}) > 3, "what is watched changes"


@pytest.mark.req("FLW-10", "PRI-04")
def test_what_is_left_out_is_counted_to_the_last_row(burst: Played) -> None:
    low = {drop.priority: drop.items for drop in burst.branch.stats().drops}[Priority.LOW]
    assert low == left_out_at(burst.inbox.position()) == burst.log.end() - burst.inbox.end()
    assert low > PEAK * BURST_SECONDS / 3


@pytest.mark.req("FLW-10")
@pytest.mark.parametrize("what", Held._fields)
def test_what_is_held_stops_growing_within_30_seconds(burst: Played, what: str) -> None:
    held = [getattr(each, what) for each in burst.held]
    early = max(held[BURST_FROM : BURST_FROM + 30])
    assert max(held[BURST_FROM + 30 : BURST_FROM + BURST_SECONDS]) <= early * 1.1


@pytest.mark.req("FLW-10")
def test_the_backlog_stays_below_the_capacity_and_is_worked_off(burst: Played) -> None:
    assert max(each.waiting for each in burst.held) <= PLAN.capacity
    assert burst.held[-1].waiting <= PROCESSING


@pytest.mark.req("FLW-11")
def test_the_bottleneck_is_named_within_30_seconds(burst: Played) -> None:
    assert burst.named is not None
    assert (burst.named.edge, burst.named.operator) == (burst.branch.name, "fusion")


@pytest.mark.req("FLW-10", "COR-07")
def test_what_is_let_in_is_done_within_5_seconds(burst: Played) -> None:
    assert np.percentile(burst.fusing.latencies, 99) < 5.0


@pytest.mark.req("OBS-03")
def test_the_runbook_shows_the_burst_as_it_was(burst: Played) -> None:
    shown = [tuple(int(cell.replace(",", "")) for cell in row) for row in ROW.findall(RUNBOOK.read_text())]
    assert len(shown) > 5
    for second, *figures in shown:
        waiting = burst.held[second].waiting
        assert figures == [*burst.counted[second], waiting, round(100 * waiting / PLAN.capacity)], second
