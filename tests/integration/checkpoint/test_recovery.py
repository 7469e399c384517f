"""Two tiers on real stores: SQLite and files here, S3 and PostgreSQL there, with networks and processes that break."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from holdfast.checkpoint.contract import CheckpointStore, Origin
from holdfast.checkpoint.objects import ObjectStore
from holdfast.checkpoint.postgres import PostgresStore
from holdfast.checkpoint.replication.counting import LabelledCounter, recovery_path_total
from holdfast.checkpoint.replication.latestore import LateStore
from holdfast.checkpoint.replication.recovery import Fresh, Recovered, RecoveryPath, recover
from holdfast.checkpoint.replication.replicated import ReplicatedStore
from holdfast.checkpoint.replication.status import Health, Standing
from holdfast.checkpoint.replication.takeover import WithoutRemote
from holdfast.model.errors import CheckpointDamaged, Fenced, StoreUnavailable
from tests.support.backends import FileBackend, SqliteBackend
from tests.support.cutting import Relay
from tests.support.objects import impatient_client
from tests.support.proxy import CUT, Proxy, pass_all
from tests.support.replica_process import STEPS, open_local, open_remote
from tests.support.replicas import NEVER_BY_ITSELF, OFFSET, STATE, read_pair, stepped, write_pair
from tests.support.servers import Servers

PAIR = (STATE, OFFSET)


@dataclass
class Network:
    """A remote tier behind something that can be cut."""

    connect: Callable[[], CheckpointStore]
    """A handle through the cut."""
    direct: Callable[[], CheckpointStore]
    go_down: Callable[[], object]
    come_up: Callable[[], object]
    address: str
    """For a process of its own, past the cut."""


@pytest.fixture(params=["s3", "postgres"])
def network(request: pytest.FixtureRequest, servers: Servers) -> Iterator[Network]:
    with ExitStack() as stack:
        yield (_s3 if request.param == "s3" else _postgres)(servers, stack)


def _s3(servers: Servers, stack: ExitStack) -> Network:
    bucket = servers.fresh_bucket()
    proxy = Proxy(bucket.endpoint)
    stack.callback(proxy.close)

    def switch(is_down: bool) -> None:
        proxy.rule = (lambda method, path: CUT) if is_down else pass_all

    return Network(
        lambda: ObjectStore(impatient_client(proxy.address, bucket.name), "replica"),
        lambda: ObjectStore(bucket.connect(), "replica"),
        lambda: switch(True),
        lambda: switch(False),
        f"{bucket.endpoint}|{bucket.name}",
    )


def _postgres(servers: Servers, stack: ExitStack) -> Network:
    dsn, namespace = servers.postgres(), f"test-{uuid.uuid4().hex}"
    parts = psycopg.conninfo.conninfo_to_dict(dsn)
    relay = stack.enter_context(Relay(str(parts["host"]), int(str(parts["port"]))))
    return Network(
        lambda: PostgresStore(f"{dsn} port={relay.port}", namespace=namespace),
        lambda: PostgresStore(dsn, namespace=namespace),
        relay.go_down,
        relay.come_up,
        f"{dsn}|{namespace}",
    )


@dataclass
class Host:
    """A host's local disk, and processes on it."""

    kind: str
    disk: Path
    network: Network
    handles: ExitStack
    paths: LabelledCounter = field(default_factory=recovery_path_total)

    @property
    def backend(self) -> SqliteBackend | FileBackend:
        return SqliteBackend(self.disk) if self.kind == "sqlite" else FileBackend(self.disk)

    def start(
        self, without: WithoutRemote = WithoutRemote.REFUSE, every: timedelta = NEVER_BY_ITSELF
    ) -> ReplicatedStore:
        """A new process on the host."""
        store = stepped(self.backend.open(), LateStore(self.network.connect), without_remote=without, every=every)
        self.handles.callback(store.close)
        return store

    def recovered(self, store: CheckpointStore, fresh: Fresh = Fresh.REFUSED) -> Recovered:
        return recover(store, PAIR, epoch=store.take_over(), paths=self.paths, fresh=fresh)

    def lose_disk(self) -> None:
        if self.kind == "file":
            shutil.rmtree(self.disk)
            return
        for path in self.disk.parent.glob(f"{self.disk.name}*"):
            path.unlink()

    def counted(self) -> dict[str, int]:
        return {labels[0][1]: count for labels, count in self.paths.values().items()}


