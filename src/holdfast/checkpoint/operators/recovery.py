"""Finds where a flow restarts: the snapshot of each operator, and where each source replays from.

Reads the store and changes nothing; `mending` makes the store fit for it and records what was passed over. Starting
fresh is right only where no progress can have been built upon; when snapshots are damaged or missing so that a restart
would lose items, it is refused and the reason is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.checkpoint.operators.cuts import FRESH, Point, allowance, is_reachable, replays
from holdfast.checkpoint.operators.framing import SnapshotCodec
from holdfast.checkpoint.operators.history import FlowKeys, History
from holdfast.checkpoint.operators.snapshot import SnapshotMode
from holdfast.model.errors import CheckpointDamaged, UnknownKey, UnknownVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.checkpoint.operators.cuts import ReplayFrom
    from holdfast.checkpoint.operators.graph import Graph
    from holdfast.checkpoint.operators.history import Completion, Part
    from holdfast.checkpoint.operators.snapshot import OperatorSnapshot


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A snapshot that could not be used, so that an older one was taken."""

    history: str
    """The key of the record that names it."""
    snapshot_id: int
    what: str
    """The part that is damaged."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """Where everything restarts."""

    points: Mapping[str, Point]
    """Per operator; `FRESH` for one that starts as it was made."""
    snapshots: Mapping[str, OperatorSnapshot] = field(repr=False)
    """Of the operators that do not start fresh."""
    replay: Mapping[str, ReplayFrom]
    """Per source."""
    completion: Completion | None = None
    """In aligned mode: the complete snapshot this is."""
    passed_over: tuple[PassedOver, ...] = ()

    @property
    def damaged(self) -> tuple[str, ...]:
        """What could not be read and was passed over for something older."""
        return tuple(snapshot.what for snapshot in self.passed_over)


class PartReader:
    """Reads the payloads of parts, wherever in their slot's versions they are."""

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store

    def payload(self, key: str, part: Part) -> bytes:
        """What a part is made of; `CheckpointDamaged` when it is not there or not whole."""
        for version in reversed(self._store.versions(key)):
            if part.is_in(version):
                return self._store.get_version(key, version.number).payload
        raise _not_in_its_slot(key)


def find_restart(store: CheckpointStore, graph: Graph, keys: FlowKeys, *, parts: PartReader | None = None) -> Recovery:
    """Where a flow restarts. Blocks; reads as many snapshots as it needs."""
    _refuse_change_of_mode(store, keys)
    finder = _Finder(store, graph, keys, parts or PartReader(store))
    return finder.aligned() if keys.mode is SnapshotMode.ALIGNED else finder.per_operator()


