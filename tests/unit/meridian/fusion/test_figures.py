"""What fusion counts of observations on their way: how late they came in, and how many came from the future."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.support.fusion_pipeline import Pairs

from meridian.fusion.figures import Figures, added, figures_of
from meridian.fusion.outputs import PROGRESS
from meridian.fusion.state import Seen
from meridian.fusion.windows import SECOND
from meridian.sensors import ClockKind, Form, ObservationColumns, SourceKind
from meridian.sensors.columns import joined, new_records
from meridian.sensors.meters import LAG_BOUNDS_S

MADE_AT = 1_000 * SECOND


def received_after(kind: SourceKind, *lags_s: float) -> ObservationColumns:
    """Observations that came in so many seconds after they were made, by the clocks of both."""
    records = new_records(len(lags_s), kind, Form.RANGE_RATE, ClockKind.GPS_LOCKED)
    records["sensor_ts_ns"] = MADE_AT
    records["ingest_ts_ns"] = MADE_AT + np.rint(np.array(lags_s) * SECOND).astype(np.int64)
    nobody = pa.array(["x"] * len(lags_s))
    return ObservationColumns(records, nobody, nobody)


@pytest.mark.req("EVT-04", "EVT-05")
def test_an_observation_from_the_future_has_no_lag_and_is_counted_for_its_network() -> None:
    seen = joined(
        [
            received_after(SourceKind.RADAR, -5.0, -1e-9, 0.0, 0.01),
            received_after(SourceKind.INTER_SATELLITE_LINK, 3.0, -2.0),
        ]
    )
    radar, isl = (figures_of(seen)[name] for name in ("radar", "isl"))
    assert (radar.observations, radar.ahead, isl.observations, isl.ahead) == (4, 2, 2, 1)
    assert radar.source_lags[0] == 3, "those from the future and the one without a lag"
    assert [bound for bound, count in zip(LAG_BOUNDS_S, isl.source_lags, strict=False) if count] == [0.001, 4.096]


@pytest.mark.req("EVT-05")
def test_observations_from_the_future_are_counted_over_all_batches_into_the_progress() -> None:
    parts = Pairs(count=3)()
    state, told = parts.before_anything, []
    for lags in ((-5.0, 1.0), (-3.0, -4.0), (2.0,)):
        figures = figures_of(received_after(SourceKind.RADAR, *lags))
        state, news = state.after(Seen(figures=figures))
        (row,) = (
            table.to_pylist()[0]
            for output, table in parts.rows.of(state, news, figures, state_bytes=0)
            if output is PROGRESS
        )
        (radar,) = (source for source in json.loads(row["sources"]) if source["source"] == "radar")
        told.append(radar["clock_ahead"])
    assert told == [1, 3, 3]


def test_figures_of_two_batches_are_those_of_all_their_observations() -> None:
    one, other = (Figures.of(np.array([1, 2]), np.array([3, 0])), Figures.of(np.array([9]), np.array([4])))
    both = added({"radar": one}, {"radar": other, "isl": other})
    assert replace(both["radar"], source_lags=np.zeros(0)).ahead == 2
    assert (both["radar"].observations, both["radar"].oldest, both["radar"].newest) == (3, 0, 4)
    assert both["isl"].observations == 1
