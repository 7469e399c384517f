"""One process that sends radar frames at a steady rate, each with the time at which it was to be sent.

python -m bench._edge_sender PORT RATE SECONDS FRAMES_PER_DATAGRAM
"""

from __future__ import annotations

import socket
import sys
import time

import numpy as np

from meridian.sensors.radar_frame import FRAME, FRAME_SIZE

TICK = 0.001


def main(port: str, rate: str, seconds: str, per_datagram: str) -> None:
    """Send, and say how many frames that were and how long it took."""
    per_tick, size = int(int(rate) * TICK), int(per_datagram) * FRAME_SIZE
    frames = frames_of(per_tick)
    sent, ticks = 0, int(float(seconds) / TICK)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", int(port)))
        started, started_ns = time.perf_counter(), time.time_ns()
        for tick in range(ticks):
            while (left := started + tick * TICK - time.perf_counter()) > 0:
                time.sleep(left)
            frames["timestamp_ns"] = started_ns + int(tick * TICK * 1e9) + np.arange(per_tick)
            data = frames.tobytes()
            for start in range(0, len(data), size):
                sender.send(data[start : start + size])
            sent += per_tick
        print(sent, time.perf_counter() - started)


def frames_of(count: int) -> np.ndarray:
    """Frames of a hundred objects, seen by three arrays."""
    rng = np.random.default_rng(1)
    frames = np.zeros(count, FRAME)
    frames["array_id"], frames["target_track_id"] = rng.integers(1, 4, count), rng.integers(80_000, 80_100, count)
    frames["range_m"], frames["range_rate_m_s"] = rng.uniform(5e5, 2e6, count), rng.uniform(-7e3, 7e3, count)
    frames["azimuth_rad"], frames["elevation_rad"] = rng.uniform(0, 6, count), rng.uniform(0.1, 1.5, count)
    frames["sigma_range_m"], frames["sigma_rate_m_s"] = 20.0, 0.5
    return frames


if __name__ == "__main__":
    main(*sys.argv[1:])
