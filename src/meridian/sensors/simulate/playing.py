"""Plays a scenario to an edge over real sockets, as fast as its times say, or as fast as the edge takes it."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from meridian.sensors.observation import SourceKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from meridian.sensors.simulate.archive import Archive
    from meridian.sensors.simulate.emission import Emission
    from meridian.sensors.simulate.senders import BeaconSender

_AT_ONCE = 64
"""After so many emissions without a pause, others get their turn."""


class Tempo(Enum):
    """How fast a scenario is played."""

    REAL = "real"
    """Each emission at its time, counted from the first."""
    UNPACED = "unpaced"
    """One behind the other."""


@dataclass(slots=True, eq=False)
class Player:
    """The senders of all three networks."""

    radar: tuple[str, int]
    archive: Archive
    beacons: BeaconSender
    """Has to be running."""
    sent: Counter[SourceKind] = field(default_factory=Counter)

    async def play(self, emissions: Iterable[Emission], tempo: Tempo) -> None:
        """Send everything; returns when the last was sent, whatever became of it."""
        loop = asyncio.get_running_loop()
        started, first_ns = loop.time(), None
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.setblocking(False)
            datagrams.connect(self.radar)
            for number, emission in enumerate(emissions):
                first_ns = emission.at_ns if first_ns is None else first_ns
                due = started + (emission.at_ns - first_ns) / 1e9
                if tempo is Tempo.REAL and (left := due - loop.time()) > 0:
                    await asyncio.sleep(left)
                elif number % _AT_ONCE == 0:
                    await asyncio.sleep(0)
                self._send(datagrams, emission)

    def _send(self, datagrams: socket.socket, emission: Emission) -> None:
        self.sent[emission.kind] += 1
        match emission.kind:
            case SourceKind.RADAR:
                with suppress(ConnectionRefusedError):  # what the last one met; radar does not care who listens
                    datagrams.send(emission.data)
            case SourceKind.OPTICAL:
                assert emission.record is not None
                self.archive.publish([emission.record])
            case SourceKind.INTER_SATELLITE_LINK:
                self.beacons.add([emission.data])
