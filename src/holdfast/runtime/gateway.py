"""Spark's JVM as a process of this one: in a session of its own, its output in a log, gone when this process is gone.

PySpark would start it in our process group, where the terminal's Ctrl-C reaches it and its workers. It ends when its
standard input does, and so also after a SIGKILL of this process; the worker server ends a JVM that hangs on its way.
One JVM serves every pipeline of a process.
"""

from __future__ import annotations

import logging
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.model.errors import SparkDied, SparkUnavailable
from holdfast.runtime import workers
from holdfast.runtime.forgetting import forget
from holdfast.runtime.processes import ProcessId
from holdfast.runtime.spark_log import SparkLog

if TYPE_CHECKING:
    from collections.abc import Mapping

    from py4j.java_gateway import JavaGateway

_TICK = 0.02
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_LAST_WORDS = 2.0
"""Seconds to wait for the output of a JVM that has ended."""


@dataclass(frozen=True, slots=True)
class Jvm:
    """A JVM that was started here."""

    process: subprocess.Popen[bytes]
    output: SparkLog
    gateway: JavaGateway

    @property
    def is_dead(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def death(self, *, within: float = 0.0) -> SparkDied | None:
        """How the process ended; None when it still runs after so many seconds."""
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            return None
        return _died(code, self.output)


_running: Jvm | None = None
"""PySpark has one JVM in a process, and keeps it in a class variable; so this is one too."""


def ensure_running(conf: Mapping[str, str], log: Path | None) -> None:
    """Start the JVM, unless this process has one. The caller sees to it that nobody else does so at the same time."""
    global _running
    from pyspark import SparkContext

    if _running is not None and _running.is_dead:
        forget(_running.gateway)
        assert _running.process.stdin is not None
        _running.process.stdin.close()
        _running = None
    if SparkContext._gateway is not None or _PORT in os.environ:  # noqa: SLF001 (there is no other way to ask)
        return
    output = SparkLog(log)
    try:
        with workers.prepared(conf.get("spark.master", ""), output.descriptor):
            _running = _started(conf, output)
    finally:
        output.close()
    SparkContext._ensure_initialized(gateway=_running.gateway)  # noqa: SLF001


def running() -> Jvm | None:
    """The JVM of this process; None when there is none, or when somebody else started it."""
    return _running


def helper_processes() -> tuple[ProcessId, ...]:
    """The JVM and the worker server of this process, for whoever may have to end them after us."""
    pids = [None if _running is None else _running.process.pid, workers.server_pid()]
    return tuple(ProcessId.of(pid) for pid in pids if pid is not None)


def _started(conf: Mapping[str, str], output: SparkLog) -> Jvm:
    with tempfile.TemporaryDirectory(prefix="holdfast-jvm-") as scratch:
        address = Path(scratch) / "address"
        process = _launched(conf, output, address)
        workers.end_with_us(process.pid)
        while not address.exists():
            if (code := process.poll()) is not None and not address.exists():
                raise _died(code, output) if code < 0 else _unavailable(code, output)
            time.sleep(_TICK)
        return Jvm(process, output, _connected(process, address))


def _launched(conf: Mapping[str, str], output: SparkLog, address: Path) -> subprocess.Popen[bytes]:
    """The process, which writes the port and the secret of its gateway into a file once it listens."""
    from pyspark.find_spark_home import _find_spark_home

    home: str = _find_spark_home()  # type: ignore[no-untyped-call]
    settings = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    wanted = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    process = subprocess.Popen(
        [str(Path(home) / "bin" / "spark-submit"), *settings, *wanted],
        stdin=subprocess.PIPE,
        stdout=output.descriptor,
        stderr=output.descriptor,
        env={**os.environ, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address)},
        start_new_session=True,
    )
    threading.Thread(target=process.wait, name="spark-jvm", daemon=True).start()
    return process


def _connected(process: subprocess.Popen[bytes], address: Path) -> JavaGateway:
    from pyspark.java_gateway import launch_gateway
    from pyspark.serializers import UTF8Deserializer, read_int

    with address.open("rb") as file:
        port: int = read_int(file)  # type: ignore[no-untyped-call]
        secret: str = UTF8Deserializer().loads(file)  # type: ignore[no-untyped-call]
    told = {_PORT: str(port), _SECRET: secret}
    os.environ.update(told)  # how PySpark is told that the JVM is there already
    try:
        gateway: JavaGateway = launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        for name in told:
            del os.environ[name]
    gateway.proc = process
    logging.getLogger().addFilter(_is_not_of_py4j)
    return gateway


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Py4J logs on the root logger, with a stack, what a dead JVM does not answer; whoever asked reports that."""
    return Path(record.pathname).parent.name != "py4j"


def _died(code: int, output: SparkLog) -> SparkDied:
    """What is known of a JVM that has ended; a negative code is the signal that ended it."""
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    out_of_memory = any("OutOfMemoryError" in line for line in output.newest)
    return SparkDied(
        f"Spark's JVM {how}{', out of memory' if out_of_memory else ''}.",
        kept="Capture and delivery go on without it; nothing is lost.",
        remedy="It is started again by itself. If this repeats, look for the kernel's out-of-memory killer in `dmesg`, "
        "and lower `batch.max_events` or raise Spark's property spark.driver.memory.",
    )


def _unavailable(code: int, output: SparkLog) -> SparkUnavailable:
    output.wait_closed(_LAST_WORDS)
    said = next((line for line in reversed(output.newest) if line.strip()), "it printed nothing")
    return SparkUnavailable(
        f"Spark's JVM ended while it started, with exit code {code}: {said}",
        kept="Capture and delivery go on without it; nothing is lost.",
        remedy="Check JAVA_HOME (Java 17 or 21)" + (f", and read {output.path}." if output.path else "."),
    )
