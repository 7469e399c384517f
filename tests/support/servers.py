"""Real servers for the tests: one of each kind per test run, started by the first test that needs it.

`Run` belongs to the controller of the run (pytest itself, or xdist's main process): its directory and the lock that
tells every keeper that the run goes on. `Servers` is what a worker has of it. A server that cannot start skips the test
with the reason, which is a failure in CI (see `skips`).
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.http_receiver import RoomAddress
from tests.support.keeper import START_SECONDS, STOP_SECONDS

if TYPE_CHECKING:
    from obstore.store import S3Store

_PROJECT = Path(__file__).resolve().parents[2]


class Run:
    """The controller's side: made before the first test, ended after the last one."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="holdfast-run-"))
        self.directory.chmod(0o755)
        self._alive = (self.directory / "alive").open("wb")
        fcntl.flock(self._alive, fcntl.LOCK_EX)

    def end(self) -> None:
        """Let the keepers go, wait until each has stopped its server, and remove what they left."""
        self._alive.close()
        for lease in self.directory.glob("*.lease"):
            _wait_for_exit(lease)
        shutil.rmtree(self.directory, ignore_errors=True)


@dataclass(frozen=True)
class Bucket:
    """An empty bucket of the S3 server, and what a client needs to reach it."""

    endpoint: str
    name: str
    region: str = "us-east-1"
    access_key: str = "test"
    secret_key: str = "test"

    def connect(self) -> S3Store:
        """A client of obstore."""
        from obstore.store import S3Store

        return S3Store(
            self.name,
            endpoint=self.endpoint,
            region=self.region,
            access_key_id=self.access_key,
            secret_access_key=self.secret_key,
            client_options={"allow_http": True},
        )


@dataclass(frozen=True)
class Servers:
    """A worker's side: the addresses of the run's servers."""

    directory: Path

    def postgres(self) -> str:
        """The DSN of the PostgreSQL server."""
        return self._address("postgres")

    def fresh_room(self) -> RoomAddress:
        """A receiver of rows of its own on the HTTP server."""
        return RoomAddress.fresh(self._address("http"))

    def fresh_bucket(self) -> Bucket:
        """A bucket of its own on the S3 server."""
        bucket = Bucket(self._address("s3"), f"test-{uuid.uuid4().hex}")
        request = urllib.request.Request(f"{bucket.endpoint}/{bucket.name}", method="PUT")
        with urllib.request.urlopen(request, timeout=10):
            return bucket

    def _address(self, kind: str) -> str:
        told = self._told(kind)
        if "address" in told:
            return str(told["address"])
        pytest.skip(f"the {kind} server did not start: {told['error']}")

    def _told(self, kind: str) -> dict[str, object]:
        """What the keeper said about its server; the first worker to come starts the keeper."""
        news = self.directory / f"{kind}.json"
        with (self.directory / f"{kind}.lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not news.exists():
                _start_keeper(self.directory, kind, news)
        told: dict[str, object] = json.loads(news.read_text())
        return told


def _start_keeper(directory: Path, kind: str, news: Path) -> None:
    log = directory / f"{kind}.keeper.log"
    with log.open("wb") as output:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.support.keeper", str(directory), kind],
            cwd=_PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_SECONDS + STOP_SECONDS
    while not news.exists():
        if keeper.poll() is not None or time.monotonic() > deadline:
            news.write_text(json.dumps({"error": log.read_text()[-2000:]}))
            return
        time.sleep(0.02)
    keeper.returncode = 0  # the run ends it, not this worker: so no warning that it still runs


def _wait_for_exit(lease: Path) -> None:
    """A keeper holds its lease until its server has stopped."""
    deadline = time.monotonic() + STOP_SECONDS * 2
    with lease.open("rb") as held:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.02)
            else:
                return
    os.killpg(int(lease.read_text()), signal.SIGKILL)
