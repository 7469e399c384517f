"""What was refused is looked at again, by the rules of now: a decoder was mended, a catalog has grown. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from meridian.sensors import isl_frame, optical_record, radar_frame
from meridian.sensors.observation import SourceKind
from meridian.sensors.optical_record import Unreadable, no_records
from meridian.sensors.screening import Candidates, ErrorKind, Refusal, Screen, Screened
from meridian.sensors.validation import standard_rules

if TYPE_CHECKING:
    from meridian.sensors.config import EdgeDocument

Decoder = Callable[[bytes, int], "Candidates | Unreadable"]


def screen_of(document: EdgeDocument) -> Screen:
    """The rules of a document."""
    rules = standard_rules(document.catalog.catalog, bounds=document.catalog.bounds)
    return Screen(rules, document.area.area if document.area else None)


def kind_of_log(log: str) -> SourceKind | None:
    """What network feeds a log, by its name: `obs.radar-1`, `obs.optical`, `obs.isl`."""
    name = log.removeprefix("obs.").partition("-")[0]
    return next((kind for kind in SourceKind if kind.prefix == name), None)


def second_look(kind: SourceKind, payload: bytes, screen: Screen, taken_ns: int) -> Screened:
    """What comes of the bytes of one refusal now.

    :param taken_ns: when they were taken in, the first time.
    """
    decoded = _DECODERS[kind](payload, taken_ns)
    return Screened(no_records(), (decoded.refusal,)) if isinstance(decoded, Unreadable) else screen(decoded)


def _radar(payload: bytes, taken_ns: int) -> Candidates | Unreadable:
    if radar_frame.is_whole(len(payload)):
        return radar_frame.decode(payload, taken_ns)
    return Unreadable(Refusal(ErrorKind.DESERIALIZATION, f"{len(payload)} bytes are no whole frames", payload))


def _optical(payload: bytes, taken_ns: int) -> Candidates | Unreadable:
    """A record of an answer was kept alone; an answer that could not be read was kept whole."""
    is_whole_answer = payload.lstrip().startswith(b"[")
    return optical_record.decode(payload if is_whole_answer else b"[" + payload + b"]", taken_ns)


_DECODERS: dict[SourceKind, Decoder] = {
    SourceKind.RADAR: _radar,
    SourceKind.OPTICAL: _optical,
    SourceKind.INTER_SATELLITE_LINK: lambda payload, taken_ns: isl_frame.decode([payload], taken_ns),
}
