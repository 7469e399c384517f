"""Senders of pushes that write down what was answered, and a look from outside at what is in the sink."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import urllib3

from tests.support.http_life import TABLE

GIVES_UP = 7
"""Every so many pushes a sender does not repeat one that was not answered."""


@dataclass
class Sender:
    """Pushes one request after another, each under a key of its own, and writes down what was answered."""

    number: int
    address: str
    answered: dict[str, list[str]] = field(default_factory=dict)
    """The rows of every push that was answered with 200, by its key."""
    open: dict[str, list[str]] = field(default_factory=dict)
    """The rows of pushes that were given up without an answer."""
    lost_answers: int = 0
    """How often a push was repeated under its key, and the answer said that it had been there."""

    def run(self, stop: threading.Event) -> None:
        with urllib3.PoolManager(retries=False) as pool:
            pushes = 0
            while not stop.is_set():
                pushes += 1
                self._push(pool, f"{self.number}-{pushes}", rows=1 + pushes % 5, stubborn=bool(pushes % GIVES_UP))

    def _push(self, pool: urllib3.PoolManager, key: str, *, rows: int, stubborn: bool) -> None:
        texts = [json.dumps({"key": key, "row": row}) for row in range(rows)]
        body, content_type = (
            (f"[{','.join(texts)}]", "application/json") if rows % 2 else ("\n".join(texts), "application/x-ndjson")
        )
        headers = {"content-type": content_type, "idempotency-key": key}
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(urllib3.exceptions.HTTPError):
                answer = pool.request("POST", self.address, body=body, headers=headers, timeout=10, retries=False)
                if answer.status == 200:
                    self.answered[key] = texts
                    self.lost_answers += answer.json()["repeated"] > 0
                    return
                assert answer.status == 503, answer.data
            if not stubborn:
                self.open[key] = texts
                return
            time.sleep(0.005)
        raise AssertionError(f"push {key} was not answered for a minute")


@contextmanager
def sending(count: int, port: int) -> Iterator[list[Sender]]:
    """Senders that push until the end."""
    stop = threading.Event()
    senders = [Sender(number, f"http://127.0.0.1:{port}/v1/events") for number in range(count)]
    threads = [threading.Thread(target=sender.run, args=(stop,)) for sender in senders]
    for thread in threads:
        thread.start()
    try:
        yield senders
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def answers(senders: list[Sender]) -> int:
    """How many pushes were answered."""
    return sum(len(sender.answered) for sender in senders)


def wait_for_answers(senders: list[Sender], *, above: int) -> None:
    """Return when there are more answers."""
    deadline = time.monotonic() + 60
    while answers(senders) <= above:
        assert time.monotonic() < deadline, "nothing was answered for a minute"
        time.sleep(0.002)


def reconcile(directory: Path, senders: list[Sender]) -> None:
    """The table holds every push that was answered once, whole and in its sender's order; else only open ones."""
    with closing(sqlite3.connect(directory / "sink.db")) as db:
        found = [payload for (payload,) in db.execute(f"SELECT payload FROM {TABLE} ORDER BY rowid")]
    times = Counter(found)
    answered = [text for sender in senders for texts in sender.answered.values() for text in texts]
    still_open = [texts for sender in senders for texts in sender.open.values()]
    missing = [text for text in answered if not times[text]]
    doubled = [text for text, count in times.items() if count > 1]
    foreign = times.keys() - {*answered, *(text for texts in still_open for text in texts)}
    torn = [texts for texts in still_open if len({times[text] for text in texts}) > 1]
    assert (missing[:5], doubled[:5], sorted(foreign)[:5], torn[:5]) == ([], [], [], [])
    for sender in senders:
        mine = [json.loads(text)["key"] for text in found if json.loads(text)["key"].startswith(f"{sender.number}-")]
        assert mine == sorted(mine, key=lambda key: int(key.partition("-")[2])), "a sender's pushes are in its order"
