"""Where every observation is: what came must be what became of it. Pure.

Counters of two processes are not read at one moment, and queues hold heartbeats among observations, so what is on its
way is known only as a bound. An account is right when what is missing can be on its way; everything else is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meridian.service.seen import EdgeSeen, FeedSeen, SensorSeen
    from meridian.service.values import Progress


@dataclass(frozen=True, slots=True)
class Account:
    """What came to one place, and what became of it.

    :param went: by what became of it.
    :param under_way: so many at most are still there.
    :param owed: so many at most were there when the account began: they went without having come.
    """

    came: int = 0
    went: Mapping[str, int] = field(default_factory=dict)
    under_way: int = 0
    owed: int = 0

    @property
    def missing(self) -> int:
        """What came and is not known to have gone anywhere; less than nothing when more went than came."""
        return self.came - sum(self.went.values())

    @property
    def unexplained(self) -> int:
        """What nobody can account for: 0 when all that is missing can be under way."""
        return self.missing - min(max(self.missing, -self.owed), self.under_way)

    def since(self, earlier: Account) -> Account:
        """What came and went since then."""
        went = {name: count - earlier.went.get(name, 0) for name, count in self.went.items()}
        return Account(self.came - earlier.came, went, self.under_way, earlier.under_way)


@dataclass(frozen=True, slots=True)
class Accounts:
    """All accounts of an operation.

    :param edge: of each source, from the wire to its log, since the edge was started.
    :param fusion: from the logs of the edge to what the correlator has taken, since the logs were made, or else since
        somebody first looked at this run of the edge; nothing when the edge or fusion says nothing.
    """

    edge: Mapping[str, Account] = field(default_factory=dict)
    fusion: Account | None = None

    @property
    def unexplained(self) -> int:
        """Over all of them; 0 when everything is accounted for."""
        others = [] if self.fusion is None else [abs(self.fusion.unexplained)]
        return sum([abs(each.unexplained) for each in self.edge.values()] + others)


def edge_account(sensor: SensorSeen) -> Account:
    """Of one source: everything it took is in the log, was there before, is nobody's business, or a dead letter."""
    went = {
        "durable": sensor.durable,
        "repeated": sensor.repeated,
        "refused": sensor.refused,
        "outside": sensor.outside,
    }
    return Account(sensor.taken, went, sensor.channel[0])


def fusion_account(edge: EdgeSeen, feeds: Sequence[FeedSeen], progress: Progress | None, given_up: int) -> Account:
    """From the logs of the edge into fusion, since the edge was started.

    The edge must have been asked after everything else was read: then what is missing is on its way.

    :param given_up: observations that became dead letters of a step of fusion, and were not given to it again.
    """
    ends = {sensor.log: sensor.log_end for sensor in edge.sensors}
    backlog = sum(max(ends.get(feed.log, feed.passed) - feed.passed, 0) + feed.waiting for feed in feeds)
    went = {
        "taken": progress.taken if progress else 0,
        "too late": progress.dropped if progress else 0,
        "dead letters": given_up,
        "shed": sum(feed.shed for feed in feeds),
    }
    unread = sum(end for log, end in ends.items() if log not in {feed.log for feed in feeds})
    return Account(sum(sensor.durable for sensor in edge.sensors), went, backlog + unread)


def is_whole(edge: EdgeSeen) -> bool:
    """Whether the counters of the edge tell of everything that is in its logs, and not only of its newest run."""
    return all(sensor.log_end == sensor.durable + sensor.heartbeats for sensor in edge.sensors)


@dataclass(frozen=True, slots=True)
class Books:
    """Where the account of fusion begins, when it does not begin with the logs."""

    opened: Account | None = None
    run: int = 0
    """How much the edge had taken when it was last looked at: less than that is another run of it."""

    def after(self, edge: EdgeSeen, account: Account) -> tuple[Books, Account]:
        """The books, and the account as it is to be told, when this is what the edge and fusion say now."""
        if is_whole(edge):
            return Books(None, account.came), account
        opened = self.opened if self.opened is not None and account.came >= self.run else account
        return Books(opened, account.came), account.since(opened)
