"""Lines from a pipe: in any portion, over several runs, to the end of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.capture import Stdin
from holdfast.model.errors import InvalidSource
from holdfast.model.positions import FilesPosition, Seq
from tests.support.following import headers
from tests.support.log_lines import table_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

ROOT = Path(__file__).resolve().parents[3]


class Pipe:
    """A pipe, and a source that reads from it."""

    def __init__(self, **options: Any) -> None:
        self._reading, self.writing = os.pipe()
        self.source = Stdin(descriptor=self._reading, **options)
        self.source.open(None)

    def events(self) -> list[dict[str, Any]]:
        captured = self.source.read(0)
        return captured.events.to_pylist() if captured else []

    def lines(self) -> list[bytes]:
        return [event["payload"] for event in self.events()]

    def end(self) -> None:
        os.close(self.writing)
        self.writing = -1

    def close(self) -> None:
        os.close(self._reading)
        if self.writing != -1:
            os.close(self.writing)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.close()


def test_lines_come_as_they_are_finished_and_the_end_ends_the_last_one(pipe: Pipe) -> None:
    os.write(pipe.writing, b"one\ntw")
    assert pipe.lines() == [b"one"]
    os.write(pipe.writing, b"o\n\nthr")
    assert pipe.lines() == [b"two", b""]
    assert pipe.lines() == []
    assert not pipe.source.finished
    os.write(pipe.writing, b"ee")
    pipe.end()
    (event,) = pipe.events()
    assert (event["payload"], headers(event)) == (b"three", {"unfinished": "1"})
    assert pipe.source.finished


def test_a_pipe_that_says_nothing_ends_too(pipe: Pipe) -> None:
    pipe.end()
    assert pipe.events() == []
    assert pipe.source.finished


@pytest.mark.req("X1")
def test_lines_are_numbered_on_from_the_inbox(pipe: Pipe) -> None:
    pipe.source.open(Seq(41))
    os.write(pipe.writing, b"one\ntwo\n")
    first, second = pipe.events()
    assert (first["event_id"], first["position"]) == ("stdin/42/0", "42")
    assert (second["event_id"], second["position"]) == ("stdin/43/0", "43")


@pytest.mark.req("G6")
def test_a_line_that_is_too_long_is_cut_and_says_so() -> None:
    pipe = Pipe(max_bytes=4)
    os.write(pipe.writing, b"short\n")
    (event,) = pipe.events()
    assert (event["payload"], headers(event)) == (b"shor", {"cut": "1"})
    pipe.close()


def test_what_makes_no_sense_is_refused(pipe: Pipe) -> None:
    with pytest.raises(InvalidSource):
        Stdin(max_bytes=0)
    with pytest.raises(InvalidSource, match="another kind"):
        pipe.source.open(FilesPosition())


def test_several_runs_of_a_pipeline_at_the_end_of_a_pipe(tmp_path: Path) -> None:
    for run in range(2):
        data = b"".join(b"%d\n" % number for number in range(run * 5000, (run + 1) * 5000))
        subprocess.run(
            [sys.executable, "-m", "tests.support.log_lines", str(tmp_path)],
            input=data,
            check=True,
            cwd=ROOT,
            timeout=90,
        )
    assert table_lines(tmp_path) == [str(number) for number in range(10_000)]
