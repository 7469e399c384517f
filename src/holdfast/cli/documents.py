"""Commands about pipeline documents: nothing of a pipeline is opened, unless `--connect` asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from holdfast.cli.exits import ExitCode
from holdfast.cli.output import fitted, results_width
from holdfast.model.errors import DocumentUnreadable

if TYPE_CHECKING:
    from holdfast.cli.output import Output

_STARTER = """\
# Made-up orders into files and a SQLite table. Check it with `holdfast validate`, run it with `holdfast run`.
apiVersion: holdfast/v1
kind: Pipeline
metadata: {{name: {name}}}
spec:
  source: {{type: generator, name: orders, pace: {{rate: 1000}}}}
  process:
    - sql: SELECT seq, event_id, after.* FROM events WHERE op <> 'd'
  sinks:
    - {{name: archive, type: files, directory: {name}-files}}
    - {{name: table, type: sqlite, path: {name}.db, table: orders}}
"""

document_argument = click.argument("document", type=click.Path(path_type=Path), default="pipeline.yaml")


@command("init", examples=("holdfast init", "holdfast init orders.yaml --name orders"))
@document_argument
@click.option("--name", default="orders", show_default=True, help="What the pipeline is called.")
def init(out: Output, document: Path, name: str) -> None:
    """Write a pipeline document to begin with. A file that exists is never replaced."""
    from holdfast.config import load

    text = _STARTER.format(name=name)
    load(text)
    try:
        with document.open("x") as file:
            file.write(text)
    except OSError as error:
        raise DocumentUnreadable(
            f"{document} cannot be written: {error.strerror}.", remedy="Name another file, or remove that one."
        ) from error
    out.result({"document": str(document), "name": name}, f"{document} is written. Next: holdfast run {document}")


@command("validate", examples=("holdfast validate", "holdfast validate orders.yaml --connect --output json"))
@document_argument
@click.option(
    "--connect", is_flag=True, help="Also open every source, sink and checkpoint store, and close them again."
)
def validate(out: Output, document: Path, connect: bool) -> ExitCode | None:
    """Check a pipeline document and tell every problem with file, line, column and remedy."""
    from holdfast.config import find_problems

    problems = [
        {"place": str(problem.place), "what": problem.what, "remedy": problem.remedy}
        for problem in find_problems(document)
    ]
    notes: list[str] = []
    if connect and not problems:
        from holdfast.config import load
        from holdfast.control.connecting import try_connections

        tried = try_connections(load(document).plan())
        notes = [f"{document}: {note}" for note in tried.notes]
        problems = [
            {"place": f"{document}: {found.component}", "what": found.what, "remedy": found.remedy}
            for found in tried.unreachable
        ]
    lines = [*notes, *(f"{problem['place']}: {problem['what']} {problem['remedy']}" for problem in problems)]
    count = "no problem" if not problems else "one problem" if len(problems) == 1 else f"{len(problems)} problems"
    value = {"document": str(document), "valid": not problems, "problems": problems, "notes": notes}
    out.result(value, fitted("\n".join([*lines, f"{document}: {count}."]), results_width()))
    return ExitCode.FAILED if problems else None


@command("schema", examples=("holdfast schema > holdfast.schema.json",))
def schema(out: Output) -> None:
    """Print the JSON Schema of pipeline documents, for editors."""
    import json

    from holdfast.config import json_schema

    out.result(json_schema(), json.dumps(json_schema(), indent=2))
