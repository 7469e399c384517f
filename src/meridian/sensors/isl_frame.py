"""The frame of the inter-satellite links: a length, a version, and what a satellite says of itself; and its answer.

We define it, because the sources only name it. The layout is drawn in docs/reference/wire-formats.md. Connections are
the affair of `isl_tcp`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import google_crc32c
import numpy as np
import pyarrow as pa

from meridian.sensors.columns import Form, ObservationColumns, new_records
from meridian.sensors.identity import observation_ids
from meridian.sensors.observation import ClockKind, SourceKind
from meridian.sensors.screening import Candidates, ErrorKind, Fault, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

VERSION = 1
BODY = np.dtype(
    [
        ("version", "u1"),
        ("reserved", "u1", (3,)),
        ("satellite_id", "<u4"),
        ("beacon", "<u4"),
        ("timestamp_ns", "<u8"),
        ("position_m", "<f8", (3,)),
        ("velocity_m_s", "<f8", (3,)),
        ("sigma_m", "<f4"),
        ("time_since_sync_s", "<u4"),
        ("crc32c", "<u4"),
    ]
)
"""What stands behind the length."""
BODY_SIZE = BODY.itemsize
FRAME_MAX = 65_536
"""A length above this is none: nothing behind it can be trusted."""
NEVER_SYNCED = 2**32 - 1
"""Says that nobody knows when the clock was set."""

_LENGTH = struct.Struct("<I")
_ACK = struct.Struct("<Q")
ACK_SIZE = _ACK.size
_CHECKED = BODY_SIZE - 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Beacon:
    """One beacon as a value, for senders and tests."""

    satellite_id: int
    beacon: int
    """Counts the beacons of the satellite: two with the same state are still two."""
    timestamp_ns: int
    position_m: tuple[float, float, float]
    velocity_m_s: tuple[float, float, float]
    sigma_m: float
    time_since_sync_s: int = NEVER_SYNCED

    def to_bytes(self) -> bytes:
        """The frame as it goes over the wire, its length first."""
        body = np.zeros(1, BODY)
        body["version"] = VERSION
        for name in self.__slots__:
            body[name] = getattr(self, name)
        body["crc32c"] = google_crc32c.value(body.tobytes()[:_CHECKED])
        return framed(body.tobytes())


def framed(body: bytes) -> bytes:
    """A body behind its length."""
    return _LENGTH.pack(len(body)) + body


def ack(settled: int) -> bytes:
    """The answer: so many frames of this connection are settled, from its first on."""
    return _ACK.pack(settled)


def acknowledged(answer: bytes) -> int:
    """What an answer says."""
    (settled,) = _ACK.unpack(answer)
    return int(settled)


@dataclass(frozen=True, slots=True)
class Oversized:
    """A length that no frame can have; where the next frame begins is not known any more."""

    length: int


class Splitter:
    """Finds the frames in the bytes of one connection. It never holds more than one frame and what was fed last."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> tuple[list[bytes], Oversized | None]:
        """The bodies that are complete, and what ends the connection, if something does."""
        data, start, bodies = self._rest + data, 0, []
        oversized = None
        while len(data) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(data, start)
            if length > FRAME_MAX:
                oversized = Oversized(length)
                break
            if len(data) - start < _LENGTH.size + length:
                break
            bodies.append(data[start + _LENGTH.size : start + _LENGTH.size + length])
            start += _LENGTH.size + length
        self._rest = data[start:]
        return bodies, oversized


def decode(bodies: Sequence[bytes], ingest_ts_ns: int) -> Candidates:
    """The observations of frames, given without their lengths."""
    refused = [refusal for body in bodies if (refusal := _shape_refusal(body))]
    whole = [body for body in bodies if _shape_refusal(body) is None] if refused else list(bodies)
    frames = np.frombuffer(b"".join(whole), BODY)
    records = new_records(len(frames), SourceKind.INTER_SATELLITE_LINK, Form.STATE_VECTOR, ClockKind.ONBOARD_DRIFT)
    records["observation_id"] = observation_ids(SourceKind.INTER_SATELLITE_LINK, whole)
    records["sensor_ts_ns"] = frames["timestamp_ns"].astype(np.int64)
    records["ingest_ts_ns"] = ingest_ts_ns
    records["values"][:, :3], records["values"][:, 3:] = frames["position_m"], frames["velocity_m_s"]
    records["sigma"] = frames["sigma_m"]
    is_synced = frames["time_since_sync_s"] != NEVER_SYNCED
    records["clock"] = np.where(is_synced, ClockKind.ONBOARD_DRIFT, ClockKind.UNKNOWN)
    records["clock_age_s"] = np.where(is_synced, frames["time_since_sync_s"], 0)
    satellites = np.ascontiguousarray(frames["satellite_id"])
    names = pa.array(satellites).cast(pa.string())
    source_ids = pa.array([f"{SourceKind.INTER_SATELLITE_LINK.prefix}-{name}" for name in satellites], pa.string())
    columns = ObservationColumns(records, source_ids, names)
    return Candidates(columns, whole, satellites, tuple(_faults(frames, whole)), tuple(refused))


def _shape_refusal(body: bytes) -> Refusal | None:
    if body[:1] and body[0] != VERSION:
        return Refusal(ErrorKind.SCHEMA_MISMATCH, f"the frame is of version {body[0]}, not {VERSION}", body)
    if len(body) != BODY_SIZE:
        reason = f"a frame of version {VERSION} has {BODY_SIZE} bytes, and this one {len(body)}"
        return Refusal(ErrorKind.DESERIALIZATION, reason, body)
    return None


def _faults(frames: npt.NDArray[np.void], whole: Sequence[bytes]) -> Iterator[Fault]:
    sums = np.fromiter((google_crc32c.value(body[:_CHECKED]) for body in whole), np.uint32, len(whole))
    yield Fault(ErrorKind.DESERIALIZATION, "the checksum of the frame does not match", sums != frames["crc32c"])
    is_timeless = (frames["timestamp_ns"] == 0) | (frames["timestamp_ns"] >= 2**63)
    yield Fault(ErrorKind.DESERIALIZATION, "the time of the frame is none", is_timeless, frames["timestamp_ns"])
    is_nameless = frames["satellite_id"] == 0
    yield Fault(ErrorKind.DESERIALIZATION, "the frame names no satellite", is_nameless)
    for name in ("position_m", "velocity_m_s"):
        yield Fault(ErrorKind.DESERIALIZATION, f"{name} is not a vector", ~np.isfinite(frames[name]).all(axis=1))
    yield Fault(ErrorKind.DESERIALIZATION, "sigma_m is not a number", ~np.isfinite(frames["sigma_m"]))
