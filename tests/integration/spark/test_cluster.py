"""A real standalone cluster with two workers gives the same result as local mode."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.keeper import free_port
from tests.support.spark_pipelines import passed

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME = Path(pyspark.__file__).parent
ROOT = Path(__file__).resolve().parents[3]
EVENTS = 6000


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a master with two workers, each with one core."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = ["org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "1g", "--webui-port", "0"]
    started: list[subprocess.Popen[bytes]] = []
    logs = tmp_path / "cluster.log"

    def start(*arguments: str) -> None:
        command = [str(HOME / "bin" / "spark-class"), *arguments]
        with logs.open("ab") as log:
            started.append(
                subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=tmp_path, start_new_session=True)
            )

    try:
        start(*master)
        for number in range(2):
            start(*worker, "--work-dir", str(tmp_path / f"worker{number}"), address)
        wait_for(logs, "Registering worker", 2)
        yield address
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


def wait_for(logs: Path, text: str, times: int) -> None:
    deadline = time.monotonic() + 90
    while logs.read_text().count(text) < times:
        assert time.monotonic() < deadline, logs.read_text()[-2000:]
        time.sleep(0.1)


@pytest.mark.timeout(300)
def test_two_workers_give_the_same_rows(tmp_path: Path, cluster: str) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    command = [sys.executable, "-m", "tests.support.spark_process", str(directory), str(EVENTS), "stateless", cluster]
    subprocess.run(command, check=True, cwd=ROOT, timeout=250)
    assert table_numbers(directory / "sink.db") == file_numbers(directory / "files") == passed(EVENTS)
