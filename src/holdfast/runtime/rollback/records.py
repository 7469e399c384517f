"""What is remembered of rollbacks: each one with who asked, when, from where, to where, and how it ended.

The record is the journal too: one that is intended and not done is carried out at the next start.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any

from holdfast.checkpoint.contract import TypedKey
from holdfast.log.values import Digest, Published
from holdfast.model.positions import from_json, to_json
from holdfast.runtime.records import load_record

KEPT = 100
"""How many rollbacks are remembered."""


class Outcome(Enum):
    """What became of a rollback."""

    INTENDED = "intended"
    """It is being carried out, or was cut short: then the next start carries it out."""
    DONE = "done"
    GIVEN_UP = "given up"
    """It could not be carried out, and nothing was changed."""


@dataclass(frozen=True, slots=True)
class Generations:
    """For a rollback of the whole pipeline: from which generation into which, and with which files of Spark."""

    left: int
    opened: int
    batch: Published
    """The batch of Spark that is gone back to; without parts."""
    place: str
    """The directory, below the pipeline's, whose files are linked."""
    initial: Mapping[str, int] = field(default_factory=dict)
    """Where batch 0 of the query started."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """One rollback of a sink, or of the whole pipeline."""

    number: int
    at: datetime
    by: str
    sink: str | None
    """None for the whole pipeline."""
    to: int
    """The batch behind which batches are delivered again, or computed again."""
    newest: int
    """The highest number that a batch had when it was asked for."""
    delivered: Mapping[str, int]
    """What each lane had delivered then."""
    removing: tuple[str, ...] = ()
    """The sinks that remove what they had behind the target."""
    generations: Generations | None = None
    undoes: int | None = None
    """The number of the rollback that this one takes back."""
    outcome: Outcome = Outcome.INTENDED

    def ended(self, outcome: Outcome) -> Rollback:
        """The same, with what became of it."""
        return replace(self, outcome=outcome)


@dataclass(frozen=True, slots=True)
class History:
    """The newest rollbacks, oldest first."""

    rollbacks: tuple[Rollback, ...] = ()

    @property
    def open(self) -> Rollback | None:
        """The one that is to be carried out."""
        last = self.rollbacks[-1] if self.rollbacks else None
        return last if last is not None and last.outcome is Outcome.INTENDED else None

    def get(self, number: int) -> Rollback | None:
        """The one of this number, if it is remembered."""
        return next((known for known in self.rollbacks if known.number == number), None)

    def with_(self, rollback: Rollback) -> History:
        """The history with this one in its place, or as its newest."""
        others = [known for known in self.rollbacks if known.number != rollback.number]
        return History(tuple([*others, rollback][-KEPT:]))


class HistoryCodec:
    """A history as versioned JSON."""

    def encode(self, value: History) -> bytes:
        """The bytes that are stored."""
        document = {"format": 1, "rollbacks": [_to_json(rollback) for rollback in value.rollbacks]}
        return json.dumps(document, sort_keys=True).encode()

    def decode(self, payload: bytes) -> History:
        """The history again."""
        document = load_record(payload, "the rollbacks")
        return History(tuple(_from_json(rollback) for rollback in document["rollbacks"]))


def batch_to_json(batch: Published) -> dict[str, Any]:
    """A batch without its parts."""
    return {
        "oseq": batch.oseq,
        "generation": batch.generation,
        "batch_id": batch.batch_id,
        "query_id": batch.query_id,
        "fingerprint": batch.fingerprint,
        "starts": dict(batch.starts),
        "ends": dict(batch.ends),
        "positions": {source: to_json(position) for source, position in batch.positions.items()},
        "rows": batch.digest.rows,
        "hash_sum": str(batch.digest.hash_sum),
        "published_at": batch.published_at.isoformat(),
    }


def batch_from_json(document: Mapping[str, Any]) -> Published:
    """The batch again, without parts."""
    return Published(
        oseq=document["oseq"],
        generation=document["generation"],
        batch_id=document["batch_id"],
        query_id=document["query_id"],
        fingerprint=document["fingerprint"],
        starts=document["starts"],
        ends=document["ends"],
        positions={source: from_json(position) for source, position in document["positions"].items()},
        parts=(),
        digest=Digest(document["rows"], int(document["hash_sum"])),
        published_at=datetime.fromisoformat(document["published_at"]),
    )


def _to_json(rollback: Rollback) -> dict[str, Any]:
    generations = rollback.generations
    return {
        "number": rollback.number,
        "at": rollback.at.isoformat(),
        "by": rollback.by,
        "sink": rollback.sink,
        "to": rollback.to,
        "newest": rollback.newest,
        "delivered": dict(rollback.delivered),
        "removing": list(rollback.removing),
        "generations": generations
        and {
            "left": generations.left,
            "opened": generations.opened,
            "batch": batch_to_json(generations.batch),
            "place": generations.place,
            "initial": dict(generations.initial),
        },
        "undoes": rollback.undoes,
        "outcome": rollback.outcome.value,
    }


def _from_json(document: Mapping[str, Any]) -> Rollback:
    generations = document["generations"]
    return Rollback(
        number=document["number"],
        at=datetime.fromisoformat(document["at"]),
        by=document["by"],
        sink=document["sink"],
        to=document["to"],
        newest=document["newest"],
        delivered=document["delivered"],
        removing=tuple(document["removing"]),
        generations=generations and Generations(**{**generations, "batch": batch_from_json(generations["batch"])}),
        undoes=document["undoes"],
        outcome=Outcome(document["outcome"]),
    )


ROLLBACKS: TypedKey[History] = TypedKey("rollbacks", HistoryCodec())
