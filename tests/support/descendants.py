"""The processes that a process has started, directly or not, in whatever session they run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.runtime.processes import ProcessId

_WORKER_SERVER = "holdfast.runtime.workers.nursery"


@dataclass(frozen=True, slots=True)
class Descendant:
    """A process, with the command line it was started with."""

    process: ProcessId
    command: str

    @property
    def pid(self) -> int:
        """Its number."""
        return self.process.pid

    @property
    def lives(self) -> bool:
        """Whether it still runs."""
        return self.process.lives


def is_jvm(each: Descendant) -> bool:
    """Spark's JVM, which leads a session of its own."""
    return "org.apache.spark.deploy.SparkSubmit" in each.command and _leads_session(each)


def is_worker_server(each: Descendant) -> bool:
    """The process that Spark's Python workers are forked from."""
    return _WORKER_SERVER in each.command and _leads_session(each)


def is_worker(each: Descendant) -> bool:
    """A Python worker of Spark. One that was forked has the command line of the process it was forked from."""
    return (_WORKER_SERVER in each.command and not _leads_session(each)) or "-m pyspark." in each.command


def _leads_session(each: Descendant) -> bool:
    try:
        return os.getsid(each.pid) == each.pid
    except ProcessLookupError:
        return False


def descendants_of(pid: int) -> list[Descendant]:
    """Children, their children, and so on, as they are now."""
    parents = dict(_parents())
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return [Descendant(ProcessId.of(each), _command(each)) for each in sorted(found - {pid})]


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                stat = (entry / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            yield int(entry.name), int(stat.rpartition(")")[2].split()[1])


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
