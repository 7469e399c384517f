"""The files that hold a log's bytes: appended to by the owner, read by anybody, named by the owner's epoch.

A row in the index is what makes bytes of a segment visible. Every owner starts files of its own and never writes to
those of another, so an owner that was fenced cannot touch what is visible now. After an error a file is given up:
whether more may be written behind a failed write or sync is not known.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import google_crc32c
import pyarrow as pa

from holdfast.disk.files import sync_directory
from holdfast.log.disk import remove, sizes
from holdfast.log.oserrors import damaged, disk_error, missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from holdfast.log.values import Chunk

DIRECTORY = "segments"
ROLL_AT = 16 * 2**20
"""A file is not appended to beyond this size: only whole files are removed, so a large one holds its disk for long."""

Piece = tuple[pa.Buffer, ...]
"""Bytes that belong together, in as many buffers as they happen to lie in."""

_STRIDE = 2**20
_END_OF_STREAM = pa.py_buffer(b"\xff\xff\xff\xff\x00\x00\x00\x00")
_NAME = re.compile(r"seg-(\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a piece of bytes lies."""

    file: str
    """The name of the segment."""
    offset: int
    length: int
    crc32c: int

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.offset + self.length


@dataclass(slots=True)
class _Segment:
    """A file that is being appended to."""

    name: str
    descriptor: int
    end: int = 0
    durable_end: int = 0
    """Where the append that is under way began."""


class SegmentWriter:
    """Appends bytes to segment files; one thread at a time.

    :param directory: where the segments lie; it exists.
    :param number: of the first file; no file of this epoch has it or a higher one.
    :param roll_at: the size beyond which a file does not grow, unless one piece alone is larger.
    """

    def __init__(self, directory: Path, *, epoch: int, number: int, roll_at: int = ROLL_AT) -> None:
        self._directory = directory
        self._epoch = epoch
        self._number = number
        self._roll_at = roll_at
        self._open: list[_Segment] = []
        """The files of the last append, which may yet be taken back; the last of them is appended to."""
        self._has_new_name = False

    def write(self, pieces: Iterable[Piece]) -> list[Place]:
        """Write pieces one behind the other, over several files if need be: all of them, or none.

        They are durable after `sync`.
        """
        self._close(self._open[:-1])
        del self._open[:-1]
        with self._taking_back_on_error():
            for segment in self._open:
                segment.durable_end = segment.end
            return [self._write(self._segment_for(piece), piece) for piece in pieces]

    def sync(self) -> None:
        """Make what was written durable, or take it back."""
        with self._taking_back_on_error():
            assert self._open, "nothing was written"
            for segment in self._open:
                os.fsync(segment.descriptor)
            if self._has_new_name:
                sync_directory(self._directory)
                self._has_new_name = False

    def take_back(self) -> None:
        """What was written last will never be visible: give its room back if that is possible, or leave it.

        What is left, if only an empty file, is removed when the log is opened the next time. The file is not touched by
        its name: that may belong to another by now.
        """
        for segment in self._open:
            with suppress(OSError):
                os.ftruncate(segment.descriptor, segment.durable_end)
        self.give_up()

    def give_up(self) -> None:
        """Write to the present files no more; what they hold stays."""
        segments, self._open = self._open, []
        self._close(segments)

    def is_writing(self, name: str) -> bool:
        """Whether the next append may go to the file of this name."""
        return any(segment.name == name for segment in self._open)

    @staticmethod
    def _close(segments: Iterable[_Segment]) -> None:
        for segment in segments:
            os.close(segment.descriptor)

    def _segment_for(self, piece: Piece) -> _Segment:
        """The last file, or a new one when the piece would make it too large."""
        size = sum(len(buffer) for buffer in piece)
        if not self._open or (self._open[-1].end and self._open[-1].end + size > self._roll_at):
            self._open.append(self._new_file())
            self._has_new_name = True
        return self._open[-1]

    def _new_file(self) -> _Segment:
        """A file that nobody else writes to, not even an owner that was fenced and does not know it yet."""
        while True:
            name = f"seg-{self._epoch:08d}-{self._number:06d}"
            self._number += 1
            with suppress(FileExistsError):
                return _Segment(name, os.open(self._directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))

    @staticmethod
    def _write(segment: _Segment, piece: Piece) -> Place:
        offset, crc32c = segment.end, 0
        for buffer in piece:
            crc32c = google_crc32c.extend(crc32c, buffer)
            view = memoryview(buffer)
            while view:
                written = os.write(segment.descriptor, view[:_STRIDE])
                _start_writing_back(segment.descriptor, segment.end, written)
                segment.end += written
                view = view[written:]
        return Place(segment.name, offset, segment.end - offset, crc32c)

    @contextmanager
    def _taking_back_on_error(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            path = self._directory / (self._open[-1].name if self._open else "")
            self.take_back()
            raise disk_error(error, path) from error
        except BaseException:
            self.take_back()
            raise


def _start_writing_back(descriptor: int, offset: int, length: int) -> None:
    """Let the disk begin with a large piece while the next one is made; the sync then has little left to wait for.

    The advice is that the pages are not needed. Linux begins to write those that are dirty, and drops none of them.
    """
    if length == _STRIDE and hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, offset, length, os.POSIX_FADV_DONTNEED)