@pytest.fixture(params=["sqlite", "file"])
def host(request: pytest.FixtureRequest, tmp_path: Path, network: Network) -> Iterator[Host]:
    with ExitStack() as handles:
        yield Host(request.param, tmp_path / "first", network, handles)


@pytest.fixture
def other_host(host: Host, tmp_path: Path) -> Host:
    return Host(host.kind, tmp_path / "second", host.network, host.handles)


def remote_pair(network: Network) -> tuple[int, int] | None:
    with network.direct() as store:
        return read_pair(store)


def written(host: Host, *copied: bool) -> None:
    """A process that writes a pair per flag, copies it when the flag is set, and ends."""
    store = host.start()
    epoch = store.take_over()
    for number, flag in enumerate(copied, 1):
        write_pair(store, number, epoch)
        if flag:
            store.replicate_once()
    store.close()


# A remote tier that goes and comes


def test_an_outage_of_the_remote_tier_costs_no_commit_and_is_caught_up(host: Host, network: Network) -> None:
    store = host.start()
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    assert store.replicate_once().health is Health.OK
    network.go_down()
    for number in (2, 3, 4):
        write_pair(store, number, epoch)
    failing = store.replicate_once()
    assert (failing.health, failing.keys_behind, failing.commits_behind) == (Health.FAILING, 2, 3)
    assert (remote_pair(network), store.newest_remote(STATE)) == ((1, 1), 1)
    network.come_up()
    assert store.replicate_once().health is Health.OK
    assert (remote_pair(network), store.newest_remote(STATE)) == ((4, 4), 4)


def test_a_process_started_during_an_outage_is_refused_or_detached_by_name(host: Host, network: Network) -> None:
    written(host, True)
    network.go_down()
    with pytest.raises(StoreUnavailable):
        host.start().take_over()
    store = host.start(WithoutRemote.DETACH)
    epoch = store.take_over()
    assert recover(store, PAIR, epoch=epoch, paths=host.paths).path is RecoveryPath.LOCAL
    write_pair(store, 2, epoch)
    network.come_up()
    assert store.replicate_once().standing is Standing.IN_STEP
    assert remote_pair(network) == (2, 2)


def test_the_thread_copies_and_flush_waits_for_it(host: Host, network: Network) -> None:
    store = host.start(every=timedelta(milliseconds=20))
    epoch = store.take_over()
    for number in range(1, 21):
        write_pair(store, number, epoch)
    assert store.flush(timedelta(seconds=60)).commits_behind == 0
    assert remote_pair(network) == (20, 20)


# The routes


@pytest.mark.req("K3")
def test_every_route_is_taken_when_it_is_the_best_one_and_is_counted(host: Host) -> None:
    assert host.recovered(host.start()).path is RecoveryPath.FRESH
    written(host, True, True, False, False)
    store = host.start()
    assert host.recovered(store).payload(STATE) == b"state 4"
    store.close()
    host.backend.tamper(OFFSET, 4)
    store = host.start()
    fallen = host.recovered(store)
    assert (fallen.payload(STATE), fallen.payload(OFFSET)) == (b"state 3", b"offset 3")
    assert [store.versions(key)[-1].origin for key in PAIR] == [Origin.FALLBACK, Origin.FALLBACK]
    store.replicate_once()
    store.close()
    host.lose_disk()
    assert host.recovered(host.start()).payload(OFFSET) == b"offset 3"
    assert host.counted() == {"fresh": 1, "local": 1, "local_fallback": 1, "remote": 1}


@pytest.mark.req("K3", "K1")
def test_a_damaged_version_that_was_copied_is_fetched_back(host: Host) -> None:
    written(host, True, True)
    host.backend.tamper(STATE, 2)
    store = host.start()
    found = host.recovered(store)
    assert (found.path, read_pair(store)) == (RecoveryPath.REMOTE, (2, 2))


