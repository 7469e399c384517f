"""Completion in shells: what the shell has to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from holdfast.cli.command import command

if TYPE_CHECKING:
    from holdfast.cli.output import Output


@command(
    "completion",
    examples=(
        'eval "$(holdfast completion bash)"',
        "holdfast completion fish > ~/.config/fish/completions/holdfast.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(out: Output, shell: str) -> None:
    """Print what makes a shell complete the commands and options of `holdfast`."""
    from holdfast.cli.commands import holdfast

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(holdfast, {}, "holdfast", "_HOLDFAST_COMPLETE").source()
    out.result({"shell": shell, "script": script}, script)
