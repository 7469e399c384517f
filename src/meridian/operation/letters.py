"""The dead letters of an operation, from both stores: those of the edge, and those of fusion with its sinks.

Holdfast names an error by its class and counts attempts. Here, and nowhere else, that becomes the six kinds of errors
and the retries that operators of Meridian know. To look takes no ownership: the edge and fusion may run meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from holdfast.log import DeadLetterEntry, DeadLetterFilter, DeadLetterReader, Fate, Where
from holdfast.log.dead_entry import SINK
from holdfast.log.dead_values import NEW
from holdfast.model.errors import HoldfastError
from holdfast.runtime.layout import Layout
from meridian.operation.home import Home
from meridian.sensors.letters import FOLDER


class LetterKind(StrEnum):
    """Why something was given up."""

    DESERIALIZATION = "Deserialization"
    """Its bytes mean nothing."""
    SCHEMA_MISMATCH = "SchemaMismatch"
    """It is of a version, or has fields, that this program does not know."""
    VALIDATION_FAILED = "ValidationFailed"
    """It can be read, and what it says cannot be, or is of an object that nobody knows."""
    PROCESSING_EXCEPTION = "ProcessingException"
    """A step failed on it, or a sink refused it for what it says."""
    RETRY_BUDGET_EXHAUSTED = "RetryBudgetExhausted"
    """A sink could not be reached for so long that trying was given up."""
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """A sink was reached and did not answer in time."""


_AS_THEY_ARE = {kind.value: kind for kind in LetterKind}
_OF_STEPS = {"NotCatalogued": LetterKind.VALIDATION_FAILED, "UnknownFormat": LetterKind.SCHEMA_MISMATCH}
_OF_SINKS = {
    "Transient": LetterKind.RETRY_BUDGET_EXHAUSTED,
    "Throttled": LetterKind.RETRY_BUDGET_EXHAUSTED,
    "CommitUnknown": LetterKind.DEADLINE_EXCEEDED,
    "TimeoutError": LetterKind.DEADLINE_EXCEEDED,
}
_TICK = timedelta(milliseconds=1)
"""To the millisecond the time of an entry is known."""


class Label(NamedTuple):
    """What dead letters are counted by."""

    operator: str
    error_kind: LetterKind


def label_of(where: Where) -> Label:
    """The label of entries of a stage and of Holdfast's kind. The operator is the stage, as `edge:obs.radar-1`."""
    named = _OF_SINKS if where.stage.startswith(SINK) else _OF_STEPS
    kind = _AS_THEY_ARE.get(where.kind) or named.get(where.kind, LetterKind.PROCESSING_EXCEPTION)
    return Label(where.stage, kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which letters are meant; what is empty leaves nothing out, and both ends of the time are included."""

    kinds: Set[LetterKind] = frozenset()
    operators: Set[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None

    def is_meant(self, label: Label) -> bool:
        """Whether letters of this label are, at some time."""
        return (not self.kinds or label.error_kind in self.kinds) and (
            not self.operators or label.operator in self.operators
        )

    def among(self, where: Where | None = None) -> DeadLetterFilter:
        """The letters of one place that nobody has seen to and that are of the right time; of all places without it."""
        return DeadLetterFilter(
            kinds=frozenset() if where is None else {where.kind},
            stages=frozenset() if where is None else {where.stage},
            since=self.since,
            until=None if self.until is None else self.until + _TICK,
            states=NEW,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A dead letter in the seven fields that everybody in this field knows; Holdfast's entry has more."""

    schema_version: int
    timestamp: datetime
    operator: str
    error_kind: LetterKind
    error_message: str
    retry_count: int
    """How often it was tried again: 0 for what can never succeed, and more for what was given up in the end."""
    original_payload: bytes

    @classmethod
    def of(cls, entry: DeadLetterEntry) -> Letter:
        """The letter of an entry. Its last attempt is the one that was given up, so it was tried again once less."""
        operator, kind = label_of(Where(entry.stage, entry.error_kind))
        return cls(
            schema_version=entry.schema_version,
            timestamp=entry.time,
            operator=operator,
            error_kind=kind,
            error_message=entry.message,
            retry_count=max(0, entry.attempts - 1),
            original_payload=entry.payload,
        )


def stores(home: Home) -> Iterator[Path]:
    """The stores that there are: of the edge, and of fusion."""
    return (place for place in (home.edge / FOLDER, Layout(home.pipeline).dead_letters) if place.exists())


def counted(home: Home) -> Mapping[Label, int]:
    """How many entries ever came, those included that are gone by now: the counter `dlq_entries_total`."""
    found: Counter[Label] = Counter()
    for store in stores(home):
        with DeadLetterReader.open(store) as reader:
            for (where, fate), count in reader.tallies().items():
                if fate in (Fate.RECORDED, Fate.REFUSED):
                    found[label_of(where)] += count
    return found


def letters(home: Home, wanted: Wanted) -> Iterator[Letter | HoldfastError]:
    """The letters that are meant, the edge's first, as they came; where one cannot be read, why."""
    for store in stores(home):
        with DeadLetterReader.open(store) as reader:
            for listed, entry in chain.from_iterable(reader.pages(wanted.among())):
                if wanted.is_meant(label_of(Where(listed.stage, listed.kind))):
                    yield entry if isinstance(entry, HoldfastError) else Letter.of(entry)
