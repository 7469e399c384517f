"""A connection that breaks: before the commit nothing happened, during it nobody knows and the cursor tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from holdfast.model.errors import CommitUnknown, Transient
from holdfast.sinks import Postgres
from tests.support.cutting import Cut, Relay
from tests.support.sink_lanes import Lanes, batch_of, seqs_of
from tests.support.sink_places import PLACES, PostgresPlace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import Servers


@pytest.fixture(params=["postgres", "postgres-upsert"])
def direct(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> PostgresPlace:
    place = PLACES[request.param](tmp_path, servers)
    assert isinstance(place, PostgresPlace)
    return place


@pytest.fixture
def relay(postgres_dsn: str) -> Iterator[Relay]:
    address = psycopg.conninfo.conninfo_to_dict(postgres_dsn)
    with Relay(str(address["host"]), int(str(address["port"]))) as relay:
        yield relay


@pytest.fixture
def lanes(direct: PostgresPlace, relay: Relay) -> Iterator[Lanes]:
    lanes = Lanes(PostgresPlace(f"{direct.dsn} port={relay.port}", direct.mode))
    with lanes.handles:
        yield lanes


@pytest.mark.req("X5")
@pytest.mark.parametrize("when", Cut)
def test_a_connection_lost_during_a_commit_leaves_it_in_doubt_and_the_cursor_tells(
    lanes: Lanes, direct: PostgresPlace, relay: Relay, when: Cut
) -> None:
    sink = lanes.open()
    sink.deliver(batch_of(1))
    relay.cut_at(b"COMMIT\x00", when)
    with pytest.raises(CommitUnknown):
        sink.deliver(batch_of(2))
    happened = when is Cut.AFTER
    assert sink.cursor() == (2 if happened else 1)
    assert Lanes(direct).seqs() == (seqs_of(1, 2) if happened else seqs_of(1))
    sink.deliver(batch_of(2))
    sink.deliver(batch_of(3))
    assert Lanes(direct).seqs() == seqs_of(1, 2, 3)


@pytest.mark.parametrize(
    "word", [b"BEGIN", b"COPY ", b"row 2000003", b"UPDATE "], ids=["begin", "copy", "rows", "cursor"]
)
def test_a_connection_lost_before_the_commit_is_tried_again_over_a_new_one(
    lanes: Lanes, direct: PostgresPlace, relay: Relay, word: bytes
) -> None:
    sink = lanes.open()
    sink.deliver(batch_of(1))
    relay.cut_at(word, Cut.BEFORE)
    with pytest.raises(Transient):
        sink.deliver(batch_of(2))
    assert Lanes(direct).seqs() == seqs_of(1)
    sink.deliver(batch_of(2))
    assert Lanes(direct).seqs() == seqs_of(1, 2)


def test_a_server_that_is_down_is_transient_for_every_call_and_comes_back_by_itself(
    lanes: Lanes, direct: PostgresPlace, relay: Relay
) -> None:
    sink = lanes.open()
    relay.go_down()
    for _ in range(2):
        with pytest.raises(Transient):
            sink.deliver(batch_of(1))
        with pytest.raises(Transient):
            sink.probe(batch_of(1))
        with pytest.raises(Transient):
            sink.cursor()
    with pytest.raises(Transient):
        lanes.open(epoch=2)
    relay.come_up()
    sink.deliver(batch_of(1))
    assert Lanes(direct).seqs() == seqs_of(1)


def test_a_server_that_ends_our_connection_is_transient_once(lanes: Lanes, direct: PostgresPlace) -> None:
    sink = lanes.open()
    assert isinstance(sink, Postgres)
    with sink._session.reading() as db:
        (backend,) = db.execute("SELECT pg_backend_pid()").fetchone() or (0,)
    direct.run(f"SELECT pg_terminate_backend({backend}, 5000)")
    with pytest.raises(Transient):
        sink.deliver(batch_of(1))
    sink.deliver(batch_of(1))
    assert Lanes(direct).seqs() == seqs_of(1)


def test_a_server_that_is_not_there_is_transient() -> None:
    with pytest.raises(Transient):
        Lanes(PostgresPlace("host=127.0.0.1 port=1 dbname=none")).open()
