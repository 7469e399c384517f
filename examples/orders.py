"""A whole pipeline with no server: made-up orders, counted per region in windows of time, into Parquet and SQLite.

Kill it whenever you like (`kill -9`), and run it again: it goes on where it was. At the end both sinks are read with
their own readers and compared with what the orders must add up to.

    python examples/orders.py [--orders 300000] [--directory data/orders] [--fresh]
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from holdfast import Files, Generator, Pipeline, PipelineStatus, SinkSpec, Sqlite, Until, Upsert, python, sql
from holdfast.capture.generator import order, order_time

WINDOW_SECONDS = 10


def forget_windows_after_a_minute(events: DataFrame) -> DataFrame:
    """Let Spark drop the state of windows that no order can fall into any more."""
    return events.withWatermark("event_time", "1 minute")


COUNT_PER_WINDOW = f"""
    SELECT unix_seconds(window(event_time, '{WINDOW_SECONDS} seconds').start) AS begins,
           after.customer % 10 AS region,
           count(*)            AS orders,
           sum(after.cents)    AS cents,
           max(seq)            AS seq
    FROM events
    GROUP BY window(event_time, '{WINDOW_SECONDS} seconds'), after.customer % 10
"""


def pipeline(directory: Path, orders: int, start: datetime | None = None) -> Pipeline:
    """The pipeline, with everything it keeps below `directory`.

    :param start: order n happens n milliseconds later. Without it, an order happens when it is read.
    """
    return (
        Pipeline("orders", directory=directory / "pipeline")
        .read(Generator("orders", events=orders, transactions=(1, 3, 2), padding=100, start=start))
        .process(python(forget_windows_after_a_minute), sql(COUNT_PER_WINDOW))
        .output_mode("update")
        .write(
            SinkSpec(name="history", sink=Files(directory / "history"), max_inflight=4),
            SinkSpec(
                name="totals",
                sink=Sqlite(directory / "totals.db", table="totals", mode=Upsert(key=["begins", "region"])),
            ),
        )
    )


def start_of_the_orders(directory: Path) -> datetime:
    """When the orders begin: now at the first run, and the same at every later one, so that they can be reconciled."""
    path = directory / "start.txt"
    if not path.exists():
        if (directory / "pipeline").exists():
            raise SystemExit(f"{directory} is of an earlier version, with orders of other times. Run with --fresh.")
        draft = path.with_suffix(".draft")
        draft.write_text(datetime.now(UTC).isoformat())
        draft.rename(path)
    return datetime.fromisoformat(path.read_text())


def expected(orders: int, start: datetime) -> dict[tuple[int, int], tuple[int, int]]:
    """(orders, cents) of each window and region, added up from the numbers alone."""
    count: Counter[tuple[int, int]] = Counter()
    cents: Counter[tuple[int, int]] = Counter()
    for n in range(1, orders + 1):
        begins = int(order_time(n, start).timestamp()) // WINDOW_SECONDS * WINDOW_SECONDS
        key = (begins, order(n)["customer"] % 10)
        count[key] += 1
        cents[key] += order(n)["cents"]
    return {key: (count[key], cents[key]) for key in count}


def found_in_sqlite(directory: Path) -> dict[tuple[int, int], tuple[int, int]]:
    """What the table says."""
    with sqlite3.connect(directory / "totals.db") as db:
        rows = db.execute("SELECT begins, region, orders, cents FROM totals").fetchall()
    return {(begins, region): (orders, cents) for begins, region, orders, cents in rows}


def found_in_files(directory: Path) -> dict[tuple[int, int], tuple[int, int]]:
    """What the newest row of each window says; a row that came twice would be a row too many."""
    newest: dict[tuple[int, int], tuple[int, int]] = {}
    seen: set[tuple[int, int, int]] = set()
    for path in sorted((directory / "history").glob("*.parquet")):
        for row in pq.read_table(path).to_pylist():
            key = (row["begins"], row["region"])
            if (*key, row["seq"]) in seen:
                raise SystemExit(f"{path.name} repeats {key} at {row['seq']}")
            seen.add((*key, row["seq"]))
            newest[key] = (row["orders"], row["cents"])
    return newest


def progress(status: PipelineStatus, orders: int) -> str:
    """One line that says where everything is."""
    captured = sum(capture.end for capture in status.captures)
    lanes = "   ".join(f"{lane.name} batch {lane.cursor}" for lane in status.delivery.lanes.values())
    spark = f"batch {status.spark.batch_id}" if status.spark.batch_id is not None else "starting"
    return f"captured {captured:,} of {orders:,}   Spark {spark}   {lanes}"


def show(running: Pipeline, orders: int, done: threading.Event) -> None:
    """Print where the pipeline is until it is done: on one line on a terminal, a line for each change elsewhere."""
    live = sys.stdout.isatty()
    before = ""
    while not done.wait(0.2 if live else 1.0):
        line = progress(running.status(), orders)
        if live:
            print(f"\r\x1b[2K{line[: shutil.get_terminal_size().columns - 3]}", end="", flush=True)
        elif line != before:
            print(line, flush=True)
        before = line
    if live:
        print()


def run_to_the_end(running: Pipeline, orders: int) -> bool:
    """Run until every order is delivered; whether it came to that, or Ctrl-C drained it before."""
    done = threading.Event()
    running.start()
    shower = threading.Thread(target=show, args=(running, orders, done))
    shower.start()
    try:
        running.wait(until=Until.CAUGHT_UP)
    except KeyboardInterrupt:
        return False
    finally:
        done.set()
        shower.join()
        running.drain()
    return True


def main() -> None:
    """Run to the end, then reconcile."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--orders", type=int, default=300_000)
    arguments.add_argument("--directory", type=Path, default=Path("data/orders"))
    arguments.add_argument("--fresh", action="store_true", help="forget earlier runs first")
    options = arguments.parse_args()
    if options.fresh:
        shutil.rmtree(options.directory, ignore_errors=True)
    options.directory.mkdir(parents=True, exist_ok=True)

    began = time.monotonic()
    start = start_of_the_orders(options.directory)
    if not run_to_the_end(pipeline(options.directory, options.orders, start), options.orders):
        print("Drained before the end; nothing is lost. Run it again: it goes on where it was.")
        return
    took = time.monotonic() - began

    wanted = expected(options.orders, start)
    for name, found in (
        ("SQLite", found_in_sqlite(options.directory)),
        ("Parquet", found_in_files(options.directory)),
    ):
        counted = sum(orders for orders, _ in found.values())
        verdict = "exact" if found == wanted else "WRONG"
        print(f"{name}: {len(found)} windows, {counted:,} orders counted: {verdict}")
        if found != wanted:
            raise SystemExit(1)
    print(f"Reconciled: {options.orders:,} orders, none missing, none doubled, in {took:.0f} s.")


if __name__ == "__main__":
    main()
