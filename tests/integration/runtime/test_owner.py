"""One process owns a pipeline's directory; another is refused, ends it, or goes on without the lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from holdfast.model.errors import PipelineBusy
from holdfast.runtime.owner import LOCK, Holder, Ownership, Takeover, recorded
from holdfast.runtime.processes import ProcessId, kill_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOLD = """
import sys, time
from pathlib import Path
from holdfast.runtime.owner import Ownership
held = Ownership.take(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.req("D3")
def test_a_second_process_is_refused_and_told_who_owns_it(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    with pytest.raises(PipelineBusy, match=f"Process {holder.pid} runs"):
        Ownership.take(tmp_path)


def test_taking_over_ends_the_owner_first(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    ownership = Ownership.take(tmp_path, takeover=Takeover.END)
    assert holder.wait(10) == -signal.SIGKILL
    ownership.release()


def test_taking_over_ends_an_owner_that_was_stopped(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    os.kill(holder.pid, signal.SIGSTOP)
    Ownership.take(tmp_path, takeover=Takeover.END).release()
    assert holder.wait(10) == -signal.SIGKILL


def test_fencing_leaves_the_owner_alive(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    Ownership.take(tmp_path, takeover=Takeover.FENCE).release()
    assert holder.poll() is None


def test_a_dead_owner_holds_nothing(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    holder.kill()
    holder.wait()
    Ownership.take(tmp_path).release()


def test_after_release_the_next_one_may_have_it(tmp_path: Path) -> None:
    Ownership.take(tmp_path).release()
    Ownership.take(tmp_path).release()


def test_a_process_id_that_was_given_to_another_is_not_the_holder() -> None:
    assert Holder.this_process().lives
    assert not Holder(ProcessId(os.getpid(), "1")).lives


HOLD_WITH_HELPER = """
import subprocess, sys, time
from pathlib import Path
from holdfast.runtime.owner import Ownership
from holdfast.runtime.processes import ProcessId
held = Ownership.take(Path(sys.argv[1]))
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
held.record_helpers([ProcessId.of(helper.pid)])
if sys.argv[2] == "given up":
    held.release()
print(helper.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def with_helper(tmp_path: Path) -> Iterator[Callable[[str], tuple[subprocess.Popen[str], ProcessId]]]:
    """An owner whose helper runs in a session of its own."""
    started: list[subprocess.Popen[str]] = []
    helpers: list[ProcessId] = []

    def start(manner: str) -> tuple[subprocess.Popen[str], ProcessId]:
        command = [sys.executable, "-c", HOLD_WITH_HELPER, str(tmp_path), manner]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True))
        assert started[-1].stdout is not None
        helpers.append(ProcessId.of(int(started[-1].stdout.readline())))
        return started[-1], helpers[-1]

    yield start
    kill_all([*helpers, *(ProcessId.of(process.pid) for process in started)], patience=10)
    for process in started:
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_taking_over_ends_what_worked_for_the_owner_in_other_sessions(
    with_helper: Callable[[str], tuple[subprocess.Popen[str], ProcessId]], tmp_path: Path
) -> None:
    _, helper = with_helper("held")
    Ownership.take(tmp_path, takeover=Takeover.END).release()
    assert not helper.lives


def test_what_worked_for_an_owner_that_was_killed_is_ended_before_anything_is_opened(
    with_helper: Callable[[str], tuple[subprocess.Popen[str], ProcessId]], tmp_path: Path
) -> None:
    owner, helper = with_helper("held")
    owner.kill()
    owner.wait()
    assert helper.lives
    Ownership.take(tmp_path).release()
    assert not helper.lives


def test_what_works_for_other_pipelines_of_a_process_that_lives_is_left_alone(
    with_helper: Callable[[str], tuple[subprocess.Popen[str], ProcessId]], tmp_path: Path
) -> None:
    _, helper = with_helper("given up")
    Ownership.take(tmp_path, takeover=Takeover.END).release()
    assert helper.lives


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 3_000,
        b'{"pid": 1e999, "started": "1"}',
        b'{"pid": ' + b"9" * 5_000 + b', "started": "1"}',
        b'{"pid": 1, "started": "1", "helpers": 7}',
        b"\xff",
        b"[]",
    ],
)
def test_a_lock_file_that_cannot_be_read_names_nobody_and_is_taken(content: bytes, tmp_path: Path) -> None:
    (tmp_path / LOCK).write_bytes(content)
    assert recorded(tmp_path / LOCK) is None
    Ownership.take(tmp_path).release()
    assert recorded(tmp_path / LOCK) == Holder.this_process()
