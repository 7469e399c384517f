"""One wrong line at a time in the real ledger, to see that the checkers would notice (M12)."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.ledger import ledger as ledger_module
from holdfast.ledger.batches import Batches
from holdfast.ledger.lane import Lane
from holdfast.ledger.ledger import Ledger

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True)
class Sabotage:
    """A line of a function and what to put in its place; `breaks` is the invariant that must be reported."""

    breaks: str
    owner: object
    function: str
    right: str
    wrong: str
    world: str
    """The exploration that must find it."""

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Replace the function by its sabotaged copy until the test ends."""
        original = inspect.unwrap(getattr(self.owner, self.function))
        source = textwrap.dedent(inspect.getsource(original))
        assert source.count(self.right) == 1, f"{self.right!r} must stand exactly once in {self.function}"
        scope: dict[str, object] = {}
        exec(compile(source.replace(self.right, self.wrong), "<sabotage>", "exec"), original.__globals__, scope)
        monkeypatch.setattr(self.owner, self.function, scope[self.function])


ONE = "one lane, answers out of order"
TWO = "two lanes"
OWN = "a sink with its own cursor"
CHANGE = "sinks and policies come and go"
DETACHED = "a sink is detached and attached"
ROLLBACK = "rollback"

SABOTAGES: dict[str, Sabotage] = {
    "the cursor jumps to an answer above a hole": Sabotage(
        "CheckpointNeverAheadOfTerminalizedPrefix",
        Lane,
        "_resolve",
        "pending.add(oseq)",
        "pending.add(oseq); self.delivered = oseq",
        ONE,
    ),
    "holding a batch counts as done": Sabotage(
        "CheckpointOrdering",
        Lane,
        "hold",
        "self.held[oseq] = attempt",
        "self.held[oseq] = attempt; self.delivered = oseq",
        ONE,
    ),
    "an answered batch stays in flight": Sabotage("NoDoubleComplete", Lane, "_take", "del place[oseq]", "pass", ONE),
    "a sink's own cursor is ignored": Sabotage(
        "CheckpointOrdering",
        ledger_module,
        "lane_start",
        "if sinks is not None:",
        "if sinks is not None and ours is None:",
        OWN,
    ),
    "committed follows the policy down": Sabotage(
        "CommittedMonotonic", Ledger, "_settle", "prefix > self.committed", "prefix != self.committed", OWN
    ),
    "draining lets new batches out": Sabotage(
        "DrainCompleteness",
        Ledger,
        "begin",
        "(self.phase is _STOPPED or attempt == 1)",
        "(self.phase is _STOPPED)",
        ONE,
    ),
    "a stop forgets what was in flight": Sabotage(
        "DrainCompleteness", Ledger, "stop", "if waiting:", "if waiting and self.committed:", ONE
    ),
    "a failed batch is forgotten": Sabotage(
        "NoBatchLeftBehind", Lane, "fail", "self.retrying[oseq] = attempt + 1", "pass", ONE
    ),
    "a vanished ticket is forgotten": Sabotage(
        "NoBatchLeftBehind", Ledger, "_report_vanished", "lane.hold(oseq, attempt)", "del lane.in_flight[oseq]", ONE
    ),
    "a new sink gets nothing old": Sabotage(
        "NoBatchLeftBehind",
        Ledger,
        "_begin_lane",
        "batches = self.batches.after(start.delivered)",
        "batches = self.batches.after(self.batches.last_oseq)",
        CHANGE,
    ),
    "a ticket of an earlier attempt is taken": Sabotage(
        "NoDoubleComplete", Lane, "_take", "if place.get(oseq) != attempt:", "if oseq not in place:", ONE
    ),
    "one required sink is enough": Sabotage(
        "PolicyGate",
        ledger_module,
        "policy_prefix",
        "if lane.counts and lane.required]",
        "if lane.counts]",
        TWO,
    ),
    "a new sink counts for what it never got": Sabotage(
        "PolicyGate", Lane, "join", "not self.since <= committed <= self.delivered", "False", CHANGE
    ),
    "an answer is counted twice": Sabotage(
        "ConservationPerStage", Lane, "acknowledge", "self.acked += 1", "self.acked += 2", ONE
    ),
    "the cursor moves before the dead letters": Sabotage(
        "CheckpointOrdering",
        Lane,
        "reject",
        "self.dead_lettering[oseq] = attempt",
        "self._resolve(oseq)",
        ONE,
    ),
    "one batch too many in flight": Sabotage(
        "AtMostMaxInflight", Lane, "next_batch", "in_use >= self.max_inflight", "in_use > self.max_inflight", ONE
    ),
    "sources are told what is not yet stored": Sabotage(
        "AcknowledgedIsDurable",
        Ledger,
        "persisted",
        "for source, at in cursors.positions.items()",
        "for source, at in self.positions.items()",
        ONE,
    ),
    "sources are told a batch too far": Sabotage(
        "PositionsBelongToCommitted",
        Batches,
        "commit_through",
        "uncommitted[0][0] <= oseq",
        "uncommitted[0][0] <= oseq + 1",
        ONE,
    ),
    "a rollback keeps the sources where they were": Sabotage(
        "PositionsBelongToCommitted",
        Ledger,
        "roll_back",
        "self.committed, self.positions = to, dict(ends)",
        "self.committed = to",
        ROLLBACK,
    ),
    "a rollback leaves no record": Sabotage(
        "CommittedMonotonic", Ledger, "_note_rollback", "self.rollbacks += 1", "pass", ROLLBACK
    ),
    "a sink is detached without a record of what it misses": Sabotage(
        "NoBatchLeftBehind", Ledger, "detach_lane", "self.gaps[name] = gaps", "pass", DETACHED
    ),
    "batches are released before the slowest sink has them": Sabotage(
        "ReleasedIsDelivered",
        Ledger,
        "persisted",
        "min([cursors.committed, *cursors.delivered.values(), *self._pins(cursors)])",
        "cursors.committed",
        TWO,
    ),
}
