"""Requests about dead letters, as plain values: the same for a pipeline that runs and for one that does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.checkpoint import DryRun
from holdfast.control.belongings import stopped
from holdfast.control.deadletters import DeadLetters
from holdfast.control.reprocessing import Rate
from holdfast.log import DeadLetterFilter, EntryState
from holdfast.model.errors import InvalidRequest

if TYPE_CHECKING:
    from holdfast.control.belongings import Belongings

Given = Mapping[str, object]


def dead_letters_asked(of: Belongings, what: str, chosen: Given, given: Given) -> object:
    """Do what a request names.

    :param chosen: which entries are meant: `kinds`, `stages`, `sinks`, `ids`, `states`, `since`, `until`.
    """
    if what not in _REQUESTS:
        raise InvalidRequest(
            f"Dead letters cannot be asked to {what!r}.", remedy=f"Ask for one of {', '.join(_REQUESTS)}."
        )
    return _REQUESTS[what](DeadLetters(of), _filter(chosen), given)


def _filter(chosen: Given) -> DeadLetterFilter:
    def words(name: str) -> frozenset[str]:
        value = chosen.get(name, ())
        return frozenset(map(str, value if isinstance(value, Sequence) and not isinstance(value, str) else [value]))

    def time(name: str) -> datetime | None:
        value = chosen.get(name)
        found = None if value is None else datetime.fromisoformat(str(value))
        return found.replace(tzinfo=UTC) if found is not None and found.tzinfo is None else found

    try:
        return DeadLetterFilter(
            kinds=words("kinds"),
            stages=words("stages"),
            sinks=words("sinks"),
            ids=words("ids"),
            states=frozenset(EntryState(state) for state in words("states")),
            since=time("since"),
            until=time("until"),
        )
    except ValueError as error:
        raise InvalidRequest(f"The filter is not right: {error}.", remedy="See `holdfast dlq --help`.") from error


def _dry(given: Given) -> DryRun:
    return DryRun.YES if given.get("dry_run") else DryRun.NO


def _number(given: Given, name: str, default: int) -> int:
    return int(str(given.get(name, default)))


def _export(dead: DeadLetters, chosen: DeadLetterFilter, given: Given) -> object:
    path = Path(str(given["file"]))
    try:
        with path.open("x") as out:
            return dead.export(out, chosen)
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be written: {error.strerror}.", remedy="Name another file.") from error


def _reprocess(dead: DeadLetters, chosen: DeadLetterFilter, given: Given) -> object:
    rate, into = given.get("rate"), given.get("into")
    with nullcontext() if into is None else stopped(Path(str(into))) as other:
        if given.get("dry_run"):
            return dead.preview(chosen, into=other)
        return dead.reprocess(chosen, rate=Rate(None if rate is None else float(str(rate))), into=other)


_REQUESTS: Mapping[str, Callable[[DeadLetters, DeadLetterFilter, Given], object]] = {
    "list": lambda dead, chosen, given: dead.list(
        chosen, after=_number(given, "after", 0), limit=_number(given, "limit", 100)
    ),
    "show": lambda dead, _, given: dead.show(str(given["id"])),
    "count": lambda dead, chosen, _: [
        {"stage": where.stage, "kind": where.kind, "count": count} for where, count in dead.count(chosen).items()
    ],
    "review": lambda dead, _, given: dead.review(dry_run=_dry(given)),
    "ack": lambda dead, chosen, given: {"acked": dead.ack(chosen, dry_run=_dry(given))},
    "purge": lambda dead, chosen, given: {"purged": dead.purge(chosen, dry_run=_dry(given))},
    "reprocess": _reprocess,
    "export": _export,
    "migrate": lambda dead, _, given: dead.migrate(dry_run=_dry(given)),
}
