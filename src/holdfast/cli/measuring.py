"""The command that measures a pipeline on this machine."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from holdfast.cli.interrupts import KeyboardInterrupts
from holdfast.cli.output import results_width, table
from holdfast.cli.showing import seconds as shown

if TYPE_CHECKING:
    from holdfast.cli.output import Output
    from holdfast.config.scratch import Scratch
    from holdfast.control.measuring import Measured


@command(
    "bench",
    examples=(
        "holdfast bench orders.yaml",
        "holdfast bench orders.yaml --for 60 --rate 5000 --output json",
        "holdfast bench orders.yaml --real-sinks",
    ),
)
@click.argument("document", type=click.Path(path_type=Path), default="pipeline.yaml")
@click.option("--for", "seconds", default=30.0, show_default=True, help="Seconds to measure, behind the first batch.")
@click.option("--rate", type=float, help="Events a second of made-up sources; as many as can be without it.")
@click.option("--real-sinks", is_flag=True, help="Write to the sinks of the document. The rows stay there.")
@click.option(
    "--scratch",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=".",
    show_default=True,
    help="Where the scratch directory is made, which is removed at the end: on the disk that is to be measured.",
)
def bench(out: Output, document: Path, seconds: float, rate: float | None, real_sinks: bool, scratch: Path) -> None:
    """Measure a pipeline on this machine: how many rows a second, how late, and where the time goes.

    It runs on a scratch directory, as a pipeline of another name; nothing of the pipeline itself is touched. Made-up
    sources give as many events as can be, or `--rate`; log files are read from their beginning to their end. Sinks of
    files and SQLite are made anew in the scratch directory, and others keep nothing, unless `--real-sinks` is given.
    Latencies mean something with a `--rate` that the pipeline can take.
    """
    from holdfast.config import load
    from holdfast.config.scratch import Sinks, scratched
    from holdfast.control.measuring import measure

    loaded = load(document)
    with KeyboardInterrupts(), TemporaryDirectory(prefix=".holdfast-bench-", dir=scratch) as directory:
        prepared = scratched(
            loaded, Path(directory).absolute(), rate=rate, sinks=Sinks.REAL if real_sinks else Sinks.SCRATCH
        )
        measured = measure(
            prepared.plan,
            seconds=seconds,
            processor=click.get_current_context().obj,
            told=lambda stage: out.progress(stage, occasion=stage),
        )
    out.end_progress()
    value = {"pipeline": loaded.name, "rate": rate, "sinks": prepared.sinks, "measured": measured}
    out.result(value, _text(loaded.name, prepared, measured))


def _text(name: str, prepared: Scratch, measured: Measured) -> str:
    found = measured.figures
    stages = {"spark": "", **{f"sink {sink}": stand_in for sink, stand_in in prepared.sinks.items()}}
    rows: list[tuple[object, ...]] = [("inbox", shown(found.spent["inbox"]), None, None, None, "until Spark begins")]
    for stage, note in stages.items():
        latency = found.latency.get(stage.removeprefix("sink "))
        rows.append(
            (
                stage,
                shown(found.spent[stage]) if stage in found.spent else None,
                f"{found.busy[stage]:.0%}" if stage in found.busy else None,
                shown(latency.p50) if latency else None,
                shown(latency.p99) if latency else None,
                note,
            )
        )
    head = (
        f"{name}: {found.events_per_second:,.0f} events/s, {found.rows_per_second:,.0f} rows/s, "
        f"{found.megabytes_per_second:,.1f} MB/s"
    )
    what = (
        f"{found.events:,} events, {found.batches:,} batches, {found.seconds:.1f} s, after "
        f"{measured.starting:.1f} s of starting; {measured.dead:,} dead letters"
    )
    waiting = [f"{source} waits for room {share:.0%} of the time" for source, share in measured.waiting.items()]
    stages_table = table(("stage", "a batch spends", "busy", "latency p50", "p99", ""), rows, results_width())
    return "\n".join([head, what, "", stages_table, "", *waiting])
