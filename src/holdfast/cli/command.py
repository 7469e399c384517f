"""How a command is made: all have `--output`, tell errors the same way, and end with a code that is documented."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from holdfast.cli.exits import ExitCode
from holdfast.cli.interrupts import leave_at_once
from holdfast.cli.output import Form, Output
from holdfast.model.errors import HoldfastError, NotRunning

Body = Callable[..., ExitCode | None]
"""What a command does: given an `Output` and its parameters, it returns how it ended; None is well."""

pipeline_argument = click.argument("pipeline", type=click.Path(path_type=Path), default="pipeline.yaml")
"""A pipeline: its document, or its directory."""


def command(name: str, *, examples: tuple[str, ...]) -> Callable[[Body], click.Command]:
    """Make a command of a function, with its docstring as the help and these lines as examples."""

    def made(body: Body) -> click.Command:
        @wraps(body)
        def called(*, form: str, **given: Any) -> None:  # noqa: ANN401 (click passes what the options declare)
            out = Output(Form(form))
            try:
                code = body(out, **given)
            except HoldfastError as error:
                out.fail(error)
                code = ExitCode.NOT_RUNNING if isinstance(error, NotRunning) else ExitCode.FAILED
            except KeyboardInterrupt:
                out.note("Interrupted.")
                code = ExitCode.INTERRUPTED
            ended = ExitCode.OK if code is None else code
            leave = leave_at_once()
            leave.code, leave.text = ended, ""  # all is said, and what is left is the interpreter's own end
            click.get_current_context().exit(ended)

        with_output = click.option(
            "--output",
            "form",
            type=click.Choice([form.value for form in Form]),
            default=Form.TEXT.value,
            show_default=True,
            help="Text for people, or JSON for programs.",
        )(called)
        return click.command(name, epilog="\b\nExamples:\n" + "\n".join(f"  {line}" for line in examples))(with_output)

    return made
