"""Processes that work on a log and are killed, by a real SIGKILL, when they reach the step that was chosen."""

from __future__ import annotations

import multiprocessing
import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PRELOAD = ["pandas", "tests.support.log_process", "tests.support.log_work"]


@dataclass
class KillAt:
    """A hook that kills the process when the step of this number is reached; steps are written down before that."""

    number: int
    record: Path
    reached: int = field(default=0)

    def __call__(self, step: str, /) -> None:
        with self.record.open("a") as file:
            file.write(f"{step}\n")
        if self.reached == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        self.reached += 1


@dataclass(frozen=True)
class Run:
    """How a run went: whether it was killed, the steps it reached, and what it said it had finished."""

    was_killed: bool
    steps: list[str]
    told: int


def run(work: Callable[..., None], directory: Path, place: Path, *, kill_at: int, **arguments: object) -> Run:
    """Run `work(directory, hook, tell, …)` in a process of its own, which dies at the step of that number."""
    steps, told = place / f"steps-{kill_at}", place / f"told-{kill_at}"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOAD)
    process = context.Process(target=_work, args=(work, directory, KillAt(kill_at, steps), told), kwargs=arguments)
    process.start()
    process.join(60)
    exit_code = process.exitcode
    process.close()
    assert exit_code in (0, -signal.SIGKILL), f"the process failed: {exit_code}"
    return Run(exit_code != 0, _lines(steps), len(_lines(told)))


def _work(work: Callable[..., None], directory: Path, hook: KillAt, told: Path, **arguments: object) -> None:
    def tell() -> None:
        with told.open("a") as file:
            file.write("done\n")

    work(directory, hook, tell, **arguments)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
