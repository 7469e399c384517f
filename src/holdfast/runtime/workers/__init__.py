"""The Python workers that Spark starts on this host, without the start-up that is the same for each of them.

Spark runs five kinds of Python processes before the first batch is there, and each imports pyspark, pyarrow and
Holdfast for itself, one after the other. Here a *nursery* imports all of that once, while the JVM is still starting,
and Spark's workers are forked from it. The figures are in docs/benchmarks.md.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from pkgutil import iter_modules

_DRIVER = "PYSPARK_DRIVER_PYTHON"
_NO_PYTHON = "/nonexistent/no-package-brings-data-sources"
"""Spark looks for packages that bring data sources in a process of its own, unless it finds no Python for that."""
_running: subprocess.Popen[bytes] | None = None


@contextmanager
def prepared(master: str, output: int) -> Iterator[None]:
    """Tell Spark, by its environment, how to start its Python workers; the JVM that starts meanwhile reads it.

    On a cluster they are started by other hosts, and plainly.

    :param output: the descriptor to which the nursery prints.
    """
    if not master.startswith("local") or os.name != "posix":
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        yield
        return
    os.environ["HOLDFAST_PYTHON"] = sys.executable
    ours = str(Path(__file__).with_name("worker-python"))
    if os.environ.setdefault("PYSPARK_PYTHON", ours) == ours and sys.platform == "linux":
        _open_nursery(output)
    with ExitStack() as afterwards:
        has_packages = any(module.name.startswith("pyspark_") for module in iter_modules())
        if not has_packages and os.environ.setdefault(_DRIVER, _NO_PYTHON) == _NO_PYTHON:
            afterwards.callback(os.environ.pop, _DRIVER, None)  # for this JVM alone, not for what the user starts later
        yield


def end_with_us(jvm: int) -> None:
    """Have a JVM ended that is still there some seconds after this process, should it hang on its way out."""
    if _running is not None and _running.stdin is not None:
        with suppress(BrokenPipeError):  # the nursery was killed: the JVM still ends by itself
            _running.stdin.write(b"%d\n" % jvm)
            _running.stdin.flush()


def server_pid() -> int | None:
    """The process id of the nursery; None when there is none."""
    return None if _running is None or _running.poll() is not None else _running.pid


def _open_nursery(output: int) -> None:
    """Start the nursery, if there is none, in a session of its own. It ends with this process."""
    global _running
    if _running is not None:
        if _running.poll() is None:
            return
        _close(_running)
    name = f"holdfast-{os.getpid()}-{secrets.token_hex(8)}"
    hashing = os.environ.get("PYTHONHASHSEED", "0")
    _running = subprocess.Popen(
        [sys.executable, "-m", "holdfast.runtime.workers.nursery", name],
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        env={**os.environ, "PYTHONHASHSEED": hashing, "PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,
    )
    threading.Thread(target=_running.wait, name="nursery", daemon=True).start()
    os.environ["HOLDFAST_NURSERY"] = name


def _close(ended: subprocess.Popen[bytes]) -> None:
    """Close our end of the standard input of a nursery that was killed."""
    assert ended.stdin is not None
    with suppress(BrokenPipeError):
        ended.stdin.close()
