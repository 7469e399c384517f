"""How full the queues are from the sensors to the tables, and which of them holds the others up. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from holdfast.flow.bottleneck import OccupancySample, find_bottleneck
from meridian.sensors.branch import BRANCH
from meridian.service.values import Occupancy

if TYPE_CHECKING:
    from meridian.service.seen import EdgeSeen, FeedSeen, PipelineSeen

MEMORY_NS = 30_000_000_000
"""So long samples are looked back at."""


def occupancies(edge: EdgeSeen | None, feeds: Sequence[FeedSeen], pipeline: PipelineSeen | None) -> list[Occupancy]:
    """The queues, upstream first: from each source to its log, from the logs through fusion, and out of it.

    What waits for fusion is all of a log that it has not judged, by what the branch between them lets wait.
    """
    return [*_channels(edge), *_backlogs(edge, feeds), *_outbox(pipeline)]


def _channels(edge: EdgeSeen | None) -> Iterator[Occupancy]:
    for sensor in edge.sensors if edge else ():
        count, capacity = sensor.channel
        dropped = sensor.drops.get("kernel", 0)
        yield Occupancy(edge=f"{sensor.source} -> {sensor.log}", count=count, capacity=capacity, dropped=dropped)


def _backlogs(edge: EdgeSeen | None, feeds: Sequence[FeedSeen]) -> Iterator[Occupancy]:
    ends = {sensor.log: sensor.log_end for sensor in edge.sensors} if edge else {}
    for feed in feeds:
        unread = max(ends.get(feed.log, feed.passed) - feed.passed, 0)
        count = unread + feed.waiting
        yield Occupancy(edge=f"{feed.log} -> fusion", count=count, capacity=BRANCH.capacity, dropped=feed.shed)


def _outbox(pipeline: PipelineSeen | None) -> Iterator[Occupancy]:
    if pipeline is not None and pipeline.outbox_quota:
        yield Occupancy(edge="outbox -> tables", count=pipeline.outbox_bytes, capacity=pipeline.outbox_quota)


Samples = tuple[OccupancySample, ...]


def sampled(samples: Samples, seen: Sequence[Occupancy], before: Sequence[Occupancy], at_ns: int) -> Samples:
    """With one more sample, and without those that are too old or of other queues.

    :param before: the queues as they were at the last look: one that let go something since was full in between.
    """
    dropped = {each.edge: each.dropped for each in before}
    shares = {each.edge: 1.0 if each.dropped > dropped.get(each.edge, each.dropped) else each.share for each in seen}
    now = OccupancySample(at_ns / 1e9, shares)
    since = (at_ns - MEMORY_NS) / 1e9
    kept = (each for each in samples if each.at >= since and each.fullness.keys() == now.fullness.keys())
    return (*kept, now)


def bottleneck(samples: Samples, seen: Sequence[Occupancy]) -> str | None:
    """Of the queues that were full in the last third of the samples, the one that is furthest downstream."""
    found = find_bottleneck(samples, {each.edge: each.edge.rpartition(" -> ")[2] for each in seen})
    return found.edge if found else None
