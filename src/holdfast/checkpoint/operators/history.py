"""Which snapshots of a flow are complete, as one small record, and the keys under which a flow keeps everything.

The parts of a snapshot lie in *slots*. A slot is a key that is used again when nothing names what it holds: stores
remember every key they ever had, so a key for each snapshot would make them grow for ever. The record names a part by
its slot, its size and its checksum, and never by a version: a copy that comes back from a remote tier has all payloads
and other version numbers. Whatever else lies in a slot by then is not the part, and is not taken for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import TypedKey
from holdfast.checkpoint.operators.snapshot import SnapshotMode
from holdfast.model.errors import CheckpointDamaged, UnknownFormat

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from holdfast.checkpoint.contract import Version

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Part:
    """One operator's part of a snapshot: where it lies, and by what it is recognised there."""

    slot: int
    size: int
    checksum: int

    @classmethod
    def stored_as(cls, version: Version, slot: int) -> Part:
        """The part that a version of a slot holds."""
        return cls(slot, version.size, version.checksum)

    def is_in(self, version: Version) -> bool:
        """Whether a version of the slot holds this part."""
        return (self.size, self.checksum) == (version.size, version.checksum)


@dataclass(frozen=True, slots=True)
class Completion:
    """A complete snapshot: of all operators when they are aligned, of one when each takes its own."""

    snapshot_id: int
    parts: Mapping[str, Part]


@dataclass(frozen=True, slots=True)
class History:
    """The complete snapshots that a recovery may go to."""

    snapshots: tuple[Completion, ...] = ()
    """Newest first."""
    is_pruned: bool = False
    """Whether there were others. If so, the operators behind may rely on them, and a fresh start would lose items."""
    passed_over: tuple[str, ...] = ()
    """What the newest recovery found damaged and went back behind; empty again after the next snapshot."""

    @property
    def newest_id(self) -> int:
        """The newest complete snapshot; 0 when there is none."""
        return self.snapshots[0].snapshot_id if self.snapshots else 0

    def followed_by(self, completion: Completion, *, oldest_needed: int) -> History:
        """The history after one more snapshot, without those older than `oldest_needed`."""
        needed = tuple(older for older in self.snapshots if older.snapshot_id >= oldest_needed)
        return History((completion, *needed), self.is_pruned or len(needed) < len(self.snapshots))

    def gone_back_behind(self, damaged: Mapping[int, str]) -> History:
        """The history without snapshots that turned out damaged, by id, each with the place of the damage."""
        whole = tuple(snapshot for snapshot in self.snapshots if snapshot.snapshot_id not in damaged)
        return replace(self, snapshots=whole, is_pruned=True, passed_over=tuple(damaged.values()))

    def slots(self, operator: str) -> set[int]:
        """The slots of an operator that these snapshots name."""
        return {snapshot.parts[operator].slot for snapshot in self.snapshots if operator in snapshot.parts}


class HistoryCodec:
    """The codec of the record, for a store's typed key."""

    def encode(self, value: History) -> bytes:
        """The bytes that are stored."""
        record = {
            "format": FORMAT,
            "snapshots": [_snapshot_json(snapshot) for snapshot in value.snapshots],
            "pruned": value.is_pruned,
            "passed_over": value.passed_over,
        }
        return json.dumps(record, sort_keys=True).encode()

    def decode(self, payload: bytes) -> History:
        """The record again; `UnknownFormat` when a newer version wrote it."""
        try:
            record: dict[str, Any] = json.loads(payload)
            if record["format"] > FORMAT:
                raise _unknown(record["format"])
            snapshots = tuple(_snapshot(snapshot) for snapshot in record["snapshots"])
            return History(snapshots, record["pruned"], tuple(record["passed_over"]))
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(error) from error


@dataclass(frozen=True, slots=True)
class FlowKeys:
    """Where a flow keeps its snapshots. The two modes do not share keys: their snapshots do not mean the same."""

    flow: str
    mode: SnapshotMode

    @property
    def prefix(self) -> str:
        """What all keys of this flow and mode start with."""
        return f"operators/{self.flow}/{self.mode.name.lower()}/"

    def history(self, operator: str) -> TypedKey[History]:
        """The record that names an operator's snapshots: one for all when they are aligned, else one for each."""
        place = self.prefix if self.mode is SnapshotMode.ALIGNED else self.slots(operator)
        return TypedKey(f"{place}complete", HistoryCodec())

    def histories(self, operators: Iterable[str]) -> dict[str, TypedKey[History]]:
        """All records of these operators, by the name of the key."""
        return {key.name: key for key in map(self.history, operators)}

    def slots(self, operator: str) -> str:
        """What the keys of an operator's slots start with."""
        return f"{self.prefix}of/{operator}/"

    def slot(self, operator: str, number: int) -> str:
        """The key of one slot."""
        return f"{self.slots(operator)}{number}"


def _snapshot_json(value: Completion) -> dict[str, object]:
    parts = {name: [part.slot, part.size, part.checksum] for name, part in value.parts.items()}
    return {"snapshot": value.snapshot_id, "parts": parts}


def _snapshot(record: dict[str, Any]) -> Completion:
    return Completion(record["snapshot"], {name: Part(*numbers) for name, numbers in record["parts"].items()})


def _unknown(found: int) -> UnknownFormat:
    return UnknownFormat(
        f"The record of a flow's snapshots has format {found}; this version reads up to {FORMAT}.",
        remedy="Start the version of Holdfast that wrote it.",
        found=found,
    )


def _damaged(error: Exception) -> CheckpointDamaged:
    return CheckpointDamaged(
        f"The record of a flow's snapshots is damaged: it cannot be parsed ({error!r}).",
        kept="Older versions and other keys are untouched.",
        remedy="Run `doctor` on the store to see which version is whole and to go back to it.",
    )
