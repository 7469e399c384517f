"""The commands by name."""

from __future__ import annotations

import click

from holdfast.cli.loading import CONTEXT, Commands

_ABOUT: dict[str, tuple[str, str]] = {
    "init": ("documents", "Write a pipeline document to begin with."),
    "validate": ("documents", "Check a pipeline document and tell every problem with its place."),
    "plan": ("planning", "Tell what running a document would change. Nothing is touched."),
    "run": ("running", "Run a pipeline in the foreground."),
    "status": ("controlling", "Tell where everything stands, what is not well, and what to do."),
    "graph": ("planning", "Draw the pipeline, with where each source and each sink stands."),
    "top": ("watching", "Watch it live: rates, lag, queues, batches in flight, errors."),
    "tap": ("watching", "Show a few of the rows that pass a point next."),
    "pause": ("controlling", "Admit nothing new, also after a restart."),
    "resume": ("controlling", "Go on after a pause."),
    "drain": ("controlling", "Stop in order, and list what remains."),
    "stop": ("controlling", "Stop now."),
    "sinks": ("sinks", "Add and remove sinks while the pipeline runs."),
    "checkpoints": ("checkpoints", "List, show, compare, prune, delete, export and import what it remembers."),
    "rollback": ("rolling", "Take a sink, or the whole pipeline, back to an earlier batch."),
    "dlq": ("dlq", "See to dead letters: rows that could not be processed or delivered."),
    "bench": ("measuring", "Measure a pipeline on this machine, on scratch copies of what it writes."),
    "doctor": ("mending", "Explain what is wrong with the files of a pipeline, and repair what loses nothing."),
    "schema": ("documents", "Print the JSON Schema of pipeline documents, for editors."),
    "completion": ("completing", "Print what makes a shell complete commands and options."),
}
"""Where each command is defined, and its help in one line."""


@click.group(cls=Commands, about=_ABOUT, package="holdfast.cli", context_settings=CONTEXT)
@click.version_option(package_name="holdfast")
def holdfast() -> None:
    """Move events through Spark to many sinks; nothing is skipped, lost or doubled.

    A PIPELINE is named by its document (`pipeline.yaml` when none is given) or by its directory. Commands ask the
    process that runs it through a socket in that directory, and work on the files when it is stopped.
    """
