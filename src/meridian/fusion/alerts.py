"""Words on alerts as rows of a table: the shape in which they leave Spark and reach stores and subscribers.

One row a word. `version` rises with every word on an alert, so a table that keeps the row with the highest one for each
`alert_id` holds what is true, and a word taken back stays there as taken back: an old one cannot bring it to life.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from meridian.fusion.emissions import Word, version_of
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.saved import Fusion

ALERT_ROWS = (
    "alert_id STRING, version BIGINT, kind STRING, sequence BIGINT, object_a STRING, object_b STRING, "
    "window_end_ns BIGINT, is_early BOOLEAN, watermark_ns BIGINT, encounter_ns BIGINT, closest_ns BIGINT, "
    "miss_m DOUBLE, speed_m_s DOUBLE, probability DOUBLE, radius_m DOUBLE, plane_x_m DOUBLE, plane_y_m DOUBLE, "
    "spread_xx_m2 DOUBLE, spread_yy_m2 DOUBLE, spread_xy_m2 DOUBLE, observed_a BIGINT, observed_b BIGINT, "
    "digest_a BIGINT, digest_b BIGINT"
)


def alert_rows(words: Sequence[Word[ConjunctionRisk]], state: Fusion) -> pd.DataFrame:
    """The words in their order.

    :param state: of the correlator after it said them.
    """
    return pd.DataFrame([_row(word, state) for word in words])


def _row(word: Word[ConjunctionRisk], state: Fusion) -> dict[str, object]:
    meeting, risk, reached = word.meeting, word.finding, state.watermarks.all
    digests = np.array(risk.digests, np.uint64).view(np.int64).tolist()
    return {
        "alert_id": meeting.alert_id,
        "version": version_of(word.sequence, word.kind),
        "kind": word.kind.value,
        "sequence": word.sequence,
        "object_a": meeting.a,
        "object_b": meeting.b,
        "window_end_ns": state.windows.end(meeting.window),
        "is_early": meeting.window >= state.first_open,
        "watermark_ns": reached,
        "encounter_ns": risk.encounter,
        "closest_ns": risk.closest,
        "miss_m": risk.miss,
        "speed_m_s": risk.speed,
        "probability": risk.probability,
        "radius_m": risk.radius,
        "plane_x_m": risk.plane[0],
        "plane_y_m": risk.plane[1],
        "spread_xx_m2": risk.spread[0],
        "spread_yy_m2": risk.spread[1],
        "spread_xy_m2": risk.spread[2],
        "observed_a": risk.observed[0],
        "observed_b": risk.observed[1],
        "digest_a": digests[0],
        "digest_b": digests[1],
    }
