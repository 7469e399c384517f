"""What a replicated store promises: local commits never wait, copies are whole, fencing holds on both tiers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.replicas import OFFSET, STATE, Meddling, Switched, read_pair, stepped, write_pair

from holdfast.checkpoint.contract import Commit, Delete, Put
from holdfast.checkpoint.memory import MemoryStore, Shelf
from holdfast.checkpoint.replication.replica import RESERVED
from holdfast.checkpoint.replication.replicated import ReplicatedStore
from holdfast.checkpoint.replication.status import Health, Standing
from holdfast.checkpoint.replication.takeover import WithoutRemote
from holdfast.model.errors import CheckpointDamaged, Fenced, ForeignFile, InvalidKey, StoreUnavailable, UnknownEpoch


class Watch:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Host:
    """One host: its local disk, and a handle on the shared remote tier."""

    def __init__(self, far: Shelf, handles: ExitStack) -> None:
        self.disk = Shelf()
        self.remote = Switched(far)
        self._far = far
        self._handles = handles

    def start(self, without_remote: WithoutRemote = WithoutRemote.REFUSE) -> ReplicatedStore:
        """A new process on the host."""
        was_down = self.remote.is_down
        self.remote = Switched(self._far)
        self.remote.is_down = was_down
        store = stepped(Meddling(self.disk), self.remote, without_remote=without_remote)
        self._handles.callback(store.close)
        return store


@pytest.fixture
def handles() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def far() -> Shelf:
    return Shelf()


@pytest.fixture
def host(far: Shelf, handles: ExitStack) -> Host:
    return Host(far, handles)


@pytest.fixture
def other_host(far: Shelf, handles: ExitStack) -> Host:
    return Host(far, handles)


# Copies


def test_the_remote_tier_gets_the_newest_version_of_each_changed_key_in_one_commit(host: Host, far: Shelf) -> None:
    store = host.start()
    epoch = store.take_over()
    for number in range(100):
        write_pair(store, number, epoch)
    store.replicate_once()
    assert read_pair(MemoryStore(far)) == (99, 99)
    assert len(host.remote.commits) == 1
    assert {update.key for update in host.remote.commits[0].updates} == {STATE, OFFSET, RESERVED}


def test_what_is_pending_is_bounded_by_the_number_of_keys(host: Host) -> None:
    store = host.start()
    epoch = store.take_over()
    host.remote.is_down = True
    for number in range(500):
        write_pair(store, number, epoch)
        store.replicate_once()
    status = store.replication()
    assert (status.keys_behind, status.commits_behind) == (2, 500)
    assert len(store.tiers.pending.versions) == 2


@pytest.mark.req("K1")
def test_a_commit_made_while_a_copy_is_read_is_not_copied_in_half(host: Host, far: Shelf) -> None:
    store = host.start()
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    local = store.tiers.local
    assert isinstance(local, Meddling)
    local.meddle = lambda: write_pair(store, 2, epoch)
    store.replicate_once()
    assert read_pair(MemoryStore(far)) == (1, 1)
    assert store.replication().keys_behind == 2
    store.replicate_once()
    assert read_pair(MemoryStore(far)) == (2, 2)


@pytest.mark.req("K1")
def test_every_remote_commit_holds_a_whole_pair(host: Host, far: Shelf) -> None:
    store = host.start()
    epoch = store.take_over()
    for number in range(5):
        write_pair(store, number, epoch)
        store.replicate_once()
    for commit in host.remote.commits:
        puts = {update.key: update.payload for update in commit.updates if isinstance(update, Put)}
        assert puts[STATE].split()[1] == puts[OFFSET].split()[1]


def test_versions_pruned_while_a_copy_is_read_are_replaced_by_newer_ones(host: Host, far: Shelf) -> None:
    store = host.start()
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    local = store.tiers.local
    assert isinstance(local, Meddling)

    def overtake() -> None:
        write_pair(store, 2, epoch)
        for key in (STATE, OFFSET):
            store.prune(key, keep=1, epoch=epoch)

    local.meddle = overtake
    assert store.replicate_once().health is Health.OK
    assert read_pair(MemoryStore(far)) == (2, 2)


def test_a_deleted_key_is_deleted_in_the_remote_tier(host: Host, far: Shelf) -> None:
    store = host.start()
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    store.replicate_once()
    store.commit(Commit(epoch, [Delete(STATE)]))
    store.replicate_once()
    assert MemoryStore(far).keys() == [RESERVED, OFFSET]
    assert store.newest_remote(STATE) == 0


def test_a_key_deleted_before_a_crash_does_not_come_back(host: Host, far: Shelf) -> None:
    store = host.start()
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    store.replicate_once()
    store.delete(STATE, epoch=epoch)
    again = host.start()
    again.take_over()
    assert again.replication().standing is Standing.IN_STEP
    again.replicate_once()
    assert MemoryStore(far).keys() == [RESERVED, OFFSET]


def test_old_copies_are_forgotten(host: Host, far: Shelf) -> None:
    store = host.start()
    epoch = store.take_over()
    for number in range(100):
        write_pair(store, number, epoch)
        store.replicate_once()
    remote = MemoryStore(far)
    assert all(10 <= len(remote.versions(key)) <= 20 for key in (STATE, OFFSET, RESERVED))
    assert len(store.tiers.local.versions(RESERVED)) <= 8


# A remote tier that is away


def test_a_dead_remote_tier_fails_no_local_commit_and_is_caught_up_when_it_returns(host: Host, far: Shelf) -> None:
    store = host.start()
    epoch = store.take_over()
    host.remote.is_down = True
    write_pair(store, 1, epoch)
    failing = store.replicate_once()
    assert (failing.health, failing.failures, failing.commits_behind) == (Health.FAILING, 1, 1)
    assert failing.last_error is not None
    assert failing.remedy
    host.remote.is_down = False
    assert store.replicate_once().health is Health.OK
    assert read_pair(MemoryStore(far)) == (1, 1)
    assert store.replication().commits_behind == 0


def test_a_commit_does_not_wait_for_a_copy_under_way(host: Host) -> None:
    store = host.start()
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    arrived, go_on = threading.Event(), threading.Event()
    commit = host.remote.commit

    def slow(made: Commit) -> object:
        arrived.set()
        assert go_on.wait(10)
        return commit(made)

    host.remote.commit = slow  # type: ignore[method-assign, assignment]
    copying = threading.Thread(target=store.replicate_once)
    copying.start()
    try:
        assert arrived.wait(10)
        write_pair(store, 2, epoch)
        assert (store.replication().keys_behind, store.replication().commits_behind) == (2, 2)
    finally:
        go_on.set()
        copying.join()
    assert store.replication().commits_behind == 1


def test_a_copy_whose_answer_was_lost_is_made_again_and_changes_nothing(host: Host, far: Shelf) -> None:
    store = host.start()
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    host.remote.loses_answer = True
    assert store.replicate_once().health is Health.FAILING
    assert store.newest_remote(STATE) == 0
    assert store.replicate_once().health is Health.OK
    assert read_pair(MemoryStore(far)) == (1, 1)


def test_the_age_of_the_oldest_commit_that_is_not_remote_makes_the_store_lag(far: Shelf, handles: ExitStack) -> None:
    watch = Watch()
    store = handles.enter_context(stepped(MemoryStore(), Switched(far), clock=watch, every=timedelta(seconds=3600)))
    epoch = store.take_over()
    assert store.replication().health is Health.OK
    write_pair(store, 1, epoch)
    watch.forward(7200)
    write_pair(store, 2, epoch)
    assert (store.replication().oldest_age, store.replication().health) == (7200.0, Health.OK)
    watch.forward(1)
    assert store.replication().health is Health.LAGGING
    assert store.replication().remedy
    done = store.replicate_once()
    assert (done.oldest_age, done.health, done.last_success) == (0.0, Health.OK, watch.now)


def test_flush_waits_until_the_remote_tier_has_everything(host: Host, far: Shelf) -> None:
    store = host.start()
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    assert store.flush(timedelta(seconds=30)).commits_behind == 0
    assert read_pair(MemoryStore(far)) == (1, 1)


def test_flush_ends_when_its_time_is_up(host: Host) -> None:
    store = host.start()
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    host.remote.is_down = True
    status = store.flush(timedelta(seconds=0.05))
    assert (status.commits_behind, status.health) != (0, Health.OK)


def test_the_thread_copies_by_itself_and_catches_up_after_an_outage(far: Shelf, handles: ExitStack) -> None:
    remote = Switched(far)
    store = handles.enter_context(stepped(MemoryStore(), remote, every=timedelta(milliseconds=1)))
    epoch = store.take_over()
    remote.is_down = True
    write_pair(store, 1, epoch)
    with store.tiers.changed:
        assert store.tiers.changed.wait_for(lambda: store.tiers.attempts.failures > 2, 30)
    remote.is_down = False
    with store.tiers.changed:
        assert store.tiers.changed.wait_for(lambda: store.tiers.copied == 1, 30)
    assert read_pair(MemoryStore(far)) == (1, 1)


class Panic(BaseException):
    """What a client library raises that nobody thought of."""


class Surprising(Switched):
    """A remote tier whose commits raise what no store should."""

    surprise: BaseException | None = None

    def commit(self, commit: Commit) -> Mapping[str, int]:
        if self.surprise:
            raise self.surprise
        return super().commit(commit)


@pytest.mark.parametrize("surprise", [RuntimeError("why"), RuntimeError(), Panic()], ids=repr)
def test_the_thread_outlives_what_nobody_foresaw_and_the_status_tells_of_it(
    far: Shelf, handles: ExitStack, surprise: BaseException
) -> None:
    remote = Surprising(far)
    store = handles.enter_context(stepped(MemoryStore(), remote, every=timedelta(milliseconds=1)))
    epoch = store.take_over()
    remote.surprise = surprise
    write_pair(store, 1, epoch)
    with store.tiers.changed:
        assert store.tiers.changed.wait_for(lambda: store.tiers.attempts.failures > 2, 10)
    status = store.replication()
    assert (status.health, status.commits_behind) == (Health.FAILING, 1)
    assert status.last_error
    remote.surprise = None
    assert store.flush(timedelta(seconds=10)).health is Health.OK
    assert read_pair(MemoryStore(far)) == (1, 1)


def test_old_copies_that_cannot_be_forgotten_for_an_unforeseen_reason_do_not_end_the_thread(
    far: Shelf, handles: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgetting = threading.Event()

    def fail(*_: object, **__: object) -> int:
        forgetting.set()
        raise RuntimeError

    remote = Switched(far)
    monkeypatch.setattr(remote, "prune", fail)
    store = handles.enter_context(
        ReplicatedStore(MemoryStore(), remote, every=timedelta(milliseconds=1), keep_remote=1)
    )
    epoch = store.take_over()
    assert forgetting.wait(10)
    write_pair(store, 1, epoch)
    store.flush(timedelta(seconds=10))
    assert read_pair(MemoryStore(far)) == (1, 1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_died_is_told_as_failing(far: Shelf, handles: ExitStack) -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info:
                raise RuntimeError

    log = logging.Logger("broken")
    log.addHandler(Broken())
    remote = Surprising(far)
    store = handles.enter_context(ReplicatedStore(MemoryStore(), remote, every=timedelta(milliseconds=1), log=log))
    remote.surprise = Panic()
    store.take_over()
    assert store._thread is not None
    store._thread.join(10)
    assert not store._thread.is_alive()
    assert store.replication().health is Health.FAILING


# What is safely remote


def test_newest_remote_tells_the_local_version_that_survives_the_loss_of_this_host(host: Host) -> None:
    store = host.start()
    epoch = store.take_over()
    assert store.newest_remote(STATE) == 0
    for number in (1, 2, 3):
        write_pair(store, number, epoch)
    assert store.newest_remote(STATE) == 0
    store.replicate_once()
    assert store.newest_remote(STATE) == 3
    write_pair(store, 4, epoch)
    assert store.newest_remote(STATE) == 3


def test_newest_remote_is_still_known_after_a_restart_without_the_remote_tier(host: Host) -> None:
    store = host.start()
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    store.replicate_once()
    write_pair(store, 2, epoch)
    host.remote.is_down = True
    again = host.start(WithoutRemote.DETACH)
    again.take_over()
    assert again.newest_remote(STATE) == 1
    assert again.replication().keys_behind == 2


def test_what_a_crash_left_behind_is_copied_after_the_restart(host: Host, far: Shelf) -> None:
    store = host.start()
    write_pair(store, 1, store.take_over())
    again = host.start()
    again.take_over()
    assert again.replication().keys_behind == 2
    again.replicate_once()
    assert read_pair(MemoryStore(far)) == (1, 1)


# Fencing


@pytest.mark.req("D3", "X11")
def test_a_takeover_raises_the_epoch_of_both_tiers_to_the_same_number(host: Host, far: Shelf) -> None:
    for _ in range(5):
        MemoryStore(far).take_over()
    assert host.start().take_over() == host.disk.epoch == far.epoch == 6
    for _ in range(5):
        MemoryStore(host.disk).take_over()
    assert host.start().take_over(at_least=20) == host.disk.epoch == far.epoch == 20


@pytest.mark.req("D3", "X11")
def test_a_host_that_was_replaced_through_the_remote_tier_can_write_nothing_more(host: Host, other_host: Host) -> None:
    old = host.start()
    old_epoch = old.take_over()
    write_pair(old, 1, old_epoch)
    new_epoch = other_host.start().take_over()
    assert old.replicate_once().standing is Standing.FENCED
    for write in (lambda: write_pair(old, 2, old_epoch), lambda: old.prune(STATE, keep=1, epoch=old_epoch)):
        with pytest.raises(Fenced) as refused:
            write()
        assert refused.value.context["newest"] == new_epoch
    assert old.epoch() == new_epoch
    assert read_pair(MemoryStore(host.disk)) == (1, 1)


@pytest.mark.req("D3", "X11")
def test_a_host_with_nothing_to_copy_notices_that_it_was_replaced(host: Host, other_host: Host) -> None:
    old = host.start()
    epoch = old.take_over()
    old.replicate_once()
    other_host.start().take_over()
    assert old.replicate_once().standing is Standing.FENCED
    with pytest.raises(Fenced):
        write_pair(old, 1, epoch)


def test_a_takeover_that_cannot_fence_the_remote_tier_is_refused_and_changes_nothing(host: Host) -> None:
    host.remote.is_down = True
    store = host.start()
    with pytest.raises(StoreUnavailable, match="DETACH"):
        store.take_over()
    assert (host.disk.epoch, store.replication().standing) == (0, Standing.NOT_OWNER)


def test_a_detached_takeover_is_visible_and_ends_when_the_remote_tier_is_back(host: Host, far: Shelf) -> None:
    host.remote.is_down = True
    store = host.start(WithoutRemote.DETACH)
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    status = store.replication()
    assert (status.standing, status.health) == (Standing.DETACHED, Health.FAILING)
    assert status.remedy
    host.remote.is_down = False
    assert store.replicate_once().standing is Standing.IN_STEP
    assert far.epoch == epoch
    assert read_pair(MemoryStore(far)) == (1, 1)


@pytest.mark.req("D3", "X11")
def test_a_detached_host_is_fenced_when_another_took_the_remote_tier_first(host: Host, other_host: Host) -> None:
    host.remote.is_down = True
    detached = host.start(WithoutRemote.DETACH)
    epoch = detached.take_over()
    write_pair(detached, 1, epoch)
    other = other_host.start()
    write_pair(other, 7, other.take_over())
    other.replicate_once()
    host.remote.is_down = False
    assert detached.replicate_once().standing is Standing.FENCED
    with pytest.raises(Fenced):
        write_pair(detached, 2, epoch)
    assert read_pair(MemoryStore(other_host.remote._shelf)) == (7, 7)
    assert other.replicate_once().health is Health.OK


@pytest.mark.req("D3", "X11")
def test_a_detached_host_is_fenced_although_its_own_epoch_ran_ahead_of_the_rightful_owners(
    host: Host, other_host: Host, far: Shelf
) -> None:
    first = host.start()
    write_pair(first, 1, first.take_over())
    first.replicate_once()
    host.remote.is_down = True
    for _ in range(5):
        detached = host.start(WithoutRemote.DETACH)
        epoch = detached.take_over()
    write_pair(detached, 2, epoch)
    other = other_host.start()
    rightful = other.take_over()
    assert rightful < epoch
    host.remote.is_down = False
    assert detached.replicate_once().standing is Standing.FENCED
    with pytest.raises(Fenced):
        write_pair(detached, 3, epoch)
    assert (far.epoch, read_pair(MemoryStore(far))) == (rightful, (1, 1))


def test_a_local_tier_that_was_overtaken_can_be_neither_read_nor_written(host: Host, other_host: Host) -> None:
    old = host.start()
    write_pair(old, 1, old.take_over())
    old.replicate_once()
    other = other_host.start()
    epoch = other.take_over()
    assert other.replication().standing is Standing.BEHIND
    with pytest.raises(CheckpointDamaged, match="Recover"):
        other.get_raw(STATE)
    with pytest.raises(CheckpointDamaged, match="Recover"):
        write_pair(other, 9, epoch)
    assert other.replicate_once().standing is Standing.BEHIND
    assert read_pair(MemoryStore(other_host.remote._shelf)) == (1, 1)


# Refusals


def test_nobody_writes_before_taking_over_through_the_store(host: Host) -> None:
    store = host.start()
    MemoryStore(host.disk).take_over()
    with pytest.raises(UnknownEpoch):
        write_pair(store, 1, 1)


def test_the_key_of_the_manifest_is_hidden_and_cannot_be_written(host: Host) -> None:
    store = host.start()
    epoch = store.take_over()
    with pytest.raises(InvalidKey):
        store.put_raw(RESERVED, b"", epoch=epoch)
    assert store.keys() == []


def test_a_remote_tier_that_holds_something_else_is_refused_before_anything_changes(host: Host, far: Shelf) -> None:
    foreign = MemoryStore(far)
    foreign.put_raw("theirs", b"", epoch=foreign.take_over())
    with pytest.raises(ForeignFile):
        host.start().take_over()
    assert (far.epoch, host.disk.epoch) == (1, 0)
