"""The ledger in a minute: answers out of order, a kill -9 at the worst moment, and a restart that doubles nothing.

Two real sinks, a real checkpoint store, and a process that really dies. Run it with `python examples/ledger_demo.py`.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from holdfast.checkpoint.contract import TypedKey
from holdfast.checkpoint.sqlite import SqliteStore
from holdfast.ledger.cursors import Cursors, CursorsCodec
from holdfast.ledger.decisions import Acknowledge, Decision, Release, WriteCursors
from holdfast.ledger.lane import LaneSpec
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.resume import Batch, Resume
from holdfast.ledger.tickets import Sending
from holdfast.model.positions import Lsn

CURSORS = TypedKey("demo/cursors", CursorsCodec())
LANES = [LaneSpec("files", max_inflight=4), LaneSpec("sqlite", max_inflight=1)]
OUTBOX = [Batch(oseq, {"orders": Lsn(0x1000 * oseq)}) for oseq in (1, 2, 3)]


class FilesSink:
    """A file for each batch, named by its number and never replaced: batches are independent, in any order."""

    def __init__(self, place: Path) -> None:
        self.directory = place / "files"
        self.directory.mkdir(exist_ok=True)

    def write(self, oseq: int) -> str:
        path = self.directory / f"batch-{oseq}.jsonl"
        if path.exists():
            return "is there already, so it is left alone"
        path.write_text(f'{{"batch": {oseq}}}\n')
        return "is written"


class SqliteSink:
    """Rows and the sink's own cursor in one transaction: the sink itself knows what it has."""

    def __init__(self, place: Path) -> None:
        self.db = sqlite3.connect(place / "sink.db", isolation_level=None)
        self.db.execute("CREATE TABLE IF NOT EXISTS orders (batch INTEGER)")
        self.db.execute("CREATE TABLE IF NOT EXISTS cursor (oseq INTEGER)")

    def write(self, oseq: int) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        self.db.execute("INSERT INTO orders VALUES (?)", (oseq,))
        self.db.execute("DELETE FROM cursor")
        self.db.execute("INSERT INTO cursor VALUES (?)", (oseq,))
        self.db.execute("COMMIT")

    def cursor(self) -> int:
        return int((self.db.execute("SELECT oseq FROM cursor").fetchone() or (0,))[0])

    def batches(self) -> list[int]:
        return [int(row[0]) for row in self.db.execute("SELECT batch FROM orders ORDER BY rowid")]


def main() -> None:
    """Run the first life in a process of its own, see it killed, go on in a second one, and count."""
    if sys.argv[1:]:
        first_life(Path(sys.argv[2])) if sys.argv[1] == "first" else second_life(Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        say("Three batches wait in the outbox for two sinks, both required.")
        killed = subprocess.run([sys.executable, __file__, "first", directory], check=False)
        say(f"\nThe process is gone (exit {killed.returncode}: kill -9). A new one opens the same store.\n")
        subprocess.run([sys.executable, __file__, "second", directory], check=True)
        files, rows = sorted(path.name for path in (place / "files").iterdir()), SqliteSink(place).batches()
        say(f"\nIn the sinks: {', '.join(files)}; rows of batches {rows}")
        if len(files) != 3 or rows != [1, 2, 3]:
            sys.exit("run: FAILED, a batch is missing or doubled")
    say("run: 3 batches, 2 sinks, 1 kill -9: nothing skipped, nothing lost, nothing doubled")


def first_life(place: Path) -> None:
    """Batch 3 answers before batch 1; the process dies after the sink's commit and before our cursor."""
    files, sqlite = FilesSink(place), SqliteSink(place)
    with SqliteStore(place / "checkpoints.db") as store:
        epoch, ledger = start(store, sqlite)
        one, two, three = (send(ledger, "files") for _ in range(3))
        for oseq in (3, 1):
            files.write(oseq)
        three.ack()
        show(ledger, "files answers batch 3: it waits, because 1 and 2 have not answered")
        one.ack()
        show(ledger, "files answers batch 1: its cursor moves to 1, and not to 3")
        deliver(ledger, sqlite)
        show(ledger, "sqlite answers batch 1: both sinks have it, so it is committed")
        execute(ledger, store, epoch)
        files.write(2)
        two.ack()
        deliver(ledger, sqlite)
        show(ledger, "files and sqlite answer batch 2 …")
        say("  … and before that is written down, the process is killed")
        os.kill(os.getpid(), signal.SIGKILL)


def second_life(place: Path) -> None:
    """Each lane goes on where its sink really is."""
    files, sqlite = FilesSink(place), SqliteSink(place)
    with SqliteStore(place / "checkpoints.db") as store:
        epoch, ledger = start(store, sqlite)
        for _ in range(2):
            sending = send(ledger, "files")
            say(f"  files gets batch {sending.oseq} again: the file {files.write(sending.oseq)}")
            sending.ack()
        deliver(ledger, sqlite)
        show(ledger, "sqlite takes batch 3, the only one it lacked")
        ledger.drain()
        ledger.stop()
        execute(ledger, store, epoch)


def start(store: SqliteStore, sink: SqliteSink) -> tuple[int, Ledger]:
    """Become the owner, read what was stored, and ask the sink that remembers."""
    epoch = store.take_over()
    stored = store.get(CURSORS) or Cursors({})
    known = Resume(stored, batches=OUTBOX, last_oseq=3, sink_cursors={"sqlite": sink.cursor()})
    ledger = Ledger(sources=["orders"], lanes=LANES, known=known)
    for name, began in ledger.starts.items():
        say(f"  {name} begins after batch {began.delivered}: {began.route.value}")
    return epoch, ledger


def deliver(ledger: Ledger, sink: SqliteSink) -> None:
    """The sink takes its next batch."""
    sending = send(ledger, "sqlite")
    sink.write(sending.oseq)
    sending.ack()


def send(ledger: Ledger, lane: str) -> Sending:
    """Take the lane's next ticket and start sending."""
    ticket = ledger.next(lane)
    assert ticket is not None
    return ticket.send()


def execute(ledger: Ledger, store: SqliteStore, epoch: int) -> None:
    """The shell around the ledger: do what it decides, in its order."""
    while decisions := ledger.decisions():
        for decision in decisions:
            say(f"    decision: {words(decision)}")
            if isinstance(decision, WriteCursors):
                store.put(CURSORS, decision.cursors, epoch=epoch)
                ledger.persisted(decision.cursors)


def words(decision: Decision) -> str:
    """A decision as a person would say it."""
    match decision:
        case WriteCursors(cursors):
            return f"write cursors {dict(cursors.delivered)}, committed {cursors.committed}, in one atomic write"
        case Acknowledge(positions):
            return f"tell the sources: {', '.join(f'{name} is safe up to {at}' for name, at in positions.items())}"
        case Release(through):
            return f"the outbox may forget batches up to {through}"
        case _:
            return str(decision)


def show(ledger: Ledger, what: str) -> None:
    """Where every lane stands after something happened."""
    lanes = ", ".join(f"{name} {lane.delivered}" for name, lane in ledger.lanes.items())
    say(f"  {what}\n      delivered: {lanes}; committed: {ledger.committed}")


def say(text: str) -> None:
    """Print a line at once: the process may be killed right after it."""
    print(text, flush=True)


if __name__ == "__main__":
    main()
