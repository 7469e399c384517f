"""A log that was rotated several times before anybody looked: its lines come in the order they were written in."""

from __future__ import annotations

import gzip
import os
import shutil
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.following import Following

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Rotate = Callable[[Path], None]

WIDE = b"x" * 2000
"""Makes a line longer than a fingerprint."""


class Writer:
    """Writes numbered lines into a log."""

    def __init__(self, log: Path, padding: bytes) -> None:
        self.log, self._padding, self._numbers = log, padding, count(1)
        self.written: list[bytes] = []

    def write(self, lines: int) -> None:
        with self.log.open("ab") as file:
            for _ in range(lines):
                line = b"%d %s" % (next(self._numbers), self._padding)
                self.written.append(line)
                file.write(line + b"\n")


def compress(path: Path) -> None:
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


def numbered(log: Path) -> None:
    """As logrotate does with `delaycompress`: the newest rotated file is plain, those behind it are compressed."""
    for age in range(9, 0, -1):
        packed, plain = (log.with_name(f"{log.name}.{age}{suffix}") for suffix in (".gz", ""))
        if packed.exists():
            packed.rename(log.with_name(f"{log.name}.{age + 1}.gz"))
        if plain.exists():
            compress(plain.rename(log.with_name(f"{log.name}.{age + 1}")))
    log.rename(f"{log}.1")


class Dated:
    """As logrotate does with `dateext` and `compress`."""

    def __init__(self) -> None:
        self._day = count(28)

    def __call__(self, log: Path) -> None:
        day = next(self._day)
        name = f"{log.name}-202611{day}" if day <= 30 else f"{log.name}-202612{day - 30:02d}"
        compress(log.rename(log.with_name(name)))


def copied(log: Path) -> None:
    """As logrotate does with `copytruncate`."""
    for age in range(9, 0, -1):
        if (path := log.with_name(f"{log.name}.{age}")).exists():
            path.rename(log.with_name(f"{log.name}.{age + 1}"))
    shutil.copy(log, f"{log}.1")
    os.truncate(log, 0)


@pytest.fixture(params=[numbered, Dated, copied], ids=["numbered", "dated", "copied"])
def rotate(request: pytest.FixtureRequest) -> Rotate:
    made: Rotate = Dated() if request.param is Dated else request.param
    return made


@pytest.fixture
def following(tmp_path: Path) -> Iterator[Following]:
    found = Following(tmp_path / "app.log*")
    yield found
    found.close()


def set_times(directory: Path, order: int) -> None:
    """All files were changed at the same time, or those that sort last by name the longest ago."""
    for place, path in enumerate(sorted(directory.iterdir())):
        os.utime(path, (10**9 + order * place, 10**9 + order * place))


@pytest.mark.req("G1", "G2")
@pytest.mark.parametrize("order", [0, -1, 1], ids=["same time", "last is oldest", "first is oldest"])
@pytest.mark.parametrize("padding", [b"", WIDE], ids=["short", "long"])
def test_what_was_rotated_several_times_while_nobody_read_comes_oldest_first(
    tmp_path: Path, following: Following, rotate: Rotate, padding: bytes, order: int
) -> None:
    writer = Writer(tmp_path / "app.log", padding)
    writer.write(5)
    found = following.lines()
    for _ in range(4):
        writer.write(3)
        rotate(writer.log)
    writer.write(4)
    set_times(tmp_path, order)
    following.restart()
    for _ in range(5):
        found += following.lines()
    assert found == writer.written


@pytest.mark.req("G1")
@pytest.mark.parametrize("max_open", [1, 2, 100])
def test_rotated_files_that_are_met_for_the_first_time_come_oldest_first(
    tmp_path: Path, rotate: Rotate, max_open: int
) -> None:
    writer = Writer(tmp_path / "app.log", b"")
    for _ in range(5):
        writer.write(3)
        rotate(writer.log)
    writer.write(3)
    set_times(tmp_path, 0)
    following = Following(tmp_path / "app.log*", max_open=max_open)
    found = [line for _ in range(20) for line in following.lines()]
    following.close()
    assert found == writer.written


def test_logs_do_not_wait_for_each_other_and_a_file_that_grows_holds_none_up_for_good(tmp_path: Path) -> None:
    """Names that look like rotations may be those of logs that are all written to."""
    following = Following(tmp_path / "*.log*")
    writers = [Writer(tmp_path / name, name.encode()) for name in ("worker.1.log", "worker.2.log", "web.log")]
    for _ in range(3):
        for writer in writers:
            writer.write(2)
        found = following.lines()
        assert sorted(found) == sorted(line for writer in writers for line in writer.written[-2:])
    following.close()


@pytest.mark.req("G1")
def test_an_old_file_that_cannot_be_read_to_its_end_does_not_hold_up_the_newer_ones(
    tmp_path: Path, following: Following
) -> None:
    whole = gzip.compress(b"one\ntwo\n" * 1000)
    (tmp_path / "app.log.2.gz").write_bytes(whole[: len(whole) - 12])
    (tmp_path / "app.log.1").write_bytes(b"three\n")
    (tmp_path / "app.log").write_bytes(b"four\n")
    assert [line for _ in range(10) for line in following.lines()] == [b"three", b"four"]
    (tmp_path / "app.log.2.gz").write_bytes(whole)
    assert [line for _ in range(10) for line in following.lines()] == [b"one", b"two"] * 1000


