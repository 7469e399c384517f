"""Finds the rows for which a sink refuses a batch, with few probes. Pure: the probe is passed in.

Halves are probed; a half that is taken is not looked at again, and if one half is taken the other need not be probed to
know that it holds a culprit. One bad row among n costs about log2(n) probes. Nothing is blamed that was not refused in
a probe of its own, unless there are so many culprits that the search would take too long: then what is left is blamed
in the groups in which it was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from holdfast.deliver.classify import Reason

Unit = TypeVar("Unit")

Probe = Callable[[Sequence[Unit]], Reason | None]
"""Asks about units together: why they are refused, or None when they are taken. What it raises is nobody's fault."""


class Manner(Enum):
    """How suspects are probed."""

    ALONE = "each group by itself: finds rows that are bad whatever stands beside them"
    TOGETHER = "each group with all that was taken so far: finds rows that are bad beside others"


@dataclass(slots=True)
class Isolated(Generic[Unit]):
    """What a search found: every unit is in one of the two, in order."""

    taken: list[Unit] = field(default_factory=list)
    refused: list[tuple[Unit, Reason]] = field(default_factory=list)


@dataclass(slots=True)
class Search(Generic[Unit]):
    """A search through units that were refused as a whole.

    It remembers what was answered: when a probe raises, `run` may be called again and asks nothing twice.
    """

    units: Sequence[Unit]
    manner: Manner
    limit: int = 2000
    """After so many questions no group is split any more."""
    probes: int = 0
    _asked: int = 0
    """The questions of this run, those that were answered before included: so every run takes the same way."""
    _answers: dict[tuple[int, Unit], Reason | None] = field(default_factory=dict)

    def run(self, probe: Probe[Unit]) -> Isolated[Unit]:
        """Sort all units into taken and refused."""
        found: Isolated[Unit] = Isolated()
        self._asked = 0
        if self.units:
            self._sort(self.units, probe, found, known_bad=len(self.units) > 1)
        return found

    def _sort(self, group: Sequence[Unit], probe: Probe[Unit], found: Isolated[Unit], *, known_bad: bool) -> bool:
        """Sort a group; True when all of it was taken."""
        is_last = len(group) == 1 or self._asked >= self.limit
        if is_last or not known_bad:
            why = self._ask(group, probe, found)
            if why is None:
                found.taken.extend(group)
                return True
            if is_last:
                found.refused.extend((unit, why) for unit in group)
                return False
        middle = len(group) // 2
        left_taken = self._sort(group[:middle], probe, found, known_bad=False)
        right_taken = self._sort(group[middle:], probe, found, known_bad=left_taken)
        return left_taken and right_taken

    def _ask(self, group: Sequence[Unit], probe: Probe[Unit], found: Isolated[Unit]) -> Reason | None:
        self._asked += 1
        asked = [*found.taken, *group] if self.manner is Manner.TOGETHER else group
        # Of two questions with the same last unit the later one is a part of the earlier: equal sizes, equal questions.
        question = (len(asked), asked[-1])
        if question not in self._answers:
            self.probes += 1
            self._answers[question] = probe(asked)
        return self._answers[question]
