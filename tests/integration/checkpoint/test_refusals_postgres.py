"""When its server is gone, full or read-only, a PostgreSQL store says so, loses nothing, and goes on by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest

from holdfast.checkpoint.contract import Commit, Put
from holdfast.checkpoint.postgres import PostgresStore
from holdfast.model.errors import CommitStateUnknown, ForeignFile, StoreFull, StoreReadOnly, StoreUnavailable
from tests.support.cutting import Cut, Relay

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def relay(postgres_dsn: str) -> Iterator[Relay]:
    address = psycopg.conninfo.conninfo_to_dict(postgres_dsn)
    with Relay(str(address["host"]), int(str(address["port"]))) as relay:
        yield relay


@pytest.fixture
def namespace() -> str:
    return f"test-{uuid4().hex}"


@pytest.fixture
def direct(postgres_dsn: str, namespace: str) -> Iterator[PostgresStore]:
    with PostgresStore(postgres_dsn, namespace=namespace) as store:
        yield store


@pytest.fixture
def relayed(postgres_dsn: str, namespace: str, relay: Relay) -> Iterator[PostgresStore]:
    with PostgresStore(f"{postgres_dsn} port={relay.port}", namespace=namespace) as store:
        yield store


def test_postgres_that_goes_down_is_unavailable_and_comes_back_by_itself(relayed: PostgresStore, relay: Relay) -> None:
    epoch = relayed.take_over()
    relayed.put_raw("a", b"1", epoch=epoch)
    relay.go_down()
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            relayed.put_raw("a", b"2", epoch=epoch)
        with pytest.raises(StoreUnavailable):
            relayed.get_raw("a")
    relay.come_up()
    assert relayed.put_raw("a", b"2", epoch=epoch) == 2


def test_postgres_that_ends_our_connection_is_unavailable_once(
    direct: PostgresStore, postgres_dsn: str, namespace: str
) -> None:
    epoch = direct.take_over()
    row = direct._connection.execute("SELECT pg_backend_pid()").fetchone() if direct._connection else None
    assert row is not None
    with psycopg.connect(postgres_dsn, autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(%s, 5000)", (row[0],))
    with pytest.raises(StoreUnavailable):
        direct.put_raw("a", b"1", epoch=epoch)
    assert direct.put_raw("a", b"1", epoch=epoch) == 1


@pytest.mark.parametrize("when", Cut)
def test_postgres_lost_during_a_commit_leaves_its_state_unknown(
    relayed: PostgresStore, direct: PostgresStore, relay: Relay, when: Cut
) -> None:
    epoch = relayed.take_over()
    relayed.put_raw("a", b"1", epoch=epoch)
    relay.cut_at(b"COMMIT\x00", when)
    with pytest.raises(CommitStateUnknown):
        relayed.commit(Commit(epoch, [Put("a", b"2"), Put("b", b"2")]))
    happened = when is Cut.AFTER
    assert [len(direct.versions(key)) for key in ("a", "b")] == ([2, 1] if happened else [1, 0])
    assert relayed.versions("a") == direct.versions("a")


def test_postgres_lost_before_the_commit_is_unavailable_and_nothing_was_written(
    relayed: PostgresStore, direct: PostgresStore, relay: Relay
) -> None:
    epoch = relayed.take_over()
    relay.cut_at(b"INSERT INTO holdfast_versions", Cut.BEFORE)
    with pytest.raises(StoreUnavailable):
        relayed.put_raw("a", b"1", epoch=epoch)
    assert direct.keys() == []
    assert relayed.put_raw("a", b"1", epoch=epoch) == 1


def test_postgres_says_when_it_is_read_only(direct: PostgresStore, postgres_dsn: str, namespace: str) -> None:
    epoch = direct.take_over()
    direct.put_raw("a", b"1", epoch=epoch)
    dsn = f"{postgres_dsn} options='-cdefault_transaction_read_only=on'"
    with PostgresStore(dsn, namespace=namespace) as store:
        with pytest.raises(StoreReadOnly):
            store.put_raw("a", b"2", epoch=epoch)
        assert [version.number for version in store.versions("a")] == [1]


def test_postgres_says_when_it_is_full(postgres_dsn: str, namespace: str) -> None:
    """A real disk that is full would stop the server of all tests, so the server answers as it then does."""
    with psycopg.connect(postgres_dsn) as admin:
        admin.execute(f'CREATE SCHEMA "{namespace}"')
    dsn = f"{postgres_dsn} options='-csearch_path={namespace}'"
    with PostgresStore(dsn, namespace=namespace) as store:
        epoch = store.take_over()
        store.put_raw("a", b"1", epoch=epoch)
        with psycopg.connect(dsn) as admin:
            admin.execute(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$"
            )
            admin.execute("CREATE TRIGGER disk_full BEFORE INSERT ON holdfast_versions EXECUTE FUNCTION refuse()")
        with pytest.raises(StoreFull):
            store.put_raw("a", b"2", epoch=epoch)
        with psycopg.connect(dsn) as admin:
            admin.execute("DROP TRIGGER disk_full ON holdfast_versions")
        assert store.put_raw("a", b"2", epoch=epoch) == 2


def test_postgres_whose_tables_are_gone_is_never_taken_for_an_empty_store(postgres_dsn: str, namespace: str) -> None:
    with psycopg.connect(postgres_dsn) as admin:
        admin.execute(f'CREATE SCHEMA "{namespace}"')
    with PostgresStore(f"{postgres_dsn} options='-csearch_path={namespace}'", namespace=namespace) as store:
        store.take_over()
        with psycopg.connect(postgres_dsn) as admin:
            admin.execute(f'DROP SCHEMA "{namespace}" CASCADE')
        with pytest.raises(ForeignFile):
            store.keys()


def test_a_server_that_is_not_there_is_unavailable(namespace: str) -> None:
    with pytest.raises(StoreUnavailable):
        PostgresStore("host=127.0.0.1 port=1 dbname=none", namespace=namespace)
