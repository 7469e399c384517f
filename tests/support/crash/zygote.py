"""A process that has imported everything and forks a child for each run: a crash costs no start of an interpreter.

Speaks JSON lines: a run comes in, how it ended goes out. The children are what is killed. What a child does is a
*scene*: a function of a module beside this one, called with the directory and the step hook that ends the process.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import traceback
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Run:
    """One run in a child."""

    directory: str
    fatal: str | None = None
    occurrence: int = 1
    kept: str | None = None
    """Where syncs are recorded, for a loss of power."""
    bug: str | None = None
    """A bug of `tests.support.crash.bugs` that the child has."""
    scene: str = "orders.enact"


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the exit code of the child (negative for a signal), and what it reached when it ended well."""

    code: int
    counts: dict[str, int]
    error: str = ""

    @property
    def killed(self) -> bool:
        """Whether the child ended at the step it was to end at."""
        return self.code == -9


class Zygote:
    """The process, as the tests see it."""

    def __init__(self, *, preload: Path | None = None) -> None:
        sources = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        environment = {**os.environ, "PYTHONPATH": sources, **({"LD_PRELOAD": str(preload)} if preload else {})}
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=ROOT,
        )

    def run(self, run: Run) -> Outcome:
        """Fork a child, let it run, and say how it ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(run)) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the zygote died"
        return Outcome(**json.loads(line))

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _child(run: Run, report: int) -> None:
    """What a child does; it ends with `os._exit` or at the step it is to end at."""
    from tests.support.crash import bugs
    from tests.support.crash.watch import Watch

    if run.kept is not None:
        os.environ.update(POWERLOSS_ROOT=run.directory, POWERLOSS_KEPT=run.kept)
    watch = Watch(run.fatal, run.occurrence)
    module, _, scene = run.scene.rpartition(".")
    try:
        if run.bug is not None:
            bugs.planted(run.bug)
        getattr(import_module(f"tests.support.crash.{module}"), scene)(Path(run.directory), watch)
        os.write(report, json.dumps({"counts": watch.counts}).encode())
        os._exit(0)
    except BaseException:
        os.write(report, json.dumps({"counts": {}, "error": traceback.format_exc()[-3000:]}).encode())
        os._exit(1)


def _serve() -> None:
    import tests.support.crash.bugs
    import tests.support.crash.going_back
    import tests.support.crash.orders
    import tests.support.crash.postgres_lane  # noqa: F401 (imported once, for all children)

    logging.getLogger("holdfast").setLevel(logging.ERROR)  # what goes wrong in these runs is meant to
    for line in sys.stdin:
        run = Run(**json.loads(line))
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _child(run, writing)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            text = pipe.read()
        _, status = os.waitpid(child, 0)
        told = json.loads(text) if text else {"counts": {}}
        print(json.dumps({"code": os.waitstatus_to_exitcode(status), **told}), flush=True)


if __name__ == "__main__":
    _serve()
