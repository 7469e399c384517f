"""Commands about the catalog of an operation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from holdfast.cli.output import table
from meridian.cli.options import directory_option
from meridian.operation.home import Home

if TYPE_CHECKING:
    from holdfast.cli.output import Output

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
def import_(out: Output, file: Path, directory: Path) -> None:
    """Take the elements of a file of TLE or OMM (KVN, XML, JSON, CSV) into the catalog.

    Of an object that is known, the newer elements stay. A set that is not right is refused alone and told with its
    line. A fusion that runs takes the new catalog when it is started again.
    """
    from meridian.operation.catalog import import_elements

    home = Home(directory)
    done = import_elements(file, home.catalog)
    refused = [{"line": each.line, "field": each.field, "why": str(each.reason)} for each in done.refusals]
    value = {"added": done.added, "renewed": done.renewed, "kept": done.kept, "total": done.total, "refused": refused}
    told = f"{done.added:,} added, {done.renewed:,} renewed, {done.kept:,} as new as before, {len(refused):,} refused"
    lines = [f"{file}: {told}. The catalog has {done.total:,} objects."]
    lines += [f"  line {each['line']}, {each['field']}: {each['why']}" for each in refused[:_REFUSALS_SHOWN]]
    if len(refused) > _REFUSALS_SHOWN:
        lines.append(f"  and {len(refused) - _REFUSALS_SHOWN:,} more; `--output json` lists all.")
    out.result(value, "\n".join(lines))


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
