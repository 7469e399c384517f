"""Commands about dead letters: of a running pipeline through its process, of a stopped one on its files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.command import command, pipeline_argument
from holdfast.cli.output import results_width, table
from holdfast.control.asking import ask_dead_letters
from holdfast.control.place import find

if TYPE_CHECKING:
    from holdfast.cli.output import Output

_FILTERS = ("kinds", "stages", "sinks", "ids", "states", "since", "until")


def _asked(pipeline: Path, what: str, given: dict[str, Any]) -> Any:  # noqa: ANN401 (JSON)
    """The answer of the process that runs the pipeline, or of its files."""
    chosen = {name: given.pop(name) for name in _FILTERS if given.get(name)}
    return ask_dead_letters(find(pipeline).directory, what, chosen, given)


def _with_filter(body: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        [
            click.option("--kind", "kinds", multiple=True, help="Only errors of this kind; may be given often."),
            click.option("--stage", "stages", multiple=True, help="Only this stage, as `step:parse`."),
            click.option("--sink", "sinks", multiple=True, help="Only rows that this sink refused."),
            click.option("--id", "ids", multiple=True, help="Only the entry of this id."),
            click.option("--state", "states", multiple=True, help="Only `new`, `acked` or `reprocessed` entries."),
            click.option("--since", help="Only what was given up at this time or later, as 2026-01-31T12:00."),
            click.option("--until", help="Only what was given up before this time."),
        ]
    ):
        body = option(body)
    return body


dry_run_option = click.option("--dry-run", is_flag=True, help="Only tell what would be done.")


@click.group("dlq")
def dlq() -> None:
    """See to dead letters: rows that could not be processed or delivered."""


@command("list", examples=("holdfast dlq list", "holdfast dlq list orders.yaml --sink table --limit 20"))
@pipeline_argument
@_with_filter
@click.option("--after", default=0, help="Go on behind this number.")
@click.option("--limit", default=100, show_default=True, help="How many at most.")
def list_(out: Output, pipeline: Path, **given: Any) -> None:  # noqa: ANN401
    """List entries that nobody has seen to, or those in the states that are named."""
    found = _asked(pipeline, "list", given)
    head = ("number", "id", "time", "stage", "kind", "code", "state")
    rows = [(e["number"], e["entry_id"], e["time"], e["stage"], e["kind"], e["code"], e["state"]) for e in found]
    out.result(found, table(head, rows, results_width()) if rows else "There are none.")


@command("show", examples=("holdfast dlq show pipeline.yaml 3f2a",))
@click.argument("pipeline", type=click.Path(path_type=Path))
@click.argument("id")
def show(out: Output, pipeline: Path, id: str) -> None:
    """Show all there is about an entry, its row too."""
    found = _asked(pipeline, "show", {"id": id})
    out.result(found, json.dumps(found, indent=2))


@command("count", examples=("holdfast dlq count", "holdfast dlq count --since 2026-01-31"))
@pipeline_argument
@_with_filter
def count(out: Output, pipeline: Path, **given: Any) -> None:  # noqa: ANN401
    """Count entries by stage and kind."""
    found = _asked(pipeline, "count", given)
    rows = [(e["stage"], e["kind"], e["count"]) for e in found]
    out.result(found, table(("stage", "kind", "count"), rows, results_width()) if rows else "There are none.")


@command("review", examples=("holdfast dlq review", "holdfast dlq review --dry-run"))
@pipeline_argument
@dry_run_option
def review(out: Output, pipeline: Path, **given: Any) -> None:  # noqa: ANN401
    """Tell what is new since the last review, which this one is from now on."""
    found = _asked(pipeline, "review", given)
    rows = [
        (g["count"], g["example"]["stage"], g["example"]["kind"], g["example"]["entry_id"]) for g in found["groups"]
    ]
    head = ("count", "stage", "kind", "oldest")
    out.result(found, table(head, rows, results_width()) if rows else "Nothing is new.")


@command("ack", examples=("holdfast dlq ack --kind Poison", "holdfast dlq ack orders.yaml --sink table --dry-run"))
@pipeline_argument
@_with_filter
@dry_run_option
def ack(out: Output, pipeline: Path, **given: Any) -> None:  # noqa: ANN401
    """Write down that somebody has seen to these entries; they make room when room is needed."""
    found = _asked(pipeline, "ack", given)
    out.result(found, f"{found['acked']:,} entries.")


@command("purge", examples=("holdfast dlq purge --dry-run", "holdfast dlq purge --state new --until 2026-01-31"))
@pipeline_argument
@_with_filter
@dry_run_option
def purge(out: Output, pipeline: Path, **given: Any) -> None:  # noqa: ANN401
    """Remove entries that were seen to, or those in the states that are named."""
    found = _asked(pipeline, "purge", given)
    out.result(found, f"{found['purged']:,} entries.")


@command("reprocess", examples=("holdfast dlq reprocess --dry-run", "holdfast dlq reprocess --kind Poison --rate 100"))
@pipeline_argument
@_with_filter
@dry_run_option
@click.option("--rate", type=float, help="How many a second; as many as can be without it.")
def reprocess(out: Output, pipeline: Path, **given: Any) -> None:  # noqa: ANN401
    """Let the rows of these entries go their way again, each once however often it is asked for."""
    found = _asked(pipeline, "reprocess", given)
    out.result(found, json.dumps(found, indent=2))


@command(
    "export",
    examples=("holdfast dlq export pipeline.yaml dead.jsonl", "holdfast dlq export data dead.jsonl --sink table"),
)
@click.argument("pipeline", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@_with_filter
def export(out: Output, pipeline: Path, file: Path, **given: Any) -> None:  # noqa: ANN401
    """Write entries as JSON lines, each verified, into a file that does not exist yet."""
    found = _asked(pipeline, "export", {"file": str(file.absolute()), **given})
    out.result(found, f"{found['written']:,} entries are in {file}.")


@command("migrate", examples=("holdfast dlq migrate --dry-run",))
@pipeline_argument
@dry_run_option
def migrate(out: Output, pipeline: Path, **given: Any) -> None:  # noqa: ANN401
    """Write entries of older versions down as the present one."""
    found = _asked(pipeline, "migrate", given)
    out.result(found, json.dumps(found, indent=2))


for _command in (list_, show, count, review, ack, purge, reprocess, export, migrate):
    dlq.add_command(_command)
