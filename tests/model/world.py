"""The real ledger in a small world: an outbox, sinks, dead letters and a cursor store that survive a crash.

A world has operations (what can happen next) and remembers the raw history of what happened, from which the oracle in
`tests.model.oracle` works out what the ledger ought to say. Nothing of the ledger's logic is repeated here: a world
only calls it, and keeps what a disk or a sink would keep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.ledger.cursors import Cursors
from holdfast.ledger.decisions import Acknowledge, DeadLetter, Release, Vanished, WriteCursors
from holdfast.ledger.lane import Lane, LaneSpec, Start
from holdfast.ledger.ledger import Ledger, Phase
from holdfast.ledger.policy import All, Policy, Quorum, Required
from holdfast.ledger.resume import Batch, Resume
from holdfast.ledger.tickets import Queued, Rejecting, Sending
from holdfast.model.errors import InvalidPolicy, LedgerError, NotDrained, NotRetained, PhaseRefused, TicketUsed
from holdfast.model.positions import Seq

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from holdfast.ledger.cursors import StopRecord
    from holdfast.ledger.gaps import Gaps
    from holdfast.model.positions import Position

RUNNING, DRAINING, STOPPED = Phase.RUNNING, Phase.DRAINING, Phase.STOPPED
SOURCES = ("s1", "s2", "s3")
Operation = tuple[str, *tuple[object, ...]]


class Violation(AssertionError):
    """An invariant does not hold; the message starts with its name."""


@dataclass(frozen=True)
class Bounds:
    """How large a world may grow. Budgets are spent by the operations of the same name."""

    lanes: tuple[LaneSpec, ...]
    policy: Policy = field(default_factory=Required)
    remembering: frozenset[str] = frozenset()
    """Sinks that keep a cursor of their own, in the same transaction as the rows."""
    batches: int = 2
    troubles: int = 1
    """How many attempts may fail, be held or vanish."""
    rejects: int = 1
    crashes: int = 1
    restores: int = 0
    """How many sinks may be found restored from an older backup."""
    changes: int = 0
    """How many sinks may be added or removed, and policies changed."""
    spare: LaneSpec | None = None
    """The sink that may be added."""
    policies: tuple[Policy, ...] = ()
    rollbacks: int = 0


def ends_of(oseq: int) -> dict[str, Position]:
    """Batch n moves one of the sources, and every third batch none: an empty batch."""
    return {SOURCES[oseq % 3]: Seq(oseq)} if oseq % 3 != 2 or oseq == 2 else {}


class World:
    """A ledger, everything durable around it, and the history that led here."""

    __slots__ = (
        "base",
        "bounds",
        "budget",
        "detached",
        "gaps",
        "joined",
        "last_stop",
        "ledger",
        "letters",
        "outbox",
        "peak",
        "resolved",
        "since",
        "sink_cursor",
        "stored",
        "stored_peak",
        "told",
        "trimmed",
        "unconfirmed",
        "void",
        "voided",
    )

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.budget = [
            bounds.batches,
            bounds.troubles,
            bounds.rejects,
            bounds.crashes,
            bounds.restores,
            bounds.changes,
            bounds.rollbacks,
        ]
        # What a disk and the sinks keep.
        self.outbox: tuple[int, ...] = ()
        self.void: frozenset[int] = frozenset()
        self.voided = 0
        self.trimmed = 0
        self.stored = Cursors(delivered={})
        self.letters: frozenset[tuple[str, int]] = frozenset()
        self.sink_cursor: dict[str, int] = dict.fromkeys(sorted(bounds.remembering), 0)
        self.told: dict[str, int] = {}
        # What happened, for the oracle.
        self.base = {spec.name: 0 for spec in bounds.lanes}
        self.resolved: dict[str, frozenset[int]] = {spec.name: frozenset() for spec in bounds.lanes}
        self.peak = dict(self.base)
        self.joined = frozenset(self.base)
        self.since = dict(self.base)
        self.stored_peak: dict[str, int] = {}
        self.detached: dict[str, LaneSpec] = {}
        self.gaps: dict[str, tuple[tuple[int, int | None], ...]] = {}
        """What every sink misses: after which batch, through which."""
        self.last_stop: StopRecord | None = None
        self.unconfirmed: Cursors | None = None
        self.ledger = Ledger(sources=SOURCES, lanes=bounds.lanes, policy=bounds.policy)

    # What can happen next

    def operations(self) -> Iterator[Operation]:
        """Every operation that is possible in this state, within the bounds."""
        ledger, phase = self.ledger, self.ledger.phase
        batches, troubles, rejects, crashes, _, changes, rollbacks = self.budget
        if batches and phase is not STOPPED:
            yield ("create",)
        if phase is RUNNING:
            if changes:
                yield from self._changes()
            if rollbacks:
                yield from self._rollbacks()
        if phase is not STOPPED:
            yield ("force_stop",)
            yield ("drain",) if phase is RUNNING else ("stop",)
            for name, lane in ledger.lanes.items():
                yield from self._lane_operations(name, lane, troubles, rejects)
        if ledger._changed:
            yield ("write",)
        if self.unconfirmed is not None:
            yield ("confirm",)
        if crashes:
            yield from self._crashes()

    def _lane_operations(self, name: str, lane: Lane, troubles: int, rejects: int) -> Iterator[Operation]:
        if lane.next_batch() is not None:
            yield ("send", name)
        for oseq in lane.in_flight:
            applied = self._applied(name, oseq)
            if not applied:
                yield ("apply", name, oseq)
            else:
                yield ("ack", name, oseq)
            if troubles:
                yield ("fail", name, oseq)
                yield ("hold", name, oseq)
                yield ("vanish", name, oseq)
            if rejects and not (applied and name in self.sink_cursor):
                yield ("reject", name, oseq)
        for oseq in (*lane.retrying, *lane.held, *lane.dead_lettering):
            yield ("retry", name, oseq)
        for oseq in lane.dead_lettering:
            yield ("dead_lettered", name, oseq) if (name, oseq) in self.letters else ("bury", name, oseq)

    def _changes(self) -> Iterator[Operation]:
        if self.ledger.gaps != self.stored.gaps:
            return  # the shell's second rule: what a policy can do without must be on disk before it changes again
        spare = self.bounds.spare
        if spare is not None and spare.name not in {*self.ledger.lanes, *self.detached}:
            yield ("add_lane", Start.EARLIEST)
            yield ("add_lane", Start.NOW)
        for name, lane in self.ledger.lanes.items():
            yield ("remove_lane", name)
            if not lane.required:
                yield ("detach_lane", name)
        for name in self.detached:
            yield ("attach_lane", name)
        for policy in self.bounds.policies:
            if policy != self.ledger.policy:
                yield ("change_policy", policy)

    def _rollbacks(self) -> Iterator[Operation]:
        lanes = self.ledger.lanes
        for name, lane in lanes.items():
            if not lane.unresolved:
                yield from (("roll_back_lane", name, to) for to in range(self.trimmed, lane.delivered))
        if not any(lane.unresolved for lane in lanes.values()):
            yield from (("roll_back", to) for to in {self.trimmed, *self.outbox} if to < self.ledger.batches.last_oseq)

    def _crashes(self) -> Iterator[Operation]:
        yield ("crash", None, 0)
        if self.budget[4]:
            for name, cursor in self.sink_cursor.items():
                yield from (("crash", name, lower) for lower in range(cursor))

    # Doing it

    def perform(self, operation: Operation) -> None:
        """Let one operation happen."""
        getattr(self, "do_" + operation[0])(*operation[1:])

    def do_create(self) -> None:
        oseq = self.ledger.batches.last_oseq + 1
        if self.ledger.phase is DRAINING:
            self._must_refuse(
                PhaseRefused, lambda: self.ledger.create(oseq, {}), "DrainCompleteness: a batch was created"
            )
            return
        self.budget[0] -= 1
        self.outbox = (*self.outbox, oseq)
        self.ledger.create(oseq, ends_of(oseq))

    def do_send(self, name: str) -> None:
        lane = self.ledger.lanes[name]
        ticket = self.ledger.next(name)
        if self.ledger.phase is DRAINING:
            early = Queued(self.ledger, lane, lane.queued[0], 1)
            self._must_refuse(PhaseRefused, early.send, "DrainCompleteness: a batch was sent for the first time")
        elif ticket is None:
            raise Violation(f"NoBatchLeftBehind: {name} has batches to send and gets none")
        else:
            self._send(lane, ticket)

    def do_retry(self, name: str, oseq: int) -> None:
        lane = self.ledger.lanes[name]
        ticket = self.ledger.retry(name, oseq)
        self._send(lane, ticket)
        stale = Sending(self.ledger, lane, oseq, ticket.attempt - 1)
        self._must_refuse(TicketUsed, stale.ack, f"NoDoubleComplete: a ticket of an earlier attempt resolved {oseq}")

    def do_apply(self, name: str, oseq: int) -> None:
        """The sink takes the rows and its own cursor in one transaction; the answer is still on its way."""
        if oseq <= self.sink_cursor[name]:
            raise Violation(f"NoDoubleComplete: sink {name} was given batch {oseq} a second time")
        self.sink_cursor = {**self.sink_cursor, name: oseq}

    def do_ack(self, name: str, oseq: int) -> None:
        ticket = self._sending(name, oseq)
        ticket.ack()
        self._resolved(name, oseq)
        self._must_refuse(TicketUsed, ticket.ack, f"NoDoubleComplete: the ticket for {name}/{oseq} was used twice")

    def do_fail(self, name: str, oseq: int) -> None:
        self.budget[1] -= 1
        ticket = self._sending(name, oseq)
        ticket.fail()
        self._must_refuse(TicketUsed, ticket.ack, f"NoDoubleComplete: the ticket for {name}/{oseq} was used twice")

    def do_hold(self, name: str, oseq: int) -> None:
        self.budget[1] -= 1
        self._sending(name, oseq).hold()

    def do_vanish(self, name: str, oseq: int) -> None:
        self.budget[1] -= 1
        self._sending(name, oseq)
        before = self.ledger._changed
        reported = [d for d in self.ledger.decisions() if isinstance(d, Vanished)]
        self.ledger._changed = before
        if [(d.lane, d.oseq) for d in reported] != [(name, oseq)]:
            raise Violation(f"NoBatchLeftBehind: a vanished ticket for {name}/{oseq} was reported as {reported}")

    def do_reject(self, name: str, oseq: int) -> None:
        self.budget[2] -= 1
        self._sending(name, oseq).reject()
        if DeadLetter(name, oseq) not in self.ledger._due:
            raise Violation(f"NoBatchLeftBehind: rejecting {name}/{oseq} asked for no dead letter")

    def do_bury(self, name: str, oseq: int) -> None:
        self.letters |= {(name, oseq)}

    def do_dead_lettered(self, name: str, oseq: int) -> None:
        lane = self.ledger.lanes[name]
        Rejecting(self.ledger, lane, oseq, lane.dead_lettering[oseq]).dead_lettered()
        self._resolved(name, oseq)

    def do_write(self) -> None:
        """The cursors reach the disk. A crash may follow before the ledger hears of it."""
        for decision in self.ledger.decisions():
            if isinstance(decision, WriteCursors):
                self.stored = self.unconfirmed = decision.cursors
                for source, at in _numbers(self.stored.positions).items():
                    self.stored_peak = {**self.stored_peak, source: max(at, self.stored_peak.get(source, 0))}

    def do_confirm(self) -> None:
        """The ledger hears that its cursors are durable; sources are told and the outbox is trimmed."""
        assert self.unconfirmed is not None
        cursors, self.unconfirmed = self.unconfirmed, None
        before = self.ledger._changed
        self.ledger._changed = False
        self.ledger.persisted(cursors)
        for decision in self.ledger.decisions():
            if isinstance(decision, Acknowledge):
                self.told = {**self.told, **_numbers(decision.positions)}
            elif isinstance(decision, Release):
                self._check_release(decision.through)
                self.trimmed = decision.through
                self.outbox = tuple(oseq for oseq in self.outbox if oseq > decision.through)
        self.ledger._changed = before

    def do_drain(self) -> None:
        self.ledger.drain()

    def do_stop(self) -> None:
        if any(lane.in_flight or lane.retrying or lane.held or lane.dead_lettering for lane in self._all_lanes()):
            self._must_refuse(NotDrained, self.ledger.stop, "DrainCompleteness: stopped with batches unresolved")
        else:
            self.last_stop = self.ledger.stop()

    def do_force_stop(self) -> None:
        owed = {lane.name: lane.unresolved_batches for lane in self._all_lanes() if lane.unresolved}
        self.last_stop = self.ledger.force_stop()
        if dict(self.last_stop.abandoned) != owed:
            raise Violation(f"DrainCompleteness: {owed} was unresolved, {self.last_stop.abandoned} is listed")
        again = {name: self._answered_above(name) for name in self.base if self._answered_above(name)}
        if dict(self.last_stop.answered) != again:
            raise Violation(f"DrainCompleteness: {again} is answered, {self.last_stop.answered} is listed")

    def do_crash(self, restored: str | None, cursor: int) -> None:
        """Only what is durable survives. One sink may have come back from an older backup."""
        self.budget[3] -= 1
        if restored is not None:
            self.budget[4] -= 1
            self.sink_cursor = {**self.sink_cursor, restored: cursor}
        batches = [Batch(oseq, ends_of(oseq)) for oseq in self.outbox]
        lanes = {**{lane.name: lane.spec for lane in self._all_lanes()}, **self.detached}
        known = Resume(
            self.stored,
            batches=batches,
            last_oseq=max((self.voided, self.trimmed, *self.outbox)),
            trimmed=self.trimmed,
            sink_cursors={name: cursor for name, cursor in self.sink_cursor.items() if name in lanes},
        )
        self.ledger = Ledger(sources=SOURCES, lanes=lanes.values(), policy=self.ledger.policy, known=known)
        self.unconfirmed = self.last_stop = None
        self.gaps = {name: _pairs(gaps) for name, gaps in self.stored.gaps.items() if name in lanes}
        self.detached = {name: lanes[name] for name, gaps in self.gaps.items() if gaps and gaps[-1][1] is None}
        self.base = {name: lane.delivered for name, lane in self.ledger.lanes.items()}
        self.resolved = {name: frozenset() for name in self.base}
        counted = frozenset(self.stored.delivered) - frozenset(self.stored.joining)
        self.since = {name: self._since(name, at) for name, at in self.base.items()}
        self.joined = frozenset(self.base) & counted
        vouching = {name for name in self.base if name in self.joined or self.since[name] <= self.stored.committed}
        if not self._can_meet(self.ledger.policy, vouching):  # nobody can vouch, so those that began first count
            self.joined = frozenset(name for name, lane in self.ledger.lanes.items() if lane.counts)
        self._check_restart()

    def do_add_lane(self, start: Start) -> None:
        self.budget[5] -= 1
        spare = self.bounds.spare
        assert spare is not None
        spec = LaneSpec(spare.name, spare.required, spare.max_inflight, start)
        try:
            began = self.ledger.add_lane(spec)
        except NotRetained:
            if not self.trimmed:
                raise Violation("NoBatchLeftBehind: a new lane was refused although every batch is kept") from None
            return
        self.base = {**self.base, spare.name: began.delivered}
        self.since = {**self.since, spare.name: began.delivered}
        self.peak = {**self.peak, spare.name: max(began.delivered, self.peak.get(spare.name, 0))}
        self.resolved = {**self.resolved, spare.name: frozenset()}

    def do_remove_lane(self, name: str) -> None:
        self.budget[5] -= 1
        try:
            self.ledger.remove_lane(name)
        except InvalidPolicy:
            return
        self._gone(name)
        self.gaps = {lane: gaps for lane, gaps in self.gaps.items() if lane != name}

    def do_detach_lane(self, name: str) -> None:
        self.budget[5] -= 1
        spec, after = self.ledger.lanes[name].spec, self.resolved_prefix(name)
        try:
            self.ledger.detach_lane(name)
        except InvalidPolicy:
            return
        self.detached = {**self.detached, name: spec}
        self.gaps = {**self.gaps, name: (*self.gaps.get(name, ()), (after, None))}
        self._gone(name)

    def do_attach_lane(self, name: str) -> None:
        """The sink's own cursor is moved over what is gone, before the lane is added."""
        self.budget[5] -= 1
        *before, (after, _) = self.gaps[name]
        own = self.sink_cursor.get(name)
        if own is not None and own < self.trimmed:
            self._must_refuse(
                NotRetained,
                lambda: self.ledger.attach_lane(self.detached[name], sink_cursor=own),
                "NoBatchLeftBehind: a lane was attached in front of what is gone",
            )
            self.sink_cursor = {**self.sink_cursor, name: self.trimmed}
        began = self.ledger.attach_lane(self.detached[name], sink_cursor=self.sink_cursor.get(name), had=own)
        missed = [(min(after, own if own is not None else after), began.delivered)]
        self.gaps = {**self.gaps, name: (*before, *(gap for gap in missed if gap[1] > gap[0]))}
        self.detached = {lane: spec for lane, spec in self.detached.items() if lane != name}
        self.base = {**self.base, name: began.delivered}
        self.since = {**self.since, name: began.delivered}
        self.peak = {**self.peak, name: max(began.delivered, self.peak.get(name, 0))}
        self.resolved = {**self.resolved, name: frozenset()}

    def do_change_policy(self, policy: Policy) -> None:
        self.budget[5] -= 1
        vouching = {n for n in self.base if n in self.joined or self.since[n] <= self.ledger.committed}
        if self._can_meet(policy, vouching):
            self.ledger.change_policy(policy)
        else:
            otherwise = f"PolicyGate: {policy} can never be met, and was taken"
            self._must_refuse(InvalidPolicy, lambda: self.ledger.change_policy(policy), otherwise)

    def do_roll_back_lane(self, name: str, to: int) -> None:
        self.budget[6] -= 1
        self.ledger.roll_back_lane(name, to)
        self._rewound(name)

    def do_roll_back(self, to: int) -> None:
        """The outbox is cut and the cursors are written in one journalled step."""
        self.budget[6] -= 1
        last = self.ledger.batches.last_oseq
        ends = self.positions_at(to)
        self.ledger.roll_back(to, ends)
        self.void |= {oseq for oseq in self.outbox if oseq > to}
        self.outbox = tuple(oseq for oseq in self.outbox if oseq <= to)
        self.voided = last
        for name in self.ledger.lanes:
            self._rewound(name)
        self.do_write()

    # Helpers

    def resolved_prefix(self, name: str) -> int:
        """The last batch such that it and every batch before it are resolved by this sink, from history alone."""
        base, resolved = self.base[name], self.resolved[name]
        prefix = base
        for oseq in self.outbox:
            if oseq <= base:
                continue
            if oseq not in resolved:
                break
            prefix = oseq
        if prefix < self.trimmed:  # released batches were resolved by everyone, or the lane started behind them
            prefix = max(prefix, max((oseq for oseq in resolved if oseq <= self.trimmed), default=prefix))
        return prefix

    def _answered_above(self, name: str) -> tuple[int, ...]:
        """What the sink has resolved above a batch that it has not, from history alone."""
        return tuple(sorted(oseq for oseq in self.resolved[name] if oseq > self.resolved_prefix(name)))

    def _gone(self, name: str) -> None:
        self.base = {lane: at for lane, at in self.base.items() if lane != name}
        self.resolved = {lane: at for lane, at in self.resolved.items() if lane != name}
        self.joined -= {name}

    def positions_at(self, oseq: int) -> Mapping[str, Position]:
        """Where the sources stand after batch `oseq`, from the history of batches alone."""
        positions: dict[str, Position] = {}
        for number in range(1, oseq + 1):
            if self.happened(number):
                positions.update(ends_of(number))
        return positions

    def happened(self, oseq: int) -> bool:
        """Whether a batch of this number is in the outbox, or was before it was released."""
        return oseq not in self.void and (oseq in self.outbox or oseq <= self.trimmed)

    @staticmethod
    def _send(lane: Lane, ticket: Queued) -> None:
        ticket.send()
        lane.vanished.clear()  # in this world the caller keeps the ticket in its hand

    def _sending(self, name: str, oseq: int) -> Sending:
        lane = self.ledger.lanes[name]
        return Sending(self.ledger, lane, oseq, lane.in_flight[oseq])

    def _resolved(self, name: str, oseq: int) -> None:
        if oseq in self.resolved[name]:
            raise Violation(f"NoDoubleComplete: batch {oseq} of {name} was resolved twice")
        self.resolved = {**self.resolved, name: self.resolved[name] | {oseq}}

    def _rewound(self, name: str) -> None:
        delivered = self.ledger.lanes[name].delivered
        self.base = {**self.base, name: delivered}
        self.since = {**self.since, name: min(self.since[name], delivered)}
        self.resolved = {**self.resolved, name: frozenset()}

    def _applied(self, name: str, oseq: int) -> bool:
        return name not in self.sink_cursor or self.sink_cursor[name] >= oseq

    def _all_lanes(self) -> Iterator[Lane]:
        yield from self.ledger.lanes.values()

    def _since(self, name: str, base: int) -> int:
        """The batch after which a lane first began, as far as anybody knows after a crash."""
        if name in self.stored.delivered:
            return self.stored.joining.get(name, base)
        return base if self.ledger.lanes[name].spec.start is Start.NOW else 0

    def _can_meet(self, policy: Policy, vouching: set[str]) -> bool:
        required = {name for name in vouching if self.ledger.lanes[name].required}
        if isinstance(policy, Required):
            return bool(required)
        return len(vouching) >= (policy.n if isinstance(policy, Quorum) else 1)

    @staticmethod
    def _must_refuse(error: type[LedgerError], use: Callable[[], object], otherwise: str) -> None:
        try:
            use()
        except error:
            return
        except Exception as other:
            raise Violation(otherwise) from other
        raise Violation(otherwise)

    def _check_release(self, through: int) -> None:
        lanes = self.ledger.lanes
        needed = [self.stored.committed, *(self.stored.delivered.get(n, lanes[n].delivered) for n in lanes)]
        if through > min(needed):
            raise Violation(f"ReleasedIsDelivered: released through {through}, but the stored cursors need {needed}")

    def _check_restart(self) -> None:
        for name, lane in self.ledger.lanes.items():
            own = self.sink_cursor.get(name)
            if own is not None and lane.delivered != own:
                raise Violation(f"CheckpointOrdering: sink {name} holds {own}, its lane restarts at {lane.delivered}")
        if self.ledger.committed < self.stored.committed:
            raise Violation(f"CommittedMonotonic: stored {self.stored.committed}, came back as {self.ledger.committed}")


def _pairs(gaps: Gaps) -> tuple[tuple[int, int | None], ...]:
    return tuple((gap.after, gap.through) for gap in gaps)


def _numbers(positions: Mapping[str, Position]) -> dict[str, int]:
    return {source: position.value for source, position in positions.items() if isinstance(position, Seq)}


POLICIES: tuple[Policy, ...] = (Required(), All(), Quorum(1), Quorum(2))
