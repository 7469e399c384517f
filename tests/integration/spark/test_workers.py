"""Spark's Python workers start from installed bytecode, and find what they would have found anyway."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.runtime import workers
from holdfast.runtime.jvm import class_archive, java_options
from holdfast.runtime.workers import prepared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pytest
    from pyspark.sql import SparkSession

WORKER = Path(workers.__file__).with_name("worker-python")


def where_pyspark_is(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyspark

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"file": [pyspark.__file__]})


def test_a_worker_imports_the_installed_pyspark_and_not_the_zip_without_bytecode(spark: SparkSession) -> None:
    files = [row.file for row in spark.range(1).mapInArrow(where_pyspark_is, "file STRING").collect()]
    assert files
    assert not any(".zip" in file for file in files)


def test_only_what_spark_itself_put_on_the_path_is_left_out(tmp_path: Path) -> None:
    spark_home, mine = tmp_path / "spark", tmp_path / "my modules"
    path = os.pathsep.join([f"{spark_home}/python/lib/pyspark.zip", str(mine), f"{spark_home}/jars/core.jar"])
    told = subprocess.run(
        [WORKER, "-c", "import json, os; print(json.dumps(os.environ['PYTHONPATH']))"],
        env={"HOLDFAST_PYTHON": sys.executable, "PYTHONPATH": path, "SPARK_HOME": str(spark_home)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert json.loads(told.stdout) == str(mine)


def test_a_cluster_gets_the_plain_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {})
    with prepared("spark://somewhere:7077", sys.stderr.fileno()):
        assert os.environ == {"PYSPARK_PYTHON": sys.executable}


def test_an_interpreter_that_was_chosen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"PYSPARK_PYTHON": "/mine"})
    with prepared("local[2]", sys.stderr.fileno()):
        assert os.environ["PYSPARK_PYTHON"] == "/mine"
    assert "HOLDFAST_NURSERY" not in os.environ


def test_spark_starts_no_process_to_look_for_sources_that_no_package_brings(spark: SparkSession) -> None:
    assert "PYSPARK_DRIVER_PYTHON" not in os.environ, "what the user starts later knows nothing of it"
    spark.range(1).mapInArrow(where_pyspark_is, "file STRING").collect()
    assert spark._jvm is not None
    children = subprocess.run(
        ["ps", "-ww", "-o", "args=", "--ppid", str(spark._jvm.java.lang.ProcessHandle.current().pid())],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "pyspark.worker" in children
    assert "lookup_data_sources" not in children


def test_an_archive_of_classes_is_used_only_when_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    archive = class_archive()
    assert archive is not None
    assert "SharedArchiveFile" not in java_options()
    archive.parent.mkdir()
    archive.touch()
    assert f"-XX:SharedArchiveFile={archive}" in java_options()


def test_another_java_or_another_spark_has_an_archive_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = class_archive()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert class_archive() != ours
