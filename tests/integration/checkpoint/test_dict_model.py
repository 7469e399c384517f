"""Whatever sequence of commits a store is given, it answers as plain dictionaries would."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.checkpoint.contract import CheckpointStore, Commit, Delete, Put, RollBack, Update, VersionIs
from holdfast.model.errors import RequirementFailed, UnknownKey, UnknownVersion
from tests.support.backends import BACKENDS, WITHOUT_SERVER
from tests.support.servers import Servers

KEYS = st.sampled_from(["a", "b/c", "b"])
NUMBERS = st.integers(1, 6)
UPDATES = st.one_of(
    st.builds(Put, KEYS, st.binary(max_size=8)), st.builds(Delete, KEYS), st.builds(RollBack, KEYS, NUMBERS)
)
COMMITS = st.builds(
    lambda updates, needs: Commit(1, updates, needs),
    st.lists(UPDATES, max_size=3, unique_by=lambda update: update.key),
    st.lists(st.builds(VersionIs, KEYS, st.integers(0, 4)), max_size=1),
)


@dataclass(frozen=True)
class Pruning:
    key: str
    keep: int


class Reopening:
    """Close the handle and open another."""


STEPS = st.lists(st.one_of(COMMITS, COMMITS, COMMITS, st.builds(Pruning, KEYS, NUMBERS), st.builds(Reopening)))


@dataclass
class Model:
    """Version number to payload for each key that is present, and how far each key ever counted."""

    kept: dict[str, dict[int, bytes]] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)

    def commit(self, commit: Commit) -> dict[str, int] | type[Exception]:
        for need in commit.requirements:
            if max(self.kept.get(need.key, [0])) != need.version:
                return RequirementFailed
        for update in commit.updates:
            if isinstance(update, RollBack) and update.version not in self.kept.get(update.key, {}):
                return UnknownVersion if update.key in self.kept else UnknownKey
        return {update.key: self._apply(update) for update in commit.updates}

    def prune(self, pruning: Pruning) -> int:
        numbers = sorted(self.kept.get(pruning.key, {}))[: -pruning.keep]
        for number in numbers:
            del self.kept[pruning.key][number]
        return len(numbers)

    def _apply(self, update: Update) -> int:
        if isinstance(update, Delete):
            self.kept.pop(update.key, None)
            return 0
        payload = update.payload if isinstance(update, Put) else self.kept[update.key][update.version]
        number = self.counted[update.key] = self.counted.get(update.key, 0) + 1
        self.kept.setdefault(update.key, {})[number] = payload
        return number


def answer(store: CheckpointStore, commit: Commit) -> object:
    try:
        return store.commit(commit)
    except (RequirementFailed, UnknownKey, UnknownVersion) as error:
        return type(error)


def content(store: CheckpointStore) -> dict[str, dict[int, bytes]]:
    keys = store.keys()
    return {
        key: {version.number: store.get_version(key, version.number).payload for version in store.versions(key)}
        for key in keys
    }


@pytest.mark.parametrize("name", WITHOUT_SERVER)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_a_store_answers_as_dictionaries_would(name: str, steps: list[Commit | Pruning | Reopening]) -> None:
    model = Model()
    with TemporaryDirectory() as directory:
        backend = BACKENDS[name](Path(directory), Servers(Path(directory)))
        store = backend.open()
        assert store.take_over() == 1
        for step in steps:
            if isinstance(step, Commit):
                assert answer(store, step) == model.commit(step)
            elif isinstance(step, Pruning):
                assert store.prune(step.key, keep=step.keep, epoch=1) == model.prune(step)
            else:
                store.close()
                store = backend.open()
            assert content(store) == model.kept
        store.close()
