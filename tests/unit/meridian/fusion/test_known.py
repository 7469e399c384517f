"""Observations of what nobody knows are given up one by one, and the others go on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.support.fusion_pipeline import Pairs
from tests.support.made_up_objects import EPOCH

from holdfast.model.envelope import ENVELOPE
from holdfast.process import batches
from holdfast.process.functions import Guarded
from holdfast.process.guarding import FailedRow
from meridian.fusion.errors import NotCatalogued
from meridian.fusion.spark import Known
from meridian.sensors import SourceKind, events_of, heartbeat

PAIRS = Pairs()


def events(strange: list[int]) -> pa.RecordBatch:
    """Observations of which those at these places are of an object that is not in the catalog, and a heartbeat."""
    seen = PAIRS.watched.seen(EPOCH + np.arange(12) * 1_000_000_000, np.arange(12) % 6)
    names = ["nobody" if place in strange else name for place, name in enumerate(seen.object_ids.to_pylist())]
    observed = events_of(type(seen)(seen.records, seen.source_ids, pa.array(names)), "sensors")
    beat = events_of(heartbeat(SourceKind.RADAR, "sensors", through_ns=EPOCH, now_ns=EPOCH), "sensors")
    whole = pa.Table.from_batches([observed, beat]).combine_chunks().to_batches()[0]
    return pa.RecordBatch.from_arrays([pa.array(range(1, 14), pa.int64()), *whole.columns], schema=ENVELOPE)


def guarded(batch: pa.RecordBatch) -> tuple[list[str], list[FailedRow]]:
    """The events that go on, and the rows that were given up."""
    failed: list[FailedRow] = []
    step = batches(Known(PAIRS)).reporting(failed.extend)
    assert isinstance(step, Guarded)
    passed = [event for some in step.guard(batch.schema)([batch]) for event in some["event_id"].to_pylist()]
    return passed, failed


def test_known_objects_and_heartbeats_go_on() -> None:
    batch = events([])
    assert guarded(batch) == (batch["event_id"].to_pylist(), [])


@pytest.mark.req("DLQ-03")
def test_rows_of_unknown_objects_are_given_up_alone() -> None:
    batch = events([2, 7])
    passed, failed = guarded(batch)
    ids = batch["event_id"].to_pylist()
    assert passed == [event for place, event in enumerate(ids) if place not in (2, 7)]
    assert [row.event_id for row in failed] == [ids[2], ids[7]]
    assert {row.kind for row in failed} == {"NotCatalogued"}
    assert "nobody" in failed[0].message


def test_the_error_says_what_to_do() -> None:
    with pytest.raises(NotCatalogued, match="saw nobody") as caught:
        Known(PAIRS)(events([0]))
    assert "Import elements" in str(caught.value)
