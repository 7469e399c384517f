"""From news to rows of the outputs. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from meridian.fusion.causes import Cause
from meridian.fusion.contacts import Contacts, End
from meridian.fusion.emissions import Word, version_of
from meridian.fusion.exact import Integers
from meridian.fusion.figures import BySource, Figures, percentile
from meridian.fusion.life import Conjunction
from meridian.fusion.measurements import Sites
from meridian.fusion.outputs import ALERTS, CONJUNCTIONS, CONTACTS, OBJECTS, PROGRESS, SUMMARIES, Output
from meridian.fusion.references import References
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.state import Fusion, News, Risks
from meridian.fusion.summaries import Summary
from meridian.fusion.tracks import Tracks

SLOTS = 3600
"""So many of the newest batches can be looked back at."""
_UPPER = np.triu_indices(6)


class Rows:
    """Writes news as rows.

    :param names: of the catalog's objects, by number.
    """

    def __init__(self, references: References, names: Sequence[str], sites: Sites) -> None:
        self._references, self._names, self._sites = references, names, sites

    def of(
        self, state: Fusion, news: News, figures: BySource, *, state_bytes: int
    ) -> Iterator[tuple[Output, pa.Table]]:
        """The rows of each output that has any.

        :param state: after the batch.
        :param figures: of the batch alone.
        """
        correlator, batch = state.correlator, state.totals.batches
        made = [
            (ALERTS, [_word(word, news.causes.get(word.meeting), correlator, batch) for word in news.words]),
            (CONJUNCTIONS, [_conjunction(each, correlator) for each in news.conjunctions]),
            (SUMMARIES, [_summary(each, correlator) for each in news.summaries]),
            (PROGRESS, [_progress(state, figures, state_bytes)]),
        ]
        yield from ((output, pa.Table.from_pylist(rows, output.schema)) for output, rows in made if rows)
        for tracks, status in ((news.tracks, "tracked"), (news.lost, "lost")):
            if len(tracks):
                yield OBJECTS, self._objects(tracks, status, correlator, batch)
        for end, contacts in news.contacts:
            yield CONTACTS, self._contacts(contacts, end, correlator.windows.size)

    def _contacts(self, contacts: Contacts, end: End, size: int) -> pa.Table:
        names, first = self._called(contacts.objects), (contacts.first * size).tolist()
        columns = {
            "contact_id": pa.array([f"{name}@{begun}" for name, begun in zip(names, first, strict=True)], pa.string()),
            "object_id": pa.array(names, pa.string()),
            "sources": self._sensors(contacts.sources),
            "ended": pa.array([end.value] * len(contacts), pa.string()),
            "first_ns": pa.array(first, pa.int64()),
            "last_ns": pa.array(contacts.newest),
            "observations": pa.array(contacts.counts),
        }
        return pa.table(columns, CONTACTS.schema)

    def _objects(self, tracks: Tracks, status: str, correlator: Risks, batch: int) -> pa.Table:
        states = self._references.at_end(tracks.objects, tracks.slices) + tracks.estimates.deviation
        covariance = tracks.estimates.covariance[:, _UPPER[0], _UPPER[1]]
        lists = pa.FixedSizeListArray.from_arrays(pa.array(covariance.ravel()), covariance.shape[1])
        columns = {
            "object_id": pa.array(self._called(tracks.objects), pa.string()),
            "version": pa.array(np.full(len(tracks), batch)),
            "status": pa.array([status] * len(tracks), pa.string()),
            "sources": self._sensors(tracks.sources),
            "observations": pa.array(tracks.counts),
            "epoch_ns": pa.array((tracks.slices + 1) * correlator.windows.size),
            "last_seen_ns": pa.array(tracks.newest),
            **{
                name: pa.array(column)
                for name, column in zip(("x_m", "y_m", "z_m", "vx_m_s", "vy_m_s", "vz_m_s"), states.T, strict=True)
            },
            "covariance": lists.cast(pa.list_(pa.float64())),
        }
        return pa.table(columns, OBJECTS.schema)

    def _called(self, objects: Integers) -> list[str]:
        return [self._names[number] for number in objects.tolist()]

    def _sensors(self, sources: Integers) -> pa.StringArray:
        """Who is meant by the bits of each row, as JSON."""
        named = {bits: json.dumps(self._sites.named(bits)) for bits in np.unique(sources).tolist()}
        return pa.array([named[bits] for bits in sources.tolist()], pa.string())


def _risk(risk: ConjunctionRisk) -> dict[str, object]:
    return {
        "encounter_ns": risk.encounter,
        "closest_ns": risk.closest,
        "miss_m": risk.miss,
        "speed_m_s": risk.speed,
        "probability": None if math.isnan(risk.probability) else risk.probability,
        "radius_m": risk.radius,
        "plane_x_m": risk.plane[0],
        "plane_y_m": risk.plane[1],
        "spread_xx_m2": risk.spread[0],
        "spread_yy_m2": risk.spread[1],
        "spread_xy_m2": risk.spread[2],
    }


def _word(word: Word[ConjunctionRisk], cause: Cause | None, correlator: Risks, batch: int) -> dict[str, object]:
    meeting, risk = word.meeting, word.finding
    digests = np.array(risk.digests, np.uint64).view(np.int64).tolist()
    return {
        "alert_id": meeting.alert_id,
        "version": version_of(word.sequence, word.kind),
        "kind": word.kind.value,
        "sequence": word.sequence,
        "object_a": meeting.a,
        "object_b": meeting.b,
        "window_end_ns": correlator.windows.end(meeting.window),
        "is_early": meeting.window >= correlator.first_open,
        "watermark_ns": correlator.watermarks.all,
        **_risk(risk),
        "observed_a": risk.observed[0],
        "observed_b": risk.observed[1],
        "digest_a": digests[0],
        "digest_b": digests[1],
        "newest_ns": risk.newest,
        "batch": batch,
        "caused_ns": cause.made if cause else None,
        "received_ns": cause.received if cause else None,
    }


def _conjunction(conjunction: Conjunction, correlator: Risks) -> dict[str, object]:
    return {
        "conjunction_id": conjunction.passage.conjunction_id,
        "version": conjunction.version,
        "stage": conjunction.stage.value,
        "object_a": conjunction.passage.a,
        "object_b": conjunction.passage.b,
        **_risk(conjunction.risk),
        "windows": conjunction.windows,
        "watermark_ns": correlator.watermarks.all,
    }


def _summary(summary: Summary, correlator: Risks) -> dict[str, object]:
    return {
        "window_end_ns": correlator.windows.end(summary.slice_),
        "version": summary.version,
        "on_time": summary.on_time,
        "observations": summary.observations,
        "objects": summary.objects,
    }


def _progress(state: Fusion, figures: BySource, state_bytes: int) -> Mapping[str, object]:
    correlator, totals = state.correlator, state.totals
    windows = {window for slice_ in set(correlator.evidence.slices.tolist()) for window in (slice_, slice_ + 1)}
    kept = [window for window in windows if window >= correlator.first_kept]
    marks = correlator.watermarks
    return {
        "slot": totals.batches % SLOTS,
        "batch": totals.batches,
        "received_ns": max((each.newest for each in state.figures.values()), default=None),
        "watermark_ns": marks.all,
        "active": sum(window >= correlator.first_open for window in kept),
        "retained": sum(window < correlator.first_open for window in kept),
        "taken": totals.taken,
        "late": totals.late,
        "dropped": totals.dropped,
        "closed": totals.closed,
        "told": totals.told,
        "retracted": totals.retracted,
        "tracks": state.tracked,
        "state_bytes": state_bytes,
        "sources": json.dumps(
            [_source(source, marks.sources.get(source), state.figures, figures) for source in sorted(marks.lateness)]
        ),
    }


def _source(source: str, watermark: int | None, since: BySource, newest: BySource) -> dict[str, object]:
    total, batch = since.get(source, Figures.none()), newest.get(source, Figures.none())
    return {
        "source": source,
        "watermark_ns": watermark,
        "observations": total.observations,
        "source_lag_s": percentile(batch.source_lags, 99),
        "oldest_received_ns": batch.oldest if batch.observations else None,
        "clock_ahead": total.ahead,
        "source_lags": total.source_lags.tolist(),
    }
