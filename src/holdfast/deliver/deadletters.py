"""Writes the rows that one lane rejects to the dead letters, and reads back which those were.

An entry's id is made of the stage, the batch and the row's place in it, so recording a rejection twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from holdfast.log.dead_entry import SINK, DeadLetterEntry, packed

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast.deliver.classify import Reason
    from holdfast.deliver.clock import Clock
    from holdfast.deliver.ports import DeadLetters
    from holdfast.deliver.rows import Parcel

_AT_ONCE = 500
"""How many entries are built and written at once: a batch that is rejected whole is not held twice in memory."""


class LaneDeadLetters:
    """The dead letters of one lane."""

    def __init__(self, log: DeadLetters, *, pipeline: str, lane: str, clock: Clock) -> None:
        self._log = log
        self._pipeline = pipeline
        self._clock = clock
        self.stage = f"{SINK}{lane}"

    def rejected(self, oseq: int) -> frozenset[int]:
        """The ordinals of the batch that were rejected before, in this life or an earlier one."""
        return self._log.rejected(self.stage, oseq)

    def refused(self, oseq: int) -> frozenset[int]:
        """Those of them that are dropped on purpose, because there was no room for their entries."""
        return self._log.refused(self.stage, oseq)

    def record(self, oseq: int, rows: Parcel, reasons: Mapping[int, Reason], *, attempts: int) -> frozenset[int]:
        """Make the rejection of these rows durable. Returns what `refused` says then.

        :param reasons: why, by the ordinal of the row.
        """
        entries = self._entries(oseq, rows, reasons, attempts)
        while some := list(islice(entries, _AT_ONCE)):
            self._log.put(some)
        return self.refused(oseq)

    def _entries(
        self, oseq: int, rows: Parcel, reasons: Mapping[int, Reason], attempts: int
    ) -> Iterator[DeadLetterEntry]:
        for place, ordinal in enumerate(rows.ordinals.to_pylist()):
            row = rows.rows.slice(place, 1)
            reason = reasons[ordinal]
            yield DeadLetterEntry.of(
                time=self._clock.now(),
                pipeline=self._pipeline,
                stage=self.stage,
                oseq=oseq,
                ordinal=ordinal,
                error_kind=reason.kind,
                error_code=reason.code,
                message=reason.message,
                attempts=attempts,
                payload=packed(row),
                event_id=_text(row, "event_id"),
                position=_text(row, "position"),
                event_schema_version=_number(row, "schema_version"),
            )


def _text(row: pa.Table, column: str) -> str | None:
    value = row.column(column)[0].as_py() if column in row.column_names else None
    return None if value is None else str(value)


def _number(row: pa.Table, column: str) -> int | None:
    text = _text(row, column)
    return None if text is None else int(text)
