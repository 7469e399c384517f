"""What the ledger remembers across a crash: one value, written in one atomic write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from holdfast.ledger.gaps import Gap, Gaps
from holdfast.model.errors import HoldfastError, UnknownFormat
from holdfast.model.positions import Position, from_json, to_json

FORMAT = 1


class StopReason(Enum):
    """Why a ledger stopped. A crash leaves none behind: it is the absence of a record."""

    GRACEFUL = "graceful"
    FORCED = "forced"


@dataclass(frozen=True, slots=True)
class StopRecord:
    """How the ledger was stopped and what it left undone, per lane."""

    reason: StopReason
    remaining: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Batches never sent: they stay in the outbox and are sent after the next start."""
    abandoned: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Batches sent whose outcome is not known: sent again after the next start."""
    answered: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Batches that are resolved above an abandoned one: the cursor lies below them, so they are sent again too."""
    unprocessed: Mapping[str, int] = field(default_factory=dict)
    """By source, captured events that no batch holds yet: they are kept in the inbox and processed after the next
    start. The ledger does not know of them; whoever stops the pipeline counts them."""


@dataclass(frozen=True, slots=True)
class Cursors:
    """Every lane's `delivered`, and `committed` with the source positions that belong to it."""

    delivered: Mapping[str, int]
    committed: int = 0
    positions: Mapping[str, Position] = field(default_factory=dict)
    joining: Mapping[str, int] = field(default_factory=dict)
    """Lanes that do not count in the policy yet, with the batch after which each began."""
    gaps: Mapping[str, Gaps] = field(default_factory=dict)
    """What sinks missed while their lanes were detached; a lane that still is stands in `delivered` no more."""
    rollbacks: int = 0
    """How often an operator moved a cursor back. `committed` may only fall when this has risen."""
    stop: StopRecord | None = None


class CursorsCodec:
    """Cursors as versioned JSON."""

    def encode(self, value: Cursors) -> bytes:
        """The bytes that are stored; equal cursors give equal bytes."""
        document = {
            "format": FORMAT,
            "delivered": dict(value.delivered),
            "committed": value.committed,
            "positions": {source: to_json(position) for source, position in value.positions.items()},
            "joining": dict(value.joining),
            "gaps": {lane: [[gap.after, gap.through] for gap in gaps] for lane, gaps in value.gaps.items()},
            "rollbacks": value.rollbacks,
            "stop": None if value.stop is None else _stop_to_json(value.stop),
        }
        return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()

    def decode(self, payload: bytes) -> Cursors:
        """The cursors again; `UnknownFormat` when the payload is not ours or newer than this version."""
        try:
            document = json.loads(payload)
            if document["format"] != FORMAT:
                raise _unknown(f"they are of format {document['format']!r}, and this version reads format {FORMAT}")
            return Cursors(
                delivered=_numbers(document["delivered"]),
                committed=_number(document["committed"]),
                positions={source: from_json(position) for source, position in document["positions"].items()},
                joining=_numbers(document["joining"]),
                gaps={lane: tuple(_gap(*gap) for gap in gaps) for lane, gaps in document.get("gaps", {}).items()},
                rollbacks=_number(document["rollbacks"]),
                stop=None if document["stop"] is None else _stop_from_json(document["stop"]),
            )
        except HoldfastError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _unknown(f"they cannot be read ({type(error).__name__}: {error})") from error


def _stop_to_json(stop: StopRecord) -> dict[str, object]:
    return {
        "reason": stop.reason.value,
        "remaining": {lane: list(batches) for lane, batches in stop.remaining.items()},
        "abandoned": {lane: list(batches) for lane, batches in stop.abandoned.items()},
        "answered": {lane: list(batches) for lane, batches in stop.answered.items()},
        "unprocessed": dict(stop.unprocessed),
    }


def _stop_from_json(document: Mapping[str, Any]) -> StopRecord:
    lists = {
        name: {lane: tuple(map(_number, batches)) for lane, batches in document.get(name, {}).items()}
        for name in ("remaining", "abandoned", "answered")
    }
    return StopRecord(StopReason(document["reason"]), **lists, unprocessed=_numbers(document.get("unprocessed", {})))


def _gap(after: object, through: object) -> Gap:
    return Gap(_number(after), None if through is None else _number(through))


def _numbers(values: Mapping[str, object]) -> dict[str, int]:
    return {lane: _number(value) for lane, value in values.items()}


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        message = f"{value!r} is not a batch number"
        raise ValueError(message)
    return value


def _unknown(why: str) -> UnknownFormat:
    return UnknownFormat(
        f"The stored cursors are not usable: {why}.",
        remedy="Upgrade Holdfast if a newer version wrote them; otherwise roll the key back to an older version.",
    )
