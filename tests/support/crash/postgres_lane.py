"""A lane into PostgreSQL whose first batch fails while the next ones are ready, in a process that is killed at a step.

The server ends the connection in the middle of batch 1, twice, each time after batch 2 was read ahead. Batch 2 has a
row that the table refuses. The database itself writes down every move of the sink's cursor and how many rows there were
then, so a hole that was there for a moment is seen too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
import pyarrow as pa

from holdfast.deliver import DeliveryPhase, RetryPolicy, SinkSpec, SystemClock
from holdfast.model.steps import Step
from holdfast.sinks import Postgres
from tests.support.crash.zygote import Run
from tests.support.deliver_real import RealWorld, publish
from tests.support.deliver_world import all_on_disk
from tests.support.sink_lanes import identity

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.sinks.sql.postgres_session import PostgresConnection
    from tests.support.crash.watch import Watch
    from tests.support.crash.zygote import Outcome, Zygote

BATCHES, ROWS, KEYS = 4, 6, 3
FAILURES = 2
REFUSED = (2, 4)
"""The batch and the ordinal of the row that the table refuses."""
DSN = "dsn"
"""The file that tells the process where to deliver to."""
PATIENCE = 30.0

TABLES = f"""
    CREATE TABLE orders (
        oseq BIGINT, ordinal BIGINT, key TEXT, arrived BIGINT GENERATED ALWAYS AS IDENTITY,
        CHECK (NOT (oseq = {REFUSED[0]} AND ordinal = {REFUSED[1]})));
    CREATE TABLE moves (oseq BIGINT, rows BIGINT, moved BIGINT GENERATED ALWAYS AS IDENTITY);
    CREATE FUNCTION note_move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO moves (oseq, rows) SELECT NEW.oseq, count(*) FROM orders;
        RETURN NULL;
    END $$;
    CREATE TRIGGER note_move AFTER UPDATE OF oseq ON _holdfast_cursors
        FOR EACH ROW WHEN (NEW.oseq <> OLD.oseq) EXECUTE FUNCTION note_move();
"""


def batch(oseq: int) -> pa.Table:
    """The rows of a batch; every batch is about all keys."""
    keys = [f"k{at % KEYS}" for at in range(ROWS)]
    return pa.table({"oseq": [oseq] * ROWS, "ordinal": list(range(ROWS)), "key": keys})


def rows_of(*oseqs: int) -> list[tuple[int, int]]:
    """What the table holds once it has these batches, in order: (oseq, ordinal)."""
    return [(oseq, at) for oseq in oseqs for at in range(ROWS) if (oseq, at) != REFUSED]


@dataclass(frozen=True)
class Found:
    """What somebody finds in the database who knows nothing of us."""

    rows: list[tuple[int, int]]
    """(oseq, ordinal), in the order in which they arrived."""
    cursor: int
    moves: list[tuple[int, int]]
    """Every move of the cursor that was committed: where to, and how many rows there were."""


@dataclass(frozen=True)
class Lane:
    """The lane, from outside: where it keeps its logs, and where it delivers to."""

    directory: Path
    dsn: str

    def prepare(self) -> None:
        """Make the tables, and have the cursor's moves written down."""
        (self.directory / DSN).write_text(self.dsn)
        first = Postgres(self.dsn, table="orders")
        first.open(identity(lane="nobody"))
        first.close()
        with psycopg.connect(self.dsn) as db:
            db.execute(TABLES)

    def live(self, zygote: Zygote, step: str | None = None, nth: int = 1, *, bug: str | None = None) -> Outcome:
        """A life of the lane's process, killed when it reaches the step for the nth time."""
        return zygote.run(Run(str(self.directory), step, nth, bug=bug, scene="postgres_lane.enact"))

    def look(self) -> Found:
        """What is in the database."""
        with psycopg.connect(self.dsn) as db:
            rows = db.execute("SELECT oseq, ordinal FROM orders ORDER BY arrived").fetchall()
            moves = db.execute("SELECT oseq, rows FROM moves ORDER BY moved").fetchall()
            (cursor,) = db.execute("SELECT max(oseq) FROM _holdfast_cursors").fetchone() or (0,)
        return Found(rows, cursor, moves)

    def stored_cursor(self) -> int:
        """Our own cursor of the lane."""
        stored = RealWorld(self.directory).cursors()
        return stored.delivered.get("table", 0) if stored else 0

    def dead_letters(self) -> list[tuple[int, int]]:
        """The rows that were refused."""
        world = RealWorld(self.directory)
        try:
            return [(entry.oseq, entry.ordinal) for entry in world.life().dead.entries()]
        finally:
            world.close()


@dataclass
class _Server:
    """Another client of the server, which ends the connection of the sink while batch 1 is under way."""

    dsn: str
    is_ready: Callable[[], bool]
    """Whether the batches behind the first one are ready."""
    left: int = FAILURES

    def spoil(self, db: PostgresConnection, oseq: int) -> None:
        if oseq != 1 or not self.left:
            return
        deadline = time.monotonic() + PATIENCE
        while not self.is_ready():
            assert time.monotonic() < deadline, "the next batch was never read ahead"
            time.sleep(0.002)
        self.left -= 1
        (backend,) = db.execute("SELECT pg_backend_pid()").fetchone() or (0,)
        with psycopg.connect(self.dsn) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (backend,))


class _Unlucky(Postgres):
    """A sink whose server ends the connection when rows were written and the cursor was not yet moved."""

    def __init__(self, dsn: str, server: _Server) -> None:
        super().__init__(dsn, table="orders")
        self._server = server

    def _write(self, db: PostgresConnection, rows: pa.Table) -> None:
        super()._write(db, rows)
        self._server.spoil(db, rows["oseq"][0].as_py())


def enact(directory: Path, watch: Watch) -> None:
    """The scene: bring all batches into the table, and stop in order."""
    dsn = (directory / DSN).read_text()
    world = RealWorld(directory, clock=SystemClock())  # type: ignore[arg-type]
    server = _Server(dsn, lambda: watch.counts[Step.DELIVER_READ] > 1)
    retry = RetryPolicy(base=0.01, cap=0.05, attempts=20)
    life = world.life(SinkSpec("table", _Unlucky(dsn, server), max_inflight=3, retry=retry), hook=watch)
    while life.outbox.last_oseq() < BATCHES:
        publish(life.outbox, batch(life.outbox.last_oseq() + 1))
    life.delivery.start()
    life.delivery.wait_until(lambda status: all_on_disk(status) or status.phase is DeliveryPhase.FAILED, PATIENCE)
    life.delivery.drain(PATIENCE)
    if (failure := life.delivery.failure()) is not None:
        raise failure
