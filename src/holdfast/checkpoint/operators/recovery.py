"""Finds where a flow restarts: the snapshot of each operator, and where each source replays from.

Reads the store and changes nothing. Starting fresh is right only where no progress can have been built upon; when
snapshots are damaged or missing so that a restart would lose items, it is refused and the reason is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.checkpoint.operators.cuts import FRESH, Point, allowance, is_reachable, replays
from holdfast.checkpoint.operators.snapshot import SnapshotMode
from holdfast.checkpoint.rules import place
from holdfast.model.errors import CheckpointDamaged, UnknownKey, UnknownVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.checkpoint.contract import CheckpointStore, TypedKey
    from holdfast.checkpoint.operators.completion import Completion, FlowKeys
    from holdfast.checkpoint.operators.cuts import ReplayFrom
    from holdfast.checkpoint.operators.graph import Graph
    from holdfast.checkpoint.operators.snapshot import OperatorSnapshot


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
    damaged: tuple[str, ...] = ()
    """What could not be read and was passed over for something older."""


def recover(store: CheckpointStore, graph: Graph, keys: FlowKeys) -> Recovery:
    """Where a flow restarts. Blocks; reads as many snapshots as it needs."""
    _refuse_change_of_mode(store, keys)
    finder = _Finder(store, graph, keys)
    return finder.aligned() if keys.mode is SnapshotMode.ALIGNED else finder.per_operator()


class _Finder:
    """One search through the store."""

    def __init__(self, store: CheckpointStore, graph: Graph, keys: FlowKeys) -> None:
        self._store = store
        self._graph = graph
        self._keys = keys
        self._damaged: list[str] = []

    # All at the newest complete snapshot

    def aligned(self) -> Recovery:
        """The newest complete snapshot that can be read."""
        key = self._keys.completion
        self._check_certain(key.name)
        versions = [version.number for version in self._store.versions(key.name)]
        for version in reversed(versions):
            try:
                completion = key.codec.decode(self._store.get_version(key.name, version).payload)
                return self._complete(completion)
            except (CheckpointDamaged, UnknownVersion):
                self._damaged.append(place(key.name, version))
        if versions:
            raise _nothing_readable(key.name, self._damaged)
        return self._result({}, dict.fromkeys(self._graph.operators, FRESH))

    def _complete(self, completion: Completion) -> Recovery:
        snapshots = {name: self._part(completion, name) for name in self._graph.operators}
        points = {name: Point.of(snapshot.cut, completion.parts[name]) for name, snapshot in snapshots.items()}
        return self._result(snapshots, points, completion)

    def _part(self, completion: Completion, operator: str) -> OperatorSnapshot:
        if operator not in completion.parts:
            raise _not_a_part(completion, operator)
        snapshot = self._read(self._keys.part(operator), completion.parts[operator])
        if (snapshot.cut.operator, snapshot.cut.snapshot_id) != (operator, completion.snapshot_id):
            raise _wrong_part(completion, operator, snapshot)
        return snapshot

    # Each at a snapshot that its downstream can follow

    def per_operator(self) -> Recovery:
        """The newest snapshots that go together, chosen from the last operators upstream."""
        snapshots: dict[str, OperatorSnapshot] = {}
        points: dict[str, Point] = {}
        for operator in reversed(self._graph.operators):
            allowed = allowance(self._graph, operator, points)
            points[operator], found = self._newest_reachable(operator, allowed)
            if found is not None:
                snapshots[operator] = found
        return self._result(snapshots, points)

    def _newest_reachable(self, operator: str, allowed: int | None) -> tuple[Point, OperatorSnapshot | None]:
        key = self._keys.part(operator)
        self._check_certain(key.name)
        versions = [version.number for version in self._store.versions(key.name)]
        damaged = len(self._damaged)
        for version in reversed(versions):
            try:
                snapshot = self._read(key, version)
            except CheckpointDamaged:
                self._damaged.append(place(key.name, version))
                continue
            if is_reachable(point := Point.of(snapshot.cut, version), allowed):
                return point, snapshot
        if len(self._damaged) > damaged:
            raise _nothing_readable(key.name, self._damaged[damaged:])
        if versions and versions[0] > 1:
            raise _downstream_lost(operator, allowed, versions[0])
        return FRESH, None

    def _check_certain(self, key: str) -> None:
        """Raise when the store may have lost something newer than what it lists: nothing older is taken unasked."""
        try:
            self._store.get_raw(key)
        except CheckpointDamaged:
            listed = self._store.versions(key)
            if not listed or self._is_readable(key, listed[-1].number):
                raise

    def _is_readable(self, key: str, version: int) -> bool:
        try:
            self._store.get_version(key, version)
        except CheckpointDamaged:
            return False
        return True

    def _read(self, key: TypedKey[OperatorSnapshot], version: int) -> OperatorSnapshot:
        return key.codec.decode(self._store.get_version(key.name, version).payload)

    def _result(
        self,
        snapshots: Mapping[str, OperatorSnapshot],
        points: Mapping[str, Point],
        completion: Completion | None = None,
    ) -> Recovery:
        return Recovery(points, snapshots, replays(self._graph, points), completion, tuple(self._damaged))


def _refuse_change_of_mode(store: CheckpointStore, keys: FlowKeys) -> None:
    others = [type(keys)(keys.flow, mode) for mode in SnapshotMode if mode is not keys.mode]
    if store.keys(keys.prefix):
        return
    for other in others:
        if store.keys(other.prefix):
            raise UnknownKey(
                f"Flow {keys.flow!r} has snapshots in mode {other.mode.name}, and none in mode {keys.mode.name}.",
                remedy="Start it in the mode it had, or under another name to begin anew.",
                flow=keys.flow,
            )


def _nothing_readable(key: str, damaged: list[str]) -> CheckpointDamaged:
    return CheckpointDamaged(
        f"No snapshot under {key!r} can be used; damaged: {', '.join(damaged)}.",
        remedy="Run `doctor` on the store, restore it from its replica, or start the flow under another name.",
        key=key,
        damaged=tuple(damaged),
    )


def _downstream_lost(operator: str, allowed: int | None, oldest: int) -> UnknownVersion:
    return UnknownVersion(
        f"Operator {operator!r} would have to go back to where it had emitted {allowed} outputs, "
        f"but its snapshots before version {oldest} are pruned: snapshots of an operator behind it are lost.",
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


def _wrong_part(completion: Completion, operator: str, found: OperatorSnapshot) -> CheckpointDamaged:
    return CheckpointDamaged(
        f"Snapshot {completion.snapshot_id} names a part of {operator!r} that belongs to snapshot "
        f"{found.cut.snapshot_id} of {found.cut.operator!r}.",
        remedy="Run `doctor` on the store.",
        operator=operator,
    )