def epoch_of(name: str) -> int | None:
    """The epoch of the owner that wrote the segment of this name; None when it is no segment."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None


def next_number(names: Iterable[str], epoch: int) -> int:
    """The number of an owner's next segment, given the files there are."""
    matches = [_NAME.fullmatch(name) for name in names]
    return max((int(found[2]) for found in matches if found and int(found[1]) == epoch), default=0) + 1


def verify_present(directory: Path, named: Mapping[str, int]) -> None:
    """Refuse when a file that is named is gone or too short; its content is verified when it is read."""
    for name, length in named.items():
        path = directory / name
        try:
            size = path.stat().st_size
        except OSError as error:
            raise disk_error(error, path) from error
        if size < length:
            raise damaged(path, size, f"it ends there, and {length} bytes of it are in use")


def sweep(directory: Path, named: Mapping[str, int], epoch: int) -> None:
    """Remove the bytes that no row of the index names: what a crash, or an owner that was fenced, left behind.

    :param epoch: of the owner that sweeps; files of a later owner are none of its business.
    """
    there = sizes(directory)
    ours = [name for name in there if (wrote := epoch_of(name)) is not None and wrote <= epoch]
    remove(directory, [name for name in ours if name not in named])
    try:
        for name in ours:
            if there[name] > named.get(name, there[name]):
                os.truncate(directory / name, named[name])
    except OSError as error:
        raise disk_error(error, directory) from error


def read_place(path: Path, offset: int, length: int, crc32c: int) -> pa.Buffer:
    """The bytes that were written there, verified; `LogMissing` or `LogDamaged` when they are not there any more."""
    try:
        with path.open("rb", buffering=0) as file:
            data = os.pread(file.fileno(), length, offset)
    except FileNotFoundError:
        raise missing(path) from None
    except OSError as error:
        raise disk_error(error, path) from error
    if len(data) < length:
        raise damaged(path, offset, f"{length} bytes were written there, and it ends after {len(data)}")
    if google_crc32c.value(data) != crc32c:
        raise damaged(path, offset, f"the {length} bytes there do not match their checksum")
    return pa.py_buffer(data)


def read_chunk(directory: Path, chunk: Chunk) -> pa.RecordBatch:
    """The events of a chunk, of schema `ENVELOPE`. Needs no index, so it can be called in any process.

    :param directory: the directory of the log.
    """
    path = directory / chunk.file
    batch = decode(read_place(path, chunk.offset, chunk.length, chunk.crc32c))
    if batch.num_rows != chunk.rows or batch["seq"][0].as_py() != chunk.first_seq:
        raise damaged(path, chunk.offset, f"the events {chunk.first_seq} to {chunk.last_seq} are not there")
    return batch


def clip(batch: pa.RecordBatch, after: int, upto: int) -> pa.RecordBatch:
    """Of the events of a chunk, those behind `after` and up to `upto`, without copying them."""
    first = batch["seq"][0].as_py()
    start = max(after + 1 - first, 0)
    return batch.slice(start, max(min(upto + 1 - first, batch.num_rows) - start, 0))


def encode(batch: pa.RecordBatch) -> Piece:
    """A batch without dictionaries as an Arrow IPC stream of its own: the schema, the rows, the end of the stream."""
    return batch.schema.serialize(), batch.serialize(), _END_OF_STREAM


def decode(data: pa.Buffer) -> pa.RecordBatch:
    """The batch of such a stream; its columns lie in `data`."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()
