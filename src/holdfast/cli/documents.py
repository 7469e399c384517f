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


@command(
    "validate",
    examples=(
        "holdfast validate",
        "holdfast validate --spark",
        "holdfast validate orders.yaml --connect --output json",
    ),
)
@document_argument
@click.option(
    "--connect", is_flag=True, help="Also open every source, sink and checkpoint store, and close them again."
)
@click.option(
    "--spark", is_flag=True, help="Also start Spark and let it analyse every step, without any event (some seconds)."
)
def validate(out: Output, document: Path, connect: bool, spark: bool) -> ExitCode | None:
    """Check a pipeline document and tell every problem with file, line, column and remedy.

    With --spark, a column or a function that does not exist is found too. The first step that Spark refuses is told;
    those behind it are analysed once it is mended.
    """
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
    if spark and not problems:
        problems = _refused_by_spark(out, document)
    lines = [*notes, *(f"{problem['place']}: {problem['what']} {problem['remedy']}" for problem in problems)]
    count = "no problem" if not problems else "one problem" if len(problems) == 1 else f"{len(problems)} problems"
    value = {"document": str(document), "valid": not problems, "problems": problems, "notes": notes}
    out.result(value, fitted("\n".join([*lines, f"{document}: {count}."]), results_width()))
    return ExitCode.FAILED if problems else None


def _refused_by_spark(out: Output, document: Path) -> list[dict[str, str]]:
    """What Spark says against the steps."""
    from dataclasses import replace
    from tempfile import TemporaryDirectory

    from holdfast.config import load
    from holdfast.model.errors import StepRefused
    from holdfast.runtime.analysis import check_steps
    from holdfast.runtime.session import spark_session

    plan = load(document).plan()
    out.note(f"Starting Spark to analyse the steps of {document} …")
    try:
        with TemporaryDirectory() as scratch:
            elsewhere = {**plan.spark.conf, "spark.sql.warehouse.dir": scratch}
            check_steps(spark_session(replace(plan.spark, conf=elsewhere)), plan)
    except StepRefused as error:
        place, what = error.context.get("place") or document, error.context.get("problem") or error.what
        return [{"place": str(place), "what": str(what), "remedy": "Correct the step."}]
    return []


@command("schema", examples=("holdfast schema > holdfast.schema.json",))
def schema(out: Output) -> None:
    """Print the JSON Schema of pipeline documents, for editors."""
    import json

    from holdfast.config import json_schema

    out.result(json_schema(), json.dumps(json_schema(), indent=2))
