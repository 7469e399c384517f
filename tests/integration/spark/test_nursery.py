"""A worker that is forked in the nursery is like one that was started, and neither outlives the other for long."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.runtime import workers
from holdfast.runtime.workers import nursery as nurseries

WORKER = Path(workers.__file__).with_name("worker-python")
SOON = 30.0
TELLING = """
import json, os, sys
environment = {name: value for name, value in os.environ.items() if name not in ("_", "PWD", "SHLVL", "OLDPWD")}
said = {
    "arguments": sys.argv[1:], "directory": os.getcwd(), "environment": environment, "name": __name__,
    "stdin": sys.stdin.read(), "hash": hash("holdfast"), "has_pyspark": "pyspark.worker" in sys.modules,
    "parent": os.getppid(),
}
print(json.dumps(said))
print("a word", file=sys.stderr)
sys.exit(3)
"""
SETTLING = """
import gc, json, weakref
class Knot:
    def __init__(self): self.itself = self
kept = [Knot()]
watched = len(gc.get_objects())
gc.collect()
gone = weakref.ref(Knot())
gc.collect()
print(json.dumps({"before": watched, "after": len(gc.get_objects()), "is_gone": gone() is None}))
"""
WAITING = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("told to end", flush=True), os._exit(7)))
print(os.getpid(), flush=True)
time.sleep(60)
"""
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[bytes]]:
    """A nursery that only the tests of this module know."""
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast.runtime.workers.nursery", f"test-{os.getpid()}"],
        stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    yield process
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(SOON) == 0


@pytest.fixture
def start(tmp_path: Path, nursery: subprocess.Popen[bytes]) -> Iterator[Start]:
    """Starts a worker, as Spark would."""
    (tmp_path / "telling.py").write_text(TELLING)
    (tmp_path / "settling.py").write_text(SETTLING)
    (tmp_path / "waiting.py").write_text(WAITING)
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, program: Path | str = WORKER, **environment: str) -> subprocess.Popen[str]:
        ours = {"HOLDFAST_PYTHON": sys.executable, "HOLDFAST_NURSERY": f"test-{os.getpid()}", "PYTHONHASHSEED": "0"}
        process = subprocess.Popen(
            [str(program), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PYTHONPATH": str(tmp_path), **ours, **environment},
            cwd=tmp_path,
            text=True,
        )
        started.append(process)
        return process

    wait_until_it_listens(nursery)
    yield begin
    for process in started:
        process.kill()
        process.communicate()


def wait_until_it_listens(nursery: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        assert nursery.poll() is None
        with socket.socket(socket.AF_UNIX) as caller:
            try:
                caller.connect(f"\0test-{os.getpid()}")
            except ConnectionRefusedError:
                time.sleep(0.02)
            else:
                return
    pytest.fail("the nursery does not listen")


def told(process: subprocess.Popen[str]) -> tuple[dict[str, Any], str, int]:
    output, error = process.communicate("from above", timeout=SOON)
    return json.loads(output), error, process.returncode


def said_by_worker(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + SOON
    while not is_gone(pid):
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.01)


def test_it_is_like_one_that_was_started(start: Start, nursery: subprocess.Popen[bytes]) -> None:
    forked, error, code = told(start("-m", "telling", "one", "two", MINE="yes"))
    plain, plain_error, plain_code = told(start("-m", "telling", "one", "two", MINE="yes", program=sys.executable))
    assert (forked.pop("has_pyspark"), plain.pop("has_pyspark")) == (True, False)
    assert forked.pop("parent") == nursery.pid
    del plain["parent"]
    assert (forked, error, code) == (plain, plain_error, plain_code)


def test_a_collection_leaves_out_what_a_worker_holds_and_finds_what_it_let_go(start: Start) -> None:
    """Spark has a worker collect its garbage after every task."""
    forked, _, _ = told(start("-m", "settling"))
    plain, _, _ = told(start("-m", "settling", program=sys.executable))
    assert forked["before"] < plain["before"], "though it has imported pyspark"
    assert forked["after"] < forked["before"] / 10
    assert forked["is_gone"]
    assert plain["is_gone"]


def test_a_module_that_the_nursery_has_imported_is_run_without_a_word(start: Start) -> None:
    process = start("-m", "pyspark.sql.worker.plan_data_source_read")
    _, error = process.communicate(timeout=SOON)
    assert "gaierror" in error, "it looks for Spark and finds none"
    assert "RuntimeWarning" not in error


def test_a_signal_reaches_it_through_its_stand_in(start: Start) -> None:
    process = start("-m", "waiting")
    worker = said_by_worker(process)
    process.terminate()
    output, _ = process.communicate(timeout=SOON)
    assert (output, process.returncode) == ("told to end\n", 7)
    wait_until_gone(worker)


def test_it_is_told_to_end_when_its_stand_in_is_killed(start: Start) -> None:
    process = start("-m", "waiting")
    worker = said_by_worker(process)
    process.kill()
    assert process.communicate(timeout=SOON)[0] == "told to end\n"
    wait_until_gone(worker)


def test_how_it_was_killed_is_passed_on(start: Start) -> None:
    process = start("-m", "waiting")
    os.kill(said_by_worker(process), signal.SIGKILL)
    process.communicate(timeout=SOON)
    assert process.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONHASHSEED": "7"}, {"HOLDFAST_NURSERY": "nobody-is-there"}, {"HOLDFAST_NURSERY": ""}],
    ids=["other hashes", "no nursery answers", "no nursery"],
)
def test_it_is_started_plainly_when_it_cannot_be_forked(start: Start, environment: dict[str, str]) -> None:
    found, _, code = told(start("-m", "telling", **environment))
    assert (found["has_pyspark"], found["stdin"], code) == (False, "from above", 3)


def test_a_caller_that_breaks_off_disturbs_nobody(start: Start) -> None:
    for word in (b"", b"\0\0\0\5{", b"\0\0\0\1{", b"\0\0\0\2{}"):
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(f"\0test-{os.getpid()}")
            caller.sendall(word)
    assert told(start("-m", "telling"))[0]["has_pyspark"]


def test_another_user_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        assert nurseries._is_ours(here)
        monkeypatch.setattr(os, "getuid", lambda: 4711)
        assert not nurseries._is_ours(here)
