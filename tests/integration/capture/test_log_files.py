"""Log files that are followed: growing, rotated, truncated, compressed, removed, at rest, and of every encoding."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.capture.files import Follow, LogFiles
from holdfast.model.encoding import Encoding
from holdfast.model.errors import InvalidSource
from holdfast.model.positions import FilesPosition, Seq
from tests.support.following import LONG, Following, file_of, headers
from tests.support.mounts import small_disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Follows = Callable[..., Following]


@pytest.fixture
def follow(tmp_path: Path) -> Iterator[Follows]:
    begun: list[Following] = []

    def make(*patterns: str, **options: Any) -> Following:
        begun.append(Following(*(tmp_path / pattern for pattern in patterns or ("app.log*",)), **options))
        return begun[-1]

    yield make
    for following in begun:
        following.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def compress(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return packed


# Lines


@pytest.mark.req("G1")
def test_what_is_appended_is_captured_and_nothing_twice(follow: Follows, log: Path) -> None:
    following = follow()
    for number in range(5):
        append(log, b"line %d\n" % number)
        assert following.lines() == [b"line %d" % number]
        assert following.lines() == []


@pytest.mark.req("G5", "G12")
def test_half_a_line_waits_for_its_end_also_over_a_restart(follow: Follows, log: Path) -> None:
    following = follow()
    append(log, b"one\ntw")
    assert following.lines() == [b"one"]
    assert isinstance(following.position, FilesPosition)
    assert following.position.files[0][1].offset == 4
    following.restart()
    assert following.lines() == []
    append(log, b"o\n")
    assert following.lines() == [b"two"]


@pytest.mark.req("G18")
def test_an_event_names_its_file_and_its_bytes(follow: Follows, log: Path) -> None:
    append(log, b"one\ntwo\n")
    first, second = follow(name="logs").events()
    assert (first["event_id"], first["position"], first["op"], first["tx_end"]) == ("logs/1:0/0", "1:0", "m", True)
    assert (second["event_id"], second["position"]) == ("logs/1:4/0", "1:4")
    assert file_of(first) == str(log)


@pytest.mark.req("G18")
def test_an_event_names_the_file_as_it_was_called_when_it_was_read(follow: Follows, log: Path) -> None:
    following = follow()
    append(log, b"one\n")
    assert [file_of(event) for event in following.events()] == [str(log)]
    append(log, b"two\n")
    log.rename(f"{log}.1")
    assert [file_of(event) for event in following.events()] == [f"{log}.1"]


@pytest.mark.req("X1")
def test_a_second_reading_gives_the_same_ids(follow: Follows, log: Path, tmp_path: Path) -> None:
    append(log, b"one\ntwo\nthree\n")
    append(tmp_path / "app.log.1", b"four\n")
    first = [(event["event_id"], event["payload"]) for event in follow().events()]
    again = [(event["event_id"], event["payload"]) for event in follow().events()]
    assert len(first) == 4
    assert again == first


@pytest.mark.req("G7")
def test_empty_files_and_empty_lines(follow: Follows, log: Path) -> None:
    following = follow()
    log.touch()
    assert following.events() == []
    assert following.source.status().files == 0
    append(log, b"\n\n")
    assert following.lines() == [b"", b""]


@pytest.mark.req("G15", "G20")
def test_two_files_never_share_the_beginning_of_a_line(follow: Follows, tmp_path: Path) -> None:
    following = follow("*.log")
    a, b = tmp_path / "a.log", tmp_path / "b.log"
    append(a, b"a1\na2 begi")
    append(b, b"b1\nb2 begi")
    assert following.lines() == [b"a1", b"b1"]
    append(b, b"ns\n")
    append(a, b"ns too\n")
    assert sorted(following.lines()) == [b"a2 begins too", b"b2 begins"]


def test_files_come_and_go(follow: Follows, tmp_path: Path) -> None:
    following = follow("**/*.log", "*.txt")
    append(tmp_path / "a.txt", b"a\n")
    assert following.lines() == [b"a"]
    (tmp_path / "deep" / "er").mkdir(parents=True)
    append(tmp_path / "deep" / "er" / "b.log", b"b\n")
    append(tmp_path / "deep" / "ignored", b"no\n")
    assert following.lines() == [b"b"]
    (tmp_path / "a.txt").unlink()
    following.events()
    assert following.source.status().files == 2, "it may come back under another name"
    following.events(after=LONG)
    assert following.source.status().files == 1
    append(tmp_path / "c.log", b"c\n")
    assert following.lines() == [b"c"]
    assert isinstance(following.position, FilesPosition)
    assert [number for number, _ in following.position.files] == [2, 3], "what is gone and read is left out"


def test_two_names_of_one_file_are_one_file(follow: Follows, log: Path) -> None:
    append(log, b"one\n")
    os.link(log, f"{log}.hard")
    Path(f"{log}.soft").symlink_to(log)
    assert follow().lines() == [b"one"]


@pytest.mark.req("G4")
def test_two_devices_have_the_same_inodes(follow: Follows, tmp_path: Path) -> None:
    with small_disk(tmp_path / "one") as one, small_disk(tmp_path / "two") as two:
        append(one / "a.log", b"one\n")
        append(two / "a.log", b"two\n")
        if (one / "a.log").stat().st_ino != (two / "a.log").stat().st_ino:
            pytest.skip("here they have not")
        following = follow("*/a.log")
        assert sorted(following.lines()) == [b"one", b"two"]
        append(one / "a.log", b"more\n")
        append(two / "a.log", b"also\n")
        following.restart()
        assert sorted(following.lines()) == [b"also", b"more"]
        following.close()


# Rotation


@pytest.mark.req("G3")
@pytest.mark.parametrize("restarts", [False, True])
def test_two_rotations_before_the_first_is_read(follow: Follows, log: Path, restarts: bool) -> None:
    following = follow()
    append(log, b"one\n")
    assert following.lines() == [b"one"]
    for number, line in enumerate([b"two\n", b"three\n"], 1):
        append(log, line)
        for old in range(number - 1, 0, -1):
            Path(f"{log}.{old}").rename(f"{log}.{old + 1}")
        log.rename(f"{log}.1")
    append(log, b"four\n")
    if restarts:
        following.restart()
    assert sorted(following.lines()) == [b"four", b"three", b"two"]
    assert following.lines(after=LONG) == []


@pytest.mark.parametrize("restarts", [False, True])
def test_a_file_that_is_copied_and_truncated_is_read_on_in_the_copy(follow: Follows, log: Path, restarts: bool) -> None:
    following = follow()
    append(log, b"one\n")
    assert following.lines() == [b"one"]
    append(log, b"two\n")
    shutil.copyfile(log, f"{log}.1")
    os.truncate(log, 0)
    append(log, b"three\n")
    if restarts:
        following.restart()
    lines = following.lines() + following.lines(after=10.0)
    assert sorted(lines) == [b"three", b"two"]
    assert following.lines(after=LONG) == []
    assert following.source.status().gaps == 0


def test_a_copy_is_left_alone_while_the_original_is_there(follow: Follows, log: Path) -> None:
    following = follow()
    append(log, b"one\ntwo\n")
    shutil.copyfile(log, f"{log}.1")
    assert following.lines() == [b"one", b"two"]
    assert following.lines(after=LONG) == []
    append(log, b"three\n")
    assert following.lines() == [b"three"]


def test_a_copy_that_was_taken_before_the_original_was_read_further_is_not_read(follow: Follows, log: Path) -> None:
    following = follow(fingerprint=4)
    append(log, b"one\n")
    shutil.copyfile(log, f"{log}.1")
    append(log, b"two\n")
    assert following.lines() == [b"one", b"two"]
    os.truncate(log, 0)
    append(log, b"three\n")
    assert following.lines() + following.lines(after=10.0) == [b"three"]
    following.restart()
    assert following.lines() + following.lines(after=LONG) == []


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("pattern", ["app.log*", "app.log"])
def test_a_rotated_file_is_read_on_after_it_was_compressed(
    follow: Follows, log: Path, restarts: bool, pattern: str
) -> None:
    following = follow(pattern)
    append(log, b"one\n")
    assert following.lines() == [b"one"]
    append(log, b"two\nthree")
    log.rename(f"{log}.1")
    compress(Path(f"{log}.1"))
    append(log, b"four\n")
    if restarts:
        following.restart()
    lines = following.lines() + following.lines(after=10.0) + following.lines(after=10.0)
    assert sorted(lines) == [b"four", b"three", b"two"], "nobody appends to a compressed file: its end is the end"
    assert following.lines(after=LONG) == []
    assert following.source.status().gaps == 0


def test_a_compressed_file_that_is_new_is_read(follow: Follows, log: Path) -> None:
    append(log, b"one\ntwo")
    compress(log)
    following = follow()
    assert following.lines() == [b"one", b"two"]
    following.restart()
    assert following.lines(after=LONG) == []


def test_a_compressed_file_that_is_not_whole_yet_is_read_when_it_is(follow: Follows, log: Path) -> None:
    following = follow()
    packed = gzip.compress(b"".join(b"line %d\n" % number for number in range(100_000)))
    Path(f"{log}.1.gz").write_bytes(packed[:-2000])
    begun = following.lines()
    assert following.lines(after=LONG) == []
    assert list(following.source.status().problems) == [f"{log}.1.gz"]
    append(Path(f"{log}.1.gz"), packed[-2000:])
    rest = following.lines(after=LONG) + following.lines(after=LONG)
    assert begun + rest == [b"line %d" % number for number in range(100_000)]
    assert following.source.status().problems == {}


@pytest.mark.req("G4")
def test_a_file_that_gets_the_inode_of_another_one_is_another_file(follow: Follows, log: Path) -> None:
    following = follow()
    append(log, b"one\ntwo\n")
    assert following.lines() == [b"one", b"two"]
    inode = log.stat().st_ino
    following.source.close()
    log.write_bytes(b"three\nfour\nfive\n")  # no file system promises to give an inode away at once; this keeps it
    assert log.stat().st_ino == inode
    following.restart()
    assert following.lines() == [b"three", b"four", b"five"]


@pytest.mark.req("G4")
def test_a_file_that_is_written_anew_to_the_very_same_size_is_another_file(follow: Follows, log: Path) -> None:
    following = follow()
    append(log, b"one\n")
    assert following.lines() == [b"one"]
    log.write_bytes(b"two\n")
    os.utime(log, ns=(1, 1))
    assert following.lines() == [b"two"]


def test_a_file_that_was_replaced_while_it_was_read_gives_nothing_of_both(follow: Follows, log: Path) -> None:
    """It is larger than what was read, so only its beginning tells."""
    following = follow()
    append(log, b"one\n")
    assert following.lines() == [b"one"]
    os.truncate(log, 0)
    append(log, b"2222\n3333\n")
    assert following.lines(after=0.0) + following.lines() == [b"2222", b"3333"]
    assert following.source.status().gaps == 0


@pytest.mark.req("G2")
def test_a_file_that_is_removed_while_it_is_open_is_read_to_its_end(follow: Follows, log: Path) -> None:
    following = follow()
    with log.open("ab", buffering=0) as writer:
        writer.write(b"one\n")
        assert following.lines() == [b"one"]
        writer.write(b"two\n")
        log.unlink()
        assert following.lines() == [b"two"]
        writer.write(b"three\nhalf")
        assert following.lines() == [b"three"]
    append(log, b" of another\n")
    assert following.lines() == [b" of another"]


def test_what_was_removed_before_it_was_read_is_counted_and_told(
    follow: Follows, log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    following = follow()
    append(log, b"one\n")
    assert following.lines() == [b"one"]
    append(log, b"two\n")
    following.time += 1.0
    following.source._watch.scan(following.time)
    following.source.close()  # as if there were no descriptors left
    for tail in following.source._watch.tails:
        tail.content = None
    os.truncate(log, 0)
    assert following.lines() + following.lines(after=LONG) == []
    status = following.source.status()
    assert (status.gaps, status.gap_bytes) == (1, 4)
    assert "gap source=files" in caplog.text


def test_a_file_that_went_while_nobody_read_is_told(
    follow: Follows, log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    following = follow()
    append(log, b"one\n")
    assert following.lines() == [b"one"]
    following.close()
    log.unlink()
    following.restart()
    assert following.lines() + following.lines(after=LONG) == []
    assert following.source.status().vanished == 1
    assert "vanished source=files files=1 read_to=1:4" in caplog.text


@pytest.mark.req("G16")
def test_more_files_than_may_be_open(follow: Follows, tmp_path: Path) -> None:
    following = follow("*.log", max_open=3)
    files = [tmp_path / f"{number}.log" for number in range(10)]
    for turn in range(4):
        for number, path in enumerate(files):
            append(path, b"%d of %d\n" % (turn, number))
        moved = tmp_path / f"{turn}.rotated.log"
        files[turn] = files[turn].rename(moved)
        found = [line for _ in range(4) for line in following.lines()]
        assert sorted(found) == sorted(b"%d of %d" % (turn, number) for number in range(10))
        assert len([tail for tail in following.source._watch.tails if tail.content]) <= 3


# The end of a file


@pytest.mark.req("G8")
def test_a_line_without_a_newline_is_captured_when_the_file_is_at_rest(follow: Follows, log: Path) -> None:
    following = follow(idle=5.0)
    append(log, b"one\ntwo")
    assert following.lines() == [b"one"]
    assert following.lines(after=4.0) == []
    append(log, b" and")
    assert following.lines(after=2.0) == [], "anything new begins the wait anew"
    assert following.lines(after=4.0) == []
    (event,) = following.events(after=2.0)
    assert (event["payload"], headers(event)) == (b"two and", {"unfinished": "1"})
    assert following.events(after=LONG) == []
    following.restart()
    append(log, b" a half\nthree\n")
    rest, next_one = following.events()
    assert (rest["payload"], headers(rest)) == (b" a half", {"continues": "1"})
    assert (next_one["payload"], headers(next_one)) == (b"three", {})


@pytest.mark.req("G8")
@pytest.mark.parametrize("max_open", [1, 100])
def test_files_that_are_read_to_their_end_are_read_whole(tmp_path: Path, max_open: int) -> None:
    for number in range(5):
        append(tmp_path / f"{number}.log", b"first of %d\nlast of %d" % (number, number))
    source = LogFiles(tmp_path / "*.log", follow=Follow.TO_THE_END, max_open=max_open)
    source.open(None)
    found: list[bytes] = []
    while not source.finished:
        if (captured := source.read(0.01)) is not None:
            found += captured.events["payload"].to_pylist()
    source.close()
    assert sorted(found) == sorted(
        b"%s of %d" % (which, number) for which in (b"first", b"last") for number in range(5)
    )


@pytest.mark.req("M22", "G12")
def test_closing_gives_out_nothing(follow: Follows, log: Path) -> None:
    following = follow(idle=5.0)
    append(log, b"half")
    assert following.lines(after=LONG) == []
    following.restart()
    assert following.lines(after=1.0) == [], "the wait begins anew with the process"


# Long lines and records of several lines


@pytest.mark.req("G6")
def test_a_line_that_is_too_long_says_how_much_of_it_is_missing(follow: Follows, log: Path) -> None:
    following = follow(max_bytes=10)
    append(log, b"short\n" + b"x" * 25 + b"\n" + "ä".encode() * 7 + b"\nshort\n")
    first, second, third, fourth = following.events()
    assert (first["payload"], headers(first)) == (b"short", {})
    assert (second["payload"], headers(second)) == (b"x" * 10, {"cut": "15"})
    assert (third["payload"].decode(), headers(third)) == ("äääää", {"cut": "4"})
    assert (fourth["payload"], headers(fourth)) == (b"short", {})
    assert (following.source.status().cut_records, following.source.status().cut_bytes) == (2, 19)


@pytest.mark.req("G6")
@pytest.mark.parametrize(("kept", "character"), [(9, "ä"), (11, "ä"), (10, "€"), (11, "€"), (13, "😀"), (15, "😀")])
def test_a_cut_never_leaves_part_of_a_character(follow: Follows, log: Path, kept: int, character: str) -> None:
    append(log, (character * 20 + "\n").encode())
    (event,) = follow(max_bytes=kept).events()
    width = len(character.encode())
    assert event["payload"].decode() == character * (kept // width)
    assert headers(event) == {"cut": str(20 * width - kept // width * width)}


@pytest.mark.req("G6")
def test_a_line_that_is_longer_than_all_that_is_read_at_once_comes_in_parts(
    follow: Follows, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.capture.files.BLOCK_BYTES", 2**17)
    following = follow(max_bytes=1000)
    append(log, b"y" * 300_000 + b"\nshort\n")
    *parts, last = following.events()
    assert [len(part["payload"]) for part in parts] == [1000, 1000, 1000]
    assert sum(1000 + int(headers(part)["cut"]) for part in parts) == 300_000
    assert [headers(part).get("continues") for part in parts] == [None, "1", "1"]
    assert (last["payload"], headers(last)) == (b"short", {})


def test_records_of_several_lines(follow: Follows, log: Path) -> None:
    following = follow(first_line=r"\d{4}-", idle=5.0)
    append(log, b"2026-01 boom\n  at a\n  at b\n2026-02 fine\n")
    assert following.lines() == [b"2026-01 boom\n  at a\n  at b"]
    append(log, b"  after all\n")
    assert following.lines() == []
    (event,) = following.events(after=10.0) + following.events(after=10.0)
    assert (event["payload"], headers(event)) == (b"2026-02 fine\n  after all", {})
    append(log, b"  too late\n2026-03\n")
    (late,) = following.events()
    assert (late["payload"], headers(late)) == (b"  too late", {"continues": "1"})


# Encodings


@pytest.mark.req("A2")
@pytest.mark.parametrize("encoding", Encoding)
@pytest.mark.parametrize("has_mark", [False, True])
def test_lines_are_the_same_in_every_encoding(follow: Follows, log: Path, encoding: Encoding, has_mark: bool) -> None:
    mark = encoding.mark if has_mark else b""
    append(log, mark + "für\n\nĊ\n".encode(encoding, "replace"))
    following = follow(encoding=encoding)
    lines = following.lines()
    assert [line.decode(encoding) for line in lines[:2]] == ["für", ""]
    assert len(lines) == 3
    append(log, "more\n".encode(encoding))
    following.restart()
    assert [line.decode(encoding) for line in following.lines()] == ["more"]


def test_a_file_with_the_mark_of_another_encoding_is_not_read_and_told(follow: Follows, log: Path) -> None:
    append(log, "one\n".encode("utf-16"))
    following = follow()
    assert following.lines() == []
    assert "utf-16-le" in following.source.status().problems[str(log)]


# Refusals


@pytest.mark.parametrize(
    "options", [{"first_line": "("}, {"max_bytes": 0}, {"fingerprint": 0}, {"fingerprint": 2**20}], ids=str
)
def test_a_declaration_that_means_nothing_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidSource):
        LogFiles("app.log", **options)
    with pytest.raises(InvalidSource):
        LogFiles()


@pytest.mark.req("X19")
def test_a_position_of_another_source_is_refused(log: Path) -> None:
    with pytest.raises(InvalidSource, match="another kind"):
        LogFiles(log).open(Seq(5))


def test_a_file_that_may_not_be_read_is_told_and_read_when_it_may(
    follow: Follows, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, flags: int) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    append(log, b"one\n")
    with monkeypatch.context() as without_rights:  # root may read everything, so the system cannot refuse it
        without_rights.setattr(os, "open", refused)
        following = follow()
        assert following.lines() == []
        assert "Permission" in following.source.status().problems[str(log)]
    assert following.lines() == [b"one"]
    assert following.source.status().problems == {}
