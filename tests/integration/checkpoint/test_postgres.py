"""What the PostgreSQL store promises beyond the contract: shared by hosts, durable, an extra that may be missing."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest

from holdfast.checkpoint.contract import Durability
from holdfast.checkpoint.postgres import PostgresStore
from holdfast.model.errors import MissingExtra, UnknownEpoch


def test_namespaces_in_one_database_share_nothing(postgres_dsn: str) -> None:
    name = uuid4().hex
    with (
        PostgresStore(postgres_dsn, namespace=f"{name}-orders") as orders,
        PostgresStore(postgres_dsn, namespace=f"{name}-users") as users,
    ):
        epoch = orders.take_over(at_least=5)
        orders.put_raw("a", b"1", epoch=epoch)
        assert (users.epoch(), users.keys()) == (0, [])
        with pytest.raises(UnknownEpoch):
            users.put_raw("a", b"1", epoch=epoch)


def test_a_commit_waits_for_the_servers_disk_whatever_the_default_is(postgres_dsn: str) -> None:
    dsn = f"{postgres_dsn} options='-csynchronous_commit=off'"
    with PostgresStore(dsn, namespace=f"test-{uuid4().hex}") as store:
        assert store.durability is Durability.REMOTE
        assert store._connection is not None
        assert store._connection.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_hosts_that_open_a_new_store_at_once_all_succeed(postgres_dsn: str) -> None:
    schema = f"s{uuid4().hex}"
    with psycopg.connect(postgres_dsn) as admin:
        admin.execute(f"CREATE SCHEMA {schema}")

    def host(_: int) -> int:
        with PostgresStore(f"{postgres_dsn} options='-csearch_path={schema}'", namespace="orders") as store:
            return store.take_over()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(host, range(8))) == list(range(1, 9))


def test_without_the_client_library_the_extra_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install holdfast\[postgres\]"):
        PostgresStore("host=nowhere", namespace="orders")
