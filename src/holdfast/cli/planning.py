"""Commands about what a pipeline is and is to be: what a changed document means, and its picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command, pipeline_argument
from holdfast.cli.drawing import drawn
from holdfast.cli.exits import ExitCode
from holdfast.cli.output import results_width

if TYPE_CHECKING:
    from holdfast.cli.output import Output


@command("plan", examples=("holdfast plan", "holdfast plan orders.yaml --output json"))
@click.argument("document", type=click.Path(path_type=Path), default="pipeline.yaml")
def plan(out: Output, document: Path) -> ExitCode | None:
    """Tell what running this document would change, against the one of the present or last run. Nothing is touched.

    The exit code is 1 when a change cannot be made.
    """
    from holdfast.config import Effect, compare, load
    from holdfast.control.document import kept_document

    new = load(document)
    new.plan()
    old = kept_document(new.directory)
    if old is None:
        value = {"pipeline": new.name, "first": True, "effect": None, "changes": []}
        out.result(value, f"{new.name}: it never ran by a document; `holdfast run` starts it in {new.directory}.")
        return None
    change = compare(old, new)
    changes = [
        {"what": c.what, "before": c.before, "after": c.after, "effect": c.effect, "means": c.means}
        for c in change.alterations
    ]
    value = {"pipeline": new.name, "first": False, "effect": change.effect, "changes": changes}
    out.result(value, str(change))
    return ExitCode.FAILED if change.effect is Effect.REFUSED else None


@command("graph", examples=("holdfast graph", "holdfast graph orders.yaml --output json"))
@pipeline_argument
def graph(out: Output, pipeline: Path) -> None:
    """Draw the pipeline, with where each source and each sink stands."""
    from holdfast.cli.controlling import status_of_place
    from holdfast.control.place import find

    status = status_of_place(find(pipeline))
    out.result(_edges(status), drawn(status, results_width()))


def _edges(status: dict[str, object]) -> dict[str, object]:
    seen = status["snapshot"]
    assert isinstance(seen, dict)
    return {
        "pipeline": seen["pipeline"],
        "state": seen["state"],
        "nodes": [
            *({"node": "source", **source} for source in seen["sources"]),
            {"node": "outbox", **seen["outbox"]},
            *({"node": "sink", **lane} for lane in seen["lanes"]),
        ],
    }
