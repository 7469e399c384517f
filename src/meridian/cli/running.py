"""The command that runs an operation in the foreground."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from holdfast.cli.output import Form
from meridian.cli.options import directory_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.cli.output import Output
    from meridian.service.values import Snapshot


@command("run", examples=("meridian run --simulate", "meridian run --directory data/mine", "meridian run --no-screen"))
@directory_option
@click.option("--simulate", is_flag=True, help="Made-up sensors over a made-up catalog, which is made at first.")
@click.option("--screen/--no-screen", default=True, help="The live screen, or a line a second.")
@click.option("--until-alerts", type=int, help="End in order once so many conjunctions have been raised.")
def run(out: Output, directory: Path, simulate: bool, screen: bool, until_alerts: int | None) -> None:
    """Run an operation in the foreground: the edge, fusion, and a screen. SIGTERM or Ctrl-C drains it.

    Killed and started again it goes on where it was: no alert is lost, none is told twice.
    """
    from meridian.hosting.demonstration import prepare
    from meridian.hosting.running import Manner
    from meridian.hosting.running import run as run_operation
    from meridian.operation.home import Home

    home = Home(directory)
    if simulate:
        prepare(home, now_ns=time.time_ns())
    _log_to(directory / "fusion.log")
    is_watched = screen and sys.stdout.isatty() and out.form is Form.TEXT
    with ExitStack() as held:
        looked = _screen(held) if is_watched else _lines(out)
        run_operation(home, Manner(simulate, told=_steps(out), looked=looked, until_raised=until_alerts))
    out.end_progress()
    out.note(f"Stopped in order. What it knows is in {directory}; the same command goes on from here.")


def _steps(out: Output) -> Callable[[str], None]:
    """In a log file, a line for each step of the start; what stands behind a colon is how far the step has come."""
    return lambda line: out.progress(line, occasion=line.partition(":")[0])


def _screen(held: ExitStack) -> Callable[[Snapshot], None]:
    """The terminal is given back when what is held is let go."""
    from meridian.screen import Screen

    return held.enter_context(Screen()).show


def _lines(out: Output) -> Callable[[Snapshot], None]:
    """A line whenever a conjunction is raised or changes, and one every ten seconds on how it goes."""
    from meridian.cli.lines import Lines

    return Lines(out).told


def _log_to(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=path, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True
    )
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
