"""The command that runs a pipeline in the foreground."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from holdfast.cli.output import Form
from holdfast.cli.showing import alarm_line, progress_line, record_text

if TYPE_CHECKING:
    from holdfast.cli.output import Output
    from holdfast.control.status import Status
    from holdfast.model.errors import HoldfastError


@command(
    "run",
    examples=(
        "holdfast run",
        "holdfast run orders.yaml --until caught-up",
        "holdfast run orders.yaml --metrics-port 9464 --output json",
    ),
)
@click.argument("document", type=click.Path(path_type=Path), default="pipeline.yaml")
@click.option(
    "--until",
    type=click.Choice(["stopped", "caught-up", "available-now"]),
    default="stopped",
    show_default=True,
    help="Until somebody stops it, every source has ended and is delivered, or what was there at the start is.",
)
@click.option("--drain-within", default=30.0, show_default=True, help="Seconds that a drain may take.")
@click.option(
    "--takeover",
    type=click.Choice(["refuse", "end", "fence"]),
    default="refuse",
    show_default=True,
    help="When another process owns the pipeline: refuse, end that very process first, or fence it off.",
)
@click.option("--new-generation", is_flag=True, help="Go on behind the newest batch, with the state of steps empty.")
@click.option("--interval", default=1.0, show_default=True, help="Seconds between two looks at the pipeline.")
@click.option("--metrics-file", type=click.Path(path_type=Path), help="Write metrics for Prometheus into this file.")
@click.option("--metrics-port", type=int, help="Serve /metrics and /health on this port of the loopback; 0: any.")
def run(
    out: Output,
    document: Path,
    until: str,
    drain_within: float,
    takeover: str,
    new_generation: bool,
    interval: float,
    metrics_file: Path | None,
    metrics_port: int | None,
) -> None:
    """Run a pipeline in the foreground. SIGTERM or Ctrl-C drains it; a second one stops it at once."""
    from holdfast.config import load
    from holdfast.control.alarms import Alarms
    from holdfast.control.host import Manners, host
    from holdfast.runtime.ground import Accept
    from holdfast.runtime.owner import Takeover
    from holdfast.runtime.pipeline import Until

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # what it meets is told by whoever asked it, without its stack
    plan = load(document).plan()
    alarms = Alarms()

    def told(status: Status) -> None:
        for change in alarms.changes(status):
            if out.form is Form.JSON:
                out.result(change, "")
            else:
                out.note(alarm_line(change))
        out.progress(progress_line(status))

    def started(port: int | None) -> None:
        value = {"event": "started", "pipeline": plan.name, "directory": plan.directory, "metrics_port": port}
        if out.form is Form.JSON:
            out.result(value, "")
        else:
            served = "" if port is None else f" Metrics: http://127.0.0.1:{port}/metrics"
            out.note(f"{plan.name} runs in {plan.directory}; Ctrl-C drains it.{served}")

    def waiting(error: HoldfastError) -> None:
        if out.form is Form.JSON:
            value = {"event": "waiting", "pipeline": plan.name, "cause": error.what, "remedy": error.remedy}
            out.result(value, "")
        else:
            out.note(f"{plan.name} starts by itself once its disk has room. {error.what}")

    record = host(
        plan,
        document.read_text(encoding="utf-8-sig"),
        Manners(
            until=Until(until.replace("-", " ")),
            drain_within=drain_within,
            takeover=Takeover(takeover),
            accept=Accept.NEW_GENERATION if new_generation else Accept.NOTHING,
            interval=interval,
            metrics_file=metrics_file,
            metrics_port=metrics_port,
        ),
        processor=click.get_current_context().obj,
        told=told,
        started=started,
        waiting=waiting,
    )
    out.end_progress()
    out.result({"event": "ended", "pipeline": plan.name, "stop": record}, record_text(plan.name, record))
