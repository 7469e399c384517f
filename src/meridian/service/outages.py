"""When fusion did not run, by its runs on record and by when batches were published. Pure, but for reading the record.

While it is down nothing is judged, and what came in before or meanwhile is judged late, by no fault of the pipeline.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.control.files import reading
from holdfast.model.errors import HoldfastError
from holdfast.runtime.records import HISTORY
from holdfast.runtime.restarts import History

if TYPE_CHECKING:
    from meridian.service.values import Progress


@dataclass(frozen=True, slots=True, order=True)
class Outage:
    """No batch was published in this time, because fusion was down or starting.

    :param from_ns: when the last batch before was published, or when fusion was started for the first time.
    :param to_ns: when the first batch after was published.
    """

    from_ns: int
    to_ns: int
    is_first_start: bool = False

    def within_ns(self, from_ns: int, to_ns: int) -> int:
        """How much of it lies in this time."""
        return max(min(self.to_ns, to_ns) - max(self.from_ns, from_ns), 0)


def outages(history: Sequence[Progress], began_ns: Iterable[int]) -> list[Outage]:
    """The outages between these batches, oldest first.

    :param history: the newest batches, oldest first; when it begins with the first batch of all, its start counts too.
    :param began_ns: when fusion, or Spark in it, was started.
    """
    published = [each.judged_ns for each in history if each.judged_ns is not None]
    is_whole = bool(history) and history[0].batch <= 1 and history[0].judged_ns is not None
    found = set()
    for began in began_ns:
        after = bisect_left(published, began)
        if 0 < after < len(published):
            found.add(Outage(published[after - 1], published[after]))
        elif after == 0 and is_whole:
            found.add(Outage(began, published[0], is_first_start=True))
    return sorted(found)


def starts_of(pipeline: Path) -> list[int]:
    """When the pipeline in this directory was started, or Spark in it was; nothing while no record can be read."""
    try:
        with reading(pipeline) as store:
            history = store.get(HISTORY) or History()
    except HoldfastError:
        return []
    return [round(run.began.timestamp() * 1e9) for run in history.runs]
