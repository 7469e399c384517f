"""Commands that watch a running pipeline: a live screen, and a glimpse of the rows that pass."""

from __future__ import annotations

import json
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command, pipeline_argument
from holdfast.cli.controlling import status_of_place
from holdfast.cli.interrupts import KeyboardInterrupts
from holdfast.cli.output import Form, is_dumb, results_width
from holdfast.cli.showing import status_text
from holdfast.control.client import ask
from holdfast.control.place import find

if TYPE_CHECKING:
    from holdfast.cli.output import Output

_CLEAR = "\x1b[H\x1b[2J"


@command(
    "top", examples=("holdfast top", "holdfast top orders.yaml --every 0.5", "holdfast top --times 10 --output json")
)
@pipeline_argument
@click.option("--every", default=1.0, show_default=True, help="Seconds between two looks.")
@click.option("--times", type=int, help="How many looks; without it, until Ctrl-C on a terminal, and once without one.")
def top(out: Output, pipeline: Path, every: float, times: int | None) -> None:
    """Watch it live: rates, lag of each sink, queues, batches in flight, errors."""
    place = find(pipeline)
    is_live = out.form is Form.TEXT and sys.stdout.isatty() and not is_dumb()
    looks = times if times is not None else (None if is_live else 1)
    count = 0
    with suppress(KeyboardInterrupt), KeyboardInterrupts():
        while looks is None or count < looks:
            if count:
                time.sleep(every)
            status = status_of_place(place)
            text = status_text(status, results_width())
            out.result(status, _CLEAR + _on_one_screen(text) if is_live else text)
            count += 1


def _on_one_screen(text: str) -> str:
    """As many lines as there is room for: what scrolls away at every look cannot be read."""
    lines, room = text.splitlines(), shutil.get_terminal_size().lines - 1
    if len(lines) <= room:
        return text
    shown = max(1, room - 1)
    return "\n".join([*lines[:shown], f"… {len(lines) - shown} more lines: `holdfast status` shows them"])


@command(
    "tap",
    examples=("holdfast tap", "holdfast tap orders.yaml --point sink:table --rows 5", "holdfast tap --output json"),
)
@pipeline_argument
@click.option(
    "--point", default="outbox", show_default=True, help="`outbox`, `inbox:NAME` of a source, or `sink:NAME`."
)
@click.option("--rows", default=10, show_default=True, help="How many rows at most, up to 1000.")
@click.option("--wait", default=5.0, show_default=True, help="Seconds to wait for rows to pass, up to 10.")
def tap(out: Output, pipeline: Path, point: str, rows: int, wait: float) -> None:
    """Show a few of the rows that pass a point next. The pipeline is not slowed: what is missed is not shown."""
    answer = ask(find(pipeline).directory, "tap", point=point, rows=rows, wait=wait, patience=wait + 10)
    lines = [json.dumps(row) for row in answer["rows"]]
    out.result(answer, "\n".join(lines) if lines else "Nothing has passed.")
