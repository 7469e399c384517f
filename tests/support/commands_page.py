"""Writes `docs/reference/commands.md` from the commands (`python -m tests.support.commands_page`)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from holdfast.cli.commands import holdfast
from holdfast.cli.exits import ExitCode

COMMANDS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "commands.md"

INTRODUCTION = """\
# Commands

`holdfast COMMAND`, with `--help` everywhere. A PIPELINE is named by its document (`pipeline.yaml` when none is given)
or by its directory; the directory is quicker, since no document is read. Commands ask the process that runs it through
a socket in that directory, which only its user may open, and work on the files when it is stopped. `--output json`
gives one JSON value a line, errors included (`{"error": {"code", "kind", "what", "kept", "remedy"}}`). What can be
measured and what raises an alarm have their own pages, [metrics](metrics.md) and [alarms](../operations/alarms.md).
This page is made from the commands by `make docs`.

## Exit codes

| code | meaning |
|---|---|
"""


def commands_page() -> str:
    """The page."""
    lines = [INTRODUCTION.rstrip()]
    lines += [f"| {code.value} | {code.meaning} |" for code in ExitCode]
    context = click.Context(holdfast, info_name="holdfast")
    for path, command in every_command(holdfast, context):
        lines += ["", f"## `{path}`", "", _help(command), "", *_usage(path, command), *_options(command)]
    return "\n".join(lines) + "\n"


def every_command(
    group: click.Group, context: click.Context, above: str = "holdfast"
) -> Iterator[tuple[str, click.Command]]:
    """The commands that do something, in the order of the help."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from every_command(command, context, f"{above} {name}")
        else:
            yield f"{above} {name}", command


def _help(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "")


def _usage(path: str, command: click.Command) -> list[str]:
    context = click.Context(command, info_name=path)
    usage = " ".join(command.collect_usage_pieces(context))
    examples = (command.epilog or "").split("\n")[2:]
    return ["```", f"{path} {usage}", "", *(line.strip() for line in examples), "```"]


def _options(command: click.Command) -> Iterator[str]:
    options = [each for each in command.params if isinstance(each, click.Option) and each.name != "form"]
    if options:
        yield from ("", "| option | default | |", "|---|---|---|")
    for option in options:
        shown = option.show_default and option.default is not None
        default = f"`{option.default}`" if shown else "**needed**" if option.required else ""
        choices = f" One of {', '.join(option.type.choices)}." if isinstance(option.type, click.Choice) else ""
        yield f"| `{option.opts[0]}` | {default} | {option.help}{choices} |"


if __name__ == "__main__":
    COMMANDS.write_text(commands_page())
