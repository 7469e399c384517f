"""Sessions of one process: each has our data source, whatever was done with the others before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.runtime.session import SparkSettings, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_session_is_made_while_another_one_is_active(spark: SparkSession) -> None:
    """A step that makes a frame of its own makes its session the active one of the thread."""
    assert spark.createDataFrame([(1,)], "n INT").count() == 1
    another = spark_session(SparkSettings(master="local[2]"))
    assert another.createDataFrame([(2,)], "n INT").count() == 1
    assert another is not spark
