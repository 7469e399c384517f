"""The command that runs a pipeline in the foreground."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from holdfast.cli.interrupts import leave_at_once
from holdfast.cli.logs import ALARMS, LEVELS, logging_to
from holdfast.cli.output import Form, fitted, results_width
from holdfast.cli.showing import alarm_line, progress_line, record_text

if TYPE_CHECKING:
    from holdfast.cli.output import Output
    from holdfast.control.ending import Manner
    from holdfast.control.status import Status
    from holdfast.runtime.plan import Plan
    from holdfast.runtime.starting import StartDelay

log = logging.getLogger("holdfast")
alarms = logging.getLogger(ALARMS)


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
@click.option(
    "--log-file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Where log lines go, rotated by size; `-` is standard error. Default: log/holdfast.log in the directory.",
)
@click.option(
    "--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="The least level that is logged."
)
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
    log_file: Path | None,
    log_level: str,
) -> None:
    """Run a pipeline in the foreground.

    Ctrl-C or SIGTERM drains it: nothing new is captured, and what was sent is waited for. A second one stops it now;
    what has no answer yet is sent again after the next start. A third Ctrl-C ends the process at once, as a kill would.
    """
    leave = leave_at_once()
    leave.text = "Interrupted; nothing was started."
    from holdfast.config import load
    from holdfast.control.host import Manners, host
    from holdfast.runtime.ground import Accept
    from holdfast.runtime.layout import Layout
    from holdfast.runtime.owner import Takeover
    from holdfast.runtime.pipeline import Until

    plan = load(document).plan()
    leave.text = f"{plan.name} was ended at once. Nothing is lost; the next start goes on where it was."
    file = None if log_file == Path("-") else log_file or Layout(plan.directory).log
    with logging_to(file, level=log_level, pipeline=plan.name, out=out):
        face = _Face(out, plan, file)
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
            folder=document.parent,
            processor=click.get_current_context().obj,
            told=face.seen,
            started=face.started,
            ends=face.ends,
            waiting=face.waiting,
        )
        out.end_progress()
        ended = record_text(plan.name, record)
        log.info("%s", ended)
    out.result({"event": "ended", "pipeline": plan.name, "stop": record}, fitted(ended, results_width()))


class _Face:
    """What a run tells the person, or the program, that started it."""

    def __init__(self, out: Output, plan: Plan, log_file: Path | None) -> None:
        from holdfast.control.alarms import Alarms

        self._out, self._plan, self._log_file = out, plan, log_file
        self._alarms = Alarms()
        self._is_silent = log_file is None and out.form is Form.TEXT
        """Whether standard error is the log: what is logged is not said a second time."""

    def started(self, port: int | None) -> None:
        """Capture and lanes work."""
        name, directory = self._plan.name, self._plan.directory
        served = "" if port is None else f" Metrics: http://127.0.0.1:{port}/metrics"
        logged = "" if self._log_file is None else f" Log: {self._log_file}"
        log.info("pipeline %s runs in %s, process %d", name, directory, os.getpid())
        value = {
            "event": "started",
            "pipeline": name,
            "directory": directory,
            "metrics_port": port,
            "log_file": self._log_file,
        }
        self._event(value, f"{name} runs in {directory}; Ctrl-C drains it.{logged}{served}")

    def waiting(self, delay: StartDelay) -> None:
        """The start waits for room on the disk, or for a lock."""
        name = self._plan.name
        value = {
            "event": "waiting",
            "pipeline": name,
            "reason": delay.reason,
            "cause": delay.what,
            "remedy": delay.remedy,
        }
        self._event(value, f"{name} waits for {delay.reason}, then starts by itself. {delay.what} {delay.remedy}")

    def seen(self, status: Status) -> None:
        """Once an interval."""
        for change in self._alarms.changes(status):
            line = alarm_line(change)
            alarms.log(logging.INFO if change.event == "cleared" else logging.WARNING, "%s", click.unstyle(line))
            self._event(change, line)
        if not self._is_silent:
            occasion = f"{status.snapshot.state} {status.health.level.name}"
            self._out.progress(progress_line(status, self._out.width), occasion)

    def ends(self, manner: Manner, within: float) -> None:
        """It is about to be drained or stopped."""
        name = self._plan.name
        if manner.value == "drain":
            log.info("pipeline %s drains within %g s", name, within)
            text = f"Draining {name} for up to {within:g} s. Ctrl-C again stops it now."
        else:
            log.info("pipeline %s stops without waiting for its sinks", name)
            text = f"Stopping {name} now."
        if not self._is_silent:
            self._out.note(text)

    def _event(self, value: object, text: str) -> None:
        if not self._is_silent:
            self._out.event(value, text)
