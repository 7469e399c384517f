"""The sink's own cursor: how far each lane is and under which epoch, kept in the transaction that writes the rows.

A row for each (pipeline, lane, outbox). Claiming a lane raises the epoch of all its rows, also those of an outbox that
was replaced, so an owner that slept through a takeover is refused whatever it thinks the outbox is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.model.errors import CursorMoved, SinkFenced, Transient
from holdfast.sinks.sql.statements import CURSORS

if TYPE_CHECKING:
    from holdfast.deliver.contract import LaneIdentity, SinkBatch
    from holdfast.sinks.sql.session import Database
    from holdfast.sinks.sql.statements import TableName


@dataclass(frozen=True, slots=True)
class Standing:
    """What the sink says about a lane."""

    oseq: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Cursors:
    """The cursor table, for one lane."""

    table: TableName
    lane: LaneIdentity

    def create(self, db: Database) -> None:
        """Make the table."""
        db.execute(
            f"CREATE TABLE {self.table} (pipeline TEXT NOT NULL, lane TEXT NOT NULL, outbox TEXT NOT NULL, "
            "oseq BIGINT NOT NULL, epoch BIGINT NOT NULL, PRIMARY KEY (pipeline, lane, outbox))"
        )

    def claim(self, db: Database) -> None:
        """Write down that the lane belongs to our epoch from now on; nobody else may claim it meanwhile."""
        pipeline, lane, outbox, epoch = self.lane.pipeline, self.lane.lane, self.lane.outbox, self.lane.epoch
        where = "WHERE pipeline = ?1 AND lane = ?2"
        newest = db.execute(f"SELECT max(epoch) FROM {self.table} {where}", (pipeline, lane)).fetchone()
        if newest is not None and newest[0] is not None and newest[0] > epoch:
            raise fenced(self.lane, newest[0])
        db.execute(f"UPDATE {self.table} SET epoch = ?3 {where}", (pipeline, lane, epoch))
        db.execute(
            f"INSERT INTO {self.table} (pipeline, lane, outbox, oseq, epoch) VALUES (?1, ?2, ?3, 0, ?4) "
            "ON CONFLICT DO NOTHING",
            (pipeline, lane, outbox, epoch),
        )

    def standing(self, db: Database) -> Standing | None:
        """What the sink says now."""
        lane = self.lane
        row = db.execute(
            f"SELECT oseq, epoch FROM {self.table} WHERE pipeline = ?1 AND lane = ?2 AND outbox = ?3",
            (lane.pipeline, lane.lane, lane.outbox),
        ).fetchone()
        return None if row is None else Standing(*row)

    def advance(self, db: Database, batch: SinkBatch) -> None:
        """Assert and move in one statement; it also holds off any claim until our transaction has ended."""
        lane = self.lane
        moved = db.execute(
            f"UPDATE {self.table} SET oseq = ?1 "
            "WHERE pipeline = ?2 AND lane = ?3 AND outbox = ?4 AND oseq = ?5 AND epoch = ?6",
            (batch.oseq, lane.pipeline, lane.lane, lane.outbox, batch.previous, lane.epoch),
        )
        if moved.rowcount != 1:
            is_due(self.standing(db), lane, batch)
            raise _moved_meanwhile(lane, batch)

    def go_back(self, db: Database, oseq: int) -> None:
        """Move back to an earlier batch; a cursor that is not behind it stays. Only the owner may."""
        lane = self.lane
        moved = db.execute(
            f"UPDATE {self.table} SET oseq = CASE WHEN oseq > ?1 THEN ?1 ELSE oseq END "
            "WHERE pipeline = ?2 AND lane = ?3 AND outbox = ?4 AND epoch = ?5",
            (oseq, lane.pipeline, lane.lane, lane.outbox, lane.epoch),
        )
        if moved.rowcount != 1:
            standing = self.standing(db)
            if standing is not None and standing.epoch > lane.epoch:
                raise fenced(lane, standing.epoch)
            raise _replaced(lane, standing)


def is_due(standing: Standing | None, lane: LaneIdentity, batch: SinkBatch) -> bool:
    """Whether the batch comes next; False when the sink has it. Raises when it may not be written at all."""
    if standing is None or standing.epoch < lane.epoch:
        raise _replaced(lane, standing)
    if standing.epoch > lane.epoch:
        raise fenced(lane, standing.epoch)
    if standing.oseq >= batch.oseq:
        return False
    if standing.oseq != batch.previous:
        raise _gap(lane, batch, standing)
    return True


def fenced(lane: LaneIdentity, newest: int) -> SinkFenced:
    """The error for an owner that is not the newest."""
    return SinkFenced(
        f"The sink of lane {lane.lane!r} of pipeline {lane.pipeline!r} belongs to epoch {newest}, and we are epoch "
        f"{lane.epoch}.",
        remedy="Stop this process. If the newer owner is gone for good and the pipeline was made anew, delete the "
        f"lane's rows from {CURSORS}.",
        pipeline=lane.pipeline,
        lane=lane.lane,
        epoch=lane.epoch,
        newest=newest,
    )


def _replaced(lane: LaneIdentity, standing: Standing | None) -> CursorMoved:
    found = (
        "no cursor of ours" if standing is None else f"cursor {standing.oseq} under the older epoch {standing.epoch}"
    )
    return CursorMoved(
        f"The sink of lane {lane.lane!r} has {found}, although epoch {lane.epoch} claimed it: it was replaced by an "
        "older copy, or its cursor was edited, while we were connected.",
        remedy="Restart the pipeline: it asks the sink for its cursor and goes on from there.",
        pipeline=lane.pipeline,
        lane=lane.lane,
    )


def _gap(lane: LaneIdentity, batch: SinkBatch, standing: Standing) -> CursorMoved:
    return CursorMoved(
        f"The sink of lane {lane.lane!r} is at batch {standing.oseq}, but batch {batch.oseq} follows on batch "
        f"{batch.previous}: writing it would leave a gap or repeat rows.",
        remedy="Restart the pipeline: it asks the sink for its cursor and goes on from there.",
        pipeline=lane.pipeline,
        lane=lane.lane,
        oseq=batch.oseq,
        cursor=standing.oseq,
    )


def _moved_meanwhile(lane: LaneIdentity, batch: SinkBatch) -> Transient:
    return Transient(
        f"The cursor of lane {lane.lane!r} moved while batch {batch.oseq} was being written.",
        kept="Nothing of the batch was written.",
        remedy="The batch is tried again.",
        lane=lane.lane,
        oseq=batch.oseq,
    )
