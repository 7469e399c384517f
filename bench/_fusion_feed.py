"""What three sensor networks would send in a minute or two, put into the logs of an edge at its time.

    python -m bench._fusion_feed DIRECTORY RATE SECONDS [RATE SECONDS …]

Everything is made before the first row is due, so that feeding costs little beside what is measured: so many radar
observations a second for so long, then as many as are named next, and what telescopes and satellites add. The process
says `ready`, waits for a line, and then appends a piece every tenth of a second. Last it writes when it appended each
piece and how far the watermark of all networks was then.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa

from holdfast.log import Inbox
from holdfast.model.positions import Seq
from meridian.fusion.references import References
from meridian.fusion.spark import LATENESS
from meridian.fusion.windows import SECOND, Windows
from meridian.operation.catalog import read_elements
from meridian.operation.home import Home
from meridian.orbit import Propagator
from meridian.orbit.sites import Site, directions, look
from meridian.sensors import ObservationColumns, SourceKind, events_of
from meridian.sensors.columns import Form, new_records
from meridian.sensors.observation import ClockKind

PIECE = SECOND // 10
OPTICAL_RATE, BEACON_RATE = 50, 100
_RANGE_M, _RATE_M_S, _ANGLE, _DIRECTION, _PLACE_M = 20.0, 0.5, 1e-4, 5e-6, 10.0
LOGS = {SourceKind.RADAR: "obs.radar-1", SourceKind.OPTICAL: "obs.optical", SourceKind.INTER_SATELLITE_LINK: "obs.isl"}
FED = "fed.npz"


@dataclass(frozen=True)
class Sky:
    """Where objects really are, and who looks at them."""

    real: References
    names: pa.StringArray
    radars: list[Site]
    telescopes: list[Site]

    @classmethod
    def of(cls, home: Home) -> Sky:
        elements = read_elements(home.truth)
        sites = home.document().places()
        radars, telescopes = (
            [site for name, site in sites.items() if name.startswith(f"{kind}-")] for kind in ("radar", "optical")
        )
        names = pa.array([each.object_id for each in elements], pa.string())
        return cls(References(Propagator(elements), Windows()), names, radars, telescopes)

    def piece(self, kind: SourceKind, start: int, count: int, random: np.random.Generator) -> ObservationColumns:
        """So many observations of one network within a tenth of a second."""
        times = np.sort(start + random.integers(0, PIECE, count))
        objects = random.integers(0, len(self.names), count)
        states = self.real.states(objects, times)
        records, sensors = {
            SourceKind.RADAR: self._radar,
            SourceKind.OPTICAL: self._optical,
            SourceKind.INTER_SATELLITE_LINK: self._beacons,
        }[kind](times, states, random)
        records["observation_id"] = np.frombuffer(random.bytes(16 * count), np.uint8).reshape(count, 16)
        records["sensor_ts_ns"], records["ingest_ts_ns"] = times, times + SECOND // 50
        named = self.names.take(pa.array(objects))
        return ObservationColumns(records, pa.repeat("isl", count) if sensors is None else sensors, named)

    def _radar(self, times: np.ndarray, states: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, pa.Array]:
        records = new_records(len(times), SourceKind.RADAR, Form.RANGE_RATE, ClockKind.GPS_LOCKED)
        sensors = random.integers(0, len(self.radars), len(times))
        for number, site in enumerate(self.radars):
            rows = np.flatnonzero(sensors == number)
            seen = look(site, states[rows, :3], states[rows, 3:], times[rows])
            exact = np.stack([seen.range_m, seen.range_rate_m_s, seen.azimuth_rad, seen.elevation_rad], axis=1)
            off = random.normal(size=exact.shape) * [_RANGE_M, _RATE_M_S, _ANGLE, _ANGLE]
            off[:, 2] /= np.cos(seen.elevation_rad)
            records["values"][rows, :4] = exact + off
        records["sigma"] = _RANGE_M
        return records, pa.array([site.name for site in self.radars]).take(pa.array(sensors))

    def _optical(
        self, times: np.ndarray, states: np.ndarray, random: np.random.Generator
    ) -> tuple[np.ndarray, pa.Array]:
        records = new_records(len(times), SourceKind.OPTICAL, Form.ANGULAR, ClockKind.GPS_LOCKED)
        site = self.telescopes[0]
        seen = directions(site, states[:, :3], times)
        exact = np.stack([seen.right_ascension_rad, seen.declination_rad], axis=1)
        records["values"][:, :2] = exact + random.normal(size=exact.shape) * _DIRECTION
        records["sigma"] = _DIRECTION
        return records, pa.array([site.name] * len(times))

    def _beacons(self, times: np.ndarray, states: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, None]:
        kind = SourceKind.INTER_SATELLITE_LINK
        records = new_records(len(times), kind, Form.STATE_VECTOR, ClockKind.GPS_LOCKED)
        records["values"] = states + random.normal(size=states.shape) * ([_PLACE_M] * 3 + [0.01] * 3)
        records["sigma"] = _PLACE_M
        return records, None


@dataclass(frozen=True)
class Piece:
    """A tenth of a second."""

    seen: dict[SourceKind, ObservationColumns]

    @classmethod
    def of(cls, sky: Sky, start: int, rate: int, random: np.random.Generator) -> Piece:
        counts = {
            SourceKind.RADAR: rate,
            SourceKind.OPTICAL: OPTICAL_RATE,
            SourceKind.INTER_SATELLITE_LINK: BEACON_RATE,
        }
        return cls({kind: sky.piece(kind, start, count // 10, random) for kind, count in counts.items()})

    @property
    def mark(self) -> int:
        """How far the watermark of all networks is behind it."""
        return min(int(of.records["sensor_ts_ns"][-1]) - LATENESS[kind.prefix] for kind, of in self.seen.items())


def made(home: Home, stretches: list[tuple[int, int]]) -> list[Piece]:
    """All of them, from now on.

    :param stretches: how many radar observations a second, and for how many seconds.
    """
    sky, start, random = Sky.of(home), time.time_ns() // PIECE * PIECE, np.random.default_rng(1)
    rates = [rate for rate, seconds in stretches for _ in range(seconds * 10)]
    return [Piece.of(sky, start + number * PIECE, rate, random) for number, rate in enumerate(rates)]


def fed(home: Home, pieces: list[Piece]) -> list[int]:
    """Append each at its time; when that was."""
    at, began = list[int](), time.monotonic()
    with ExitStack() as held:
        logs = {
            kind: held.enter_context(Inbox.open(home.edge / name, name=name, epoch=1)) for kind, name in LOGS.items()
        }
        for number, piece in enumerate(pieces, start=1):
            events = {kind: events_of(of, LOGS[kind]) for kind, of in piece.seen.items()}
            time.sleep(max(0.0, began + number * PIECE / SECOND - time.monotonic()))
            for kind, log in logs.items():
                log.append(events[kind], position=Seq(number))
            at.append(time.time_ns())
    return at


def main(directory: Path, *numbers: int) -> None:
    home = Home(directory)
    pieces = made(home, list(zip(numbers[::2], numbers[1::2], strict=True)))
    print("ready", flush=True)
    sys.stdin.readline()
    at = fed(home, pieces)
    newest = [max(int(of.records["sensor_ts_ns"][-1]) for of in piece.seen.values()) for piece in pieces]
    marks = np.array([piece.mark for piece in pieces])
    with replaced(directory / FED) as file:
        np.savez(file, at=np.array(at), marks=marks, newest=np.array(newest))


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A file that is there once it is whole."""
    with path.with_suffix(".part").open("wb") as file:
        yield file
    path.with_suffix(".part").replace(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
