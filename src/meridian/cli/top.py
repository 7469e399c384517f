"""The command that watches an operation which another process runs."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from holdfast.cli.interrupts import KeyboardInterrupts
from holdfast.cli.output import Form
from meridian.cli.options import directory_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.cli.output import Output
    from meridian.service.service import Service
    from meridian.service.values import Snapshot


class Duration(click.ParamType[float]):
    """A length of time as documents have it, in seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds of a text such as `500ms`."""
        from holdfast.config.units import parse_duration

        try:
            return parse_duration(str(value)).total_seconds()
        except ValueError:
            self.fail(f"{value!r} is no length of time such as 1s or 500ms.", param, ctx)


@command(
    "top", examples=("meridian top", "meridian top --every 500ms", "meridian top --times 10 --every 1s --output json")
)
@directory_option
@click.option("--every", type=Duration(), default="1s", show_default=True, help="The time between two looks.")
@click.option(
    "--times",
    type=click.IntRange(min=1),
    help="How many looks; without it, until Ctrl-C on a terminal, and once without one.",
)
def top(out: Output, directory: Path, every: float, times: int | None) -> None:
    """Watch it live: conjunctions, watermarks, lags, queues, what was lost, alarms and what to do about them."""
    from meridian.screen import Screen

    is_live = out.form is Form.TEXT and sys.stdout.isatty()
    looks = times if times is not None else (None if is_live else 1)
    service = _service(directory)
    with suppress(KeyboardInterrupt), KeyboardInterrupts(), Screen() as screen:
        for snapshot in _looked(service, every, looks):
            if out.form is Form.JSON:
                out.result(snapshot, "")
            else:
                screen.show(snapshot)


def _service(directory: Path) -> Service:
    from holdfast.model.errors import NotRunning
    from meridian.operation.home import Home
    from meridian.sensors.config import load
    from meridian.service.service import Service

    edge_file = Home(directory).edge_file
    if not edge_file.exists():
        raise NotRunning(
            f"There is no operation in {directory}.",
            remedy="Name its home with `--directory`, or make one with `meridian run --simulate`.",
        )
    return Service(directory, load(edge_file).control_plane.bind_addr)


def _looked(service: Service, every: float, looks: int | None) -> Iterator[Snapshot]:
    count = 0
    while looks is None or count < looks:
        if count:
            time.sleep(every)
        yield service.snapshot()
        count += 1
