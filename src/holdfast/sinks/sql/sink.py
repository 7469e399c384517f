"""A sink in a SQL database: rows, cursor and epoch in one transaction, so a batch is there wholly, and once.

The transaction first looks whether the batch is due, then writes the rows, and last asserts and moves the cursor. So a
takeover never waits for rows under way, and an owner that was fenced meanwhile is refused at the end.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Generic

from holdfast.deliver.contract import GoingBack, Ordering, Sink, SinkBatch, Tier
from holdfast.model.errors import Fatal
from holdfast.model.steps import Step
from holdfast.sinks.sql.cursors import Cursors, is_due
from holdfast.sinks.sql.mode import Upsert
from holdfast.sinks.sql.session import Connection
from holdfast.sinks.sql.statements import CURSORS, TableName, create_table
from holdfast.sinks.sql.tags import remove_behind, tagged, wants_tags

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from holdfast.deliver.contract import LaneIdentity
    from holdfast.sinks.sql.session import Session
    from holdfast.sinks.sql.table import Table


class SqlSink(Sink, Generic[Connection]):
    """What differs between databases is left to the methods below the line."""

    tier = Tier.EXACTLY_ONCE
    ordering = Ordering.ORDERED

    def __init__(self, session: Session[Connection], table: Table) -> None:
        self._session = session
        self._table = table
        self._cursor_table = table.name.beside(CURSORS)
        self._owner: Cursors | None = None

    def open(self, identity: LaneIdentity) -> None:
        """Connect, make the cursor table when it is missing, and claim the lane for the epoch."""
        owner = Cursors(self._cursor_table, identity)
        try:
            with self._session.transaction() as db:
                self._lock_creation(db, self._cursor_table)
                if not self._columns_of(db, self._cursor_table):
                    owner.create(db)
            with self._session.transaction() as db:
                self._lock_claims(db, identity)
                owner.claim(db)
        except BaseException:
            self.close()
            raise
        self._owner = owner

    def cursor(self) -> int:
        """The last oseq of this outbox whose rows are in the table; 0 when there is none."""
        cursors = self._owned()
        with self._session.reading() as db:
            standing = cursors.standing(db)
        return standing.oseq if standing else 0

    def deliver(self, batch: SinkBatch) -> None:
        """Write the rows and move the cursor in one transaction, unless the cursor is there already."""
        cursors = self._owned()
        hook = cursors.lane.hook
        hook(Step.SINK_WRITE)
        with self._session.transaction() as db:
            is_new = self._apply(db, cursors, batch)
            if is_new:
                hook(Step.SINK_COMMIT)
        if is_new:
            hook(Step.SINK_COMMITTED)

    def probe(self, batch: SinkBatch) -> None:
        """Do all that `deliver` does up to the commit, then roll back."""
        cursors = self._owned()
        with self._session.trial() as db:
            if self._apply(db, cursors, batch):
                self._check_deferred(db)

    def going_back(self) -> GoingBack:
        """Equal when the rows say which batch they came with; one row a key keeps the newer one."""
        if isinstance(self._table.mode, Upsert):
            return GoingBack.REFUSES_OLDER
        return GoingBack.ENDS_EQUAL if self._session.exists() and self._is_tagged() else GoingBack.REPEATS_ROWS

    def go_back(self, oseq: int) -> None:
        """Remove the rows of later batches, where they can be told, and move the cursor back in one transaction."""
        cursors = self._owned()
        can_remove = self.going_back() is GoingBack.ENDS_EQUAL
        with self._session.transaction() as db:
            if can_remove:
                remove_behind(db, self._table.name, cursors.lane, oseq)
            cursors.go_back(db, oseq)

    def close(self) -> None:
        """Give up the connection."""
        self._owner = None
        self._session.close()

    def _apply(self, db: Connection, cursors: Cursors, batch: SinkBatch) -> bool:
        if not is_due(cursors.standing(db), cursors.lane, batch):
            return False
        if batch.rows.num_rows:
            columns = self._prepare(db, batch.rows)
            self._write(db, tagged(batch, cursors.lane) if wants_tags(columns) else batch.rows)
        cursors.advance(db, batch)
        return True

    def _is_tagged(self) -> bool:
        with self._session.reading() as db:
            return wants_tags(self._columns_of(db, self._table.name))

    def _prepare(self, db: Connection, rows: pa.Table) -> Mapping[str, bool]:
        """See that the table can take the rows; its columns, as `_columns_of` tells them."""
        self._table.check_schema(rows.schema)
        self._table.check_keys(rows)
        there = self._columns_of(db, self._table.name)
        if not there:
            self._lock_creation(db, self._table.name)
            there = self._columns_of(db, self._table.name)
        if there:
            self._table.check_columns(there, rows.schema)
        else:
            db.execute(create_table(self._table.name, self._table.columns(rows.schema), self._table.mode))
        return there

    def _owned(self) -> Cursors:
        if self._owner is None:
            raise Fatal(f"{self._session.place} is not open.", remedy="Open the sink with the lane's identity first.")
        return self._owner

    # What a database brings

    @abstractmethod
    def _columns_of(self, db: Connection, table: TableName) -> Mapping[str, bool]:
        """The columns of a table, and whether a row must give them a value; none when there is no such table."""

    @abstractmethod
    def _write(self, db: Connection, rows: pa.Table) -> None:
        """Write the rows, in their order."""

    def _lock_creation(self, db: Connection, table: TableName) -> None:
        """Let nobody else make the table until the transaction has ended."""

    def _lock_claims(self, db: Connection, identity: LaneIdentity) -> None:
        """Let nobody else claim the lane until the transaction has ended."""

    def _check_deferred(self, db: Connection) -> None:
        """Have everything checked that is otherwise left to the commit."""
