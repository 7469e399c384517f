"""Four conditions, in a real pipeline: the command, its exit code and the metrics tell them, and that they are over.

A dead sink, a source that hangs, a full disk, and dead letters without room. Each is told with its cause and what to do
as soon as somebody asks, and within one interval by itself; once it is gone, all is well without anybody's doing.
"""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from holdfast import BatchLimits, Files, Pipeline, Sqlite
from holdfast.capture.generator import order_time
from holdfast.cli.commands import holdfast
from holdfast.control.alarms import Alarms
from holdfast.control.ending import Ending
from holdfast.control.exporting import MetricsPort
from holdfast.control.observer import Observer
from holdfast.control.service import Service
from holdfast.control.socket import ControlSocket
from holdfast.control.status import status_of
from holdfast.deliver import LaneState
from holdfast.log import DeadLetterLimits
from holdfast.sinks import Http
from tests.support.crash.orders import prepare
from tests.support.engine_disks import Ballast
from tests.support.engine_pipelines import START, Tap, Watched, impatient, started, wait_until
from tests.support.http_receiver import Server
from tests.support.mounts import small_disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.capture import Captured
    from holdfast.control.alarms import AlarmChange
    from holdfast.control.snapshot import Snapshot
    from holdfast.deliver import Sink

INTERVAL = 0.5
EARLY = 88


class Hanging(Tap):
    """A source that may hang while it is read."""

    stalled_after = 0.3

    def __init__(self) -> None:
        super().__init__(100_000)
        self.answers = threading.Event()
        self.answers.set()

    def read(self, wait: float) -> Captured | None:
        self.answers.wait()
        return super().read(wait)


