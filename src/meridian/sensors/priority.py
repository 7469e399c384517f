"""Which observations matter most when not all can be dealt with at once. Pure; what is shed is decided elsewhere.

An object that was not seen lately is news, and so is whatever is not a radar: high. The sixth radar sample of an object
within 30 seconds says little that the five before it did not: low, unless somebody watches the object.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.flow import Priority
from meridian.sensors.observation import SourceKind

if TYPE_CHECKING:
    import numpy.typing as npt

    from meridian.sensors.columns import ObservationColumns

ENOUGH = 4
"""So many samples within the window are still news; one more is not."""
_KEPT = ENOUGH + 1
_NEVER = np.iinfo(np.int64).min


@dataclass(slots=True, eq=False)
class RecentObjects:
    """The newest samples of each object: as many as the rule asks about, for as many objects as there is room.

    A `Keepable`: whoever runs it can keep its state with the offset up to which it has seen everything.

    :param window_ns: samples that are older are not recent.
    :param most: objects that are remembered; of more, those seen longest ago are forgotten, and are news again.
    """

    window_ns: int = 30_000_000_000
    most: int = 100_000
    _slots: dict[str, int] = field(default_factory=dict)
    _newest: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty((0, _KEPT), np.int64))
    """For each slot the times of its newest samples, the newest first."""

    def __len__(self) -> int:
        return len(self._slots)

    def sampled(self, objects: pa.StringArray, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How many recent samples there were before each of these, up to one more than is asked about; they count then.

        :param objects: of each sample, in the order in which they came; none may be empty.
        """
        encoded = pc.dictionary_encode(objects)
        slots = self._slots_of(encoded.dictionary.to_pylist())[encoded.indices.to_numpy()]
        before = np.empty(len(slots), np.int64)
        for turn in _turns(slots):
            times, places = times_ns[turn], slots[turn]
            before[turn] = np.count_nonzero(self._newest[places] > (times - self.window_ns)[:, None], axis=1)
            self._newest[places, -1] = np.maximum(self._newest[places, -1], times)
            self._newest[places] = np.sort(self._newest[places], axis=1)[:, ::-1]
        self._forget(int(times_ns.max()) if len(times_ns) else 0)
        return before

    def snapshot(self) -> Sequence[bytes]:
        """All that is remembered, as buffers that `restore` reads."""
        return json.dumps(list(self._slots)).encode(), self._newest.tobytes()

    def restore(self, buffers: Sequence[memoryview]) -> None:
        """Remember what `snapshot` saw."""
        names, newest = buffers
        self._slots = {name: slot for slot, name in enumerate(json.loads(bytes(names)))}
        self._newest = np.frombuffer(bytes(newest), np.int64).reshape(-1, _KEPT).copy()

    def _slots_of(self, names: list[str]) -> npt.NDArray[np.int64]:
        new = [name for name in names if name not in self._slots]
        self._slots.update(zip(new, range(len(self._slots), len(self._slots) + len(new)), strict=True))
        self._newest = np.concatenate([self._newest, np.full((len(new), _KEPT), _NEVER)])
        return np.fromiter((self._slots[name] for name in names), np.int64, len(names))

    def _forget(self, now_ns: int) -> None:
        """Bounded by time once half is too old, and by number always: to close up the slots costs a pass over all."""
        is_recent = self._newest[:, 0] > now_ns - self.window_ns
        if len(self) <= self.most and np.count_nonzero(is_recent) * 2 >= len(self):
            return
        kept = np.flatnonzero(is_recent)
        kept = np.sort(kept[np.argsort(self._newest[kept, 0])[-self.most :]])
        names = list(self._slots)
        self._slots = {names[place]: number for number, place in enumerate(kept.tolist())}
        self._newest = self._newest[kept]


class Classifier:
    """Tells high from low, and counts what it has told.

    :param watched: objects of which every sample is of high priority, as fusion says.
    """

    def __init__(self, recent: RecentObjects | None = None, watched: Set[str] = frozenset()) -> None:
        self.recent = RecentObjects() if recent is None else recent
        self.watched = watched
        self.decisions: Counter[Priority] = Counter()

    def is_high(self, columns: ObservationColumns) -> npt.NDArray[np.bool_]:
        """For each observation, in the order in which they came."""
        is_named, named, before = self._sampled(columns)
        is_low = np.zeros(len(columns), bool)
        is_low[is_named] = (named.records["kind"] == SourceKind.RADAR) & (before > ENOUGH) & ~self._is_watched(named)
        low = int(np.count_nonzero(is_low))
        self.decisions.update({Priority.LOW: low, Priority.HIGH: len(columns) - low})
        return ~is_low

    def remember(self, columns: ObservationColumns) -> None:
        """These were told high from low before, by somebody who has forgotten them."""
        self._sampled(columns)

    def _sampled(
        self, columns: ObservationColumns
    ) -> tuple[npt.NDArray[np.bool_], ObservationColumns, npt.NDArray[np.int64]]:
        """Which name an object, those, and how many recent samples there were before each."""
        is_named = columns.object_ids.is_valid().to_numpy(zero_copy_only=False)
        named = columns.where(is_named)
        return is_named, named, self.recent.sampled(named.object_ids, named.records["sensor_ts_ns"])

    def _is_watched(self, columns: ObservationColumns) -> npt.NDArray[np.bool_]:
        watched = [name for name in columns.object_ids.unique().to_pylist() if name in self.watched]
        found: npt.NDArray[np.bool_] = pc.is_in(columns.object_ids, pa.array(watched, pa.string())).to_numpy(
            zero_copy_only=False
        )
        return found


def _turns(slots: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    """The places of all first samples of an object, then of all second ones, and so on: no turn has an object twice."""
    order = np.argsort(slots, kind="stable")
    grouped = slots[order]
    starts = np.concatenate([[True], grouped[1:] != grouped[:-1]]) if len(slots) else np.empty(0, bool)
    rank = np.arange(len(slots)) - np.maximum.accumulate(np.where(starts, np.arange(len(slots)), 0))
    by_rank = np.argsort(rank, kind="stable")
    borders = np.flatnonzero(np.diff(rank[by_rank])) + 1
    return [order[turn] for turn in np.split(by_rank, borders)] if len(slots) else []