@pytest.mark.req("X19", "K3")
def test_a_damaged_only_checkpoint_never_means_fresh_unasked(host: Host) -> None:
    written(host, False)
    host.backend.tamper(STATE, 1)
    with pytest.raises(CheckpointDamaged):
        host.recovered(host.start())
    assert host.counted() == {}
    assert host.recovered(host.start(), Fresh.ALLOWED).path is RecoveryPath.FRESH


@pytest.mark.req("X19", "K3")
def test_a_lost_disk_during_an_outage_is_not_fresh(host: Host, network: Network) -> None:
    written(host, True)
    host.lose_disk()
    network.go_down()
    store = host.start(WithoutRemote.DETACH)
    with pytest.raises(StoreUnavailable):
        host.recovered(store)
    network.come_up()
    assert store.replicate_once().standing is Standing.FENCED, "the epoch on a new disk may be another host's"
    found = host.recovered(store)
    assert (found.path, found.payload(STATE)) == (RecoveryPath.REMOTE, b"state 1")


@pytest.mark.req("X19", "K1")
def test_a_file_store_whose_newest_commit_is_unreadable_falls_back_as_a_whole(tmp_path: Path, network: Network) -> None:
    with ExitStack() as handles:
        host = Host("file", tmp_path / "first", network, handles)
        written(host, False, False)
        newest = max((host.disk / "commits").iterdir())
        newest.chmod(0o600)
        newest.write_bytes(b"torn")
        store = host.start()
        found = recover(store, (*PAIR, "never-written"), epoch=store.take_over(), paths=host.paths)
        assert (found.path, read_pair(store)) == (RecoveryPath.LOCAL_FALLBACK, (1, 1))
        assert store.get_raw("never-written") is None
        write_pair(store, 3, store.tiers.epoch)
        assert store.replicate_once().health is Health.OK


# Two hosts


@pytest.mark.req("K3", "X11", "D3")
def test_a_second_host_takes_over_through_the_remote_tier_and_the_first_is_fenced(
    host: Host, other_host: Host, network: Network
) -> None:
    first = host.start()
    epoch = first.take_over()
    write_pair(first, 1, epoch)
    first.replicate_once()
    write_pair(first, 2, epoch)
    second = other_host.start()
    found = other_host.recovered(second)
    assert (found.path, read_pair(second)) == (RecoveryPath.REMOTE, (1, 1))
    write_pair(second, 5, second.tiers.epoch)
    second.replicate_once()
    assert first.replicate_once().standing is Standing.FENCED
    with pytest.raises(Fenced):
        write_pair(first, 3, epoch)
    assert remote_pair(network) == (5, 5)
    first.close()
    returned = host.start()
    assert host.recovered(returned).path is RecoveryPath.REMOTE
    assert read_pair(returned) == (5, 5)


# kill -9


@pytest.mark.req("K1", "K3")
@pytest.mark.parametrize("step", STEPS)
def test_kill_9_at_any_step_of_a_copy_leaves_a_whole_pair_in_both_tiers(
    host: Host, network: Network, step: str
) -> None:
    command = [sys.executable, "-m", "tests.support.replica_process", host.kind, str(host.disk), network.address, step]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    committed = int(ended.stdout.split()[-1])
    copied = committed if step in ("copy.written", "record.written") else committed - 3
    assert remote_pair(network) == (copied, copied)
    with open_local(host.kind, host.disk) as local:
        assert read_pair(local) == (committed, committed)
    store = host.start()
    found = host.recovered(store)
    assert (found.path, read_pair(store)) == (RecoveryPath.LOCAL, (committed, committed))
    assert store.newest_remote(STATE) == copied
    store.close()
    host.lose_disk()
    with open_remote(network.address) as remote:
        assert read_pair(remote) == (copied, copied)
    replaced = host.start()
    assert host.recovered(replaced).path is RecoveryPath.REMOTE
    assert read_pair(replaced) == (copied, copied)
