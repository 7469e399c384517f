"""Commands that tell what fusion has found, and from what."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from holdfast.cli.output import table
from meridian.cli.options import directory_option
from meridian.orbit.time import format_ccsds
from meridian.screen.wording import chance

if TYPE_CHECKING:
    from holdfast.cli.output import Output


_PAST = 100


@command(
    "alerts",
    examples=(
        "meridian alerts",
        "meridian alerts --over",
        "meridian alerts 5f0c… --cdm",
        "meridian alerts --output json",
    ),
)
@click.argument("conjunction", required=False)
@click.option("--cdm", is_flag=True, help="Write the conjunction as a CCSDS conjunction data message (KVN).")
@click.option("--over", is_flag=True, help="Those that were withdrawn or have passed instead, the last one first.")
@click.option("--limit", type=click.IntRange(min=1), help="So many at most; 100 with --over, else all.")
@directory_option
def alerts(out: Output, conjunction: str | None, cdm: bool, over: bool, limit: int | None, directory: Path) -> None:
    """List the conjunctions that stand, the soonest first, or write one of them as a CCSDS message.

    The message is made from the catalog and the tracks of now, in ITRF, and goes to standard output.
    """
    from meridian.service.service import Service

    service = Service(directory)
    if cdm != (conjunction is not None):
        raise click.UsageError("Name a conjunction and --cdm together: meridian alerts ID --cdm")
    if conjunction is not None:
        from meridian.orbit.cdm import write_cdm

        text = write_cdm(service.message(conjunction))
        out.result({"conjunction": conjunction, "cdm": text}, text.rstrip("\n"))
        return
    found = service.conjunctions_over(limit or _PAST) if over else service.conjunctions()[:limit]
    value = [{**asdict(each), "stage": each.stage.value} for each in found]
    rows = [
        (
            each.conjunction_id,
            format_ccsds(each.closest_ns)[:19],
            _object(each.object_a, each.name_a),
            _object(each.object_b, each.name_b),
            f"{each.miss_m:,.0f}",
            chance(each.probability),
            f"{each.speed_m_s:,.0f}",
            each.stage.value,
        )
        for each in found
    ]
    head = ("conjunction", "closest (UTC)", "object", "and", "miss m", "probability", "m/s", "stage")
    out.result(value, table(head, rows) if rows else "No conjunction is over." if over else "No conjunction stands.")


def _object(number: str, name: str) -> str:
    """By number, which other commands take, and by name."""
    return number if not name else name if f"({number})" in name else f"{number} {name}"


@command("lineage", examples=("meridian lineage 5f0c…", "meridian lineage 5f0c… --output json"))
@click.argument("alert")
@directory_option
def lineage(out: Output, alert: str, directory: Path) -> None:
    """Tell from which observations the last word on an alert was made, and where in which log each lies.

    An alert is named by its own id, or by that of its conjunction: then the alert of its newest window is meant.
    """
    from meridian.service.service import Service

    found = Service(directory).lineage(alert)
    out.result(found, str(found))
