"""The commands by name. A command's module is imported when that command is used, so that help is quick."""

from __future__ import annotations

from importlib import import_module

import click

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


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_ABOUT)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ABOUT:
            return None
        found = getattr(import_module(f"holdfast.cli.{_ABOUT[cmd_name][0]}"), cmd_name)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in _ABOUT.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], _ABOUT, n=1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean '{near[0]}'?", ctx) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="holdfast")
def holdfast() -> None:
    """Move events through Spark to many sinks; nothing is skipped, lost or doubled.

    A PIPELINE is named by its document (`pipeline.yaml` when none is given) or by its directory. Commands ask the
    process that runs it through a socket in that directory, and work on the files when it is stopped.
    """
