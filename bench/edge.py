"""The ingest edge under load: radar frames over a real socket into its logs, raw bytes included.

A process of its own sends. The rate that is sustained is the highest of a ladder at which every frame that was sent is
durable and the kernel dropped none. The time from receipt to disk is counted from when a frame was to be sent, so a
sender that is late makes it longer, not shorter. In a burst every frame is durable or was counted as dropped.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from holdfast.log import DeadLetterLog, Inbox
from meridian.sensors import Catalog, Screen, Taken, standard_rules
from meridian.sensors.landing import Landing, Repeats
from meridian.sensors.pump import Pump
from meridian.sensors.sources.radar_udp import RadarUdp
from meridian.sensors.station import radar_edge

LADDER = (50_000, 75_000, 100_000, 150_000, 200_000)
LADDER_SECONDS, STEADY_SECONDS = 5.0, 15.0
STEADY_RATE = 10_000
BURST_RATE, BURST_SECONDS = 50_000, 60.0
"""Ten times what the network sends."""
PACKED = 20
CAPACITY, FLUSH = 60_000, 0.02


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a load."""

    sent: int
    durable: int
    dropped: int
    seconds: float
    latencies: np.ndarray
    """From when each was to be sent until it was durable, in seconds."""

    @property
    def told(self) -> str:
        """In a few words."""
        slow = np.percentile(self.latencies, 99) * 1000
        return f"{self.durable} of {self.sent} durable, {self.dropped} dropped by the kernel, p99 {slow:.0f} ms"


class TimedRadar(RadarUdp):
    """Notes for every frame how long it took from its time until it was settled."""

    latencies: list[np.ndarray]

    async def next(self) -> Taken | None:
        """What came, with a note for when it is settled."""
        taken = await super().next()
        if taken is None:
            return None
        sent = taken.screened.good.records["sensor_ts_ns"]
        return replace(taken, settled=lambda: self.latencies.append((time.time_ns() - sent) / 1e9))


def run() -> Iterator[dict[str, object]]:
    loaded(1000, 1.0, 1)  # what is loaded at its first use
    steady = loaded(STEADY_RATE, STEADY_SECONDS, 1)
    yield figure("receipt_to_durable_p50_at_10k", float(np.percentile(steady.latencies, 50)) * 1000, "ms")
    yield figure("receipt_to_durable_p99_at_10k", float(np.percentile(steady.latencies, 99)) * 1000, "ms")
    yield figure("sustained", sustained(1), "observations/s")
    yield figure("sustained_20_a_datagram", sustained(PACKED), "observations/s")
    burst = loaded(BURST_RATE, BURST_SECONDS, 1)
    print(f"bench: edge: burst of {BURST_RATE}/s: {burst.told}", flush=True)
    yield figure("burst_accounted_for", 100 * (burst.durable + burst.dropped) / burst.sent, "%")
    yield figure("burst_durable", 100 * burst.durable / burst.sent, "%")


def sustained(per_datagram: int) -> float:
    """The highest rate of the ladder that was taken in whole; of the first when none was, what was taken in."""
    best = 0.0
    for rate in LADDER:
        result = loaded(rate, LADDER_SECONDS, per_datagram)
        print(f"bench: edge: {rate}/s in datagrams of {per_datagram}: {result.told}", flush=True)
        if best and result.durable < result.sent:
            break
        best = result.durable / result.seconds
        if result.durable < result.sent:
            break
    return best


def loaded(rate: int, seconds: float, per_datagram: int) -> Result:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place, ExitStack() as held:
        inbox, raw = (
            held.enter_context(Inbox.open(Path(place) / name, name=name, epoch=1, flush_interval=FLUSH))
            for name in ("obs.radar", "raw.radar")
        )
        dead = held.enter_context(DeadLetterLog.open(Path(place) / "dead", epoch=1))
        executor = held.enter_context(ThreadPoolExecutor(1))
        landing = Landing(inbox=inbox, dead=dead, executor=executor, raw=raw, repeats=Repeats.KEPT)
        return asyncio.run(taken_in(landing, rate, seconds, per_datagram))


async def taken_in(landing: Landing, rate: int, seconds: float, per_datagram: int) -> Result:
    source = TimedRadar("radar", ("127.0.0.1", 0), Screen(standard_rules(Catalog())), time.time_ns)
    source.latencies = []
    await source.open()
    pump = Pump(source, landing, plan=radar_edge(CAPACITY), now_ns=time.time_ns)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    running = asyncio.create_task(pump.run())
    load = (source.address[1], rate, seconds, per_datagram)
    sender = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench._edge_sender", *map(str, load), stdout=subprocess.PIPE
    )
    output, _ = await sender.communicate()
    sent, took = output.split()
    source.stop()
    await running
    await source.close()
    return Result(int(sent), pump.meter.durable, source.drops["kernel"], float(took), np.concatenate(source.latencies))


def figure(name: str, value: float, unit: str) -> dict[str, object]:
    return {"bench": "edge", "figure": name, "value": round(value, 1), "unit": unit}


if __name__ == "__main__":
    for line in run():
        print(line)
