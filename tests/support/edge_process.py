"""The edge as a process of its own: started from a document, asked, ended or killed, and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

_STARTS_WITHIN = 60.0


@dataclass(slots=True)
class EdgeProcess:
    """One process; what it logs is read as it comes."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [line for line in map(json.loads, list(self.lines)) if line["event"] == event]

    def address(self, source: str) -> tuple[str, int]:
        (started,) = [line for line in self.logged("source.started") if line["source"] == source]
        host, port = started["where"].rpartition("/")[2].split(":")
        return host, int(port)

    def get(self, path: str) -> tuple[int, dict[str, Any]]:
        (started,) = self.logged("edge.started")
        host, port = started["control"]
        try:
            with urlopen(f"http://{host}:{port}{path}") as answer:
                return answer.status, json.load(answer)
        except HTTPError as refused:
            with refused:
                return refused.code, json.load(refused)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def terminate(self) -> tuple[int, float]:
        """End it gently; its exit code, and how many seconds it took."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30), time.monotonic() - started


@contextmanager
def edge_process(document: Path) -> Iterator[EdgeProcess]:
    """The edge of a document; it has started when this begins, and has ended when this ends."""
    command = [sys.executable, "-m", "meridian.sensors", str(document)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    edge = EdgeProcess(process)
    assert process.stderr is not None
    reading = threading.Thread(target=lambda: edge.lines.extend(process.stderr or ()), daemon=True)
    reading.start()
    try:
        _wait_for_start(edge)
        yield edge
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        reading.join()
        process.stderr.close()


def _wait_for_start(edge: EdgeProcess) -> None:
    given_up = time.monotonic() + _STARTS_WITHIN
    while not edge.logged("edge.started"):
        if edge.process.poll() is not None or time.monotonic() > given_up:
            raise AssertionError(f"the edge did not start: {edge.lines}")
        time.sleep(0.01)
