"""Whether a query failed because of its data, as far as Spark's error tells. Pure but for asking the JVM.

What cannot be told is tried: an event is blamed only when it fails alone, so a doubt costs probes and blames nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.model.errors import HoldfastError
from holdfast.process.blame import chain_of, is_a_rows_number, is_of_the_machine

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_MACHINE_CLASSES = re.compile(
    r"^(java\.lang\.OutOfMemoryError|java\.io\.|java\.net\.|java\.nio\.|org\.apache\.hadoop\.|io\.netty\."
    r"|org\.apache\.spark\.memory\.|org\.apache\.spark\.shuffle\.|org\.apache\.spark\.rpc\.)"
)
_MACHINE_WORDS = re.compile(
    r"OutOfMemoryError|No space left on device|ExecutorLostFailure|Python worker exited unexpectedly|"
    r"Python worker failed to connect|Too many open files|Read-only file system|Disk quota exceeded|"
    r"SparkContext was shut down|Job \d+ cancelled|Answer from Java side is empty"
)
_DATA_CONDITIONS = re.compile(
    r"^(CAST_|DIVIDE_BY_ZERO|ARITHMETIC_OVERFLOW|BINARY_ARITHMETIC_OVERFLOW|INVALID_ARRAY_INDEX|INVALID_INDEX|"
    r"NUMERIC_VALUE_OUT_OF_RANGE|CANNOT_PARSE|MALFORMED_RECORD|MAP_KEY|DATETIME_|INVALID_FRACTION|NULL_MAP_KEY|"
    r"DUPLICATED_MAP_KEY|USER_RAISED_EXCEPTION|COLLECTION_SIZE_LIMIT|INVALID_PARAMETER_VALUE)"
)
_RAISED = re.compile(
    r"^(?P<name>holdfast\.model\.errors\.\w+|[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Timeout|timeout))"
    r"(?:: (?P<text>.*))?$"
)
_NO_DISK = re.compile(
    r"^(holdfast\.model\.errors\.(LogFull|LogReadOnly|StoreFull|StoreReadOnly): "
    r"|OSError: \[Errno (28|30|122)\]"
    r"|(Caused by: )?java\.io\.IOException: (No space left on device|Read-only file system|Disk quota exceeded))",
    re.MULTILINE,
)
"""A line of a worker's traceback or of the JVM's; text that an event brought along stands further behind."""
_LOST_WORKER = re.compile(
    r"SparkException: Python (worker exited unexpectedly|daemon unexpectedly exited|worker failed to connect back)"
    r"|^(Caused by: |: )?java\.(io\.EOFException|net\.SocketException\b.*"
    r"|io\.IOException: (Stream closed|Broken pipe))\n"
    r"(\tat java\..*\n)*\tat org\.apache\.spark\.(api\.python|sql\.execution\.[\w.]*python)\.",
    re.MULTILINE,
)
"""Spark says so, or could not read from or write to a Python process."""
_TRACEBACK = "Traceback (most recent call last)"
_SAYS_NOTHING = re.compile(r"^null$|^An error occurred while calling |^=== ")
_LONGEST_REASON = 500
_NUMBER = re.compile(r"^\[Errno (-?\d+)\]")
_OF_THE_MACHINE = re.compile(
    r"(^|\.)(\w*MemoryError|ImportError|ModuleNotFoundError|Connection\w*Error|BrokenPipeError|TimeoutError|timeout|"
    r"gaierror|KeyboardInterrupt|SystemExit|InterruptedError|BlockingIOError)$"
)


def is_no_fault_of_data(error: BaseException) -> bool:
    """Whether it is certain that no event is to blame for an error of a query."""
    if is_of_the_machine(error):
        return True
    return any(_is_of_the_machine(each) for each in chain_of(error))


def is_of_a_lost_jvm(error: BaseException) -> bool:
    """Whether the JVM did not answer: it has ended, or is about to."""
    return any(
        isinstance(each, ConnectionError | EOFError)
        or (type(each).__module__.startswith("py4j") and not hasattr(each, "java_exception"))
        for each in chain_of(error)
    )


def is_of_a_lost_worker(error: BaseException) -> bool:
    """Whether a Python process of Spark was killed, or ended by itself. One that raised an error was not."""
    text = text_of(error)
    return _TRACEBACK not in text and _LOST_WORKER.search(text) is not None


def reason_of(error: BaseException) -> str:
    """An error in a line or two: without the stack of a JVM or a worker, and without what to do about it."""
    if isinstance(error, HoldfastError):
        return error.what
    lines = [line.strip() for line in text_of(error).splitlines()]
    first = next((line.removeprefix(": ") for line in lines if line and not _SAYS_NOTHING.match(line)), "")
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    last = [line for line in lines if _RAISED.match(line)][-1:] or causes[-1:]
    told = [first, *(line for line in last if line not in first)]
    return f"{type(error).__name__}: {' … '.join(told)}"[:_LONGEST_REASON]


def text_of(error: BaseException) -> str:
    """What an error says, with the stacks of what caused it in the JVM, which may be gone by now."""
    texts = [str(getattr(error, "_desc", None) or error)]
    cause = getattr(error, "_cause", None)
    while cause is not None:
        texts.append(str(getattr(cause, "_stackTrace", "")))
        cause = getattr(cause, "_cause", None)
    return "\n".join(texts)


def is_for_want_of_disk(error: BaseException) -> bool:
    """Whether a task of Spark, or Spark itself, could not write for want of a disk: that passes when it has room."""
    return _NO_DISK.search(text_of(error)) is not None


def _is_of_the_machine(error: BaseException) -> bool:
    if type(error).__module__.startswith("py4j") and not hasattr(error, "java_exception"):
        return True  # the JVM does not answer
    if not hasattr(error, "java_exception") and not hasattr(error, "getCondition"):
        return False
    if _DATA_CONDITIONS.match(_condition(error) or ""):
        return False
    causes = list(_causes(error))
    text = text_of(error)
    if any(_MACHINE_CLASSES.match(name) for name, _ in causes) or _MACHINE_WORDS.search(text):
        return True
    return any(_is_raised_by_the_machine(line) for line in text.splitlines())


def _condition(error: BaseException) -> str | None:
    ask = getattr(error, "getCondition", None)
    condition = ask() if ask is not None else None
    return condition if isinstance(condition, str) else None


def _causes(error: BaseException) -> Iterator[tuple[str, str]]:
    """The classes and messages of the JVM's exceptions, outermost first; the JVM may be gone by now."""
    current: JavaObject | None = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    for _ in range(20):
        if current is None:
            return
        yield str(current.getClass().getName()), str(current.getMessage())
        current = current.getCause()


def _is_raised_by_the_machine(line: str) -> bool:
    """Whether this line of a worker's traceback names an error that is no row's fault."""
    raised = _RAISED.match(line)
    if raised is None:
        return False
    name, text = raised["name"], raised["text"] or ""
    if _OF_THE_MACHINE.search(name):
        return True
    if name.startswith("holdfast.model.errors."):
        return name.rpartition(".")[2] not in _OF_A_ROW
    number = _NUMBER.match(text)
    return number is not None and not is_a_rows_number(int(number[1]))


_OF_A_ROW = frozenset({"Poison", "Rejected", "InvalidPosition", "IncomparablePositions", "UnknownFormat"})
