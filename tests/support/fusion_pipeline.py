"""A pipeline that fuses what sensors see of a few pairs of objects, each of which is going to pass its partner closely.

    python -m tests.support.fusion_pipeline DIRECTORY URL [STEP NTH]

runs it in a process of its own until the tables and the subscriber at the URL have everything, or until it reaches the
step for the nth time, when it kills itself and all it started. What is seen lies in the directory if it was `recorded`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from holdfast import BatchLimits, Budget, Pipeline, SinkSpec, Until
from holdfast.capture.contract import Captured, Source
from holdfast.model.positions import Seq
from meridian.fusion.correlator import Correlator
from meridian.fusion.emissions import Meeting
from meridian.fusion.estimates import COLUMNS
from meridian.fusion.evidence import Evidence
from meridian.fusion.foreseen import Foreseen
from meridian.fusion.judging import Astronomer
from meridian.fusion.pipeline import pipeline as fusion_pipeline
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.sky import CatalogSky
from meridian.fusion.spark import LATENESS, Fused, heard_in, observations_in
from meridian.fusion.state import Fusion, Seen
from meridian.fusion.subscriber.lane import alerts_to
from meridian.fusion.watermarks import Watermarks
from meridian.fusion.windows import SECOND
from meridian.orbit.elements import Elements
from meridian.orbit.propagation import Propagator
from meridian.sensors import SourceKind, columns_of, events_of, heartbeat
from tests.support.made_up_objects import EPOCH, made_up
from tests.support.watched_sky import WINDOWS, WatchedSky, off_catalog

if TYPE_CHECKING:
    from holdfast.model.positions import Position

HOUR = 3600 * SECOND


@dataclass(frozen=True)
class Pairs:
    """Objects in pairs that meet where their orbits cross, and the parts that fuse what is seen of them."""

    count: int = 3
    seed: int = 5

    def __call__(self) -> Fused:
        sky, catalog = self.watched, self.elements
        pairs = np.arange(0, 2 * self.count, 2)
        times = np.array([_closest(Propagator(catalog[pair : pair + 2])) for pair in pairs], np.int64)
        foreseen = Foreseen.of(sky.references, times, pairs, pairs + 1, np.full(self.count, 20.0))
        judge = Astronomer(CatalogSky(sky.references, foreseen, sky.names, WINDOWS, 12 * HOUR), 50_000.0)
        empty: Correlator[ConjunctionRisk] = Correlator(WINDOWS, Watermarks(LATENESS), Evidence.nothing(COLUMNS), judge)
        return Fused(sky.contributions, Fusion(empty))

    @property
    def elements(self) -> list[Elements]:
        random = Random(self.seed)
        return [each for pair in range(self.count) for each in _pair(90_000 + 2 * pair, random)]

    @property
    def watched(self) -> WatchedSky:
        return WatchedSky.off(self.elements, off_catalog(self.elements, self.seed))


def _pair(norad: int, random: Random) -> tuple[Elements, Elements]:
    one = replace(made_up(norad, random), eccentricity=1e-4, argument_of_perigee_deg=0.0, bstar=0.0)
    return one, replace(one, norad=norad + 1, inclination_deg=(one.inclination_deg + 40) % 90 + 20)


def _closest(pair: Propagator) -> int:
    """When two objects are closest between one hour and three from the epoch, to the millisecond."""
    times, step = EPOCH + HOUR + np.arange(0, 2 * HOUR, 10 * SECOND), 10 * SECOND
    while step > SECOND // 1000:
        places = pair.states(times).position_m
        best = int(times[np.linalg.norm(places[1] - places[0], axis=1).argmin()])
        times, step = best + np.arange(-step, step + 1, max(step // 50, 1)), max(step // 50, 1)
    return best


@dataclass
class Watching(Source):
    """What sensors see of the pairs for some minutes, out of order within what is allowed, then only silence."""

    pairs: Pairs
    seconds: int = 200
    each: int = 60
    name: str = "sensors"
    kind: ClassVar[str] = "watching"

    @cached_property
    def events(self) -> pa.RecordBatch:
        """All of them, in the order in which they come."""
        random, count = np.random.default_rng(self.pairs.seed), 2 * self.pairs.count
        times = EPOCH + np.sort(random.integers(0, self.seconds * SECOND, count * self.each))
        seen = self.pairs.watched.seen(times, random.permutation(np.tile(np.arange(count), self.each)))
        allowed = np.array([LATENESS[SourceKind(kind).prefix] for kind in seen.records["kind"].tolist()])
        arrival = times + random.uniform(0, 0.9, len(times)) * allowed
        seen.records["ingest_ts_ns"] = arrival.astype(np.int64)
        observed = events_of(seen, self.name).take(pa.array(np.argsort(arrival, kind="stable")))
        end = EPOCH + 10 * self.seconds * SECOND
        beats = [events_of(heartbeat(kind, self.name, through_ns=end, now_ns=end), self.name) for kind in SourceKind]
        whole = pa.Table.from_batches([observed, *beats]).combine_chunks().to_batches()[0]
        numbers = pa.array(np.arange(1, whole.num_rows + 1)).cast(pa.string())
        return whole.set_column(whole.schema.names.index("position"), whole.schema.field("position"), numbers)

    def open(self, after: Position | None) -> None:
        self._at = after.value if isinstance(after, Seq) else 0

    def read(self, wait: float) -> Captured | None:
        if self.finished:
            return None
        some = self.events.slice(self._at, 40)
        self._at += some.num_rows
        return Captured(some, Seq(self._at))

    @property
    def finished(self) -> bool:
        return self._at >= self.events.num_rows

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class Recorded(Watching):
    """The same, seen before and read from a file: a process that begins often need not make it up anew."""

    file: Path = Path("seen.arrow")

    @cached_property
    def events(self) -> pa.RecordBatch:
        """All of them, in the order in which they come."""
        with pa.ipc.open_file(self.file) as kept:
            return kept.get_batch(0)


def recorded(directory: Path, watching: Watching) -> None:
    """Write what is seen into a directory, for processes that run there."""
    with pa.ipc.new_file(directory / "seen.arrow", watching.events.schema) as file:
        file.write_batch(watching.events)
    (directory / "pairs.json").write_text(json.dumps(asdict(watching.pairs)))


def seen_in(directory: Path) -> Watching:
    """What was recorded there, and what there is to see of three pairs if nothing was."""
    if not (directory / "pairs.json").exists():
        return Watching(Pairs())
    return Recorded(Pairs(**json.loads((directory / "pairs.json").read_text())), file=directory / "seen.arrow")


def pipeline(directory: Path, *subscribers: SinkSpec) -> Pipeline:
    """From what is seen to the tables of fusion, in small batches."""
    seen = seen_in(directory)
    small = BatchLimits(max_events=60, max_wait=timedelta(milliseconds=20))
    whole = fusion_pipeline(directory, seen.pairs, seen, subscribers=subscribers, batches=small)
    return whole.restarts(Budget(failures=100))


def batch_answer(watching: Watching) -> dict[str, tuple[float, float, int]]:
    """What holds of every window when all that was seen is looked at at once: miss, probability and time by alert."""
    parts, seen = watching.pairs(), columns_of(watching.events)
    evidence = parts.contributions.evidence(observations_in(seen))
    _, news = parts.before_anything.after(Seen(evidence, heard_in(seen)))
    return {_name(word.meeting): _figures(word.finding) for word in news.words}


def _name(meeting: Meeting) -> str:
    return meeting.alert_id


def _figures(risk: ConjunctionRisk) -> tuple[float, float, int]:
    return risk.miss, risk.probability, risk.closest


def main(directory: str, url: str, step: str = "", nth: str = "0") -> None:
    """Run until everything is delivered, or to the step."""
    reached: Counter[str] = Counter()

    def kill_all(at: str, /) -> None:
        reached[at] += 1
        if at == step and reached[at] == int(nth):
            os.killpg(0, signal.SIGKILL)

    whole = pipeline(Path(directory), alerts_to(url))
    whole.start(hook=kill_all)
    whole.wait(until=Until.CAUGHT_UP)
    whole.drain()


if __name__ == "__main__":
    main(*sys.argv[1:])
