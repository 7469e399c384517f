"""Random histories of logs that are written, rotated, truncated and removed while a source follows them and crashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from random import Random

import pytest

from holdfast.capture.files import LogFiles
from tests.support.log_writer import LogWriter


class World:
    """Two logs and a source whose process dies now and then. Time is made up; the files are real."""

    def __init__(self, directory: Path, seed: int, *, pattern: str) -> None:
        self._directory = directory
        self._pattern = pattern
        self.random = Random(seed)
        self._time = 0.0
        self._source = self._started()
        self._position = None
        self._source.open(None)
        self.captured: list[str] = []
        """What is durable."""
        self.writers = [
            LogWriter(
                directory,
                name,
                self.random,
                wait_for=lambda lines, name=name: self._wait_for(name, lines),
                pause=self._step,
                is_patient=pattern == "*.log",
            )
            for name in ("app.log", "db.log")
        ]

    def play(self, acts: int) -> None:
        """Write, rotate, read and crash at random; then read what is left."""
        for _ in range(acts):
            self.random.choice(self.writers).act()
            for _ in range(self.random.choice([0, 0, 1, 1, 2])):
                self._step()
        for writer in self.writers:
            self._wait_for(writer.path.name, writer.written)
            writer.close()
        self._source.close()

    def _step(self) -> None:
        self._time += self.random.choice([0.0, 0.1, 0.3, 3.0, 30.0])
        captured = self._source.read(0)
        if self.random.random() < 0.15:
            self._source.close()
            self._source = self._started()
            self._source.open(self._position)
        elif captured is not None:
            assert self._position is None or captured.position.at_or_after(self._position)
            self._position = captured.position
            self.captured += [payload.decode() for payload in captured.events["payload"].to_pylist()]

    def _wait_for(self, name: str, lines: Collection[int]) -> None:
        for _ in range(200):
            if set(lines) <= {int(line.split()[1]) for line in self.captured if line.startswith(name)}:
                return
            self._step()
        missing = set(lines) - {int(line.split()[1]) for line in self.captured if line.startswith(name)}
        raise AssertionError(f"{name}: never captured {sorted(missing)[:9]}")

    def _started(self) -> LogFiles:
        return LogFiles(
            self._directory / self._pattern,
            idle=1e9,
            fingerprint=64,
            monotonic=lambda: self._time,
            sleep=lambda _: None,
        )


@pytest.mark.req("G3", "G4")
@pytest.mark.parametrize("pattern", ["*.log*", "*.log"])
@pytest.mark.parametrize("seed", range(8))
def test_every_line_is_captured_once_and_in_order(tmp_path: Path, seed: int, pattern: str) -> None:
    world = World(tmp_path, seed, pattern=pattern)
    world.play(120)
    for writer in world.writers:
        name = writer.path.name
        found = [int(line.split()[1]) for line in world.captured if line.startswith(name)]
        doubled = [number for number, times in Counter(found).items() if times > 1]
        assert not doubled
        assert sorted(found) == writer.written
