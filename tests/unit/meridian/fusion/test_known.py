"""Observations of what nobody knows are given up one by one, and the others go on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.support.fusion_pipeline import Pairs
from tests.support.made_up_objects import EPOCH

from holdfast.model.envelope import ENVELOPE
from holdfast.process.functions import Guarded
from holdfast.process.guarding import FailedRow
from meridian.fusion.errors import NotCatalogued
from meridian.fusion.saved import packed, unpacked
from meridian.fusion.spark import Known, fusing, seen_in
from meridian.fusion.state import Seen
from meridian.sensors import SourceKind, events_of, heartbeat

PAIRS = Pairs()
PARCEL = pa.schema([("shard", pa.int32()), ("parcel", pa.binary())])


def events(strange: list[int]) -> pa.RecordBatch:
    """Observations of which those at these places are of an object that is not in the catalog, and a heartbeat."""
    seen = PAIRS.watched.seen(EPOCH + np.arange(12) * 1_000_000_000, np.arange(12) % 6)
    names = ["nobody" if place in strange else name for place, name in enumerate(seen.object_ids.to_pylist())]
    observed = events_of(type(seen)(seen.records, seen.source_ids, pa.array(names)), "sensors")
    beat = events_of(heartbeat(SourceKind.RADAR, "sensors", through_ns=EPOCH, now_ns=EPOCH), "sensors")
    whole = pa.Table.from_batches([observed, beat]).combine_chunks().to_batches()[0]
    return pa.RecordBatch.from_arrays([pa.array(range(1, 14), pa.int64()), *whole.columns], schema=ENVELOPE)


def guarded(batch: pa.RecordBatch) -> tuple[Seen, list[FailedRow]]:
    """What the events that go on say together, and the rows that were given up."""
    failed: list[FailedRow] = []
    (step,) = [each for each in fusing(PAIRS) if isinstance(each, Guarded)]
    guard = step.reporting(failed.extend).guard(PARCEL)  # type: ignore[attr-defined]
    seen = Seen()
    for some in guard([batch]):
        for parcel in some["parcel"].to_pylist():
            seen = seen + unpacked(parcel)
    return seen, failed


def said_by(batch: pa.RecordBatch) -> Seen:
    """What events of known objects say together."""
    return seen_in([batch], PAIRS().contributions)


def test_known_objects_and_heartbeats_go_on() -> None:
    batch = events([])
    seen, failed = guarded(batch)
    assert (packed(seen), failed) == (packed(said_by(batch)), [])
    assert seen.heard["radar"].quiet == EPOCH


@pytest.mark.req("DLQ-03")
def test_rows_of_unknown_objects_are_given_up_alone() -> None:
    batch = events([2, 7])
    seen, failed = guarded(batch)
    ids = batch["event_id"].to_pylist()
    others = batch.take(pa.array([place for place in range(len(ids)) if place not in (2, 7)]))
    assert packed(seen) == packed(said_by(others))
    assert [row.event_id for row in failed] == [ids[2], ids[7]]
    assert {row.kind for row in failed} == {"NotCatalogued"}
    assert "nobody" in failed[0].message


def test_the_error_says_what_to_do() -> None:
    with pytest.raises(NotCatalogued, match="saw nobody") as caught:
        Known(PAIRS)(events([0]))
    assert "Import elements" in str(caught.value)
