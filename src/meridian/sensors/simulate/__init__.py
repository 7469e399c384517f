"""Sensor networks that are not there: real orbits, seen by radars, telescopes and satellites, from a seed.

The names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.lazily import loaded

if TYPE_CHECKING:
    from meridian.sensors.simulate.archive import Archive, Faults, Record
    from meridian.sensors.simulate.emission import Emission
    from meridian.sensors.simulate.objects import Objects, synthetic
    from meridian.sensors.simulate.playing import Player, Tempo
    from meridian.sensors.simulate.scenario import (
        RADARS,
        TELESCOPES,
        Burst,
        Noise,
        Outage,
        Scenario,
        Span,
        emissions,
    )
    from meridian.sensors.simulate.senders import BeaconSender, send_datagrams

_HOMES = {
    "meridian.sensors.simulate.emission": ("Emission",),
    "meridian.sensors.simulate.archive": (
        "Archive",
        "Faults",
        "Record",
    ),
    "meridian.sensors.simulate.objects": (
        "Objects",
        "synthetic",
    ),
    "meridian.sensors.simulate.playing": (
        "Player",
        "Tempo",
    ),
    "meridian.sensors.simulate.scenario": (
        "RADARS",
        "TELESCOPES",
        "Burst",
        "Noise",
        "Outage",
        "Scenario",
        "Span",
        "emissions",
    ),
    "meridian.sensors.simulate.senders": (
        "BeaconSender",
        "send_datagrams",
    ),
}

__all__ = [
    "RADARS",
    "TELESCOPES",
    "Archive",
    "BeaconSender",
    "Burst",
    "Emission",
    "Faults",
    "Noise",
    "Objects",
    "Outage",
    "Player",
    "Record",
    "Scenario",
    "Span",
    "Tempo",
    "emissions",
    "send_datagrams",
    "synthetic",
]

__getattr__ = loaded(__name__, _HOMES)
