"""Whole pipelines into files, SQLite and PostgreSQL, of which one is down: what is committed follows the policy."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.cutting import Relay
from tests.support.engine_pipelines import Tap, Watched, finish, impatient, started, stored_cursors, wait_until
from tests.support.local_pipelines import passed

from holdfast import All, BatchLimits, Files, Pipeline, Postgres, Quorum, Required, Sqlite
from holdfast.deliver import LaneState
from holdfast.model.positions import Order, Seq

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.ledger import Policy

EARLY, LATE = 300, 900


@dataclass
class World:
    """Three sinks, of which PostgreSQL is behind a relay that can be cut."""

    directory: Path
    dsn: str
    relay: Relay
    source: Tap = field(default_factory=lambda: Tap(LATE))
    sinks: dict[str, Watched] = field(default_factory=dict)

    def pipeline(self, source: Tap, policy: Policy, *, database_required: bool) -> Pipeline:
        self.sinks = {
            "archive": Watched(Files(self.directory / "files")),
            "table": Watched(Sqlite(self.directory / "sink.db", table="orders")),
            "database": Watched(Postgres(f"{self.dsn} port={self.relay.port}", table="orders")),
        }
        required = {"database": database_required}
        return (
            Pipeline("orders", directory=self.directory / "pipeline")
            .read(source)
            .write(*(impatient(name, sink, required=required.get(name, True)) for name, sink in self.sinks.items()))
            .commit(policy)
            .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
        )

    def numbers(self) -> dict[str, list[int]]:
        with psycopg.connect(self.dsn) as db:
            rows = db.execute("SELECT n FROM orders ORDER BY ctid").fetchall()
        return {
            "archive": file_numbers(self.directory / "files"),
            "table": table_numbers(self.directory / "sink.db"),
            "database": [n for (n,) in rows],
        }


@pytest.fixture
def world(tmp_path: Path, postgres_dsn: str) -> Iterator[World]:
    schema = f"engine_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_dsn, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {schema}")
        address = psycopg.conninfo.conninfo_to_dict(postgres_dsn)
        with Relay(str(address["host"]), int(str(address["port"]))) as relay:
            yield World(tmp_path, f"{postgres_dsn} options='-c search_path={schema}'", relay)
        db.execute(f"DROP SCHEMA {schema} CASCADE")


def everywhere(events: int) -> dict[str, list[int]]:
    return dict.fromkeys(["archive", "table", "database"], passed(events))


def bring_to(whole: Pipeline, source: Tap, events: int, *lanes: str) -> None:
    """Open the tap, and wait until these lanes have delivered what comes."""
    source.open_to = events
    engine = whole.engine

    def have_it() -> bool:
        newest = engine.ground.outbox.newest()
        if newest is None or sum(newest.ends.values()) < events:
            return False
        standing = whole.status().delivery.lanes
        return all(standing[name].cursor == newest.oseq for name in lanes)

    wait_until(have_it, f"{lanes} have {events} events")


def state_of_database(whole: Pipeline) -> LaneState:
    return whole.status().delivery.lanes["database"].state


@pytest.fixture
def whole(world: World, policy: Policy, is_required: bool) -> Iterator[Pipeline]:
    """A running pipeline: all sinks have the early events, and since the database is gone the others have the late."""
    with started(world.pipeline(world.source, policy, database_required=is_required)) as whole:
        bring_to(whole, world.source, EARLY, "archive", "table", "database")
        world.relay.go_down()
        bring_to(whole, world.source, LATE, "archive", "table")
        yield whole


HOLDS_BACK = [
    pytest.param(Required(), True, id="required"),
    pytest.param(All(), False, id="all, and it is optional", marks=pytest.mark.req("X13")),
    pytest.param(Quorum(3), False, id="quorum of all three"),
]
GOES_ON = [
    pytest.param(Required(), False, id="required, and it is optional"),
    pytest.param(Quorum(2), True, id="quorum of the other two"),
]


@pytest.mark.req("D6", "D8")
@pytest.mark.parametrize(("policy", "is_required"), HOLDS_BACK)
def test_nothing_is_committed_past_a_sink_that_is_down_and_the_policy_needs(world: World, whole: Pipeline) -> None:
    status = whole.status().delivery
    assert status.committed == status.lanes["database"].cursor < status.newest
    whole.stop()
    assert all(stored.committed <= stored.delivered["database"] for stored in stored_cursors(world.directory))


@pytest.mark.req("D6", "D8")
@pytest.mark.parametrize(("policy", "is_required"), GOES_ON)
def test_a_sink_that_is_down_and_the_policy_can_do_without_holds_nothing_back(whole: Pipeline) -> None:
    status = whole.status().delivery
    assert status.committed == status.newest > status.lanes["database"].cursor


@pytest.mark.req("X3")
@pytest.mark.parametrize(("policy", "is_required"), [(All(), False)])
@pytest.mark.usefixtures("whole")
def test_the_source_is_told_only_what_the_sink_that_is_down_has_too(world: World) -> None:
    told = world.source.told
    assert told
    assert all(position.compare(Seq(EARLY)) is not Order.AFTER for position in told)
    world.relay.come_up()
    wait_until(lambda: told[-1] == Seq(LATE), "the source is told the end once the sink is back")


@pytest.mark.req("D17", "M20")
@pytest.mark.parametrize(("policy", "is_required"), [*HOLDS_BACK, *GOES_ON])
def test_a_sink_that_was_down_for_long_catches_up_and_no_sink_is_brought_anything_twice(
    world: World, whole: Pipeline
) -> None:
    wait_until(lambda: state_of_database(whole) is LaneState.FROZEN, "the status says that the lane is frozen")
    world.relay.come_up()
    finish(whole)
    assert world.numbers() == everywhere(LATE)
    taken = {name: sink.taken for name, sink in world.sinks.items()}
    assert taken == dict.fromkeys(taken, sorted(set(taken["table"])))


@pytest.mark.req("D17", "M20")
@pytest.mark.parametrize(("policy", "is_required"), [(Required(), True)])
def test_a_sink_that_is_down_over_a_restart_catches_up_and_the_others_are_brought_nothing_twice(
    world: World, whole: Pipeline
) -> None:
    whole.stop()
    with started(world.pipeline(Tap(LATE, open_to=LATE), Required(), database_required=True)) as again:
        assert state_of_database(again) is LaneState.FROZEN
        world.relay.come_up()
        finish(again)
    assert world.sinks["archive"].taken == world.sinks["table"].taken == []
    assert world.numbers() == everywhere(LATE)
