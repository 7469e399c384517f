"""What the PostgreSQL sink promises beyond the contract: takeovers that never wait, and what each answer means."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pytest

from holdfast.model.errors import Fatal, MissingExtra, Rejected, SinkFenced, Throttled, Transient
from holdfast.sinks import Postgres
from tests.support.sink_lanes import Lanes, batch_of, identity, rows_of, seqs_of
from tests.support.sink_places import PLACES, PostgresPlace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import Servers


@pytest.fixture
def place(tmp_path: Path, servers: Servers) -> PostgresPlace:
    place = PLACES["postgres"](tmp_path, servers)
    assert isinstance(place, PostgresPlace)
    return place


@pytest.fixture
def lanes(place: PostgresPlace) -> Iterator[Lanes]:
    lanes = Lanes(place)
    with lanes.handles:
        yield lanes


@pytest.fixture
def role(place: PostgresPlace) -> Iterator[str]:
    """A role that may do nothing."""
    name = f"r{uuid4().hex}"
    place.run(f"CREATE ROLE {name} LOGIN")
    yield name
    place.run(f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def test_a_takeover_does_not_wait_for_rows_that_are_being_written(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = lanes.open(epoch=1)
    assert isinstance(old, Postgres)
    write = old._write

    def write_then_be_fenced(*arguments: object) -> None:
        write(*arguments)  # type: ignore[arg-type]
        newer.append(lanes.open(epoch=2))

    newer: list[object] = []
    monkeypatch.setattr(old, "_write", write_then_be_fenced)
    with pytest.raises(SinkFenced):
        old.deliver(batch_of(1))
    assert (len(newer), lanes.place.is_untouched()) == (1, True)


def test_lanes_that_make_the_same_table_at_once_all_succeed(lanes: Lanes) -> None:
    def deliver(number: int) -> None:
        sink = lanes.place.sink()
        sink.open(identity(lane=f"lane {number}"))
        sink.deliver(batch_of(1, rows_of(number)))
        sink.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(deliver, range(8)))
    assert sorted(lanes.seqs()) == seqs_of(*range(8))


def test_a_table_may_lie_in_another_schema_and_its_cursor_beside_it(place: PostgresPlace) -> None:
    schema = f"Elsewhere {uuid4().hex}"
    place.run(f'CREATE SCHEMA "{schema}"')
    sink = Postgres(place.dsn, table=f"{schema}.orders")
    sink.open(identity())
    sink.deliver(batch_of(1))
    sink.close()
    assert place.query(f'SELECT count(*) FROM "{schema}".orders') == [(5,)]
    assert place.query(f'SELECT oseq FROM "{schema}"._holdfast_cursors') == [(1,)]


def test_a_commit_waits_for_the_servers_disk_whatever_the_default_is(place: PostgresPlace) -> None:
    sink = Postgres(f"{place.dsn} options='-csynchronous_commit=off'", table="orders")
    with sink._session.reading() as db:
        assert db.execute("SHOW synchronous_commit").fetchone() == ("on",)
    sink.close()


def test_without_the_client_library_the_extra_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install holdfast\[postgres\]"):
        Postgres("host=nowhere", table="orders")


def test_a_constraint_that_is_checked_at_the_commit_gives_a_probe_the_same_verdict(
    place: PostgresPlace, lanes: Lanes
) -> None:
    place.run(
        "CREATE TABLE known (id TEXT PRIMARY KEY)",
        "INSERT INTO known VALUES ('id-1000000'), ('id-1000001')",
        "CREATE TABLE orders (seq BIGINT, id TEXT REFERENCES known DEFERRABLE INITIALLY DEFERRED, note TEXT)",
    )
    sink = lanes.open()
    for attempt in (sink.probe, sink.deliver):
        with pytest.raises(Rejected, match="foreign key"):
            attempt(batch_of(1, rows_of(1, 3)))
        attempt(batch_of(1, rows_of(1, 2)))
    assert (lanes.seqs(), sink.cursor()) == (seqs_of(1, count=2), 1)


def _refuse(place: PostgresPlace, what: str) -> None:
    place.run(
        "CREATE TABLE IF NOT EXISTS orders (seq BIGINT, id TEXT, note TEXT)",
        f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION {what}; END $$",
        "CREATE TRIGGER refusing BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION refuse()",
    )


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("'not this row'", Rejected),
        ("'No space left on device' USING ERRCODE = 'disk_full'", Transient),
        ("'deadlock' USING ERRCODE = 'deadlock_detected'", Transient),
        ("'serialize' USING ERRCODE = 'serialization_failure'", Transient),
        ("'too large' USING ERRCODE = 'program_limit_exceeded'", Rejected),
        ("'may not' USING ERRCODE = 'insufficient_privilege'", Fatal),
    ],
)
def test_what_the_server_answers_decides_what_the_lane_does(
    place: PostgresPlace, lanes: Lanes, what: str, kind: type[Exception]
) -> None:
    _refuse(place, what)
    sink = lanes.open()
    with pytest.raises(kind):
        sink.deliver(batch_of(1))
    place.run("DROP TRIGGER refusing ON orders")
    sink.deliver(batch_of(1))
    assert lanes.seqs() == seqs_of(1)


def test_a_value_that_does_not_fit_the_column_is_refused(place: PostgresPlace, lanes: Lanes) -> None:
    place.run("CREATE TABLE orders (seq SMALLINT, id UUID, note VARCHAR(3))")
    good = pa.table({"seq": [7], "id": [str(uuid4())], "note": ["abc"]})
    sink = lanes.open()
    for column, value in (("seq", 1 << 20), ("id", "no uuid"), ("note", "abcd")):
        with pytest.raises(Rejected):
            sink.deliver(batch_of(1, good.set_column(good.schema.names.index(column), column, pa.array([value]))))
    sink.deliver(batch_of(1, good))
    assert place.query("SELECT note FROM orders") == [("abc",)]


def test_a_role_without_rights_stops_the_lane(place: PostgresPlace, role: str) -> None:
    with pytest.raises(Fatal, match="permission denied"):
        Postgres(f"{place.dsn} user={role}", table="public.orders").open(identity())


def test_a_role_that_may_only_insert_is_enough_once_the_tables_are_there(
    place: PostgresPlace, lanes: Lanes, role: str
) -> None:
    lanes.open().deliver(batch_of(1))
    (schema,) = place.query("SELECT current_schema()")[0]
    place.run(
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT INSERT ON orders TO {role}",
        f"GRANT SELECT, INSERT, UPDATE ON _holdfast_cursors TO {role}",
    )
    sink = Postgres(f"{place.dsn} user={role}", table="orders")
    sink.open(identity(epoch=2))
    sink.deliver(batch_of(2))
    sink.close()
    assert lanes.seqs() == seqs_of(1, 2)


def test_a_role_that_gets_its_rights_back_goes_on(place: PostgresPlace, lanes: Lanes, role: str) -> None:
    lanes.open().deliver(batch_of(1))
    (schema,) = place.query("SELECT current_schema()")[0]
    place.run(
        f"GRANT USAGE ON SCHEMA {schema} TO {role}", f"GRANT SELECT, INSERT, UPDATE ON _holdfast_cursors TO {role}"
    )
    sink = Postgres(f"{place.dsn} user={role}", table="orders")
    sink.open(identity(epoch=2))
    with pytest.raises(Fatal, match="permission denied"):
        sink.deliver(batch_of(2))
    place.run(f"GRANT INSERT ON orders TO {role}")
    sink.deliver(batch_of(2))
    sink.close()
    assert lanes.seqs() == seqs_of(1, 2)


@pytest.mark.parametrize("change", ["user=nobody_at_all", "dbname=nowhere_at_all"])
def test_being_refused_at_the_door_stops_the_lane(place: PostgresPlace, change: str) -> None:
    with pytest.raises(Fatal, match="does not exist"):
        Postgres(f"{place.dsn} {change}", table="orders").open(identity())


def test_too_many_connections_ask_for_patience(place: PostgresPlace, role: str) -> None:
    place.run(f"ALTER ROLE {role} CONNECTION LIMIT 0")
    with pytest.raises(Throttled, match="too many connections"):
        Postgres(f"{place.dsn} user={role}", table="orders").open(identity())


def test_a_server_that_is_read_only_stops_the_lane(place: PostgresPlace, lanes: Lanes) -> None:
    lanes.open()
    sink = Postgres(f"{place.dsn} options='-cdefault_transaction_read_only=on'", table="orders")
    with pytest.raises(Fatal, match="read-only"):
        sink.open(identity(epoch=2))


def test_a_lock_that_is_not_got_in_time_is_tried_again(
    place: PostgresPlace, lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    monkeypatch.setattr("holdfast.clients.postgres._SESSION", ("SET lock_timeout = '100ms'",))
    sink = lanes.open()
    sink.deliver(batch_of(1))
    with psycopg.connect(place.dsn) as other:
        other.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(Transient, match="lock timeout"):
            sink.deliver(batch_of(2))
    sink.deliver(batch_of(2))
    assert lanes.seqs() == seqs_of(1, 2)
