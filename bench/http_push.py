"""Pushes over HTTP: 32 clients, each sending its next event when the last was answered, with 200 after the sync.

The server and the clients are processes of their own. The peer is a bare server of the same library that appends each
body to a file and syncs it, for all that came within the same interval as ours lingers, or for each request. All take
turns on the same disk.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

CLIENTS, SECONDS, ROUNDS = 32, 4.0, 3
EVENT = json.dumps({"n": 1, "customer": 17, "cents": 4200, "note": "x" * 150}).encode()
KINDS = ("ours", "grouped", "each")


def run() -> Iterator[dict[str, object]]:
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(ROUNDS):
        for kind in KINDS if number % 2 else reversed(KINDS):
            taken[kind] += pushed(kind)
    rates = {kind: len(times) / SECONDS / ROUNDS for kind, times in taken.items()}
    halves = {kind: median(times) * 1000 for kind, times in taken.items()}
    tails = {kind: quantiles(times, n=100)[98] * 1000 for kind, times in taken.items()}
    yield figure("pushes_a_second", rates, "requests/s")
    yield figure("push_p50", halves, "ms")
    yield figure("push_p99", tails, "ms")
    yield figure("pushes_a_second_beside_a_sync_each", rates, "requests/s", peer="each")


def pushed(kind: str) -> list[float]:
    """How long each request took."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place, served(kind, place) as port:
        command = [sys.executable, "-m", "bench.http_push", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found: list[float] = json.loads(done.stdout)
        return found


@contextmanager
def served(kind: str, place: str) -> Iterator[int]:
    """A server in a process of its own."""
    command = [sys.executable, "-m", "bench._http_servers", kind, place]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield int(server.stdout.readline())
        server.stdin.close()


async def clients(port: int) -> list[float]:
    """All clients, until the time is over."""
    await warmed_up(port)
    until = time.perf_counter() + SECONDS
    each = await asyncio.gather(*(client(port, until) for _ in range(CLIENTS)))
    return [took for times in each for took in times]


async def warmed_up(port: int) -> None:
    """The server may need a moment to listen."""
    for _ in range(200):
        try:
            await client(port, time.perf_counter() + 0.2)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            return


async def client(port: int, until: float) -> list[float]:
    """One connection, one request at a time. It reads just enough of an answer: the rest of the box is the server's."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(EVENT)}\r\n\r\n"
    )
    request = head.encode() + EVENT
    times = []
    while (began := time.perf_counter()) < until:
        writer.write(request)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 "), answer
        length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - began)
    writer.close()
    await writer.wait_closed()
    return times


def figure(name: str, values: dict[str, float], unit: str, peer: str = "grouped") -> dict[str, object]:
    beside = f"bare server, {'sync for all that came' if peer == 'grouped' else 'sync each'}: {values[peer]:.1f} {unit}"
    value, ratio = round(values["ours"], 1), round(values["ours"] / values[peer], 2)
    return {"bench": "http_push", "figure": name, "value": value, "unit": unit, "peer": beside, "ratio": ratio}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(clients(int(sys.argv[1])))))
