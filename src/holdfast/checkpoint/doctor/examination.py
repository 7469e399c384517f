"""Looks at a store through its contract, the same way for every backend, and says what is not as it should be.

Nothing is written. What only one kind of store can have (files, commit documents) is found by `place`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.checkpoint.commitlog import document
from holdfast.checkpoint.commitlog.store import LogStore
from holdfast.checkpoint.contract import CheckpointStore, TypedKey
from holdfast.checkpoint.doctor.chart import Chart, Line, draw
from holdfast.checkpoint.doctor.diagnosis import Diagnosis, Finding, FindingKind
from holdfast.checkpoint.doctor.place import findings_below
from holdfast.checkpoint.doctor.repairs import FallBack, Forget
from holdfast.checkpoint.replication.replicated import ReplicatedStore
from holdfast.checkpoint.replication.status import Standing
from holdfast.checkpoint.rules import place
from holdfast.checkpoint.sql import schema
from holdfast.ledger.cursors import Cursors
from holdfast.model.errors import CheckpointDamaged, HoldfastError


def examine(
    store: CheckpointStore, *, together: Sequence[Sequence[str]] = (), cursors: Sequence[TypedKey[Cursors]] = ()
) -> Diagnosis:
    """What is in a store and what is wrong with it. Reads every version; writes nothing.

    :param together: groups of keys that every commit should write together.
    :param cursors: keys whose payload must decode as cursors that make sense.
    """
    tier = store.tiers.local if isinstance(store, ReplicatedStore) else store
    chart = draw(tier)
    findings = [
        *_of_tiers(store),
        *_of_versions(chart),
        *_of_groups(chart, together),
        *(finding for key in cursors for finding in _of_cursors(tier, chart, key)),
        *(findings_below(tier) if isinstance(tier, LogStore) else ()),
    ]
    summaries = tuple(line.summary() for line in chart.lines.values())
    return Diagnosis(_name(tier), _format(tier), tier.epoch(), summaries, tuple(findings))


def _name(store: CheckpointStore) -> str:
    return f"{type(store).__name__} {store.medium.where()}" if isinstance(store, LogStore) else type(store).__name__


def _format(store: CheckpointStore) -> int:
    """A store of another format is refused, or brought up to this one, when it is opened."""
    return document.FORMAT if isinstance(store, LogStore) else schema.FORMAT


def _of_tiers(store: CheckpointStore) -> Iterator[Finding]:
    if not isinstance(store, ReplicatedStore):
        return
    status = store.replication()
    if status.standing in (Standing.BEHIND, Standing.DETACHED, Standing.FENCED) or status.failures:
        yield Finding(
            FindingKind.TIERS_APART,
            f"{status.keys_behind} keys behind",
            f"Copies to the remote tier do not keep up: {status.last_error or status.standing.value}.",
            "It goes on from the tier that is newer.",
            cannot=status.remedy,
        )


def _of_versions(chart: Chart) -> Iterator[Finding]:
    told: set[str] = set()
    for key, line in chart.lines.items():
        if line.is_unlistable:
            yield _unlistable(key)
        if not line.is_whole and key not in told and not line.is_unlistable:
            mates = chart.mates(key)
            told.update(mates)
            yield _newest_damaged(chart, line, mates)
        yield from _older_damaged(line)
        yield from _holes(line)
        yield from _clock_back(line)


def _newest_damaged(chart: Chart, line: Line, mates: Sequence[str]) -> Finding:
    bad = [key for key in mates if not chart.lines[key].is_whole]
    where = ", ".join(place(key, chart.lines[key].newest) for key in bad)
    versions = chart.fall_back(mates, chart.is_readable)
    if line.is_in_doubt:
        meaning = "An unreadable commit may hold newer versions of these keys, so their newest one cannot be told."
    else:
        meaning = "Its bytes do not match its checksum; keys of the same commit go back together with it."
    if versions is None:
        return Finding(
            FindingKind.DAMAGED_NEWEST,
            where,
            meaning,
            "It is refused: no older version can be read, and a fresh start must be allowed by name.",
            cannot="no older version of all these keys is whole; restore the store, or recover from a remote tier.",
        )
    going_back = FallBack(versions, {key: chart.lines[key].newest for key in versions})
    kind = FindingKind.DOUBT if line.is_in_doubt else FindingKind.DAMAGED_NEWEST
    next_start = "It falls back to these versions by itself and records it, unless a remote tier has newer ones."
    return Finding(kind, where, meaning, next_start, going_back)


def _older_damaged(line: Line) -> Iterator[Finding]:
    numbers = [version.number for version in line.versions]
    older = sorted(number for number in line.damaged if number != line.newest)
    if not older:
        return
    where = ", ".join(place(line.key, number) for number in older)
    meaning = "Going back to it is not possible; the newest version does not need it."
    nothing = "Nothing: it is not read."
    if line.is_whole:
        keep = len(numbers) - numbers.index(older[-1]) - 1
        yield Finding(FindingKind.DAMAGED_OLDER, where, meaning, nothing, Forget(line.key, keep))
    else:
        reason = "the newest version must be mended first."
        yield Finding(FindingKind.DAMAGED_OLDER, where, meaning, nothing, cannot=reason)


def _unlistable(key: str) -> Finding:
    return Finding(
        FindingKind.UNLISTABLE,
        repr(key),
        "What is stored about its versions makes no sense, so none of them can be found.",
        "It is refused, or goes on from a remote tier.",
        cannot="the damage is below what a store can mend; restore the store, or recover from a remote tier.",
    )


def _holes(line: Line) -> Iterator[Finding]:
    for before, after in zip(line.versions, line.versions[1:], strict=False):
        if after.number != before.number + 1:
            yield Finding(
                FindingKind.HOLE,
                f"{line.key!r} between version {before.number} and {after.number}",
                "Versions in between are not kept: pruned around a damaged one, or written by an unreadable commit.",
                "Nothing: no version is missed.",
                cannot="what is no longer kept cannot be brought back.",
            )


def _clock_back(line: Line) -> Iterator[Finding]:
    for before, after in zip(line.versions, line.versions[1:], strict=False):
        if after.created_at < before.created_at:
            back = before.created_at - after.created_at
            yield Finding(
                FindingKind.CLOCK_BACK,
                place(line.key, after.number),
                f"It is {back.total_seconds():.3f} s older than the version before it: the writer's clock went back.",
                "Nothing; only several keys together fall back past it to no commit but one that wrote all of them.",
                cannot="times are history, and history is never rewritten; see to the clock.",
            )


def _of_groups(chart: Chart, groups: Sequence[Sequence[str]]) -> Iterator[Finding]:
    for group in groups:
        present = [key for key in group if key in chart.lines]
        apart = [key for key in group if present and key not in chart.mates(present[0])]
        if apart:
            yield Finding(
                FindingKind.WRITTEN_APART,
                ", ".join(group),
                "The newest versions of these keys were not written by one commit, so they may not belong together.",
                "It goes on with a state and an offset of different moments.",
                cannot="which of them is right cannot be told; roll back to versions that belong together.",
            )


def _of_cursors(store: CheckpointStore, chart: Chart, key: TypedKey[Cursors]) -> Iterator[Finding]:
    line = chart.lines.get(key.name)
    if line is None or not line.is_whole or not line.versions:
        return
    fault = _fault(store, key, line.newest)
    if fault is None:
        return
    kind, meaning = fault
    mates = chart.mates(key.name)
    versions = chart.fall_back(mates, lambda name, number: _is_usable(store, chart, key, name, number))
    next_start = "It is refused: cursors that are not understood never mean a fresh start."
    where = place(key.name, line.newest)
    if versions is None:
        yield Finding(kind, where, meaning, next_start, cannot="no older version is better; upgrade, or restore.")
    else:
        newest = {name: chart.lines[name].newest for name in versions}
        yield Finding(kind, where, meaning, next_start, FallBack(versions, newest))


def _is_usable(store: CheckpointStore, chart: Chart, key: TypedKey[Cursors], name: str, number: int) -> bool:
    return chart.is_readable(name, number) and (name != key.name or _fault(store, key, number) is None)


def _fault(store: CheckpointStore, key: TypedKey[Cursors], number: int) -> tuple[FindingKind, str] | None:
    try:
        cursors = key.codec.decode(store.get_version(key.name, number).payload)
    except CheckpointDamaged:
        return None
    except HoldfastError as error:
        return FindingKind.CURSORS_UNREADABLE, error.what
    highest = max(cursors.delivered.values(), default=0)
    if cursors.committed > highest:
        what = f"committed is {cursors.committed}, above every lane's delivered, of which the highest is {highest}."
        return FindingKind.CURSORS_IMPOSSIBLE, what
    return None
