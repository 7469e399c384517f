"""The frame of the radar network: 64 bytes, little-endian, one target each; decoded many at a time.

A datagram holds one frame or several whole ones, as many as fit the MTU. Where they come from is the affair of
`radar_udp`. The layout is drawn in docs/reference/wire-formats.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meridian.sensors.columns import Form, ObservationColumns, new_records
from meridian.sensors.identity import observation_ids
from meridian.sensors.observation import ClockKind, SourceKind
from meridian.sensors.screening import Candidates, ErrorKind, Fault, FixedFrames

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

FRAME = np.dtype(
    [
        ("array_id", "<u4"),
        ("target_track_id", "<u4"),
        ("timestamp_ns", "<u8"),
        ("range_m", "<f8"),
        ("range_rate_m_s", "<f8"),
        ("azimuth_rad", "<f8"),
        ("elevation_rad", "<f8"),
        ("sigma_range_m", "<f4"),
        ("sigma_rate_m_s", "<f4"),
        ("reserved", "<u8"),
    ]
)
FRAME_SIZE = 64
"""The size of a frame: the fields named in the sources, and reserved bytes up to a multiple of eight."""
assert FRAME.itemsize == FRAME_SIZE

DATAGRAM_MAX = 1500
"""The largest datagram, as large as the MTU."""
_MEASURED = ("range_m", "range_rate_m_s", "azimuth_rad", "elevation_rad")
_NUMBERS = (*_MEASURED, "sigma_range_m", "sigma_rate_m_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class RadarFrame:
    """One frame as a value, for senders and tests."""

    array_id: int
    target_track_id: int
    """The object's number in the catalog; 0 when the array does not know which it is."""
    timestamp_ns: int
    range_m: float
    range_rate_m_s: float
    azimuth_rad: float
    elevation_rad: float
    sigma_range_m: float
    sigma_rate_m_s: float

    def to_bytes(self) -> bytes:
        """The frame as it goes over the wire."""
        return np.array([(*(getattr(self, name) for name in self.__slots__), 0)], FRAME).tobytes()


def is_whole(size: int) -> bool:
    """Whether a datagram of this size is one frame or several whole ones."""
    return 0 < size <= DATAGRAM_MAX and size % FRAME_SIZE == 0


def decode(data: bytes | memoryview, ingest_ts_ns: int) -> Candidates:
    """The observations of whole frames that lie one behind the other.

    :param ingest_ts_ns: when they were taken in.
    """
    frames = np.frombuffer(data, FRAME)
    raw = FixedFrames(data, FRAME_SIZE)
    records = new_records(len(frames), SourceKind.RADAR, Form.RANGE_RATE, ClockKind.GPS_LOCKED)
    records["observation_id"] = observation_ids(SourceKind.RADAR, _views(data, len(frames)))
    records["sensor_ts_ns"] = frames["timestamp_ns"].astype(np.int64)
    records["ingest_ts_ns"] = ingest_ts_ns
    for place, name in enumerate(_MEASURED):
        records["values"][:, place] = frames[name]
    records["sigma"] = frames["sigma_range_m"]
    tracks = np.ascontiguousarray(frames["target_track_id"])
    columns = ObservationColumns(
        records, _named("radar-", frames["array_id"]), pc.if_else(pa.array(tracks != 0), _text(tracks), None)
    )
    return Candidates(columns, raw, objects=tracks, faults=tuple(_faults(frames)))


def _views(data: bytes | memoryview, count: int) -> Iterator[memoryview]:
    whole = memoryview(data)
    return (whole[start : start + FRAME_SIZE] for start in range(0, count * FRAME_SIZE, FRAME_SIZE))


def _faults(frames: npt.NDArray[np.void]) -> Iterator[Fault]:
    is_odd = frames["reserved"] != 0
    yield Fault(ErrorKind.DESERIALIZATION, "the reserved bytes of the frame are not 0", is_odd)
    is_timeless = (frames["timestamp_ns"] == 0) | (frames["timestamp_ns"] >= 2**63)
    yield Fault(ErrorKind.DESERIALIZATION, "the time of the frame is none", is_timeless, frames["timestamp_ns"])
    for name in _NUMBERS:
        yield Fault(ErrorKind.DESERIALIZATION, f"{name} is not a number", ~np.isfinite(frames[name]))


def _named(prefix: str, numbers: npt.NDArray[np.uint32]) -> pa.StringArray:
    return pc.binary_join_element_wise(prefix, _text(np.ascontiguousarray(numbers)), "")


def _text(numbers: npt.NDArray[np.uint32]) -> pa.StringArray:
    return pa.array(numbers).cast(pa.string())
