"""The Spark application that pipelines share, and the settings it is started with.

Each default stands here with the reason it was chosen; the figures are in docs/benchmarks.md.
"""

from __future__ import annotations

import logging
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.model.errors import SparkDied, SparkUnavailable
from holdfast.runtime.causes import is_of_a_lost_jvm
from holdfast.runtime.gateway import ensure_running, running
from holdfast.runtime.jvm import java_options

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

log = logging.getLogger("holdfast")

_STARTING = threading.Lock()
"""One JVM serves all pipelines of a process, so only one of them starts it."""
_TO_BE_REAPED = 5.0
"""Seconds within which the end of a process is known whose sockets are closed."""
_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing"

DEFAULTS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    # With format 1 a replayed batch may read a state file of the same name with other content, and count wrong.
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Two log writes a batch cost a third with the plain manager; format 2 makes it safe.
    "spark.sql.streaming.checkpointFileManagerClass": f"{_CHECKPOINTS}.FileSystemBasedCheckpointFileManager",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "100",
    # One small file per task and state store: more partitions than cores only add files.
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    # With any other limit Spark 4.1 measures the batch after every row, which costs the square of its rows where a
    # column holds arrays of structs, as `headers` does: 30,000 rows took 3.1 s, not 0.5. Batches are bounded anyway.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.worker.reuse": "true",
    # How long a query without news sleeps before it asks the source again, in milliseconds.
    "spark.sql.streaming.pollingDelay": "5",
    "spark.sql.streaming.metricsEnabled": "false",
}


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where Spark runs, and what differs from our defaults."""

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)


def spark_session(settings: SparkSettings, *, log: Path | None = None, app_name: str = "holdfast") -> SparkSession:
    """A session with a state of its own; the first call in a process starts the JVM, later ones share it.

    :param log: the file for what the JVM and its workers print, if this call starts them; None drops it.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from holdfast.log.datasource import Inboxes

    try:
        with _STARTING:
            conf = _conf(settings, app_name)
            ensure_running(conf, log)
            session = SparkSession.builder.config(map={**conf}).getOrCreate().newSession()
            for name, value in settings.conf.items():
                if session.conf.isModifiable(name):
                    session.conf.set(name, value)
            _make_active(session)
            session.dataSource.register(Inboxes)
    except (PySparkException, Py4JError, OSError, RuntimeError) as error:
        raise _does_not_start(settings, error) from error
    _let_the_jvm_go_quietly(session)
    _log_no_refused_queries()
    return session


def _make_active(session: SparkSession) -> None:
    """To Spark, a data source is registered already when the session that is active in this thread has it."""
    of_the_jvm = session._get_j_spark_session_class(session._jvm)  # noqa: SLF001 (PySpark sets it at `createDataFrame`)
    of_the_jvm.setActiveSession(session._jsparkSession)  # noqa: SLF001


def _does_not_start(settings: SparkSettings, error: Exception) -> SparkDied | SparkUnavailable:
    jvm = running()
    died = jvm.death(within=_TO_BE_REAPED) if jvm is not None and is_of_a_lost_jvm(error) else None
    return died or SparkUnavailable(
        f"Spark does not start with master {settings.master!r} ({type(error).__name__}: {error}).",
        kept="Capture and delivery go on without it; nothing is lost.",
        remedy="Check JAVA_HOME (Java 17 or 21) and that the master answers.",
    )


def _conf(settings: SparkSettings, app_name: str) -> dict[str, str]:
    ours = {"spark.master": settings.master, "spark.app.name": app_name}
    return {**ours, "spark.driver.extraJavaOptions": java_options(), **DEFAULTS, **settings.conf}


def _let_the_jvm_go_quietly(session: SparkSession) -> None:
    """A JVM that is ended before us is told of by whoever asks it, so the thread that counts for it prints no stack."""
    server = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = _note_what_ended_counting


def _log_no_refused_queries() -> None:
    """PySpark prints the stack of every query that Spark refuses; whoever asked for the query reports the reason."""
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _note_what_ended_counting(*_: object) -> None:
    is_gone = isinstance(sys.exception(), EOFError | OSError)
    log.log(logging.DEBUG if is_gone else logging.ERROR, "what Spark counted could not be read", exc_info=True)
