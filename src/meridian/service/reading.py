"""From rows of fusion's tables to values. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from meridian.fusion.life import Stage
from meridian.service.tables import Row
from meridian.service.values import ConjunctionSeen, Missed, ObjectKnown, Progress, SourceProgress, WordSaid

_WHOLE_64 = (1 << 64) - 1


def conjunction(row: Row) -> ConjunctionSeen:
    """A row of `conjunctions`."""
    return ConjunctionSeen(
        conjunction_id=str(row["conjunction_id"]),
        stage=Stage(row["stage"]),
        object_a=str(row["object_a"]),
        object_b=str(row["object_b"]),
        encounter_ns=_whole(row, "encounter_ns"),
        closest_ns=_whole(row, "closest_ns"),
        miss_m=_real(row, "miss_m"),
        speed_m_s=_real(row, "speed_m_s"),
        probability=_probability(row),
        radius_m=_real(row, "radius_m"),
        plane_m=(_real(row, "plane_x_m"), _real(row, "plane_y_m")),
        spread_m2=(_real(row, "spread_xx_m2"), _real(row, "spread_yy_m2"), _real(row, "spread_xy_m2")),
        windows=_whole(row, "windows"),
    )


def word(row: Row) -> WordSaid:
    """A row of `words` or `alerts`."""
    return WordSaid(
        alert_id=str(row["alert_id"]),
        kind=str(row["kind"]),
        sequence=_whole(row, "sequence"),
        object_a=str(row["object_a"]),
        object_b=str(row["object_b"]),
        window_end_ns=_whole(row, "window_end_ns"),
        is_early=bool(row["is_early"]),
        closest_ns=_whole(row, "closest_ns"),
        miss_m=_real(row, "miss_m"),
        probability=_probability(row),
        observed=(_whole(row, "observed_a"), _whole(row, "observed_b")),
        digests=(_whole(row, "digest_a") & _WHOLE_64, _whole(row, "digest_b") & _WHOLE_64),
        newest_ns=_whole(row, "newest_ns"),
        batch=_whole(row, "batch"),
        caused_ns=_perhaps(row["caused_ns"]),
        received_ns=_perhaps(row["received_ns"]),
    )


def missed(rows: Sequence[Row]) -> list[Missed]:
    """What words, in the order in which they were said, tell of how near a passage is; those that take back do not."""
    taken_back = {(row["alert_id"], row["sequence"]) for row in rows if row["kind"] == "retract"}
    return [
        Missed(
            said_ns=_whole(row, "watermark_ns") if row["watermark_ns"] is not None else _whole(row, "window_end_ns"),
            window_end_ns=_whole(row, "window_end_ns"),
            closest_ns=_whole(row, "closest_ns"),
            miss_m=_real(row, "miss_m"),
            probability=_probability(row),
            is_early=bool(row["is_early"]),
            is_standing=(row["alert_id"], row["sequence"]) not in taken_back,
        )
        for row in rows
        if row["kind"] == "insert"
    ]


def known_object(row: Row) -> ObjectKnown:
    """A row of `objects`."""
    upper = np.array(json.loads(str(row["covariance"])), np.float64)
    whole = np.zeros((6, 6))
    whole[np.triu_indices(6)] = upper
    whole = whole + whole.T - np.diag(whole.diagonal())
    return ObjectKnown(
        object_id=str(row["object_id"]),
        status=str(row["status"]),
        sources=json.loads(str(row["sources"])),
        observations=_whole(row, "observations"),
        epoch_ns=_whole(row, "epoch_ns"),
        last_seen_ns=_whole(row, "last_seen_ns"),
        position_m=(_real(row, "x_m"), _real(row, "y_m"), _real(row, "z_m")),
        velocity_m_s=(_real(row, "vx_m_s"), _real(row, "vy_m_s"), _real(row, "vz_m_s")),
        covariance=whole.tolist(),
    )


def progress(row: Row) -> Progress:
    """A row of `progress`; when it was judged stands elsewhere."""
    counts = {name: _whole(row, name) for name in _COUNTS}
    return Progress(
        at_ns=_perhaps(row["received_ns"]) or 0,
        watermark_ns=_perhaps(row["watermark_ns"]),
        sources=[_source(each) for each in json.loads(str(row["sources"]))],
        **counts,
    )


_COUNTS = (
    "batch",
    "active",
    "retained",
    "taken",
    "late",
    "dropped",
    "closed",
    "told",
    "retracted",
    "tracks",
    "state_bytes",
)


def _source(told: Mapping[str, object]) -> SourceProgress:
    lags = told["source_lags"]
    assert isinstance(lags, list), "as fusion writes it"
    return SourceProgress(
        source=str(told["source"]),
        watermark_ns=_perhaps(told["watermark_ns"]),
        observations=_whole(told, "observations"),
        source_lag_s=_real(told, "source_lag_s"),
        clock_ahead=_whole(told, "clock_ahead"),
        received_ns=_perhaps(told["oldest_received_ns"]),
        source_lags=tuple(int(count) for count in lags),
    )


def _whole(row: Row, name: str) -> int:
    value = row[name]
    assert isinstance(value, int), f"{name} is a whole number"
    return value


def _real(row: Row, name: str) -> float:
    value = row[name]
    assert isinstance(value, int | float), f"{name} is a number"
    return float(value)


def _probability(row: Row) -> float:
    """Not-a-number where none is known: the tables have nothing there."""
    return float("nan") if row["probability"] is None else _real(row, "probability")


def _perhaps(value: object) -> int | None:
    assert value is None or isinstance(value, int), "a time is a whole number"
    return value
