"""Who owns a pipeline's directory on this host: one process at a time.

The lock says whether the owner lives; the fencing epoch says who may write. The lock alone would not do: a process that
was taken for dead and wakes up again does not look at locks, but everything it writes carries its epoch.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.log.disk import make_directory
from holdfast.log.oserrors import disk_error
from holdfast.model.errors import PipelineBusy
from holdfast.runtime.processes import ProcessId, kill_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

LOCK = "owner.lock"
"""The file that is locked, and in which the owner writes who it is."""


_RECORD_BYTES = 512


class Takeover(Enum):
    """What to do when another process holds the directory."""

    REFUSE = "refuse"
    END = "end"
    """End the recorded process, its JVM and its worker server, then take over."""
    FENCE = "fence"
    """Take over without ending it: it finds itself fenced at its next write."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that wrote itself into the lock file. A process id alone may have been given to another since."""

    process: ProcessId
    helpers: tuple[ProcessId, ...] = ()
    """Processes in sessions of their own that work for it: Spark's JVM, and the server that forks Python workers."""

    @classmethod
    def this_process(cls, helpers: Sequence[ProcessId] = ()) -> Self:
        """Ourselves."""
        return cls(ProcessId.of(os.getpid()), tuple(helpers))

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self.process.pid

    @property
    def lives(self) -> bool:
        """Whether that very process still runs."""
        return self.process.lives


class Ownership:
    """The lock on a directory, held until `release` or the end of the process."""

    def __init__(self, handle: int | None) -> None:
        self._handle = handle

    @classmethod
    def take(cls, directory: Path, *, takeover: Takeover = Takeover.REFUSE, patience: float = 10.0) -> Self:
        """Become the owner, or `PipelineBusy`."""
        make_directory(directory)
        try:
            handle = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise disk_error(error, directory / LOCK) from error
        if not _locked(handle) and not cls._taken_over(handle, directory, takeover, patience):
            os.close(handle)
            return cls(None)
        try:
            _end_helpers(_holder(handle), directory, patience)
            _write(handle, Holder.this_process())
        except OSError as error:
            os.close(handle)
            raise disk_error(error, directory / LOCK) from error
        except PipelineBusy:
            os.close(handle)
            raise
        return cls(handle)

    def record_helpers(self, helpers: Sequence[ProcessId]) -> None:
        """Write down the processes that work for us, so that whoever takes over can end them."""
        if self._handle is not None:
            _write(self._handle, Holder.this_process(helpers))

    def release(self) -> None:
        """Give the lock up. Releasing twice is fine."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @staticmethod
    def _taken_over(handle: int, directory: Path, takeover: Takeover, patience: float) -> bool:
        """Whether the lock is ours after all; False when we go on without it."""
        holder = _holder(handle)
        if takeover is Takeover.FENCE:
            return False
        if takeover is Takeover.END and holder is not None:
            holder.process.kill()
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline:
                if _locked(handle):
                    return True
                time.sleep(0.02)
            os.close(handle)
            raise _still_locked(directory, holder)
        os.close(handle)
        raise _busy(directory, holder)


def _busy(directory: Path, holder: Holder | None) -> PipelineBusy:
    return PipelineBusy(
        f"{f'Process {holder.pid}' if holder else 'Another process'} runs the pipeline in {directory}.",
        remedy="Stop it with `holdfast drain`, or use `holdfast run --takeover end`, which ends that process first.",
        pid=holder.pid if holder else None,
    )


def _still_locked(directory: Path, holder: Holder) -> PipelineBusy:
    return PipelineBusy(
        f"Process {holder.pid} was ended, and another process still holds the lock of {directory}.",
        remedy="Find it with `fuser owner.lock` in that directory, end it, and start again.",
        pid=holder.pid,
    )


@contextmanager
def undisturbed(directory: Path) -> Iterator[None]:
    """While nobody owns the directory, and so nobody becomes its owner; nothing is written. Else `PipelineBusy`."""
    try:
        handle = os.open(directory / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    except OSError as error:
        raise disk_error(error, directory / LOCK) from error
    try:
        if not _locked(handle, fcntl.LOCK_SH):
            holder = _holder(handle)
            raise PipelineBusy(
                f"Process {holder.pid if holder else 'unknown'} runs the pipeline in {directory}, so its files change.",
                remedy="Ask it with `holdfast status`, or stop it first.",
                pid=holder.pid if holder else None,
            )
        yield
    finally:
        os.close(handle)


def _write(handle: int, holder: Holder) -> None:
    """Over what is there, at a fixed length: on a full disk that needs no room."""
    document = {
        "pid": holder.pid,
        "started": holder.process.started,
        "helpers": [[helper.pid, helper.started] for helper in holder.helpers],
    }
    text = json.dumps(document).encode().ljust(_RECORD_BYTES)
    os.pwrite(handle, text, 0)
    os.ftruncate(handle, len(text))


def _end_helpers(before: Holder | None, directory: Path, patience: float) -> None:
    """What worked for an owner that is gone may still be on its way out: it must not write while we do.

    An owner that lives has only given this directory up, and its helpers may work for its other pipelines.
    """
    if before is not None and not before.lives and not kill_all(before.helpers, patience=patience):
        raise PipelineBusy(
            f"Process {before.pid} owned {directory} and is gone, but a JVM or worker of it cannot be ended.",
            remedy="It waits for a disk or a file system, as a rule: start again once that answers.",
            pid=before.pid,
        )


def is_owned(directory: Path) -> bool:
    """Whether a process holds the directory now, be it at work or about to start."""
    try:
        with undisturbed(directory):
            return False
    except PipelineBusy:
        return True


def _locked(handle: int, how: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def recorded(path: Path) -> Holder | None:
    """Who wrote itself into the lock file; None when that cannot be said. It may be gone for long."""
    try:
        return _understood(path.read_bytes())
    except OSError:
        return None


def _holder(handle: int) -> Holder | None:
    return _understood(os.pread(handle, 4096, 0))


def _understood(text: bytes) -> Holder | None:
    try:
        document = json.loads(text)
        process = ProcessId(int(document["pid"]), str(document["started"]))
        helpers = tuple(ProcessId(int(pid), str(started)) for pid, started in document.get("helpers", ()))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return Holder(process, helpers)
