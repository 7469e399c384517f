"""The edge as a graph of operators: for each station a source, its log, and the one bounded edge between them.

A source is started again when it fails, five times a minute; what it had taken is under way all the while. A log is
never: what it cannot get over is told, and its station ends. Either way the other stations go on.

The two operators of a station are the two halves of its pump, and the edge between them is the pump's own (see
`flights`). A queue between the two would put a wait between taking an observation and beginning its way to disk, in
which a cancelled source would hold it alone, and would let the log have one batch a sync instead of all there are.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING

from holdfast.flow import FOR_SINKS, FOR_STATELESS, Loss, OperatorGraph, Supervision, by_type
from meridian.sensors.landing import Flight, log_trouble

if TYPE_CHECKING:
    from holdfast.flow import Inlet, Outlet, Stop
    from meridian.sensors.pump import Pump
    from meridian.sensors.station import Station

Work = Coroutine[None, None, None]

source_trouble = by_type(transient=(OSError,))
"""What an error of a source means: sockets recover, and what a source does not know is for good."""


def edge_graph(stations: Iterable[Station]) -> OperatorGraph:
    """The graph of these stations: sources by their names, logs by theirs."""
    graph = OperatorGraph("edge")
    for station in stations:
        pump, bury = station.pump, station.landing.bury
        taking = Supervision(FOR_STATELESS, source_trouble, bury, when_lost=Loss.OTHERS_GO_ON)
        landing = Supervision(FOR_SINKS, log_trouble, bury, when_lost=Loss.OTHERS_GO_ON)
        source = graph.add_source(station.source.name, _taking(pump), taking)
        log = graph.add_sink(station.landing.inbox.name, _landing(pump), landing)
        graph.connect(source, log, pump.flights.plan, name=pump.flights.name, channel=pump.flights)
    return graph


def _taking(pump: Pump) -> Callable[[Outlet[Flight], Stop], Work]:
    async def take(outlet: Outlet[Flight], stop: Stop) -> None:
        assert outlet is pump.flights, "what is taken is begun on the edge that was declared"
        stop.subscribe(pump.source.stop)
        try:
            await pump.take()
        finally:
            stop.unsubscribe(pump.source.stop)

    return take


def _landing(pump: Pump) -> Callable[[Inlet[Flight]], Work]:
    async def land(inlet: Inlet[Flight]) -> None:
        assert inlet is pump.flights, "what lands is what is on the edge that was declared"
        await pump.land()

    return land
