"""Finds the events that make a batch fail, by running halves of it. Knows no Spark and no disk.

A probe runs the steps over some events and keeps nothing. An event is to blame only when it fails alone, fails alone
again, and the steps run without it in between. What was found is told at once, so that a search that is cut short has
found it for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from holdfast.log.values import Range
from holdfast.model.errors import IsolationExhausted, NoRowFailsAlone

if TYPE_CHECKING:
    from collections.abc import Iterable

Ranges = tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class IsolationLimits:
    """How much is done to find the events that make a batch fail, before the pipeline fails as a whole."""

    max_rows: int = 100
    """So many events of one batch may be given up so; if more fail, the steps are wrong and not the events."""
    max_probes: int = 2000
    max_time: timedelta = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Isolating:
    """A search that is under way."""

    ranges: Ranges
    """What is looked at."""
    probes: int
    found: int

    def __str__(self) -> str:
        return f"isolating rows {named(self.ranges)}, {self.probes} probes, {self.found} found"


class NotTheData(Exception):
    """Ends a search: something else failed than the events, or nothing failed this time."""


class Probe(Protocol):
    """Runs the steps over some events and keeps nothing."""

    def __call__(self, ranges: Ranges, /) -> Exception | None:
        """Why it failed, if it did; `NotTheData` when that was no fault of events."""


class Search:
    """One search.

    :param probe: asked about ranges of the batch, and about no event at all.
    :param found: told of each event that is to blame, and why; it is durable when this returns.
    :param show: told where the search is.
    :param now: seconds, for the bound in time.
    """

    def __init__(
        self,
        probe: Probe,
        *,
        found: Callable[[Range, Exception], None],
        limits: IsolationLimits,
        now: Callable[[], float],
        show: Callable[[Isolating], None] = lambda _: None,
    ) -> None:
        self._probe = probe
        self._tell = found
        self._limits = limits
        self._now = now
        self._show = show
        self._until = now() + limits.max_time.total_seconds()
        self._probes = 0
        self._found = 0

    def run(self, ranges: Ranges, *, before: int = 0) -> int:
        """How many events were found. Raises `NotTheData`, `NoRowFailsAlone` or `IsolationExhausted`.

        :param before: how many events of the batch were found by earlier searches.
        """
        self._before = before
        if self._fails(()) is not None:
            raise NotTheData("the steps fail without any event")
        if self._fails(ranges) is None:
            raise NotTheData("the batch did not fail again")
        self._look_into(ranges)
        return self._found

    def _look_into(self, failing: Ranges) -> None:
        """Find what is to blame in ranges that fail."""
        if size(failing) == 1:
            self._blame(failing)
            return
        halves = [half for half in halved(failing) if self._fails(half) is not None]
        if not halves:
            self._conclude_together(failing)
        for half in halves:
            self._look_into(half)

    def _blame(self, single: Ranges) -> None:
        if self._fails(()) is not None:
            raise NotTheData("the steps fail without any event")
        error = self._fails(single)
        if error is None:
            raise NotTheData(f"row {named(single)} did not fail again")
        if self._before + self._found >= self._limits.max_rows:
            raise self._exhausted(single, f"{self._limits.max_rows} rows of the batch were given up, and more fail")
        self._tell(single[0], error)
        self._found += 1

    def _conclude_together(self, failing: Ranges) -> None:
        error = self._fails(failing)
        if error is None:
            raise NotTheData(f"the rows {named(failing)} did not fail again")
        raise NoRowFailsAlone(
            f"The steps fail on the rows {named(failing)} together, and on neither half of them: {error}",
            kept="Nothing of the batch is published, and no row is given up for it.",
            remedy="Mend the step (a sum that overflows needs a wider type), or make batches smaller.",
        ) from error

    def _fails(self, ranges: Ranges) -> Exception | None:
        if self._probes >= self._limits.max_probes:
            raise self._exhausted(ranges, f"{self._probes} probes were made")
        if self._now() > self._until:
            raise self._exhausted(ranges, f"{self._limits.max_time} have passed")
        self._show(Isolating(ranges, self._probes, self._found))
        self._probes += 1
        return self._probe(ranges)

    def _exhausted(self, ranges: Ranges, why: str) -> IsolationExhausted:
        return IsolationExhausted(
            f"Not all rows that make the batch fail were found: {why}. The last look was at the rows {named(ranges)}.",
            kept=f"The {self._before + self._found} rows found so far are dead letters and are skipped from now on.",
            remedy="Mend the steps if they fail on most rows; else raise the limits of the isolation and start again.",
        )


def size(ranges: Iterable[Range]) -> int:
    """How many events there are in the ranges."""
    return sum(each.events for each in ranges)


def halved(ranges: Ranges) -> tuple[Ranges, Ranges]:
    """The first half of the events, and the second."""
    left: list[Range] = []
    wanted = size(ranges) // 2
    for number, each in enumerate(ranges):
        if each.events > wanted:
            middle = each.after + wanted
            head = (each._replace(upto=middle),) if wanted else ()
            return (*left, *head), (each._replace(after=middle), *ranges[number + 1 :])
        left.append(each)
        wanted -= each.events
    return tuple(left), ()


def without(wanted: Range, skipped: Sequence[int]) -> Iterator[Range]:
    """What is left of a range without some of its events."""
    after = wanted.after
    for seq in (*sorted(skipped), wanted.upto + 1):
        if seq - 1 > after:
            yield Range(wanted.inbox, after, seq - 1)
        after = seq


def named(ranges: Ranges) -> str:
    """The events as people call them."""
    if not ranges:
        return "none"
    parts = [f"{each.after + 1}..{each.upto} of inbox {each.inbox}" for each in (ranges[0], ranges[-1])]
    return parts[0] if len(ranges) == 1 else f"{parts[0]} to {parts[1]}"
