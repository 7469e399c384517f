"""What every checkpoint store promises when two handles work on it: fencing, conflicts, no lost update.

Where a race is meant, it is made: a store reads its clock inside of a commit, and the clock given here lets the other
handle act at that very moment. A store that holds a lock makes the other wait; one that does not must notice.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from holdfast.checkpoint.contract import Commit, Put, RollBack, VersionIs
from holdfast.model.clock import utc_now
from holdfast.model.errors import Fenced, RequirementFailed, UnknownEpoch

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from holdfast.checkpoint.contract import CheckpointStore
    from tests.support.stores import StoreFactory

PATIENCE = 1.0
"""How long the clock waits for the other handle before it concludes that the store holds it back."""


class Intruder:
    """A clock that lets another handle act once, in the middle of the commit that reads it."""

    def __init__(self) -> None:
        self.act: Callable[[], object] | None = None
        self._thread: Thread | None = None

    def __call__(self) -> datetime:
        act, self.act = self.act, None
        if act is not None:
            self._thread = Thread(target=act)
            self._thread.start()
            self._thread.join(PATIENCE)
        return utc_now()

    def wait(self) -> None:
        """Until the other handle has acted; it must have been let in."""
        assert self._thread is not None, "the store never read its clock"
        self._thread.join()


# Fencing


@pytest.mark.req("D3", "X11")
def test_an_owner_that_was_replaced_can_write_nothing(store_factory: StoreFactory) -> None:
    old, new = store_factory.open(), store_factory.open()
    old_epoch = old.take_over()
    for payload in (b"1", b"2"):
        old.put_raw("a", payload, epoch=old_epoch)
    new_epoch = new.take_over()
    assert new_epoch > old_epoch
    writes: list[Callable[[], object]] = [
        lambda: old.put_raw("a", b"late", epoch=old_epoch),
        lambda: old.delete("a", epoch=old_epoch),
        lambda: old.roll_back("a", 1, epoch=old_epoch),
        lambda: old.prune("a", keep=1, epoch=old_epoch),
        lambda: old.commit(Commit(old_epoch, [])),
    ]
    for write in writes:
        with pytest.raises(Fenced) as refused:
            write()
        assert (refused.value.context["carried"], refused.value.context["newest"]) == (old_epoch, new_epoch)
    assert [version.epoch for version in new.versions("a")] == [old_epoch, old_epoch]
    assert old.get_raw("a") == new.get_raw("a")


@pytest.mark.req("D3", "X11")
def test_an_owner_that_sleeps_between_read_and_write_is_fenced(store_factory: StoreFactory) -> None:
    old, new = store_factory.open(), store_factory.open()
    old_epoch = old.take_over()
    old.put_raw("a", b"1", epoch=old_epoch)
    seen = old.versions("a")[-1].number
    new_epoch = new.take_over()
    new.put_raw("b", b"2", epoch=new_epoch)
    with pytest.raises(Fenced):
        old.commit(Commit(old_epoch, [Put("a", b"late"), Put("b", b"late")], [VersionIs("a", seen)]))
    assert [len(new.versions(key)) for key in ("a", "b")] == [1, 1]


@pytest.mark.req("D3", "X11")
def test_a_takeover_in_the_middle_of_a_commit_leaves_nothing_of_the_old_owner_behind_it(
    store_factory: StoreFactory,
) -> None:
    intruder = Intruder()
    old, new = store_factory.open(intruder), store_factory.open()
    old_epoch = old.take_over()
    old.put_raw("a", b"before", epoch=old_epoch)
    intruder.act = lambda: new.put_raw("a", b"by the new owner", epoch=new.take_over())
    try:
        old.commit(Commit(old_epoch, [Put("a", b"late"), Put("b", b"late")]))
        was_fenced = False
    except Fenced:
        was_fenced = True
    intruder.wait()
    epochs = [version.epoch for version in new.versions("a")]
    assert epochs == sorted(epochs), "the old owner wrote after the new one"
    assert len(epochs) == (2 if was_fenced else 3)
    assert new.keys() == (["a"] if was_fenced else ["a", "b"])


@pytest.mark.parametrize("carried", [0, -1, 2, 99])
def test_an_epoch_that_was_never_handed_out_is_refused(store_factory: StoreFactory, carried: int) -> None:
    store = store_factory.open()
    store.take_over()
    with pytest.raises(UnknownEpoch):
        store.put_raw("a", b"", epoch=carried)
    assert (store.keys(), store.epoch()) == ([], 1)


def test_nobody_can_write_before_somebody_took_over(store: CheckpointStore) -> None:
    with pytest.raises(UnknownEpoch):
        store.put_raw("a", b"", epoch=0)


def test_a_takeover_can_be_asked_for_a_lowest_epoch(store_factory: StoreFactory) -> None:
    store = store_factory.open()
    assert [store.take_over(), store.take_over(at_least=7), store.take_over(at_least=3)] == [1, 7, 8]
    assert store_factory.open().epoch() == 8


@pytest.mark.req("X11")
def test_no_two_owners_are_given_the_same_epoch(store_factory: StoreFactory) -> None:
    handles = [store_factory.open() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        epochs = list(pool.map(lambda number: handles[number % 4].take_over(), range(24)))
    assert len(set(epochs)) == len(epochs)
    assert handles[0].epoch() == max(epochs)


# Conflicts


def test_of_two_handles_that_read_the_same_version_one_may_write(store_factory: StoreFactory) -> None:
    one, two = store_factory.open(), store_factory.open()
    epoch = one.take_over()
    one.put_raw("a", b"0", epoch=epoch)
    assert one.commit(Commit(epoch, [Put("a", b"one")], [VersionIs("a", 1)])) == {"a": 2}
    with pytest.raises(RequirementFailed):
        two.commit(Commit(epoch, [Put("a", b"two"), Put("b", b"two")], [VersionIs("a", 1)]))
    assert (two.keys(), [stored.payload for stored in [two.get_raw("a")] if stored]) == (["a"], [b"one"])


def test_a_write_in_the_middle_of_a_commit_breaks_its_requirement_or_waits(store_factory: StoreFactory) -> None:
    intruder = Intruder()
    one, two = store_factory.open(intruder), store_factory.open()
    epoch = one.take_over()
    one.put_raw("a", b"0", epoch=epoch)
    intruder.act = lambda: two.put_raw("a", b"two", epoch=epoch)
    try:
        one.commit(Commit(epoch, [Put("a", b"one")], [VersionIs("a", 1)]))
        was_refused = False
    except RequirementFailed:
        was_refused = True
    intruder.wait()
    history = [two.get_version("a", version.number).payload for version in two.versions("a")]
    assert history == ([b"0", b"two"] if was_refused else [b"0", b"one", b"two"])


def test_counting_from_eight_threads_over_two_handles_loses_nothing(store_factory: StoreFactory) -> None:
    handles = [store_factory.open(), store_factory.open()]
    epoch = handles[0].take_over()

    def count(thread: int) -> None:
        for _ in range(5):
            _increment(handles[thread % 2], epoch)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(8)))
    final = handles[1].get_raw("n")
    assert final is not None
    assert (int(final.payload), final.version.number) == (40, 40)


def _increment(store: CheckpointStore, epoch: int) -> None:
    """Read, add one, write on the condition that nobody wrote meanwhile; again until that holds."""
    while True:
        seen = store.get_raw("n")
        value, version = (int(seen.payload), seen.version.number) if seen else (0, 0)
        try:
            store.commit(Commit(epoch, [Put("n", b"%d" % (value + 1))], [VersionIs("n", version)]))
        except RequirementFailed:
            continue
        return


def test_a_reader_never_sees_half_of_a_commit(store_factory: StoreFactory) -> None:
    """The two keys are always written together; what is read later is never older than what was read before it.

    The writer goes on until the reader has seen thirty commits. A store that makes one key of a
    commit visible before the other fails then as a rule; with five it passed half of the time.
    """
    writer, reader = store_factory.open(), store_factory.open()
    epoch = writer.take_over()
    writer.commit(Commit(epoch, [Put("state", b"0"), Put("offset", b"0")]))
    has_seen_enough = Event()

    def write() -> None:
        number = 0
        while not has_seen_enough.is_set():
            number += 1
            writer.commit(Commit(epoch, [Put("state", b"%d" % number), Put("offset", b"%d" % number)]))

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        seen: set[int] = set()
        try:
            while len(seen) < 30 and not written.done():
                state, offset = reader.get_raw("state"), reader.get_raw("offset")
                assert state is not None
                assert offset is not None
                assert int(offset.payload) >= int(state.payload)
                assert offset.version.number == int(offset.payload) + 1
                seen.add(int(state.payload))
        finally:
            has_seen_enough.set()
        written.result()
    assert len(seen) == 30


def test_versions_written_by_both_handles_form_one_history(store_factory: StoreFactory) -> None:
    one, two = store_factory.open(), store_factory.open()
    epoch = one.take_over()
    numbers = [handle.put_raw("a", b"", epoch=epoch) for handle in (one, two, two, one)]
    numbers.append(two.commit(Commit(epoch, [RollBack("a", 2)]))["a"])
    assert numbers == [1, 2, 3, 4, 5]
    assert one.versions("a") == two.versions("a")
