"""Groups of commands whose modules are imported when a command is used, so that help is quick."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Commands(click.Group):
    """Commands of which only those that are used are loaded.

    :param about: where each command is defined, and its help in one line.
    :param package: whose modules are named there.
    """

    def __init__(self, *, about: Mapping[str, tuple[str, str]], package: str, **settings: Any) -> None:  # noqa: ANN401 (click's own)
        super().__init__(**settings)
        self._about, self._package = about, package

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order they are told of."""
        return list(self._about)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, loaded."""
        if cmd_name not in self._about:
            return None
        found = getattr(import_module(f"{self._package}.{self._about[cmd_name][0]}"), cmd_name)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Their help, without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self._about.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; the nearest is named when there is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], list(self._about), n=1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean '{near[0]}'?", ctx) from error
