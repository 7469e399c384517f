"""Lets PySpark forget a JVM that has ended, so that another can be started in the same process.

PySpark keeps the gateway, the context and the session of its JVM in class variables, and Java objects in user-defined
functions. None of them is of any use in another JVM: a stale reference would name some other object there.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway


def forget(gateway: JavaGateway) -> None:
    """Forget a JVM that has ended. Nobody may be starting another at the same time."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context  # noqa: SLF001 (here and below: PySpark cannot be asked to forget)
    if context is not None:
        context._jsc = None  # noqa: SLF001 (else `stop` asks the JVM)
        context.stop()
    with SparkContext._lock:  # noqa: SLF001
        SparkContext._gateway = None  # noqa: SLF001
        SparkContext._jvm = None  # noqa: SLF001
    SparkSession._instantiatedSession = None  # noqa: SLF001
    SparkSession._activeSession = None  # noqa: SLF001
    _forget_functions()
    gateway._gateway_client.is_connected = False  # noqa: SLF001 (so that what is collected is not told to the dead)
    with suppress(OSError):
        gateway.shutdown_callback_server()


def _forget_functions() -> None:
    """A user-defined function is made known to the JVM at its first use, and is kept by the module that defines it."""
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.sql.udtf import UserDefinedTableFunction

    for each in gc.get_objects():
        if isinstance(each, UserDefinedFunction):
            each._judf_placeholder = None  # noqa: SLF001
        elif isinstance(each, UserDefinedTableFunction):
            each._judtf_placeholder = None  # noqa: SLF001