class World:
    """Orders into one sink that is needed, asked and measured as an operator does."""

    def __init__(self, directory: Path, sink: Sink, limits: DeadLetterLimits | None = None) -> None:
        self.root = directory / "pipeline"
        self.source = Hanging()
        self.alarms: list[AlarmChange] = []
        self.whole = (
            Pipeline("orders", directory=self.root)
            .read(self.source)
            .write(impatient("table", sink))
            .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
            .dead_letters(limits or DeadLetterLimits())
        )

    @contextmanager
    def watched(self) -> Iterator[None]:
        alarms = Alarms()

        def told(pictures: tuple[Snapshot, ...]) -> None:
            self.alarms.extend(alarms.changes(status_of(pictures)))

        with started(self.whole), ExitStack() as beside:
            beside.callback(self.source.answers.set)
            observer = Observer(self.whole.engine, interval=INTERVAL, told=told)
            observer.start()
            beside.callback(observer.close)
            service = Service(self.whole.engine, observer, Ending())
            beside.callback(ControlSocket(self.root, service.ask).close)
            port = MetricsPort(0, service.status)
            beside.callback(port.close)
            self.port = port.port
            self.source.open_to = EARLY
            wait_until(self.has_everything, "the first events are delivered")
            wait_until(lambda: self.ask()[0] == 0, "it is well")
            yield

    def ask(self, *command: str) -> tuple[int, Any]:
        """What a command says about it, and how it ends."""
        done = CliRunner().invoke(holdfast, [*(command or ("status",)), str(self.root), "--output", "json"])
        return done.exit_code, json.loads(done.stdout)

    def metrics(self) -> str:
        with urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            text: str = answer.read().decode()
            return text

    def check_told(self, component: str, alarm: str, *, cause: str, remedy: str) -> None:
        """Whoever asks is told, and an alarm is raised within an interval."""
        code, status = self.ask()
        assert code == 5, status["health"]
        assert not status["health"]["ready"]
        found = [each for each in status["health"]["findings"] if each["alarm"] == alarm]
        assert [(each["component"], each["level"]) for each in found] == [(component, "failing")], status["health"]
        assert cause in found[0]["cause"]
        assert remedy in found[0]["remedy"]
        text = self.metrics()
        assert 'holdfast_ready{pipeline="orders"} 0' in text
        assert f'holdfast_alarm{{pipeline="orders",alarm="{alarm}",component="{component}"}} 1' in text
        assert f'holdfast_health_level{{pipeline="orders",component="{component}"}} 2' in text
        wait_until(lambda: self.has_rung("alarm", alarm), "it is alarmed", within=10 * INTERVAL)

    def check_over(self, alarm: str) -> None:
        """Nobody is told any more, and nobody did anything about the pipeline."""
        wait_until(lambda: self.ask()[0] == 0, "it is well again")
        text = self.metrics()
        assert 'holdfast_ready{pipeline="orders"} 1' in text
        assert f'alarm="{alarm}"' not in text
        wait_until(lambda: self.has_rung("cleared", alarm), "the alarm is over", within=10 * INTERVAL)

    def has_rung(self, event: str, alarm: str) -> bool:
        return any((each.event, each.alarm.value) == (event, alarm) for each in self.alarms)

    def has_everything(self) -> bool:
        engine = self.whole.engine
        newest = engine.ground.outbox.newest()
        is_published = newest is not None and sum(newest.ends.values()) == self.source.open_to
        return is_published and engine.delivery.is_caught_up()

    def is_frozen(self) -> bool:
        return self.whole.status().delivery.lanes["table"].state is LaneState.FROZEN


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[None]:
    """The server takes requests, and is gone with its port at the end."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.req("X6", "X21")
def test_a_dead_sink(tmp_path: Path) -> None:
    server = Server()
    server.RequestHandlerClass.protocol_version = "HTTP/1.0"  # no connection outlives the server
    address, handler = server.server_address, server.RequestHandlerClass
    world = World(tmp_path, Http(f"http://127.0.0.1:{address[1]}/orders", timeout=2))
    with ExitStack() as up:
        up.enter_context(serving(server))
        with world.watched():
            up.close()
            world.source.open_to = 220
            wait_until(world.is_frozen, "its lane is frozen")
            world.check_told("sink table", "lane-frozen", cause="127.0.0.1", remedy="Bring the sink back")
            with serving(ThreadingHTTPServer(address, handler)):  # type: ignore[arg-type]
                world.check_over("lane-frozen")


@pytest.mark.req("X21")
def test_a_source_that_hangs_while_it_is_read(tmp_path: Path) -> None:
    world = World(tmp_path, Sqlite(tmp_path / "sink.db", table="orders"))
    with world.watched():
        world.source.answers.clear()
        wait_until(lambda: world.whole.status().captures[0].is_stalled, "it is known to hang")
        world.check_told("source orders", "source-stalled", cause="has not come back", remedy="by itself")
        assert 'holdfast_source_silent_seconds{pipeline="orders",source="orders"} 0\n' not in world.metrics()
        world.source.answers.set()
        world.check_over("source-stalled")


def test_a_full_disk(tmp_path: Path) -> None:
    world = World(tmp_path, Sqlite(tmp_path / "sink.db", table="orders"))
    with small_disk(world.root, "96M") as disk, world.watched():
        ballast = Ballast(disk)
        world.source.open_to = 2200
        world.check_told("disk", "disk-full", cause="Nothing is captured", remedy="Make room")
        ballast.remove()
        world.check_over("disk-full")


@pytest.mark.req("D13", "X21")
def test_dead_letters_without_room(tmp_path: Path) -> None:
    prepare(tmp_path)
    world = World(tmp_path, Sqlite(tmp_path / "sink.db", table="orders"), DeadLetterLimits(max_entries=1))
    with world.watched():
        world.source.open_to = 220
        wait_until(world.is_frozen, "the second row that is refused waits")
        world.check_told("dead letters", "dead-letters-full", cause="They are full", remedy="holdfast dlq review")
        assert world.ask("dlq", "ack")[0] == 0
        wait_until(lambda: not world.is_frozen(), "its lane goes on")
        assert world.ask("dlq", "ack")[0] == 0
        world.check_over("dead-letters-full")
        assert world.ask("dlq", "count")[1] == []


@pytest.mark.req("X21")
def test_how_new_the_events_are_is_told_for_every_source_and_sink(tmp_path: Path) -> None:
    table = Watched(Sqlite(tmp_path / "sink.db", table="orders"))
    world = World(tmp_path, table)
    world.whole = world.whole.write(impatient("archive", Files(tmp_path / "files"), required=False))
    with world.watched():
        wait_until(lambda: newest(world)["table"] == order_time(EARLY, START), "the table has the first events")
        table.down.set()
        world.source.open_to = 220
        wait_until(lambda: newest(world)["archive"] == order_time(220, START), "the files have the rest")
        last = order_time(220, START)
        assert newest(world) == {"orders": last, "table": order_time(EARLY, START), "archive": last}
        text = world.metrics()
        assert 'holdfast_source_event_lag_seconds{pipeline="orders",source="orders"}' in text
        assert 'holdfast_sink_event_lag_seconds{pipeline="orders",sink="table"}' in text
        assert "event lag" in CliRunner().invoke(holdfast, ["top", str(world.root), "--times", "1"]).stdout
        table.down.clear()
        wait_until(lambda: newest(world)["table"] == order_time(220, START), "the table has it too")


def newest(world: World) -> dict[str, datetime | None]:
    """When the newest event happened, by source and sink, as the status tells it."""
    seen = world.ask()[1]["snapshot"]
    at = datetime.fromisoformat(seen["at"])
    told = {each["name"]: each["event_lag"] for each in [*seen["sources"], *seen["lanes"]]}
    return {name: None if lag is None else at - timedelta(seconds=lag) for name, lag in told.items()}


@pytest.mark.req("FLW-12")
def test_what_waits_in_an_inbox_is_told_apart_from_what_it_keeps(tmp_path: Path) -> None:
    world = World(tmp_path, Sqlite(tmp_path / "sink.db", table="orders"))

    def source() -> dict[str, int]:
        (only,) = world.ask()[1]["snapshot"]["sources"]
        return {name: only[name] for name in ("waiting", "waiting_bytes", "nbytes")}

    with world.watched():
        wait_until(lambda: source()["waiting"] == 0, "everything is processed")
        kept = source()
        assert kept["nbytes"] > kept["waiting_bytes"] == 0
        world.ask("pause")
        readers = world.whole.engine.ground.readers.values()
        wait_until(lambda: all(each.admission_paused() for each in readers), "nothing more is admitted")
        world.source.open_to = 220
        wait_until(lambda: source()["waiting"] == 220 - EARLY, "the rest waits")
        assert source()["waiting_bytes"] == source()["nbytes"] - kept["nbytes"] > 0
        world.ask("resume")
        wait_until(lambda: source()["waiting"] == 0, "the rest is processed")
        assert source()["waiting_bytes"] == 0


def test_the_rows_that_a_sink_takes_can_be_looked_at_without_holding_it_up(tmp_path: Path) -> None:
    world = World(tmp_path, Sqlite(tmp_path / "sink.db", table="orders"))
    with world.watched():
        answers: list[dict[str, Any]] = []
        looking = threading.Thread(target=lambda: answers.append(tapped(world, "sink:table", rows=3)))
        looking.start()
        wait_until(is_open(world), "somebody looks")
        world.source.open_to = 550
        wait_until(lambda: bool(answers), "rows have passed")
        looking.join()
        (answer,) = answers
        assert [row["n"] for row in answer["rows"]] == [89, 91, 92]
        wait_until(world.has_everything, "the sink has everything")
        assert world.ask("tap", "--point", "sink:nobody")[1]["error"]["code"] == "HF-954"


def tapped(world: World, point: str, *, rows: int) -> dict[str, Any]:
    answer: dict[str, Any] = world.ask("tap", "--point", point, "--rows", str(rows), "--wait", "10")[1]
    return answer


def is_open(world: World) -> Callable[[], bool]:
    return lambda: bool(world.whole.engine.delivery.taps()["table"]._open)
