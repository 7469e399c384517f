"""The command that takes a sink, or the whole pipeline, back."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command, pipeline_argument
from holdfast.cli.exits import ExitCode
from holdfast.cli.output import fitted, results_width, table
from holdfast.control.place import find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.cli.output import Output
    from holdfast.runtime.rollback.operator import Rollbacks
    from holdfast.runtime.rollback.records import Rollback
    from holdfast.runtime.rollback.targets import Preview, Target

_HISTORY = ("rollback", "at", "by", "what", "outcome")


@command(
    "rollback",
    examples=(
        "holdfast rollback --list",
        "holdfast rollback --sink table --to 41 --dry-run",
        "holdfast rollback orders.yaml --to 2026-11-16T08:00:00+00:00 --yes",
        "holdfast rollback --undo --yes",
    ),
)
@pipeline_argument
@click.option("--sink", help="Take only this sink back; without it, the whole pipeline.")
@click.option("--to", help="A batch by its number, a time in ISO 8601, `oldest` or `newest`.")
@click.option("--list", "is_listing", is_flag=True, help="Tell where one can go back to, and what was gone back.")
@click.option("--undo", is_flag=True, help="Take the newest rollback back, as long as nothing came of it.")
@click.option("--dry-run", is_flag=True, help="Only tell what it would mean.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def rollback(
    out: Output,
    pipeline: Path,
    sink: str | None,
    to: str | None,
    is_listing: bool,
    undo: bool,
    dry_run: bool,
    yes: bool,
) -> ExitCode | None:
    """Go back to an earlier batch: a sink gets later ones again, or the pipeline computes them again.

    What it means is always told first. The pipeline must not run. A rollback that is cut short is carried out at the
    next start.
    """
    from holdfast.control.rollback import rollbacks_of

    if sum((is_listing, undo, to is not None)) != 1:
        raise click.UsageError("Give one of --list, --to and --undo.")
    past = rollbacks_of(find(pipeline))
    if is_listing:
        _list(out, past, sink)
        return None
    preview = None if to is None else past.preview(to, sink)
    if preview is not None and dry_run:
        out.result({"preview": _plain(preview), "rollback": None}, _told(preview))
        return None
    if preview is not None:
        out.note(_told(preview))
    if not yes and not _is_agreed(out):
        out.result({"preview": preview and _plain(preview), "rollback": None}, "Nothing was done: add --yes.")
        return ExitCode.FAILED
    by = _user()
    done = past.undo(by=by) if to is None else past.go_back(to, sink, by=by)
    out.result({"preview": preview and _plain(preview), "rollback": _record(done)}, _done(done))
    return None


def _user() -> str:
    """Who asks; in a container that may be a number without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def _is_agreed(out: Output) -> bool:
    return out.is_terminal and click.confirm("Go back?", err=True)


def _list(out: Output, past: Rollbacks, sink: str | None) -> None:
    targets, history = past.targets(sink), past.history()
    value = {"targets": [_target(target) for target in targets], "rollbacks": [_record(each) for each in history]}
    head = ("batch", "published", "rows", "spark's batch", "files")
    rows = [
        (t.oseq, _time(t), t.batch.rows if t.batch else None, t.batch.batch_id if t.batch else None, t.place)
        for t in targets
    ]
    lines = [table(head, rows, results_width()) if rows else "There is no place to go back to."]
    if history:
        lines += ["", table(_HISTORY, [_line(each) for each in history], results_width())]
    out.result(value, "\n".join(lines))


def _told(preview: Preview) -> str:
    whole = f"{preview.events:,} events are computed again, and {preview.batches:,} batches become void."
    head = ("sink", "has", "batches again", "rows again", "what it makes of it")
    rows = [
        (p.sink.name, p.delivered, p.batches, p.rows, f"{p.sink.effect.value} ({p.sink.tier})") for p in preview.sinks
    ]
    what = "The pipeline" if preview.sink is None else f"Sink {preview.sink}"
    lines = [f"{what} goes back to batch {preview.to.oseq}. {whole if preview.sink is None else ''}".rstrip()]
    return "\n".join([*lines, table(head, rows, results_width()), *_notes(preview)])


def _notes(preview: Preview) -> list[str]:
    return [fitted(note, results_width()) for note in preview.notes]


def _done(rollback: Rollback) -> str:
    what = "The pipeline" if rollback.sink is None else f"Sink {rollback.sink}"
    return f"{what} is at batch {rollback.to} (rollback {rollback.number}). Next: holdfast run, or rollback --undo."


def _line(rollback: Rollback) -> Sequence[object]:
    what = "pipeline" if rollback.sink is None else f"sink {rollback.sink}"
    undoing = "" if rollback.undoes is None else f", takes back {rollback.undoes}"
    return (
        rollback.number,
        f"{rollback.at:%Y-%m-%d %H:%M:%S}",
        rollback.by,
        f"{what} to batch {rollback.to}{undoing}",
        rollback.outcome.value,
    )


def _time(target: Target) -> str | None:
    return None if target.at is None else f"{target.at:%Y-%m-%d %H:%M:%S}"


def _target(target: Target) -> dict[str, object]:
    return {"batch": target.oseq, "published_at": target.at, "place": target.place}


def _plain(preview: Preview) -> dict[str, object]:
    return {
        "sink": preview.sink,
        "to": _target(preview.to),
        "events": preview.events,
        "batches": preview.batches,
        "sinks": preview.sinks,
        "notes": preview.notes,
    }


def _record(rollback: Rollback) -> dict[str, object]:
    generations = rollback.generations
    return {
        "number": rollback.number,
        "at": rollback.at,
        "by": rollback.by,
        "sink": rollback.sink,
        "to": rollback.to,
        "newest": rollback.newest,
        "delivered": rollback.delivered,
        "generation": generations and generations.opened,
        "undoes": rollback.undoes,
        "outcome": rollback.outcome,
    }
