"""Makes a store fit for the restart of a flow, and records it when the restart had to go back.

* A local tier that is behind its remote tier is brought up to it, and what is damaged here and whole there is fetched.
* A record that stays damaged falls back to its version before, as `recover` of the stores does it and notes it.
* A snapshot with a damaged part is passed over for the one before it; the record then says so and names it no more.

Never is anything taken for new because it is damaged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import Commit, Put
from holdfast.checkpoint.operators.history import History
from holdfast.checkpoint.operators.recovery import PartReader, find_restart
from holdfast.checkpoint.replication.recovery import recover
from holdfast.checkpoint.replication.replicated import ReplicatedStore
from holdfast.checkpoint.replication.status import Standing
from holdfast.model.errors import CheckpointDamaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from holdfast.checkpoint.contract import CheckpointStore, TypedKey
    from holdfast.checkpoint.operators.graph import Graph
    from holdfast.checkpoint.operators.history import FlowKeys, Part
    from holdfast.checkpoint.operators.recovery import PassedOver, Recovery
    from holdfast.checkpoint.replication.counting import LabelledCounter


def mend_and_find_restart(
    store: CheckpointStore, graph: Graph, keys: FlowKeys, *, epoch: int, paths: LabelledCounter
) -> Recovery:
    """Where a flow restarts, from a store that the epoch owns. Blocks.

    :param paths: counts the routes by which the records came, as `recovery_path_total{path}`.
    """
    return _Mending(store, keys, epoch, paths).restart(graph)


class _Mending:
    """One restart."""

    def __init__(self, store: CheckpointStore, keys: FlowKeys, epoch: int, paths: LabelledCounter) -> None:
        self._store = store
        self._keys = keys
        self._epoch = epoch
        self._paths = paths

    def restart(self, graph: Graph) -> Recovery:
        histories = self._keys.histories(graph.operators)
        self._bring_back(list(histories))
        found = find_restart(self._store, graph, self._keys, parts=_FetchingReader(self._store, self._fetch))
        if found.passed_over:
            self._record(histories, found.passed_over)
        return found

    # The records

    def _bring_back(self, names: Sequence[str]) -> None:
        """See to it that every record can be read, or raise; a damaged one goes back alone."""
        if self._is_behind() or not (damaged := [name for name in names if self._is_damaged(name)]):
            self._recover(names)
            return
        for name in damaged:
            self._recover([name])

    def _is_behind(self) -> bool:
        return isinstance(self._store, ReplicatedStore) and self._store.replication().standing is Standing.BEHIND

    def _is_damaged(self, name: str) -> bool:
        """Whether the newest version of a record is damaged; raises when nobody can tell which one is the newest.

        A remote tier tells. Without one, the versions that are missing may be many, and the sources may be past them.
        """
        try:
            self._store.get_raw(name)
        except CheckpointDamaged:
            if not isinstance(self._store, ReplicatedStore) and not self._is_newest_listed_damaged(name):
                raise
            return True
        return False

    def _is_newest_listed_damaged(self, name: str) -> bool:
        try:
            for newest in self._store.versions(name)[-1:]:
                self._store.get_version(name, newest.number)
        except CheckpointDamaged:
            return True
        return False

    def _record(self, histories: Mapping[str, TypedKey[History]], passed_over: Iterable[PassedOver]) -> None:
        """Have the records say what was passed over, and name it no more."""
        damaged: dict[str, dict[int, str]] = {}
        for snapshot in passed_over:
            damaged.setdefault(snapshot.history, {})[snapshot.snapshot_id] = snapshot.what
        updates = [self._gone_back(histories[name], places) for name, places in damaged.items()]
        self._store.commit(Commit(self._epoch, updates))

    def _gone_back(self, key: TypedKey[History], places: Mapping[int, str]) -> Put:
        history = self._store.get(key) or History()
        return Put(key.name, key.codec.encode(history.gone_back_behind(places)))

    # The remote tier

    def _fetch(self, name: str) -> bool:
        """Fetch a damaged slot from the remote tier; False when its newest version is not there."""
        versions = self._store.versions(name)
        if not isinstance(self._store, ReplicatedStore) or not versions:
            return False
        if self._store.newest_remote(name) != versions[-1].number:
            return False
        self._recover([name])
        return True

    def _recover(self, names: Sequence[str]) -> None:
        recover(self._store, names, epoch=self._epoch, paths=self._paths)


class _FetchingReader(PartReader):
    """Reads parts, and looks elsewhere for those that are damaged."""

    def __init__(self, store: CheckpointStore, fetch: Callable[[str], bool]) -> None:
        super().__init__(store)
        self._fetch = fetch

    def payload(self, key: str, part: Part) -> bytes:
        """What a part is made of; `CheckpointDamaged` when it is whole nowhere."""
        try:
            return super().payload(key, part)
        except CheckpointDamaged:
            if not self._fetch(key):
                raise
        return super().payload(key, part)
