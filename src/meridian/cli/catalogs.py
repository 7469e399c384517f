"""Commands about the catalog of an operation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from holdfast.cli.exits import ExitCode
from holdfast.cli.output import table
from meridian.cli.options import directory_option
from meridian.operation.home import Home

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.cli.output import Output
    from meridian.operation.catalog import Imported
    from meridian.orbit import Refusal

_REFUSALS_SHOWN = 5


@click.group()
def catalog() -> None:
    """Take elements into the catalog, and list them."""


@command(
    "import",
    examples=("meridian catalog import active.tle", "meridian catalog import gp.json --directory data/mine"),
)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@directory_option
def import_(out: Output, file: Path, directory: Path) -> ExitCode | None:
    """Take the elements of a file of TLE or OMM (KVN, XML, JSON, CSV) into the catalog.

    Of an object that is known, the newer elements stay. A set that is not right is refused alone and told with its
    line and column; the others are taken in, and the exit code is 6. A file without any set that can be read is
    refused with exit code 1. A fusion that runs takes the new catalog when it is started again.
    """
    from meridian.operation.catalog import import_elements

    done = import_elements(file, Home(directory).catalog)
    count = sum(done.refused.values())
    value = {
        "added": done.added,
        "renewed": done.renewed,
        "kept": done.kept,
        "total": done.total,
        "refused_count": count,
        "refused_by_field": dict(done.refused),
        "refused": [_told(each) for each in done.refusals],
    }
    out.result(value, "\n".join([_summary(file, done, count), *_refusals(done, count)]))
    return ExitCode.PARTLY_REFUSED if count else None


def _summary(file: Path, done: Imported, count: int) -> str:
    told = f"{done.added:,} added, {done.renewed:,} renewed, {done.kept:,} as new as before, {count:,} refused"
    return f"{file}: {told}. The catalog has {done.total:,} {'object' if done.total == 1 else 'objects'}."


def _refusals(done: Imported, count: int) -> Iterator[str]:
    from meridian.orbit.catalog import MOST_REFUSALS

    for each in done.refusals[:_REFUSALS_SHOWN]:
        yield f"  {each.reason.what}"
    if count > _REFUSALS_SHOWN:
        by_field = ", ".join(f"{field} {number:,}" for field, number in done.refused.items())
        yield f"  Refused by field: {by_field}."
        listed = "all of them" if count == len(done.refusals) else f"the first {len(done.refusals):,}"
        yield f"  `--output json` lists {listed} with line and column."
    if count >= MOST_REFUSALS:
        yield f"  Reading ended after {MOST_REFUSALS:,} refusals; what stands below was not read."


def _told(each: Refusal) -> dict[str, object]:
    return {"line": each.line, "column": each.column, "field": each.field, "why": each.reason.what}


@command("list", examples=("meridian catalog list", "meridian catalog list --output json"))
@directory_option
def list_(out: Output, directory: Path) -> None:
    """List the objects of the catalog, with how old their elements are."""
    from meridian.operation.catalog import read_elements
    from meridian.orbit.time import format_ccsds

    found = read_elements(Home(directory).catalog)
    value = [{"object_id": each.object_id, "name": each.name, "epoch": format_ccsds(each.epoch_ns)} for each in found]
    out.result(value, table(("object", "name", "epoch"), [tuple(each.values()) for each in value]))


catalog.add_command(import_)
catalog.add_command(list_)
