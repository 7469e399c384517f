"""The command that runs an operation in the foreground."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from holdfast.cli.interrupts import leave_at_once
from holdfast.cli.output import Form
from meridian.cli.options import directory_option

if TYPE_CHECKING:
    from typing import Self

    from holdfast.cli.interrupts import LeaveAtOnce
    from holdfast.cli.output import Output
    from holdfast.control.ending import Manner as Ending
    from holdfast.ledger import StopRecord
    from meridian.service.values import Snapshot


@command("run", examples=("meridian run --simulate", "meridian run --directory data/mine", "meridian run --no-screen"))
@directory_option
@click.option("--simulate", is_flag=True, help="Made-up sensors over a made-up catalog, which is made at first.")
@click.option("--screen/--no-screen", default=True, help="The live screen, or a line a second.")
@click.option("--until-alerts", type=int, help="End in order once so many conjunctions have been raised.")
def run(out: Output, directory: Path, simulate: bool, screen: bool, until_alerts: int | None) -> None:
    """Run an operation in the foreground: the edge, fusion, and a screen.

    SIGTERM or Ctrl-C drains it. A second one stops it now; what was under way is done after the next start. Killed and
    started again it goes on where it was: no alert is lost, none is told twice.
    """
    leave = leave_at_once()
    leave.text = "Interrupted; nothing was started."
    from meridian.hosting.demonstration import prepare
    from meridian.hosting.running import Manner
    from meridian.hosting.running import run as run_operation
    from meridian.operation.home import Home

    home = Home(directory)
    leave.text = "Interrupted while starting. Nothing is lost; the same command starts it again."
    if simulate:
        prepare(home, now_ns=time.time_ns())
    _log_to(directory / "fusion.log")
    face = _Face(out, leave, is_watched=screen and sys.stdout.isatty() and out.form is Form.TEXT)
    with face:
        record = run_operation(
            home,
            Manner(
                is_simulated=simulate,
                told=face.told,
                looked=face.looked,
                until_raised=until_alerts,
                takes_signals=face.takes_signals,
                ends=face.ends,
            ),
        )
    out.end_progress()
    out.note(f"{how_it_ended(record)} What it knows is in {directory}; the same command goes on from here.")


class _Face:
    """What a person sees of an operation: the live screen, or lines.

    :param is_watched: whether it has a terminal of its own, which is given back when it is left.
    """

    def __init__(self, out: Output, leave: LeaveAtOnce, *, is_watched: bool) -> None:
        from meridian.cli.lines import Lines
        from meridian.screen import Screen

        self._out, self._leave = out, leave
        self._screen = Screen() if is_watched else None
        self._lines = Lines(out)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._screen is not None:
            self._screen.end(has_stopped=True)
        self._leave.gives_back = ""

    def told(self, step: str) -> None:
        """A step of the start, and how far it is behind a colon: into a file goes a line for each step."""
        self._out.progress(step, step.partition(":")[0])

    def looked(self, snapshot: Snapshot) -> None:
        """Once a second."""
        from meridian.screen.live import GIVE_BACK

        if self._screen is None:
            self._lines.told(snapshot)
            return
        if not self._leave.gives_back:
            self._out.end_progress()
            self._leave.gives_back = GIVE_BACK
        self._screen.show(snapshot)

    def takes_signals(self) -> None:
        """From now on Ctrl-C drains it; a third one ends the process."""
        self._leave.text = "It was ended at once. Nothing is lost; the same command goes on where it was."

    def ends(self, ending: Ending, within: float) -> None:
        """It is about to be drained or stopped: the screen says so by itself."""
        if self._screen is None:
            drains = f"Draining for up to {within:g} s. Ctrl-C again stops it now."
            self._out.note(drains if ending.value == "drain" else "Stopping now.")


def how_it_ended(record: StopRecord | None) -> str:
    """How it ended, and what is left to do for the next start."""
    if record is None:
        return "Stopped in order."
    is_forced = record.reason.value == "forced"
    how = "Stopped at once, without waiting for what was under way" if is_forced else "Stopped in order"
    lanes = record.remaining.keys() | record.abandoned.keys()
    left = sum(len({*record.remaining.get(lane, ()), *record.abandoned.get(lane, ())}) for lane in lanes)
    batches = "1 batch is written to its table" if left == 1 else f"{left:,} batches are written to their tables"
    return f"{how}; {batches} after the next start." if left else f"{how}."


def _log_to(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=path, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True
    )
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
