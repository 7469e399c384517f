"""How full queues are along the way, and which of them holds the others up."""

from __future__ import annotations

from itertools import pairwise

import pytest

from meridian.sensors.branch import BRANCH
from meridian.service.occupancies import Samples, bottleneck, occupancies, sampled
from meridian.service.seen import EdgeSeen, FeedSeen, PipelineSeen, SensorSeen
from meridian.service.values import Occupancy

SECOND = 1_000_000_000
MOST = BRANCH.capacity


def way(channel: int = 0, unread: int = 0, waiting: int = 0, out: int = 0, shed: int = 0) -> list[Occupancy]:
    radar = SensorSeen(source="radar-1", network="radar", channel=(channel, 100), log_end=500_000 + unread)
    feed = FeedSeen(log="obs.radar-1", passed=500_000, captured=400_000, judged=400_000 - waiting, shed=shed)
    pipeline = PipelineSeen(state="running", outbox_bytes=out, outbox_quota=1000)
    return occupancies(EdgeSeen(is_well=True, sensors=[radar]), [feed], pipeline)


def watched(looks: list[list[Occupancy]]) -> str | None:
    samples: Samples = ()
    for second, (before, look) in enumerate(pairwise([[], *looks])):
        samples = sampled(samples, look, before, second * SECOND)
    return bottleneck(samples, looks[-1])


@pytest.mark.req("FLW-09")
def test_every_queue_is_told_upstream_first_with_what_it_may_hold() -> None:
    assert [(each.edge, each.count, each.capacity) for each in way(3, 20, 70, 9)] == [
        ("radar-1 -> obs.radar-1", 3, 100),
        ("obs.radar-1 -> fusion", 90, MOST),
        ("outbox -> tables", 9, 1000),
    ]


def test_what_does_not_answer_has_no_queue() -> None:
    assert occupancies(None, [], None) == []
    assert bottleneck((), []) is None


@pytest.mark.req("FLW-11")
def test_of_full_queues_the_one_furthest_downstream_is_the_bottleneck() -> None:
    assert watched([way()] * 30) is None
    assert watched([way(channel=100, unread=MOST, waiting=2 * MOST)] * 30) == "obs.radar-1 -> fusion"
    assert watched([way(channel=100, unread=MOST, waiting=MOST, out=950)] * 30) == "outbox -> tables"


@pytest.mark.req("FLW-11")
def test_only_the_last_third_counts_and_older_looks_are_forgotten() -> None:
    full, empty = way(waiting=MOST), way()
    assert watched([*[full] * 20, *[empty] * 11]) is None
    assert watched([*[empty] * 60, *[full] * 11]) == "obs.radar-1 -> fusion"


@pytest.mark.req("FLW-11")
def test_a_queue_that_sheds_is_full_however_little_waits_in_it() -> None:
    assert watched([way(waiting=MOST // 2, shed=10 * look) for look in range(30)]) == "obs.radar-1 -> fusion"
    assert watched([way(waiting=MOST // 2, shed=500)] * 30) is None, "that was long ago"
