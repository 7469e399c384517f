"""What is wrong with a log, judged from what there is of it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.control.doctor.findings import Code, Finding, Severity
from holdfast.control.doctor.repairs import CutTail, Remove, UpgradeDeadLetters
from holdfast.log.opening import FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.control.doctor.log_files import DeadFacts, LogFacts

_RESTORE = "Put the file back from a copy."
_REST = "Everything else of the pipeline is untouched."
_INDEX_REMEDY = {
    Code.INDEX_MISSING: "See that the disk is mounted, or put the file back from a copy.",
    Code.INDEX_DAMAGED: "Put the file back from a copy that is as new as the data beside it.",
    Code.INDEX_FOREIGN: "Move what is there away, and put the log's own file back.",
    Code.INDEX_NEWER: "Use the version of Holdfast that wrote it, or a newer one.",
}


def judge_log(facts: LogFacts, *, expected: str | None = None, done: int = 0) -> Iterator[Finding]:
    """What is wrong with a log.

    :param expected: the uuid that the pipeline remembers of it.
    :param done: what lies up to here has gone on; only going back would need it.
    """
    if facts.fault is not None:
        yield _of_index(facts, *facts.fault)
        return
    if expected is not None and facts.uuid != expected:
        what = f"This is not {facts.about} that the pipeline used before: it is {facts.uuid} instead of {expected}."
        remedy = "Put the directory of the other one back, or give the source a new name to read it from its beginning."
        yield Finding(Code.LOG_REPLACED, Severity.BREAKS_START, what, facts.directory, _REST, remedy)
    newest = max((epoch for epoch in facts.epochs.values() if epoch is not None), default=0)
    if newest > facts.epoch:
        what = f"The index of {facts.about} is an older copy: owner {newest} wrote data that it does not know."
        yield Finding(
            Code.INDEX_OLDER_COPY,
            Severity.BREAKS_START,
            what,
            facts.directory / FILE,
            _REST,
            _INDEX_REMEDY[Code.INDEX_DAMAGED],
        )
        return
    yield from _missing_and_short(facts)
    yield from _spoiled(facts, done)
    for first, last in facts.holes:
        what = f"The index of {facts.about} names no data for the events {first} to {last}."
        yield Finding(Code.DATA_HOLE, Severity.MISSES, what, facts.directory / FILE, _REST, _RESTORE)
    yield from _left_over(facts)


def judge_dead_letters(facts: DeadFacts) -> Iterator[Finding]:
    """What is wrong with the dead letters."""
    yield from judge_log(facts.log)
    if facts.older:
        yield Finding(
            Code.ENTRIES_OLDER,
            Severity.LOSES_NOTHING,
            f"{facts.older:,} dead letters are of an older format; they are brought up whenever they are read.",
            facts.log.directory,
            "All of them can be read.",
            "Write them down in the present format with `holdfast dlq migrate`.",
            repair=UpgradeDeadLetters(),
        )
    for error in facts.unreadable:
        yield Finding(Code.ENTRY_UNREADABLE, Severity.MISSES, error.what, facts.log.directory, error.kept, error.remedy)


def gone(facts: LogFacts, severity: Severity = Severity.BREAKS_START) -> Finding:
    """A log that the pipeline remembers, and that is not there."""
    what = f"{_begun(facts.about)} is gone."
    remedy = "See that the disk is mounted, or put the directory back from a copy."
    return Finding(Code.LOG_GONE, severity, what, facts.directory, _REST, remedy)


def stranger(facts: LogFacts) -> Finding:
    """A log that the pipeline does not remember."""
    what = f"{_begun(facts.about)} was never used by this pipeline."
    remedy = "Move it away if it belongs elsewhere; a source of that name would go on with it."
    return Finding(Code.LOG_UNKNOWN, Severity.LOSES_NOTHING, what, facts.directory, _REST, remedy)


def _begun(about: str) -> str:
    return about[:1].upper() + about[1:]


def _of_index(facts: LogFacts, code: Code, why: str) -> Finding:
    what = f"The index of {facts.about} cannot be used: {why}."
    kept = "The data beside it is untouched, and so is everything else of the pipeline."
    return Finding(code, Severity.BREAKS_START, what, facts.directory / FILE, kept, _INDEX_REMEDY[code])


def _missing_and_short(facts: LogFacts) -> Iterator[Finding]:
    for file, length in facts.named.items():
        path = facts.data / file
        if file not in facts.found:
            what = f"{_begun(facts.about)} needs {file}, and it is gone."
            yield Finding(Code.DATA_MISSING, Severity.BREAKS_START, what, path, _REST, _RESTORE)
        elif facts.found[file] < length:
            size = facts.found[file]
            what = f"{file} of {facts.about} is torn: it ends at {size}, and {length} bytes of it are in use."
            yield Finding(Code.DATA_SHORT, Severity.BREAKS_START, what, path, _REST, _RESTORE, offset=size)


def _spoiled(facts: LogFacts, done: int) -> Iterator[Finding]:
    for each in facts.spoiled:
        piece = each.piece
        is_done = piece.last <= done
        yield Finding(
            Code.DATA_DAMAGED,
            Severity.LOSES_NOTHING if is_done else Severity.MISSES,
            f"{piece.file} of {facts.about} holds other bytes at {piece.offset} than were written: {each.why}",
            facts.data / piece.file,
            "What it held has gone on before; only going back would need it." if is_done else _REST,
            _RESTORE,
            offset=piece.offset,
        )


def _left_over(facts: LogFacts) -> Iterator[Finding]:
    for file, size in facts.found.items():
        path = facts.data / file
        if facts.epochs[file] is None:
            what = f"{file} lies among the data of {facts.about}, and no log of ours writes such a file."
            remedy = "Move it away if it is yours; it is not read."
            yield Finding(Code.NOT_OURS, Severity.LOSES_NOTHING, what, path, _REST, remedy)
        elif file not in facts.named:
            what = f"{file} of {facts.about} was written and never became part of it: its process ended before."
            remedy = "Nothing needs to be done; the next start removes it."
            yield Finding(Code.DATA_UNNAMED, Severity.LEFTOVER, what, path, _REST, remedy, repair=Remove(path))
        elif size > facts.named[file]:
            used = facts.named[file]
            what = f"{file} of {facts.about} has {size - used:,} bytes behind those in use: a write was cut short."
            remedy = "Nothing needs to be done; the next start cuts them off."
            repair = CutTail(path, used)
            yield Finding(Code.DATA_TAIL, Severity.LEFTOVER, what, path, _REST, remedy, offset=used, repair=repair)
