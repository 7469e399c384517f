"""Sensors that are not there, playing to the edge of an operation in real time.

    python -m meridian.hosting.simulator DIRECTORY

They see the objects where they really are, by the home's `truth.json`, until the process is told to stop.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from meridian.hosting.demonstration import OURS
from meridian.operation.catalog import read_elements
from meridian.operation.home import Home
from meridian.orbit.sites import Site
from meridian.sensors import SourceKind
from meridian.sensors.config import host_and_port
from meridian.sensors.config import load as load_edge
from meridian.sensors.simulate import Archive, BeaconSender, Objects, Player, Scenario, Tempo, emissions

RADAR_RATE = 30
OPTICAL_RATE = 5
_FOREVER = 10**9
_KEPT_NS = 3600 * 10**9
"""So long the archive has what telescopes saw."""
_TIDYING_S = 60.0


def scenario(home: Home, *, start_ns: int) -> Scenario:
    """What the sensors of a home see from now on."""
    sites = home.document().places()
    arrays = _named(sites, SourceKind.RADAR)
    return Scenario(
        objects=Objects.of(read_elements(home.truth)),
        start_ns=start_ns,
        seconds=_FOREVER,
        radars={int(number): site for number, site in arrays.items() if number.isdecimal()},
        telescopes=_named(sites, SourceKind.OPTICAL),
        radar_rate=RADAR_RATE,
        optical_rate=OPTICAL_RATE,
        satellites=OURS,
    )


def _named(sites: Mapping[str, Site], kind: SourceKind) -> dict[str, Site]:
    """The sites of one network, by what its sensors call themselves: without what the edge puts before it."""
    prefix = f"{kind.prefix}-"
    return {name.removeprefix(prefix): site for name, site in sites.items() if name.startswith(prefix)}


async def play(home: Home) -> None:
    """Until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    edge = load_edge(home.edge_file)
    assert edge.radar is not None
    assert edge.optical is not None
    assert edge.isl is not None
    archive = Archive()
    await archive.start(urlsplit(edge.optical.endpoint).port or 80)
    beacons = BeaconSender(host_and_port(edge.isl.listen_addr))
    player = Player(host_and_port(edge.radar.bind_addrs[0]), archive, beacons)
    tasks = [
        asyncio.create_task(beacons.run()),
        asyncio.create_task(_tidied(archive)),
        asyncio.create_task(player.play(emissions(scenario(home, start_ns=time.time_ns())), Tempo.REAL)),
    ]
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait([*tasks, waiting], return_when=asyncio.FIRST_COMPLETED)
    for task in (*tasks, waiting):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    await archive.stop()


async def _tidied(archive: Archive) -> None:
    """Keep the archive from growing, until cancelled."""
    while True:
        archive.forget(time.time_ns() - _KEPT_NS)
        archive.requests.clear()
        await asyncio.sleep(_TIDYING_S)


if __name__ == "__main__":
    asyncio.run(play(Home(Path(sys.argv[1]))))
