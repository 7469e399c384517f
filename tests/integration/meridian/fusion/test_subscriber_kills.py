"""The real HTTP sink in front of a subscriber that is killed again and again: every word is acted on once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from threading import Thread

import pyarrow as pa
import pytest
from tests.support.sink_lanes import batch_of, identity

from holdfast import Http
from holdfast.model.errors import DeliveryError
from meridian.fusion.subscriber import Book

SERVE = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from aiohttp import web
from meridian.fusion.subscriber import Book
from meridian.fusion.subscriber.server import application
book = Book(Path(sys.argv[1]), now=lambda: datetime.now(UTC))
web.run_app(application(book), host="127.0.0.1", port=int(sys.argv[2]), print=None)
"""
WORDS, KILLS = 20, 8


class Subscriber:
    """A subscriber in a process of its own."""

    def __init__(self, book: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._command = [sys.executable, "-c", SERVE, str(book), str(self.port)]
        self.process = subprocess.Popen(self._command)

    def killed_often(self, random: Random) -> None:
        """Kill and start it, again and again, each time shortly after it answers."""
        for _ in range(KILLS):
            self._answering()
            time.sleep(random.uniform(0.0, 0.3))
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = subprocess.Popen(self._command)

    def _answering(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.01)
        raise TimeoutError("the subscriber did not come back")


def words(oseq: int) -> pa.Table:
    """Alerts of a batch, of which every other is corrected in the next one."""
    said = [(f"alert-{oseq}-{number}", 0, "insert") for number in range(WORDS)]
    corrected = [(f"alert-{oseq - 1}-{number}", 0, "retract") for number in range(0, WORDS, 2)] if oseq > 1 else []
    columns = list(zip(*said, *corrected, strict=True))
    return pa.table([list(column) for column in columns], names=["alert_id", "sequence", "kind"])


def delivered(sink: Http, oseq: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            return sink.deliver(batch_of(oseq, words(oseq)))
        except DeliveryError:
            assert time.monotonic() < deadline, "the subscriber did not come back"
            time.sleep(0.02)


@pytest.mark.req("DLV-10")
def test_every_word_is_acted_on_once_through_kills_of_the_subscriber(tmp_path: Path) -> None:
    subscriber, last = Subscriber(tmp_path / "book.db"), 0
    sink = Http(f"http://127.0.0.1:{subscriber.port}/alerts", timeout=5)
    sink.open(identity())
    killer = Thread(target=subscriber.killed_often, args=(Random(7),))
    killer.start()
    try:
        while killer.is_alive():
            last += 1
            delivered(sink, last)
            delivered(sink, last)  # as a sender does that was killed before it knew of the answer
    finally:
        killer.join()
        sink.close()
        subscriber.process.kill()
        subscriber.process.wait()
    entries = Book(tmp_path / "book.db", now=lambda: datetime.now(UTC)).entries(limit=1_000_000)
    acted = [(entry.word.alert_id, entry.word.sequence, entry.word.kind.value) for entry in entries]
    sent = [tuple(row.values()) for oseq in range(1, last + 1) for row in words(oseq).to_pylist()]
    assert acted == sent
