"""A subscriber of alerts in a process of its own: stopped, continued, killed, and started again over the same book."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from meridian.fusion.emissions import Kind, version_of
from meridian.fusion.outputs import ALERTS, ROWS, widened
from meridian.fusion.subscriber import Book

COMMAND = "from meridian.cli.subscribing import subscribe; subscribe()"
PATIENCE = 60.0
Said = tuple[str, int, str]
"""Alert, sequence and kind of a word."""


@dataclass
class Subscriber:
    """The command `meridian subscribe` over a book."""

    book: Path
    port: int = field(default_factory=lambda: free_port())
    options: tuple[str, ...] = ()
    process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/alerts"

    def start(self, *options: str) -> None:
        """Start it, and wait until it answers."""
        where = ["--listen", f"127.0.0.1:{self.port}", "--book", str(self.book), "--output", "json"]
        command = [sys.executable, "-c", COMMAND, *where, *self.options, *options]
        with self.printed.open("a") as told:
            self.process = subprocess.Popen(command, stdout=told, text=True)
        until = time.monotonic() + PATIENCE
        while not self.answers():
            assert self.process.poll() is None, f"the subscriber ended with {self.process.returncode}"
            assert time.monotonic() < until, "the subscriber does not answer"
            time.sleep(0.01)

    def answers(self) -> bool:
        with socket.socket() as asked:
            return asked.connect_ex(("127.0.0.1", self.port)) == 0

    def signal(self, number: signal.Signals) -> None:
        """Tell the process something, and wait for its end if that is what it was told."""
        assert self.process is not None
        os.kill(self.process.pid, number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self.process.wait(PATIENCE)
            self.process = None

    def end(self) -> None:
        if self.process is not None:
            self.signal(signal.SIGKILL)

    @property
    def printed(self) -> Path:
        return self.book.with_suffix(".jsonl")

    def told(self) -> list[tuple[int, Said]]:
        """What it has printed: the numbers of entries, and their words."""
        lines = [json.loads(line) for line in self.printed.read_text().splitlines()]
        return [
            (each["number"], tuple(each["word"][name] for name in ("alert_id", "sequence", "kind"))) for each in lines
        ]

    def acted(self) -> list[Said]:
        """What is in the book to be acted on, in order."""
        return acted_in(self.book)


def acted_in(path: Path) -> list[Said]:
    """What is in a book to be acted on, in order."""
    book = Book(path, now=lambda: datetime.now(UTC))
    try:
        return [
            (entry.word.alert_id, entry.word.sequence, entry.word.kind.value) for entry in book.entries(limit=1_000_000)
        ]
    finally:
        book.close()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def life_of(alert: str, corrections: int) -> list[Said]:
    """Everything that is said of an alert that is corrected so often and taken back in the end."""
    return [(alert, sequence, kind.value) for sequence in range(corrections + 1) for kind in Kind]


def rows(said: list[Said]) -> pa.Table:
    """Words as they leave fusion, among rows of other outputs."""
    alerts = pa.Table.from_pylist(
        [
            {"alert_id": alert, "sequence": sequence, "kind": kind, "version": version_of(sequence, Kind(kind))}
            | {"object_a": "90001", "object_b": "90002", "closest_ns": 10**18, "miss_m": 120.0, "is_early": True}
            for alert, sequence, kind in said
        ],
        ALERTS.schema,
    )
    others = pa.table([pa.array(["object"] * 2), *(pa.nulls(2, column.type) for column in list(ROWS)[1:])], schema=ROWS)
    return pa.concat_tables([others, pa.Table.from_batches(widened(ALERTS, alerts), ROWS), others])
