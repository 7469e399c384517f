"""The record that makes an aligned snapshot complete, and the names under which a flow keeps its snapshots."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import TypedKey
from holdfast.checkpoint.operators.framing import SnapshotCodec
from holdfast.checkpoint.operators.snapshot import OperatorSnapshot, SnapshotMode
from holdfast.model.errors import CheckpointDamaged, UnknownFormat

if TYPE_CHECKING:
    from typing import Any

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Completion:
    """Names the parts of an aligned snapshot: the version of each operator's key."""

    snapshot_id: int
    parts: Mapping[str, int]


class CompletionCodec:
    """The codec of the record, for a store's typed key."""

    def encode(self, value: Completion) -> bytes:
        """The bytes that are stored."""
        record = {"format": FORMAT, "snapshot": value.snapshot_id, "parts": dict(value.parts)}
        return json.dumps(record, sort_keys=True).encode()

    def decode(self, payload: bytes) -> Completion:
        """The record again; `UnknownFormat` when a newer version wrote it."""
        try:
            record: dict[str, Any] = json.loads(payload)
            if record["format"] > FORMAT:
                raise _unknown(record["format"])
            return Completion(record["snapshot"], record["parts"])
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

    def part(self, operator: str) -> TypedKey[OperatorSnapshot]:
        """The key of an operator's snapshots."""
        return TypedKey(f"{self.prefix}of/{operator}", SnapshotCodec())

    @property
    def completion(self) -> TypedKey[Completion]:
        """The key of the completion records; used in aligned mode only."""
        return TypedKey(f"{self.prefix}complete", CompletionCodec())


def _unknown(found: int) -> UnknownFormat:
    return UnknownFormat(
        f"A completion record has format {found}; this version reads up to {FORMAT}.",
        remedy="Start the version of Holdfast that wrote it.",
        found=found,
    )


def _damaged(error: Exception) -> CheckpointDamaged:
    return CheckpointDamaged(
        f"A completion record is damaged: it cannot be parsed ({error!r}).",
        kept="Older versions and other keys are untouched.",
        remedy="Run `doctor` on the store to see which version is whole and to go back to it.",
    )
