"""All of fusion, over real orbits: ten orders of arrival, in batches of any size, end with the bytes of one batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from tests.support.fusion_pipeline import Pairs, Watching
from tests.support.made_up_objects import EPOCH

from meridian.fusion.exact import Integers
from meridian.fusion.outputs import ALERTS, CONJUNCTIONS, CONTACTS, OBJECTS, OUTPUTS, ROWS, SUMMARIES, Output, widened
from meridian.fusion.spark import LATENESS, Fused, folded, seen_in
from meridian.fusion.state import Totals
from meridian.fusion.windows import SECOND
from meridian.sensors import SourceKind, columns_of, events_of, heartbeat

PAIRS = Pairs(count=3)
RETAINED = 5 * SECOND
"""Longer than a source says its observations may be late, and still not too late for a closed window."""
END, OVER = EPOCH + 2000 * SECOND, EPOCH + 5 * 3600 * SECOND
"""When nothing more comes, and when every passage is over."""

NUMBERING = {"version", "sequence", "watermark_ns", "is_early", "batch", "caused_ns", "received_ns"}
"""How often, when and for which observation something was said depends on how it came; what holds does not."""
CANONICAL = {
    ALERTS: set(ALERTS.columns) - NUMBERING,
    CONJUNCTIONS: set(CONJUNCTIONS.columns) - NUMBERING - {"windows"},
    OBJECTS: set(OBJECTS.columns) - NUMBERING,
    CONTACTS: set(CONTACTS.columns),
    SUMMARIES: set(SUMMARIES.columns) - NUMBERING - {"on_time"},
}

Tables = dict[str, dict[object, dict[str, object]]]


@cache
def parts() -> Fused:
    return PAIRS()


@cache
def observed() -> pa.RecordBatch:
    """What is seen, without the heartbeats at the end."""
    events = Watching(PAIRS).events
    return events.slice(0, events.num_rows - len(SourceKind))


def silence(until: int) -> pa.RecordBatch:
    beats = [events_of(heartbeat(kind, "sensors", through_ns=until, now_ns=until), "sensors") for kind in SourceKind]
    return pa.Table.from_batches(beats).combine_chunks().to_batches()[0]


def kept(tables: Tables, output: Output, rows: pa.Table) -> None:
    """What a table with one row a key does, that keeps the newest."""
    table = tables.setdefault(output.route, {})
    for row in rows.to_pylist():
        before = table.get(row[output.key])
        if before is None or row[output.newer_by] > before[output.newer_by]:  # type: ignore[operator]
            table[row[output.key]] = row


def as_a_sink_is_given(output: Output, rows: pa.Table) -> pa.Table:
    """Through the stream that the rows of all outputs share."""
    wide = widened(output, pa.ipc.open_stream(folded(rows)).read_all())
    return pa.Table.from_batches(wide, ROWS).select(output.columns)


def fused(batches: Sequence[pa.RecordBatch]) -> tuple[Tables, Totals]:
    """What is in the tables when everything came in these batches."""
    state, tables = parts().before_anything, Tables()
    for batch in [*batches, silence(END), silence(OVER)]:
        seen = seen_in([batch], parts().contributions)
        state, news = state.after(seen)
        for output, rows in parts().rows.of(state, news, seen.figures, state_bytes=0):
            kept(tables, output, as_a_sink_is_given(output, rows))
    return tables, state.totals


def canonical(tables: Tables) -> bytes:
    """What holds, without how it came to be said."""
    holds = {
        output.route: [
            {name: row[name] for name in sorted(names)}
            for _, row in sorted(tables[output.route].items(), key=lambda item: str(item[0]))
            if row.get("kind") != "retract" and row.get("stage") != "withdrawn"
        ]
        for output, names in CANONICAL.items()
    }
    return json.dumps(holds, indent=0).encode()


def shuffled(seed: int) -> Iterator[pa.RecordBatch]:
    """The same observations as late as each may be, in another order, in batches of any size."""
    random = np.random.default_rng(seed)
    columns = columns_of(observed())
    times: Integers = columns.records["sensor_ts_ns"].astype(np.int64)
    budget = np.array([LATENESS[SourceKind(kind).prefix] for kind in columns.records["kind"].tolist()]) + RETAINED
    arrival = times + (random.uniform(0, 1, len(times)) * budget).astype(np.int64)
    columns.records["ingest_ts_ns"] = arrival
    events = events_of(columns, "sensors").take(pa.array(np.argsort(arrival, kind="stable")))
    borders = np.sort(random.integers(0, events.num_rows, random.integers(5, 60))).tolist()
    for start, end in zip([0, *borders], [*borders, events.num_rows], strict=True):
        if start < end:
            yield events.slice(start, end - start)


@cache
def one_batch() -> tuple[bytes, Totals]:
    tables, totals = fused([observed()])
    return canonical(tables), totals


@pytest.mark.req("LAT-06")
@pytest.mark.parametrize("seed", range(10))
def test_ten_orders_of_arrival_leave_the_bytes_of_one_batch_in_every_table(seed: int) -> None:
    tables, totals = fused(list(shuffled(seed)))
    assert (totals.dropped, totals.taken) == (0, observed().num_rows)
    wanted = one_batch()[0]
    assert canonical(tables) == wanted
    assert totals.retracted > one_batch()[1].retracted, "it was told early, and corrected"


def test_what_is_compared_is_there() -> None:
    held = json.loads(one_batch()[0])
    assert set(held) | {"progress"} == {output.route for output in OUTPUTS}
    assert len(held["alert"]) > 10
    assert [row["stage"] for row in held["conjunction"]] == ["expired"] * 2
    assert len(held["object"]) == 6
    assert sum(row["observations"] for row in held["summary"]) == observed().num_rows
    assert sum(row["observations"] for row in held["contact"]) == observed().num_rows
