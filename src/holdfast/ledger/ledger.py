"""The state machine that decides what is committed. No I/O, no clock, no thread, no randomness.

Batches come in with `create`, tickets go out with `next`, answers come back through the tickets, and what is to be done
about it is collected from `decisions`. The ledger is used from one thread at a time.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from holdfast.ledger.batches import Batches
from holdfast.ledger.cursors import Cursors, StopReason, StopRecord
from holdfast.ledger.decisions import Acknowledge, DeadLetter, Decision, Release, Retry, Vanished, WriteCursors
from holdfast.ledger.gaps import Gap, closed, is_detached
from holdfast.ledger.lane import Lane, LaneSpec
from holdfast.ledger.policy import Policy, Required, check_policy, policy_prefix
from holdfast.ledger.resume import LaneStart, Resume, Route, attached_start, lane_start
from holdfast.ledger.tickets import Queued
from holdfast.model.errors import InvalidPolicy, LaneExists, NotDrained, PhaseRefused, RollbackRefused, UnknownLane
from holdfast.model.positions import Order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.model.positions import Position


class Phase(Enum):
    """What the ledger accepts."""

    RUNNING = "running"
    DRAINING = "draining"
    """No batch is created and none is sent for the first time; what was sent may be retried and answered."""
    STOPPED = "stopped"


# Reading a member off an Enum costs as much as the rest of a phase check (Python 3.11), and every operation has one.
_RUNNING, _DRAINING, _STOPPED = Phase.RUNNING, Phase.DRAINING, Phase.STOPPED


class Ledger:
    """Lanes, their tickets, and `committed`: the batch up to which the policy is met.

    :param sources: the sources whose positions batches carry.
    :param lanes: the sinks declared.
    :param known: what is known from before; nothing for the first start of a pipeline.

    Execute the first decisions before anything is created or sent: until the cursors on disk name every lane, a crash
    would let a lane that starts at `now` begin anew, behind what it was already owed.
    """

    __slots__ = (
        "_changed",
        "_due",
        "_told",
        "batches",
        "committed",
        "gaps",
        "lanes",
        "phase",
        "policy",
        "positions",
        "rollbacks",
        "starts",
        "stop_record",
    )

    def __init__(
        self,
        *,
        sources: Iterable[str],
        lanes: Iterable[LaneSpec],
        policy: Policy | None = None,
        known: Resume | None = None,
    ) -> None:
        known = known or Resume()
        self.policy = policy or Required()
        self.phase = _RUNNING
        self.stop_record: StopRecord | None = None
        self.batches = Batches(sources, known)
        self.committed = known.cursors.committed
        """Every batch up to this one meets the policy; it falls only by rollback."""
        self.positions = dict(known.cursors.positions)
        """Where each source stands after `committed`: its safe point."""
        self.rollbacks = known.cursors.rollbacks
        self.lanes: dict[str, Lane] = {}
        self.starts: dict[str, LaneStart] = {}
        """Where each lane began and why, for the log and for status."""
        self._told: dict[str, Position] = {}
        self._due: list[Decision] = []
        self._changed = False
        declared = list(lanes)
        self.gaps = {spec.name: known.cursors.gaps[spec.name] for spec in declared if spec.name in known.cursors.gaps}
        """What sinks missed while their lanes were detached."""
        for spec in declared:
            if not is_detached(self.gaps.get(spec.name, ())):
                self._open_lane(spec, known)
        check_policy(self.policy, (lane.required for lane in self.lanes.values()))
        self._let_someone_count()
        self._settle()

    # Batches and tickets

    def create(self, oseq: int, ends: Mapping[str, Position]) -> None:
        """A batch is in the outbox: every lane owes it to its sink.

        :param oseq: its number, above every number used before.
        :param ends: where each source that moved stands after the batch; empty for an empty batch.
        """
        if self.phase is not _RUNNING:
            raise self._refused("create a batch")
        self.batches.add(oseq, ends)
        for lane in self.lanes.values():
            lane.offer(oseq)

    def next(self, lane: str) -> Queued | None:
        """The next batch that the lane may send for the first time, or None while it may not."""
        if self.phase is not _RUNNING:
            return None
        found = self._lane(lane)
        oseq = found.next_batch()
        return None if oseq is None else Queued(self, found, oseq, 1)

    def retry(self, lane: str, oseq: int) -> Queued:
        """A new ticket for a batch that failed, is held, or whose dead letters could not be written."""
        if self.phase is _STOPPED:
            raise self._refused("retry a batch")
        found = self._lane(lane)
        attempt = found.release(oseq)
        self._drop_due(DeadLetter(lane, oseq))
        return Queued(self, found, oseq, attempt)

    # Answers: called by the tickets

    def begin(self, lane: Lane, oseq: int, attempt: int) -> None:
        """The batch is being sent."""
        if self.phase is not _RUNNING and (self.phase is _STOPPED or attempt == 1):
            raise self._refused("send a batch for the first time")
        lane.begin(oseq, attempt)

    def acked(self, lane: Lane, oseq: int, attempt: int) -> None:
        """The sink has the batch."""
        if lane.acknowledge(oseq, attempt):
            self._settle()

    def failed(self, lane: Lane, oseq: int, attempt: int) -> int:
        """The attempt failed for a passing reason."""
        following = lane.fail(oseq, attempt)
        self._due.append(Retry(lane.name, oseq, following))
        return following

    def holding(self, lane: Lane, oseq: int, attempt: int) -> None:
        """The batch is parked and its lane frozen."""
        lane.hold(oseq, attempt)

    def rejecting(self, lane: Lane, oseq: int, attempt: int) -> None:
        """The sink will never take the batch: its rows must reach the dead letters first."""
        lane.reject(oseq, attempt)
        self._due.append(DeadLetter(lane.name, oseq))

    def dead_lettered(self, lane: Lane, oseq: int, attempt: int) -> None:
        """The rejected rows are durable in the dead letters."""
        if lane.dead_lettered(oseq, attempt):
            self._settle()

    # Decisions

    def decisions(self) -> tuple[Decision, ...]:
        """What is to be done now, in this order. Each decision is handed out once."""
        for lane in self.lanes.values():
            if lane.vanished:
                self._report_vanished(lane)
        if self._changed:
            self._due.append(WriteCursors(self.cursors()))
            self._changed = False
        due, self._due = self._due, []
        return tuple(due)

    def cursors(self) -> Cursors:
        """What must survive a crash, as it stands now."""
        return Cursors(
            delivered={name: lane.delivered for name, lane in self.lanes.items()},
            committed=self.committed,
            positions=dict(self.positions),
            joining={name: lane.since for name, lane in self.lanes.items() if lane.since is not None},
            gaps=dict(self.gaps),
            rollbacks=self.rollbacks,
            stop=self.stop_record,
        )

    def persisted(self, cursors: Cursors) -> None:
        """These cursors are durable: only now the outside may be told, and batches behind them forgotten."""
        if cursors.rollbacks < self.rollbacks:
            return  # written before a rollback: what they say is no longer so
        news = {source: at for source, at in cursors.positions.items() if self._is_news(source, at)}
        if news:
            self._told.update(news)
            self._due.append(Acknowledge(news))
        through = min([cursors.committed, *cursors.delivered.values(), *self._pins(cursors)])
        if through > self.batches.released:
            self.batches.release(through)
            self._due.append(Release(through))

    # Sinks and policy, while running

    def add_lane(self, spec: LaneSpec, *, sink_cursor: int | None = None) -> LaneStart:
        """A sink is added. It counts in the policy once it has reached `committed`.

        :param sink_cursor: the cursor that the sink holds itself, when it has one.
        """
        self._only_while_running("add a lane")
        start = self._open_lane(spec, self._known_now(spec, sink_cursor))
        self._settle()
        return start

    def remove_lane(self, name: str) -> StopRecord:
        """A sink is removed: it holds back neither policy nor retention any more. Returns what it left undone."""
        self._only_while_running("remove a lane")
        if self.is_detached(name):
            del self.gaps[name]
            self._changed = True
            return StopRecord(StopReason.FORCED)
        leaving = self._lane(name)
        check_policy(self.policy, self._vouching(without=leaving))
        record = self._leave_undone([leaving], StopReason.FORCED)
        leaving.retire()
        del self.lanes[name]
        self.gaps.pop(name, None)
        self._settle()
        return record

    def is_detached(self, name: str) -> bool:
        """Whether the lane is left out until it is attached again."""
        return is_detached(self.gaps.get(name, ()))

    def can_do_without(self, name: str) -> bool:
        """Whether the policy can still be met when this lane is gone."""
        try:
            check_policy(self.policy, self._vouching(without=self._lane(name)))
        except InvalidPolicy:
            return False
        return True

    def detach_lane(self, name: str) -> StopRecord:
        """A sink is left out until it is attached again: it is removed, and what it misses meanwhile is on record."""
        gaps = (*self.gaps.get(name, ()), Gap(self._lane(name).delivered))
        record = self.remove_lane(name)
        self.gaps[name] = gaps
        return record

    def attach_lane(self, spec: LaneSpec, *, sink_cursor: int | None = None, had: int | None = None) -> LaneStart:
        """A sink that was detached is added again, from where the outbox still is; what it missed stays on record.

        :param sink_cursor: the cursor that the sink holds itself; `NotRetained` while batches behind it are gone.
        :param had: what the sink itself said it had, before its cursor was moved to where the outbox begins.
        """
        self._only_while_running("attach a lane")
        if not self.is_detached(spec.name):
            raise UnknownLane(
                f"There is no lane {spec.name!r} that is detached.",
                remedy="Attach only what the status shows as detached; a sink that was never there is added.",
                lane=spec.name,
            )
        gaps = self.gaps[spec.name]
        start = attached_start(spec, gaps[-1].after, self._known_now(spec, sink_cursor))
        self._begin_lane(spec, start)
        self.gaps[spec.name] = closed(gaps, start.delivered, had)
        self._settle()
        return start

    def change_policy(self, policy: Policy) -> None:
        """Another policy decides from here on. `committed` does not fall, however strict the new one is."""
        self._only_while_running("change the policy")
        check_policy(policy, self._vouching())
        self.policy = policy
        self._settle()

    # Stopping

    def drain(self) -> None:
        """Take on nothing new; what was sent may still be answered and retried."""
        if self.phase is _STOPPED:
            raise self._refused("drain")
        self.phase = _DRAINING

    def stop(self) -> StopRecord:
        """Stop after a drain. Refused while a batch that was sent is unresolved."""
        if self.phase is not _DRAINING:
            raise self._refused("stop before it was drained")
        waiting = {name: lane.unresolved_batches for name, lane in self.lanes.items() if lane.unresolved}
        if waiting:
            raise NotDrained(
                f"Batches are still unresolved: {waiting}.",
                remedy="Wait for their answers, or stop by force: they are then listed as abandoned and sent again.",
                unresolved=waiting,
            )
        return self._stop(StopReason.GRACEFUL)

    def force_stop(self) -> StopRecord:
        """Stop now. Batches whose outcome is unknown are listed as abandoned, and sent again after the next start."""
        if self.phase is _STOPPED:
            raise self._refused("stop twice")
        return self._stop(StopReason.FORCED)

    # Going back: the only way a cursor falls

    def roll_back_lane(self, name: str, to: int) -> None:
        """Deliver again to one sink everything after batch `to`. `committed` stays and waits for the lane."""
        self._only_while_running("roll a lane back")
        lane = self._lane(name)
        if not self.batches.released <= to <= lane.delivered or lane.unresolved:
            raise RollbackRefused(
                f"Lane {name!r} cannot go back to batch {to}: it has delivered {lane.delivered}, batches up to "
                f"{self.batches.released} are gone, and {lane.unresolved} batches are unresolved.",
                remedy="Let the lane finish what it sent, and choose a batch in that range.",
                lane=name,
                to=to,
            )
        self.lanes[name] = lane.restarted(to, self.batches.after(to))
        self._note_rollback()

    def roll_back(self, to: int, ends: Mapping[str, Position]) -> None:
        """Take the whole pipeline back to batch `to`: later batches are void and computed anew under new numbers.

        :param ends: where the sources stood after batch `to`.
        """
        self._only_while_running("roll the pipeline back")
        unresolved = sum(lane.unresolved for lane in self.lanes.values())
        reachable = to in self.batches.retained or to == self.batches.released
        if unresolved or not reachable or not self.batches.are_earlier(ends):
            raise RollbackRefused(
                f"The pipeline cannot go back to batch {to} at {dict(ends)}: batches {self.batches.released} to "
                f"{self.batches.last_oseq} are in reach, {unresolved} batches are unresolved, and the sources stand at "
                f"{self.batches.ends}.",
                remedy="Let the lanes finish what they sent, and choose a batch in that range with its own positions.",
                to=to,
            )
        if to < self.committed:
            self.committed, self.positions = to, dict(ends)
        self.batches.cut(to, ends)
        for name, lane in self.lanes.items():
            delivered = min(lane.delivered, to)
            self.lanes[name] = lane.restarted(delivered, self.batches.after(delivered))
        self._note_rollback()

    # Internals

    def _settle(self) -> None:
        """A cursor moved, or the rule did: bring `committed` up to the policy. It never falls here."""
        self._changed = True
        joined = True
        while joined:
            prefix = policy_prefix(self.policy, self.lanes.values())
            if prefix is not None and prefix > self.committed:
                self.committed = prefix
                self.batches.commit_through(prefix, self.positions)
            joined = self._lanes_join()

    def _vouching(self, without: Lane | None = None) -> list[bool]:
        """Of the lanes that count, or can come to: which are required. Others can never vouch for the next batch."""
        lanes = [lane for lane in self.lanes.values() if lane is not without]
        return [lane.required for lane in lanes if lane.since is None or lane.since <= self.committed]

    def _let_someone_count(self) -> None:
        """At a start where nobody can vouch for the next batch, nobody is owed it: the lanes that began first count."""
        for lane in sorted(self.lanes.values(), key=lambda lane: lane.since or 0):
            try:
                check_policy(self.policy, self._vouching())
            except InvalidPolicy:
                lane.since = None

    def _lanes_join(self) -> bool:
        """Let lanes count that `committed` has come within reach of; True when one does from now on."""
        joining = [lane for lane in self.lanes.values() if lane.since is not None]
        return bool([lane for lane in joining if lane.join(self.committed)])

    def _open_lane(self, spec: LaneSpec, known: Resume) -> LaneStart:
        if spec.name in self.lanes or self.is_detached(spec.name):
            raise LaneExists(
                f"There is a lane {spec.name!r} already.",
                remedy="Choose another name, or remove the lane first.",
                lane=spec.name,
            )
        start = lane_start(spec, known)
        self._begin_lane(spec, start)
        return start

    def _begin_lane(self, spec: LaneSpec, start: LaneStart) -> None:
        stopped = start.route.value if start.route is Route.NOT_RETAINED else None
        batches = self.batches.after(start.delivered)
        self.lanes[spec.name] = Lane(
            spec, delivered=start.delivered, since=start.since, batches=batches, stopped=stopped
        )
        self.starts[spec.name] = start

    def _known_now(self, spec: LaneSpec, sink_cursor: int | None) -> Resume:
        held = {} if sink_cursor is None else {spec.name: sink_cursor}
        return Resume(
            self.cursors(), last_oseq=self.batches.last_oseq, trimmed=self.batches.released, sink_cursors=held
        )

    def _stop(self, reason: StopReason) -> StopRecord:
        self.phase = _STOPPED
        self.stop_record = self._leave_undone(self.lanes.values(), reason)
        self._changed = True
        return self.stop_record

    @staticmethod
    def _leave_undone(lanes: Iterable[Lane], reason: StopReason) -> StopRecord:
        left = list(lanes)
        return StopRecord(
            reason,
            remaining={lane.name: tuple(lane.queued) for lane in left if lane.queued},
            answered={lane.name: tuple(sorted(lane.pending_acks)) for lane in left if lane.pending_acks},
            abandoned={lane.name: lane.abandon() for lane in left if lane.unresolved},
        )

    def _drop_due(self, void: Decision) -> None:
        if void in self._due:
            self._due.remove(void)

    def _note_rollback(self) -> None:
        self.rollbacks += 1
        self._due = [decision for decision in self._due if not isinstance(decision, Acknowledge | Release)]
        self._settle()

    def _report_vanished(self, lane: Lane) -> None:
        vanished, lane.vanished = lane.vanished, []
        for oseq in vanished:
            attempt = lane.in_flight.get(oseq)
            if attempt is not None:
                lane.hold(oseq, attempt)
                self._due.append(Vanished(lane.name, oseq, attempt))

    def _pins(self, cursors: Cursors) -> Iterable[int]:
        """What the lanes of now still need: a lane that these cursors do not know would begin anew after a crash."""
        for name, lane in self.lanes.items():
            yield lane.delivered if name in cursors.delivered else self.starts[name].delivered

    def _is_news(self, source: str, position: Position) -> bool:
        told = self._told.get(source)
        return told is None or position.compare(told) is Order.AFTER

    def _lane(self, name: str) -> Lane:
        try:
            return self.lanes[name]
        except KeyError:
            raise UnknownLane(
                f"There is no lane {name!r}.",
                remedy=f"Known are {', '.join(sorted(self.lanes)) or 'none'}; add the sink first.",
                lane=name,
            ) from None

    def _only_while_running(self, what: str) -> None:
        if self.phase is not _RUNNING:
            raise self._refused(what)

    def _refused(self, what: str) -> PhaseRefused:
        return PhaseRefused(
            f"The ledger is {self.phase.value}, so it does not {what}.",
            remedy="Start the pipeline again to take up new work; nothing in the outbox is lost.",
            phase=self.phase.value,
        )
