"""The edge as a supervised graph: many sources side by side, restarts within a budget, and what is told of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.support.edge_stations import AT, Synthetic, document, frame, stations, synthetic

from holdfast.flow import AllOk, Exit, OperatorState
from holdfast.log import InboxReader
from holdfast.model.envelope import CAPTURED
from meridian.sensors import columns_of, to_observations
from meridian.sensors.control import Control
from meridian.sensors.edge import Edge
from meridian.sensors.graph import edge_graph
from meridian.sensors.simulate.senders import send_datagrams
from meridian.sensors.sources.radar_udp import RadarUdp
from meridian.sensors.station import Station

COUNT = 50


def stored(directory: Path, name: str) -> list[int]:
    """The times of the observations in a log, as numbers of frames."""
    with InboxReader.open(directory / f"obs.{name}") as reader:
        batches = [columns_of(batch.select(CAPTURED.names)) for batch in reader.read(0)]
    return [each.sensor_ts_ns - AT for batch in batches for each in to_observations(batch)]


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.001)


@pytest.mark.req("ORC-16", "ING-11")
def test_five_further_sources_run_beside_those_of_the_document_in_one_graph(tmp_path: Path) -> None:
    async def scenario() -> None:
        with ExitStack() as held:
            of_document = held.enter_context(stations(tmp_path))
            async with AsyncExitStack() as opened:
                for station in of_document:
                    await station.source.open()
                    opened.push_async_callback(station.source.close)
                further = [Synthetic(f"radar-{number}", COUNT) for number in range(11, 16)]
                graph = edge_graph([*of_document, *(synthetic(tmp_path, each, held) for each in further)]).build()
                running = asyncio.create_task(graph.run())
                radar = of_document[0].source
                assert isinstance(radar, RadarUdp)
                send_datagrams(radar.address, [frame(number) for number in range(COUNT)])
                await until(lambda: all(each.settled == COUNT for each in further))
                await until(lambda: of_document[0].pump.meter.durable == COUNT)
                assert graph.health().is_healthy
                graph.stop()
                outcome = await running
        assert outcome.event == AllOk()
        assert set(outcome.exits.values()) == {Exit.OK}
        assert len(outcome.exits) == 16

    asyncio.run(scenario())
    for name in ("radar-1", *(f"radar-{number}" for number in range(11, 16))):
        assert stored(tmp_path, name) == list(range(COUNT))


class Failing(RadarUdp):
    """A radar whose socket fails as often as this says, each time before it is read from."""

    errors: list[Exception]

    async def next(self):  # type: ignore[no-untyped-def] # noqa: ANN201 (as the one it overrides)
        if self.errors:
            raise self.errors.pop(0)
        return await super().next()


async def edge_with(monkeypatch: pytest.MonkeyPatch, directory: Path, *errors: Exception) -> Edge:
    """An edge that runs, whose radar fails so."""
    monkeypatch.setattr(Failing, "errors", list(errors), raising=False)
    monkeypatch.setattr("meridian.sensors.station.RadarUdp", Failing)
    edge = Edge(document(directory))
    await edge.start()
    return edge


def of_radar(edge: Edge) -> Station:
    return next(station for station in edge.stations if station.source.name == "radar-1")


@pytest.mark.req("ORC-11", "ORC-16")
def test_a_source_that_fails_five_times_is_started_again_and_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scenario() -> None:
        edge = await edge_with(monkeypatch, tmp_path, *[OSError("the socket is gone")] * 5)
        station = of_radar(edge)
        assert isinstance(station.source, RadarUdp)
        send_datagrams(station.source.address, [frame(number) for number in range(COUNT)])
        await until(lambda: station.pump.meter.durable == COUNT or not edge.is_healthy)
        assert edge.is_healthy
        assert [each.restarts for each in edge.standing(station).operators] == [5, 0]
        assert await edge.stop() == 0

    asyncio.run(scenario())
    assert stored(tmp_path, "radar-1") == list(range(COUNT))


@pytest.mark.req("ORC-08", "ORC-09", "ORC-16", "CTL-01")
@pytest.mark.parametrize(
    ("errors", "restarts", "why"),
    [
        ([OSError("the socket is gone")] * 6, 5, "OSError: the socket is gone"),
        ([ZeroDivisionError("a defect")], 0, "ZeroDivisionError: a defect"),
    ],
    ids=["budget used up", "crashed"],
)
def test_a_source_that_may_not_be_started_again_is_dead_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, errors: list[Exception], restarts: int, why: str
) -> None:
    async def scenario() -> None:
        edge = await edge_with(monkeypatch, tmp_path, *errors)
        dead = of_radar(edge)
        await until(lambda: not edge.standing(dead).is_alive)
        await until(lambda: edge.standing(dead).operators[1].state is OperatorState.ENDED)
        assert not edge.is_healthy
        assert edge.standing(dead).why == why
        assert edge.standing(dead).operators[0].restarts == restarts
        assert [edge.standing(station).is_alive for station in edge.stations] == [False, True, True]
        assert await edge.stop() == 0

    asyncio.run(scenario())


@pytest.mark.req("ORC-11")
def test_a_log_that_fails_is_not_started_again_and_ends_its_source_alone(tmp_path: Path) -> None:
    with ExitStack() as held:
        broken, whole = (synthetic(tmp_path, Synthetic(name, COUNT), held) for name in ("radar-1", "radar-2"))
        broken.landing.inbox.close()

        async def scenario() -> None:
            graph = edge_graph([broken, whole]).build()
            running = asyncio.create_task(graph.run())
            await until(lambda: whole.pump.meter.durable == COUNT)
            assert graph.health().failed == ("obs.radar-1",)
            graph.stop()
            outcome = await running
            assert outcome.exits["radar-1"] is Exit.OK
            assert [each.restarts for each in graph.health().operators] == [0] * 4

        asyncio.run(scenario())


@pytest.mark.req("CTL-02", "FLW-09")
def test_the_figures_of_operators_and_edges_are_on_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scenario() -> dict[str, dict[str, dict[str, object]]]:
        edge = await edge_with(monkeypatch, tmp_path, OSError("gone"))
        control = Control(edge, ("127.0.0.1", 0))
        await control.start()
        station = of_radar(edge)
        assert isinstance(station.source, RadarUdp)
        send_datagrams(station.source.address, [frame(number) for number in range(COUNT)])
        await until(lambda: station.pump.meter.durable == COUNT and not station.pump.under_way)
        host, port = control.address
        page = await asyncio.to_thread(lambda: urlopen(f"http://{host}:{port}/metrics").read())
        await edge.stop()
        await control.stop()
        told: dict[str, dict[str, dict[str, object]]] = json.loads(page)
        return told

    told = asyncio.run(scenario())
    assert set(told["operators"]) == {name for each in told["sources"] for name in (each, f"obs.{each}")}
    assert told["operators"]["radar-1"]["operator_restart_total"] == 1
    assert told["operators"]["obs.radar-1"]["operator_restart_total"] == 0
    assert all(each["operator_uptime_seconds"] > 0 for each in told["operators"].values())  # type: ignore[operator]
    edges = {
        f"{each} -> obs.{each}": capacity for each, capacity in (("radar-1", 60_000), ("optical", 1), ("isl", 1024))
    }
    assert {edge: figures["channel_capacity"] for edge, figures in told["edges"].items()} == edges
    assert [figures["channel_occupancy"] for figures in told["edges"].values()] == [0, 0, 0]
    assert told["edges"]["radar-1 -> obs.radar-1"]["channel_items_total"] == COUNT
    for figures in told["sources"].values():
        assert {"circuit_breaker_state", "retry_attempts_total", "channel_occupancy"} <= set(figures)


@pytest.mark.req("FLW-02", "FLW-09")
def test_a_source_waits_while_its_log_has_no_room_and_the_edge_is_seen_to_be_full(tmp_path: Path) -> None:
    with ExitStack() as held:
        source = Synthetic("radar-1", COUNT)
        station = synthetic(tmp_path, source, held, capacity=3)
        flights = station.pump.flights

        async def scenario() -> None:
            station.landing.inbox.pause_admission()
            graph = edge_graph([station]).build()
            running = asyncio.create_task(graph.run())
            await until(lambda: flights.stats().fullness == 1.0)
            for _ in range(100):
                await asyncio.sleep(0)
            assert flights.stats().occupancy == 3
            station.landing.inbox.resume_admission()
            await until(lambda: source.settled == COUNT)
            graph.stop()
            assert (await running).event == AllOk()
            assert flights.stats().high_water == 3

        asyncio.run(scenario())
