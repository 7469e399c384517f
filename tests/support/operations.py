"""An operation as people run it: `meridian run --simulate` in a process of its own, over ports that are free."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from meridian.hosting.demonstration import OURS, prepare
from meridian.operation.home import Home
from tests.crash.killing import wait_for_group_to_end

PATIENCE = 240.0


@dataclass
class Operation:
    """The command over one home."""

    home: Home
    process: subprocess.Popen[str] | None = None

    @classmethod
    def prepared(cls, directory: Path, *, told: str) -> Operation:
        """A small demonstration that tells a subscriber."""
        home = Home(directory)
        prepare(home, now_ns=time.time_ns(), others=OURS, first_port=free_ports(4))
        document = home.document_file.read_text()
        home.document_file.write_text(f'{document}\n[subscriber]\nurl = "{told}"\n')
        return cls(home)

    @property
    def command(self) -> list[str]:
        where = ["--directory", str(self.home.directory)]
        return [sys.executable, "-m", "meridian.cli", "run", "--simulate", "--no-screen", *where]

    def start(self) -> None:
        with (self.home.directory / "said.log").open("a") as said:
            self.process = subprocess.Popen(self.command, stdout=said, stderr=said, text=True, start_new_session=True)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for something while it runs."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert self.process is None or self.process.poll() is None, f"it ended: {self.said()[-2000:]}"
            assert time.monotonic() < deadline, f"not in {PATIENCE} s: {what}; {self.said()[-2000:]}"
            time.sleep(0.05)

    def killed(self) -> None:
        """End the process and its group, which is Spark's as well, as the kernel does when there is no memory."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        wait_for_group_to_end(self.process.pid)
        self.process = None

    def stopped(self) -> int:
        """End it in order; the exit code."""
        assert self.process is not None
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        self.process = None
        return code

    def end(self) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def children(self) -> set[int]:
        """The processes of its edge and its simulator."""
        return {
            pid
            for pid in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
            if any(f"-m\0{module}\0{self.home.directory}" in _command_of(pid) for module in MODULES)
        }

    def said(self) -> str:
        return (self.home.directory / "said.log").read_text()


MODULES = ("meridian.sensors", "meridian.hosting.simulator")


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def free_ports(count: int) -> int:
    """The first of some ports in a row that nobody uses."""
    random = Random()
    while True:
        first = random.randrange(20_000, 32_000)
        with ExitStack() as held, suppress(OSError):
            for port in range(first, first + count):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                    held.enter_context(socket.socket(socket.AF_INET, kind)).bind(("127.0.0.1", port))
            return first