class _Finder:
    """One search through the store."""

    def __init__(self, store: CheckpointStore, graph: Graph, keys: FlowKeys, parts: PartReader) -> None:
        self._store = store
        self._graph = graph
        self._keys = keys
        self._parts = parts
        self._passed_over: list[PassedOver] = []

    # All at the newest complete snapshot

    def aligned(self) -> Recovery:
        """The newest complete snapshot that can be read."""
        operators = self._graph.operators
        history = self._history(operators[0])
        for completion in history.snapshots:
            snapshots = self._all_parts(completion)
            if snapshots is not None:
                return self._result(snapshots, _points(snapshots), completion)
        self._refuse_to_lose(operators[0], history)
        return self._result({}, dict.fromkeys(operators, FRESH))

    def _all_parts(self, completion: Completion) -> dict[str, OperatorSnapshot] | None:
        """Every operator's part of a snapshot; None when one of them is damaged."""
        snapshots: dict[str, OperatorSnapshot] = {}
        for operator in self._graph.operators:
            if operator not in completion.parts:
                raise _not_a_part(completion, operator)
            snapshot = self._part(completion, operator)
            if snapshot is None:
                return None
            snapshots[operator] = snapshot
        return snapshots

    # Each at a snapshot that its downstream can follow

    def per_operator(self) -> Recovery:
        """The newest snapshots that go together, chosen from the last operators upstream."""
        snapshots: dict[str, OperatorSnapshot] = {}
        points: dict[str, Point] = {}
        for operator in reversed(self._graph.operators):
            allowed = allowance(self._graph, operator, points)
            found = self._newest_reachable(operator, allowed)
            points[operator] = FRESH if found is None else Point.of(found.cut)
            if found is not None:
                snapshots[operator] = found
        return self._result(snapshots, points)

    def _newest_reachable(self, operator: str, allowed: int | None) -> OperatorSnapshot | None:
        """None when the operator may start as it was made."""
        history = self._history(operator)
        for completion in history.snapshots:
            snapshot = self._part(completion, operator)
            if snapshot is not None and is_reachable(Point.of(snapshot.cut), allowed):
                return snapshot
        self._refuse_to_lose(operator, history)
        if history.is_pruned:
            raise _downstream_lost(operator, allowed)
        return None

    # Reading

    def _history(self, operator: str) -> History:
        return self._store.get(self._keys.history(operator)) or History()

    def _part(self, completion: Completion, operator: str) -> OperatorSnapshot | None:
        """One operator's part of a snapshot; None, and a note of it, when it is damaged."""
        key = self._keys.slot(operator, completion.parts[operator].slot)
        try:
            return self._decoded(completion, operator, key)
        except CheckpointDamaged:
            what = f"snapshot {completion.snapshot_id} of {operator!r} in {key!r}"
            self._passed_over.append(PassedOver(self._keys.history(operator).name, completion.snapshot_id, what))
            return None

    def _decoded(self, completion: Completion, operator: str, key: str) -> OperatorSnapshot:
        snapshot = SnapshotCodec().decode(self._parts.payload(key, completion.parts[operator]))
        if (snapshot.cut.operator, snapshot.cut.snapshot_id) != (operator, completion.snapshot_id):
            raise _not_in_its_slot(key)
        return snapshot

    def _refuse_to_lose(self, operator: str, history: History) -> None:
        """Raise when there is nothing left but damage: a fresh start would forget what was there."""
        name = self._keys.history(operator).name
        damaged = [snapshot.what for snapshot in self._passed_over if snapshot.history == name]
        if damaged or history.passed_over:
            raise _nothing_readable(name, [*damaged, *history.passed_over])

    def _result(
        self,
        snapshots: Mapping[str, OperatorSnapshot],
        points: Mapping[str, Point],
        completion: Completion | None = None,
    ) -> Recovery:
        return Recovery(points, snapshots, replays(self._graph, points), completion, tuple(self._passed_over))


def _points(snapshots: Mapping[str, OperatorSnapshot]) -> dict[str, Point]:
    return {name: Point.of(snapshot.cut) for name, snapshot in snapshots.items()}


def _refuse_change_of_mode(store: CheckpointStore, keys: FlowKeys) -> None:
    if store.keys(keys.prefix):
        return
    for other in (FlowKeys(keys.flow, mode) for mode in SnapshotMode if mode is not keys.mode):
        if store.keys(other.prefix):
            raise UnknownKey(
                f"Flow {keys.flow!r} has snapshots in mode {other.mode.name}, and none in mode {keys.mode.name}.",
                remedy="Start it in the mode it had, or under another name to begin anew.",
                flow=keys.flow,
            )


def _not_in_its_slot(key: str) -> CheckpointDamaged:
    return CheckpointDamaged(
        f"The slot {key!r} does not hold the snapshot that it should.",
        kept="Other snapshots are untouched.",
        remedy="Run `doctor` on the store; an older snapshot is taken when there is one.",
        key=key,
    )


def _nothing_readable(history: str, damaged: list[str]) -> CheckpointDamaged:
    return CheckpointDamaged(
        f"No snapshot that {history!r} names can be used; damaged: {', '.join(damaged)}.",
        remedy="Run `doctor` on the store, restore it from its replica, or start the flow under another name.",
        key=history,
        damaged=tuple(damaged),
    )


def _downstream_lost(operator: str, allowed: int | None) -> UnknownVersion:
    return UnknownVersion(
        f"Operator {operator!r} would have to go back to where it had emitted {allowed} outputs, "
        "but its snapshots from that time are pruned: snapshots of an operator behind it are lost.",
        remedy="Restore the store from its replica, or start the flow under another name to begin anew.",
        operator=operator,
        emitted=allowed,
    )


def _not_a_part(completion: Completion, operator: str) -> UnknownKey:
    return UnknownKey(
        f"Snapshot {completion.snapshot_id} has no part of operator {operator!r}, which the graph names.",
        remedy="Start the graph that the snapshot was taken of, or begin anew under another name.",
        operator=operator,
        snapshot_id=completion.snapshot_id,
    )
