"""What the ledger of a real run did, line by line, and a judge of such lines that knows no ledger.

The lines are JSON: what was called, and with what. The judge holds them against the properties of the specification:
batches are numbered without a gap, a lane begins them in order, an answer belongs to an attempt that is under way, rows
are dead letters before their batch is resolved, and no cursor that is stored passes a hole or falls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from holdfast.ledger import Cursors, Ledger

ANSWERS = ("acked", "failed", "holding", "rejecting", "dead_lettered")

Line = dict[str, Any]


@contextmanager
def traced(file: Path) -> Iterator[None]:
    """Every ledger of this process writes down what it does, behind what is there."""
    lock = Lock()
    with file.open("a") as out, pytest.MonkeyPatch.context() as patch:

        def write(**line: object) -> None:
            with lock:
                out.write(json.dumps(line) + "\n")
                out.flush()

        def after(name: str, told: Callable[..., Line]) -> None:
            original = getattr(Ledger, name)

            def call(self: Ledger, *args: Any, **how: Any) -> Any:
                found = original(self, *args, **how)
                write(what=name, **told(self, *args, **how))
                return found

            patch.setattr(Ledger, name, call)

        after("__init__", _opened)
        after("create", lambda _, oseq, ends: {"oseq": oseq})
        after("persisted", lambda _, cursors: _stored(cursors))
        for name in ("begin", *ANSWERS):
            after(name, lambda _, lane, oseq, attempt: {"lane": lane.name, "oseq": oseq, "attempt": attempt})
        yield


def _opened(ledger: Ledger, **_: object) -> Line:
    required = [name for name, lane in ledger.lanes.items() if lane.required]
    return {"last": ledger.batches.last_oseq, "required": required, **_stored(ledger.cursors())}


def _stored(cursors: Cursors) -> Line:
    return {"delivered": dict(cursors.delivered), "committed": cursors.committed}


def read(file: Path) -> list[Line]:
    return [json.loads(line) for line in file.read_text().splitlines()]


class Refused(Exception):
    """A line that no ledger may write."""


def judge(lines: Iterable[Line]) -> None:
    """Accept the lines of any number of lives of a pipeline, or raise `Refused` at the first that cannot be."""
    world = _World()
    for number, line in enumerate(lines, 1):
        try:
            world.take(line)
        except Refused as error:
            raise Refused(f"line {number}, {line['what']}: {error}") from None


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Refused(otherwise)


@dataclass
class _Lane:
    """One lane in one life."""

    delivered: int
    first_begun: int
    attempts: dict[int, int] = field(default_factory=dict)
    under_way: set[int] = field(default_factory=set)
    rejecting: set[int] = field(default_factory=set)
    resolved: set[int] = field(default_factory=set)

    def resolve(self, oseq: int) -> None:
        self.resolved.add(oseq)
        while self.delivered + 1 in self.resolved:
            self.delivered += 1


@dataclass
class _World:
    last: int = 0
    required: tuple[str, ...] = ()
    lanes: dict[str, _Lane] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)
    committed: int = 0
    ever_begun: dict[str, set[int]] = field(default_factory=dict)

    def take(self, line: Line) -> None:
        what = line["what"]
        if what == "__init__":
            self._open(line)
        elif what == "create":
            _must(line["oseq"] == self.last + 1, f"batch {line['oseq']} does not follow {self.last}")
            self.last += 1
        elif what == "persisted":
            self._store(line)
        elif what == "begin":
            self._begin(self.lanes[line["lane"]], line)
        else:
            self._answer(self.lanes[line["lane"]], line)

    def _open(self, line: Line) -> None:
        _must(line["last"] >= self.last, "batches are forgotten")
        for name, at in line["delivered"].items():
            before = self.stored.get(name, 0)
            _must(at >= before, f"the cursor of {name} falls over a restart")
            sent = self.ever_begun.setdefault(name, set())
            _must(sent.issuperset(range(before + 1, at + 1)), f"{name} is said to have what it was never sent")
        _must(line["committed"] >= self.committed, "what is committed falls over a restart")
        self.last, self.required = line["last"], tuple(line["required"])
        self.lanes = {name: _Lane(at, at) for name, at in line["delivered"].items()}
        self.stored, self.committed = dict(line["delivered"]), line["committed"]

    def _begin(self, lane: _Lane, line: Line) -> None:
        oseq, attempt = line["oseq"], line["attempt"]
        _must(oseq <= self.last, "a batch is sent that is not there")
        _must(oseq not in lane.resolved and oseq > lane.delivered, "a batch is sent that is resolved")
        _must(oseq not in lane.under_way, "a batch is sent that is under way")
        if oseq in lane.attempts:
            _must(attempt > lane.attempts[oseq], "an attempt comes again")
        else:
            _must(oseq == lane.first_begun + 1, f"batch {oseq} is sent before {lane.first_begun + 1}")
            lane.first_begun = oseq
        lane.attempts[oseq] = attempt
        lane.under_way.add(oseq)
        self.ever_begun.setdefault(line["lane"], set()).add(oseq)

    @staticmethod
    def _answer(lane: _Lane, line: Line) -> None:
        what, oseq = line["what"], line["oseq"]
        _must(lane.attempts.get(oseq) == line["attempt"], "the answer is to another attempt")
        waiting = lane.rejecting if what == "dead_lettered" else lane.under_way
        _must(oseq in waiting, "nobody waits for the answer")
        waiting.remove(oseq)
        if what in ("acked", "dead_lettered"):
            lane.resolve(oseq)
        elif what == "rejecting":
            lane.rejecting.add(oseq)

    def _store(self, line: Line) -> None:
        for name, at in line["delivered"].items():
            _must(at <= self.lanes[name].delivered, f"the cursor of {name} passes a hole")
            _must(at >= self.stored[name], f"the cursor of {name} falls")
        lowest = min(self.lanes[name].delivered for name in self.required)
        _must(line["committed"] <= lowest, "what is committed passes a required sink")
        _must(line["committed"] >= self.committed, "what is committed falls")
        self.stored, self.committed = dict(line["delivered"]), line["committed"]
