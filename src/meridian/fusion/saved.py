"""Evidence and the correlator's state as bytes: what goes from task to task, and from one batch to the next.

Columns are written as they are in memory (NumPy's npz, nothing pickled), so saving costs a copy and no object a row.
What never changes while a pipeline runs, the catalog and the rules of windows, is not in it: whoever reads says what
that is. Bytes of another version are refused, never guessed at.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from holdfast.model.errors import UnknownFormat
from meridian.fusion.correlator import Correlator
from meridian.fusion.emissions import Meeting, Said, Telling
from meridian.fusion.estimates import Estimates
from meridian.fusion.evidence import Evidence
from meridian.fusion.exact import Sums
from meridian.fusion.judging import Astronomer
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.tracks import Tracks
from meridian.fusion.watermarks import Heard, Watermarks

VERSION = 1
_NEVER = np.iinfo(np.int64).min
Columns: TypeAlias = Mapping[str, npt.NDArray[np.generic]]
Fusion: TypeAlias = Correlator[ConjunctionRisk]

_RISK = {
    "encounter": np.int64,
    "closest": np.int64,
    "miss": np.float64,
    "speed": np.float64,
    "plane": np.float64,
    "spread": np.float64,
    "radius": np.float64,
    "probability": np.float64,
    "observed": np.int64,
    "digests": np.uint64,
}


def saved(state: Fusion) -> bytes:
    """The state as bytes; the same state gives the same bytes."""
    return _written(
        marks=_marks(state.watermarks),
        evidence=_evidence(state.evidence),
        tracks=_tracks(_astronomer(state).tracks),
        said=_said(state.telling),
    )


def restored(content: bytes, empty: Fusion) -> Fusion:
    """The state that was saved, on top of one that has seen nothing."""
    columns = _read(content)
    return replace(
        empty,
        watermarks=_with_marks(empty.watermarks, _part(columns, "marks")),
        evidence=_evidence_of(_part(columns, "evidence")),
        telling=_telling_of(_part(columns, "said")),
        judge=replace(_astronomer(empty), tracks=_tracks_of(_part(columns, "tracks"))),
    )


def packed(evidence: Evidence, heard: Mapping[str, Heard]) -> bytes:
    """What one task has seen, on its way to where everything is added up."""
    return _written(evidence=_evidence(evidence), heard=_heard(heard))


def unpacked(content: bytes) -> tuple[Evidence, dict[str, Heard]]:
    """What a task has seen."""
    columns = _read(content)
    return _evidence_of(_part(columns, "evidence")), _heard_of(_part(columns, "heard"))


def _written(**parts: Columns) -> bytes:
    columns = {f"{part}.{name}": column for part, of in parts.items() for name, column in of.items()}
    written = io.BytesIO()
    np.savez(written, allow_pickle=False, version=np.array([VERSION]), **columns)
    return written.getvalue()


def _read(content: bytes) -> Columns:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            columns = dict(file)
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise _unknown(f"{len(content)} bytes are no state of the correlator: {error}.") from error
    if "version" not in columns or columns["version"].tolist() != [VERSION]:
        raise _unknown(f"The state is of version {columns.get('version')}, and this reads version {VERSION}.")
    return columns


def _unknown(what: str) -> UnknownFormat:
    return UnknownFormat(
        what,
        kept="Spark keeps the state as it is.",
        remedy="Run the version that wrote it, or roll the pipeline back to a point before the change.",
    )


def _heard(heard: Mapping[str, Heard]) -> Columns:
    return {
        "sources": np.array(list(heard), np.str_),
        "newest": np.array([_or_none(news.newest) for news in heard.values()], np.int64),
        "quiet": np.array([_or_none(news.quiet) for news in heard.values()], np.int64),
    }


def _heard_of(columns: Columns) -> dict[str, Heard]:
    rows = zip(*(columns[name].tolist() for name in ("sources", "newest", "quiet")), strict=True)
    return {source: Heard(_if_any(newest), _if_any(quiet)) for source, newest, quiet in rows}


def _or_none(time: int | None) -> int:
    return _NEVER if time is None else time


def _if_any(time: int) -> int | None:
    return None if time == _NEVER else time


def _astronomer(state: Fusion) -> Astronomer:
    assert isinstance(state.judge, Astronomer), "only what an astronomer knows can be saved"
    return state.judge


def _marks(watermarks: Watermarks) -> Columns:
    sources = sorted(watermarks.sources)
    return {
        "sources": np.array(sources, np.str_),
        "times": np.array([watermarks.sources[source] for source in sources], np.int64),
        "all": np.array([] if watermarks.all is None else [watermarks.all], np.int64),
    }


def _with_marks(watermarks: Watermarks, columns: Columns) -> Watermarks:
    sources = dict(zip(columns["sources"].tolist(), columns["times"].tolist(), strict=True))
    return replace(watermarks, sources=sources, all=next(iter(columns["all"].tolist()), None))


def _evidence(evidence: Evidence) -> Columns:
    kept = {name: getattr(evidence, name) for name in ("slices", "objects", "counts", "digests", "newest")}
    return kept | {"whole": evidence.sums.whole, "part": evidence.sums.part}


def _evidence_of(columns: Columns) -> Evidence:
    kept = dict(columns)
    return Evidence(sums=Sums(kept.pop("whole"), kept.pop("part")), **kept)  # type: ignore[arg-type]


def _tracks(tracks: Tracks) -> Columns:
    kept = {name: getattr(tracks, name) for name in ("objects", "slices", "counts", "newest")}
    return kept | {"deviation": tracks.estimates.deviation, "covariance": tracks.estimates.covariance}


def _tracks_of(columns: Columns) -> Tracks:
    kept = dict(columns)
    return Tracks(estimates=Estimates(kept.pop("deviation"), kept.pop("covariance")), **kept)  # type: ignore[arg-type]


def _said(telling: Telling[ConjunctionRisk]) -> Columns:
    """One row for each meeting; one whose last word took it back has no finding."""
    meetings = sorted(telling.said)
    last = [telling.said[meeting] for meeting in meetings]
    findings = [word.finding for word in last if word.finding is not None]
    return {
        "windows": np.array([meeting.window for meeting in meetings], np.int64),
        "a": np.array([meeting.a for meeting in meetings], np.str_),
        "b": np.array([meeting.b for meeting in meetings], np.str_),
        "sequences": np.array([word.sequence for word in last], np.int64),
        "holds": np.array([word.finding is not None for word in last], np.bool_),
        **{name: np.array([getattr(risk, name) for risk in findings], kind) for name, kind in _RISK.items()},
    }


def _telling_of(columns: Columns) -> Telling[ConjunctionRisk]:
    risks = zip(*(_values(columns[name]) for name in _RISK), strict=True)
    findings = iter([ConjunctionRisk(**dict(zip(_RISK, risk, strict=True))) for risk in risks])
    names = ("windows", "a", "b", "sequences", "holds")
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    said = {
        Meeting(window, a, b): Said(sequence, next(findings) if holds else None)
        for window, a, b, sequence, holds in rows
    }
    return Telling(said)


def _values(column: npt.NDArray[np.generic]) -> list[object]:
    return [tuple(value) if isinstance(value, list) else value for value in column.tolist()]


def _part(columns: Columns, part: str) -> dict[str, npt.NDArray[np.generic]]:
    return {name.removeprefix(f"{part}."): column for name, column in columns.items() if name.startswith(f"{part}.")}
