"""Sensor networks that are not there: real orbits, seen by radars, telescopes and satellites, from a seed.

The names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.lazily import loaded

if TYPE_CHECKING:
    from meridian.sensors.simulate.archive import Archive, Faults, Record
    from meridian.sensors.simulate.emission import Emission
    from meridian.sensors.simulate.orbits import Objects, from_tle, synthetic
    from meridian.sensors.simulate.playing import Player, Tempo
    from meridian.sensors.simulate.scenario import Burst, Noise, Outage, Scenario, Span, emissions
    from meridian.sensors.simulate.senders import BeaconSender, send_datagrams
    from meridian.sensors.simulate.sites import RADARS, TELESCOPES, Site, optical_view, radar_view

_HOMES = {
    "meridian.sensors.simulate.emission": ("Emission",),
    "meridian.sensors.simulate.archive": (
        "Archive",
        "Faults",
        "Record",
    ),
    "meridian.sensors.simulate.orbits": (
        "Objects",
        "from_tle",
        "synthetic",
    ),
    "meridian.sensors.simulate.playing": (
        "Player",
        "Tempo",
    ),
    "meridian.sensors.simulate.scenario": (
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
    "meridian.sensors.simulate.sites": (
        "RADARS",
        "TELESCOPES",
        "Site",
        "optical_view",
        "radar_view",
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
    "Site",
    "Span",
    "Tempo",
    "emissions",
    "from_tle",
    "optical_view",
    "radar_view",
    "send_datagrams",
    "synthetic",
]

__getattr__ = loaded(__name__, _HOMES)
