"""What an exception of a sink means for the batch. Pure.

An exception that nobody translated counts as the fault of the rows: they are isolated and dead-lettered, so nothing is
dropped and the lane goes on. Exceptions of the machine say nothing about rows and are never blamed on them.
"""

from __future__ import annotations

import errno
import socket
import ssl
from dataclasses import dataclass
from enum import Enum

from holdfast.model.errors import (
    CommitStateUnknown,
    CommitUnknown,
    CursorMoved,
    DeadLettersFull,
    Fatal,
    Fenced,
    HoldfastError,
    LogFenced,
    LogFull,
    LogQuota,
    LogReadOnly,
    LogUnavailable,
    MissingExtra,
    SinkFenced,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    Throttled,
    Transient,
)

_MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_REACH = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.ENOTCONN, errno.ESTALE, errno.ENODEV})
_RIGHTS = frozenset({errno.EACCES, errno.EPERM})

_CHAIN = 10
"""How many causes of an error are told."""


class Verdict(Enum):
    """What to do with the batch."""

    LATER = "it is certainly not in the sink; try again"
    UNKNOWN = "it may be in the sink; look, then decide"
    REFUSED = "rows of it are refused; find them"
    HELD = "it is certainly not in the sink, and somebody must act; freeze the lane, and try again now and then"
    FATAL = "trying again cannot help before the pipeline is started again"
    FENCED = "another process owns the sink"


def classify(error: Exception) -> Verdict:
    """What an exception of `deliver`, `probe` or `cursor` means."""
    match error:
        case Transient() | Throttled():
            return Verdict.LATER
        case SinkFenced():
            return Verdict.FENCED
        case CursorMoved():
            return Verdict.FATAL
        case Fatal() | MissingExtra():
            return Verdict.HELD
        case CommitUnknown() | MemoryError() | ConnectionError() | TimeoutError():
            return Verdict.UNKNOWN
        case socket.gaierror() | ssl.SSLError():
            return Verdict.UNKNOWN
        case OSError(errno=number) if number in _MACHINE | _REACH | _RIGHTS:
            return Verdict.UNKNOWN
        case _:
            return Verdict.REFUSED


def classify_opening(error: Exception) -> Verdict:
    """What an exception of `open` means: only another owner ends the run, everything else may be mended meanwhile."""
    return Verdict.FENCED if classify(error) is Verdict.FENCED else Verdict.LATER


def classify_durable(error: Exception) -> Verdict:
    """What an exception of our own stores and logs means: they mend, or they are lost."""
    match error:
        case Fenced() | LogFenced():
            return Verdict.FENCED
        case StoreFull() | StoreUnavailable() | StoreReadOnly() | CommitStateUnknown():
            return Verdict.LATER
        case DeadLettersFull():
            return Verdict.LATER
        case LogFull() | LogReadOnly() | LogQuota() | LogUnavailable() | OSError() | MemoryError():
            return Verdict.LATER
        case _:
            return Verdict.FATAL


def pause_asked_for(error: Exception) -> float:
    """How many seconds a sink asked us to wait."""
    asked = error.context.get("retry_after") if isinstance(error, Throttled | CommitUnknown) else None
    return max(0.0, float(asked)) if isinstance(asked, int | float) else 0.0


@dataclass(frozen=True, slots=True)
class Reason:
    """Why rows were refused, as it is written into the dead letters. It keeps no traceback, and so no rows, alive."""

    kind: str
    code: str
    message: str


def reason_of(error: BaseException) -> Reason:
    """The reason that an exception gives."""
    code = error.code if isinstance(error, HoldfastError) else "foreign"
    return Reason(type(error).__name__, code, describe(error))


def describe(error: BaseException) -> str:
    """The error and what caused it, one line each."""
    lines: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(lines) < _CHAIN:
        lines.append(f"{type(cause).__name__}: {cause}")
        cause = cause.__cause__ or cause.__context__
    return "\ncaused by ".join(lines)
