"""Commands that ask and steer a pipeline: the process that runs it, or its files when none does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command, pipeline_argument
from holdfast.cli.exits import ExitCode
from holdfast.cli.output import fitted, results_width
from holdfast.cli.showing import record_text, status_text
from holdfast.control.client import ask
from holdfast.control.place import Place, find
from holdfast.model.errors import NotRunning

if TYPE_CHECKING:
    from holdfast.cli.output import Output
    from holdfast.control.values import Answer

_CODES = {"ok": ExitCode.OK, "degraded": ExitCode.DEGRADED, "failing": ExitCode.NOT_READY, "down": ExitCode.NOT_READY}


def status_of_place(place: Place) -> Answer:
    """The status, from the process or from the files."""
    try:
        answer: Answer = ask(place.directory, "status")
    except NotRunning:
        from holdfast.control.files import status_from_files
        from holdfast.control.values import plain

        answer = plain(status_from_files(place.directory, name=place.name))
    return answer


def code_of(status: Answer) -> ExitCode:
    """The exit code that tells a status."""
    if status["snapshot"]["pid"] is None:
        return ExitCode.NOT_RUNNING
    if status["health"]["level"] == "degraded" and not status["health"]["ready"]:
        return ExitCode.NOT_READY
    return _CODES[status["health"]["level"]]


@command(
    "status", examples=("holdfast status", "holdfast status orders.yaml --output json", "holdfast status data/orders")
)
@pipeline_argument
def status(out: Output, pipeline: Path) -> ExitCode:
    """Tell where everything stands, what is not well, why, and what to do.

    The exit code is 0 when all is well, 3 when something needs attention, 5 when the pipeline makes no progress, and 4
    when no process runs it; then what its files say is told.
    """
    answer = status_of_place(find(pipeline))
    out.result(answer, status_text(answer, results_width()))
    return code_of(answer)


@command("pause", examples=("holdfast pause", "holdfast pause orders.yaml"))
@pipeline_argument
def pause(out: Output, pipeline: Path) -> None:
    """Admit nothing new; sinks get what is published. It stays so, also after a restart, until `holdfast resume`."""
    _set_pause(out, find(pipeline), "pause")


@command("resume", examples=("holdfast resume", "holdfast resume orders.yaml"))
@pipeline_argument
def resume(out: Output, pipeline: Path) -> None:
    """Go on after a pause."""
    _set_pause(out, find(pipeline), "resume")


def _set_pause(out: Output, place: Place, what: str) -> None:
    past = f"{what}d"
    try:
        ask(place.directory, what)
        text = f"{place.name} is {past}."
    except NotRunning:
        from holdfast.control.files import set_pause
        from holdfast.model.clock import utc_now
        from holdfast.runtime.records import Pause

        set_pause(place.directory, Pause(utc_now()) if what == "pause" else Pause())
        text = f"{place.name} does not run; it will start {past}."
    out.result({"pipeline": place.name, what: True}, text)


@command("drain", examples=("holdfast drain", "holdfast drain orders.yaml --within 60"))
@pipeline_argument
@click.option("--within", default=30.0, show_default=True, help="Seconds in which sinks may still answer.")
def drain(out: Output, pipeline: Path, within: float) -> None:
    """Stop in order: nothing new is captured, what was sent is waited for, and what remains is listed."""
    place = find(pipeline)
    record = ask(place.directory, "drain", within=within, patience=within + 60)
    out.result({"pipeline": place.name, "stop": record}, fitted(record_text(place.name, record), results_width()))


@command("stop", examples=("holdfast stop", "holdfast stop orders.yaml"))
@pipeline_argument
def stop(out: Output, pipeline: Path) -> None:
    """Stop now, also when a drain is under way. Nothing is lost; what was not answered is sent again later."""
    place = find(pipeline)
    record = ask(place.directory, "stop", patience=60)
    out.result({"pipeline": place.name, "stop": record}, fitted(record_text(place.name, record), results_width()))