@pytest.mark.req("G1")
def test_an_old_file_that_goes_before_it_is_read_does_not_hold_up_the_newer_ones(tmp_path: Path) -> None:
    """Three files wait for the oldest; one may be open. It is removed while it is closed."""
    for age in (3, 2, 1):
        (tmp_path / f"app.log.{age}").write_bytes(b"".join(b"%d %s\n" % (age, WIDE) for _ in range(9000)))
    following = Following(tmp_path / "app.log*", max_open=1)
    following.source.read(0)
    (oldest,) = (tail for tail in following.source._watch.tails if tail.path.endswith(".3"))
    oldest.suspend()
    (tmp_path / "app.log.3").unlink()
    found = [line[:1] for _ in range(30) for line in following.lines()]
    following.close()
    assert found == [b"2"] * 9000 + [b"1"] * 9000


@pytest.mark.req("G1", "G16")
@pytest.mark.parametrize("max_open", [1, 2])
def test_a_file_of_which_nothing_can_be_made_does_not_hold_up_the_newer_ones(tmp_path: Path, max_open: int) -> None:
    """It is looked at in every scan, and with few open files it must not take the turn of the others each time."""
    for age in (5, 4):
        (tmp_path / f"app.log.{age}").write_bytes(b"\xff\xfe not UTF-8")
    for age in (3, 2, 1):
        (tmp_path / f"app.log.{age}").write_bytes(b"%d\n" % age)
    following = Following(tmp_path / "app.log*", max_open=max_open)
    found = [line for _ in range(20) for line in following.lines()]
    assert len(following.source.status().problems) == 2
    following.close()
    assert found == [b"3", b"2", b"1"]


@pytest.mark.req("G16")
def test_a_compressed_file_that_is_closed_for_another_one_is_read_to_its_end(tmp_path: Path) -> None:
    lines = [b"%d %s" % (number, WIDE) for number in range(9000)]
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(b"\n".join([*lines, b""]), 1))
    following = Following(tmp_path / "*.log*", max_open=1)
    captured = following.source.read(0)
    assert captured is not None
    assert 0 < captured.events.num_rows < 9000
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(b"b\n" * 50_000))
    found = captured.events["payload"].to_pylist() + [line for _ in range(20) for line in following.lines()]
    following.close()
    assert [line for line in found if line != b"b"] == lines
    assert found.count(b"b") == 50_000


@pytest.mark.req("G5")
def test_a_copy_is_read_when_its_original_was_truncated_while_it_waited_for_an_older_file(tmp_path: Path) -> None:
    """The original was known and nothing of it captured: only then does it stay the same file after a truncation."""
    old, log = tmp_path / "app.log.1", tmp_path / "app.log"
    old.write_bytes(b"one\nhalf a line")
    log.write_bytes(b"two\n")
    following = Following(tmp_path / "app.log*", idle=50.0)
    assert following.lines() == [b"one"]
    old.rename(tmp_path / "app.log.2")
    shutil.copy(log, old)
    assert following.lines() == []
    os.truncate(log, 0)
    log.write_bytes(b"three\n")
    assert following.lines() == []
    found = [line for _ in range(3) for line in following.lines(after=100.0)]
    following.close()
    assert sorted(found) == [b"half a line", b"three", b"two"]


@pytest.mark.req("G5")
@pytest.mark.parametrize("captured", [b"", b"zero\n"], ids=["nothing was captured", "something was captured"])
@pytest.mark.parametrize("padding", [b"", WIDE], ids=["short", "long"])
def test_a_file_that_is_truncated_and_compressed_between_two_looks_is_read_once(
    tmp_path: Path, captured: bytes, padding: bytes
) -> None:
    """It is open, has no name any more, and begins with something else than before."""
    old, log = tmp_path / "app.log.1", tmp_path / "app.log"
    if not captured:
        old.write_bytes(b"half a line")  # it is waited for
    log.write_bytes(captured + b"one" + padding)
    following = Following(tmp_path / "app.log*", idle=5.0)
    assert following.lines() == captured.splitlines()
    with log.open("ab") as file:
        file.write(b"\n")
    shutil.copy(log, tmp_path / "app.log.3")
    log.write_bytes(b"two" + padding + b"\nlonger than it was\n")
    compress(log.rename(tmp_path / "app.log.2"))
    found = [line for _ in range(5) for line in following.lines(after=3.0)]
    following.close()
    rest = [] if captured else [b"half a line"]
    assert sorted(found) == sorted([b"one" + padding, b"two" + padding, b"longer than it was", *rest])


@pytest.mark.req("G16")
def test_no_more_files_are_opened_than_twice_what_stays_open(tmp_path: Path) -> None:
    """All grow at once, and what is not opened in one scan is in the next."""
    following = Following(tmp_path / "*.log", max_open=3)
    files = [tmp_path / f"{number}.log" for number in range(40)]
    most = 0
    for turn in range(3):
        for path in files:
            with path.open("ab") as file:
                file.write(b"%d of %s\n" % (turn, path.name.encode()))
        found = []
        for _ in range(40):
            found += following.lines()
            most = max(most, sum(tail.content is not None for tail in following.source._watch.tails))
        assert sorted(found) == sorted(b"%d of %s" % (turn, path.name.encode()) for path in files)
    following.close()
    assert most <= 3


def test_thousands_of_numbered_files_are_read_without_one_turn_each(tmp_path: Path) -> None:
    """What looks like one log of many rotations may be many small files: they still come in few blocks."""
    for number in range(3000):
        (tmp_path / f"job.{number}.log").write_bytes(b"%d\n" % number)
    following = Following(tmp_path / "job.*.log", max_open=5000)
    captured = following.source.read(0)
    following.close()
    assert captured is not None
    assert captured.events["payload"].to_pylist() == [b"%d" % number for number in range(2999, -1, -1)]
