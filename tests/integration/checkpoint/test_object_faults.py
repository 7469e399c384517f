"""Checkpoints as objects with a network in between: answers that get lost, servers that go away or refuse."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from random import Random

import pytest

from holdfast.checkpoint.contract import CheckpointStore
from holdfast.checkpoint.objects import PUTS, ObjectStore
from holdfast.model.errors import (
    CommitStateUnknown,
    StoreReadOnly,
    StoreUnavailable,
)
from tests.support.objects import impatient_client
from tests.support.proxy import CUT, LOSE_ANSWER, PASS, Proxy
from tests.support.servers import Bucket, Servers

LARGE = Random(3).randbytes(100_000)


def payload(store: CheckpointStore, key: str = "k") -> bytes | None:
    stored = store.get_raw(key)
    return stored.payload if stored else None


@pytest.fixture
def proxy(s3: Bucket) -> Iterator[Proxy]:
    proxy = Proxy(s3.endpoint)
    yield proxy
    proxy.close()


@pytest.fixture
def store(proxy: Proxy, s3: Bucket) -> ObjectStore:
    """A store with one commit, reached through the proxy."""
    store = ObjectStore(impatient_client(proxy.address, s3.name), "p")
    store.put_raw("k", b"before", epoch=store.take_over())
    return store


@pytest.fixture
def direct(s3: Bucket, store: ObjectStore) -> Callable[[], ObjectStore]:
    """Another handle on the same store that does not go through the proxy."""
    return lambda: ObjectStore(impatient_client(s3.endpoint, s3.name), "p")


def on_commit(*actions: str | int, then: str | int = PASS) -> Callable[[str, str], str | int]:
    """A rule for the documents that are sent: these actions in turn, then another one; all else passes."""
    left = list(actions)

    def rule(method: str, path: str) -> str | int:
        if method == "PUT" and "/commits/" in path:
            return left.pop(0) if left else then
        return PASS

    return rule


# Answers that get lost


@pytest.mark.parametrize("fault", [LOSE_ANSWER, CUT, 409, 500, 503])
def test_a_commit_without_a_plain_answer_is_read_back_and_made_once(
    proxy: Proxy, store: ObjectStore, direct: Callable[[], ObjectStore], fault: str | int
) -> None:
    proxy.rule = on_commit(fault)
    assert store.put_raw("k", b"after", epoch=store.epoch()) == 2
    assert payload(direct()) == b"after"
    assert [version.number for version in direct().versions("k")] == [1, 2]


def test_a_commit_that_can_neither_be_confirmed_nor_read_back_is_unknown(
    proxy: Proxy, store: ObjectStore, direct: Callable[[], ObjectStore]
) -> None:
    def down_after_the_put(method: str, path: str) -> str:
        if method == "PUT":
            proxy.rule = lambda *_: CUT
            return LOSE_ANSWER
        return PASS

    epoch = store.epoch()
    proxy.rule = down_after_the_put
    with pytest.raises(CommitStateUnknown):
        store.put_raw("k", b"after", epoch=epoch)
    assert payload(direct()) == b"after"
    proxy.rule = lambda *_: PASS
    assert payload(store) == b"after"


def test_a_commit_that_cannot_be_looked_after_is_unknown(proxy: Proxy, store: ObjectStore) -> None:
    def down_after_the_answer(method: str, path: str) -> str:
        if method == "PUT":
            proxy.rule = lambda *_: CUT
        return PASS

    epoch = store.epoch()
    proxy.rule = down_after_the_answer
    with pytest.raises(CommitStateUnknown):
        store.put_raw("k", b"after", epoch=epoch)


def test_a_commit_that_the_server_never_takes_is_unknown_after_some_attempts(
    proxy: Proxy, store: ObjectStore, direct: Callable[[], ObjectStore]
) -> None:
    proxy.rule = on_commit(then=CUT)
    before = len(proxy.requests)
    with pytest.raises(CommitStateUnknown):
        store.put_raw("k", b"after", epoch=store.epoch())
    sent = [request for request in proxy.requests[before:] if request[0] == "PUT"]
    assert len(sent) == PUTS
    assert payload(direct()) == b"before"


def test_a_name_that_another_writer_took_is_not_ours(
    proxy: Proxy, store: ObjectStore, direct: Callable[[], ObjectStore]
) -> None:
    """The answer is lost, and what is read back is the document of somebody else."""
    other, epoch = direct(), store.epoch()

    def others_first(method: str, path: str) -> str:
        if method == "PUT" and "/commits/" in path:
            proxy.rule = lambda *_: PASS
            other.put_raw("k", b"theirs", epoch=epoch)
            return CUT
        return PASS

    proxy.rule = others_first
    assert store.put_raw("k", b"ours", epoch=epoch) == 3
    assert [other.get_version("k", number).payload for number in (2, 3)] == [b"theirs", b"ours"]


def test_a_large_payload_that_cannot_be_stored_leaves_no_commit(
    proxy: Proxy, store: ObjectStore, direct: Callable[[], ObjectStore]
) -> None:
    proxy.rule = lambda method, path: CUT if "/blobs/" in path else PASS
    with pytest.raises(StoreUnavailable):
        store.put_raw("k", LARGE, epoch=store.epoch())
    assert payload(direct()) == b"before"


# Servers that go away, or refuse


def test_a_refused_connection_is_unavailable_and_passes(
    s3: Bucket, proxy: Proxy, store: ObjectStore, direct: Callable[[], ObjectStore]
) -> None:
    proxy.rule = lambda *_: CUT
    for use in (store.keys, lambda: store.get_raw("k"), lambda: store.put_raw("k", b"", epoch=1), store.take_over):
        with pytest.raises(StoreUnavailable):
            use()
    proxy.rule = lambda *_: PASS
    assert payload(store) == b"before"
    assert store.put_raw("k", b"after", epoch=store.epoch()) == 2


def test_a_bucket_that_does_not_exist_is_unavailable(s3: Bucket) -> None:
    with pytest.raises(StoreUnavailable, match="no-such-bucket"):
        ObjectStore(impatient_client(s3.endpoint, "no-such-bucket"))


def test_credentials_that_may_not_write_make_the_store_read_only(proxy: Proxy, store: ObjectStore) -> None:
    proxy.rule = lambda method, _: 403 if method == "PUT" else PASS
    with pytest.raises(StoreReadOnly):
        store.put_raw("k", b"after", epoch=store.epoch())
    assert payload(store) == b"before"


def test_credentials_that_may_not_read_make_the_store_unavailable(proxy: Proxy, store: ObjectStore) -> None:
    proxy.rule = lambda *_: 403
    with pytest.raises(StoreUnavailable, match="403 Forbidden"):
        store.get_raw("k")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class OwnServer:
    """An S3 server of this test alone, which can be killed and started again. It forgets everything."""

    def __init__(self) -> None:
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/bucket", method="PUT"), timeout=5):
                    return
            except OSError:
                assert time.monotonic() < deadline, "the S3 server did not start"
                time.sleep(0.05)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def own_server(servers: Servers) -> Iterator[OwnServer]:
    server = OwnServer()
    yield server
    server.kill()


@pytest.mark.req("X19")
def test_a_server_that_comes_back_empty_is_not_taken_for_a_new_store(own_server: OwnServer) -> None:
    store = ObjectStore(impatient_client(own_server.endpoint, "bucket"))
    epoch = store.take_over()
    store.put_raw("k", b"before", epoch=epoch)
    own_server.kill()
    for use in (lambda: store.get_raw("k"), lambda: store.put_raw("k", b"", epoch=epoch)):
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            use()
    own_server.start()
    for use in (lambda: store.get_raw("k"), lambda: store.put_raw("k", b"", epoch=epoch)):
        with pytest.raises(StoreUnavailable, match="is gone"):
            use()
