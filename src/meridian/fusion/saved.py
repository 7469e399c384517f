"""Evidence and the correlator's state as bytes: what goes from task to task, and from one batch to the next.

Columns are written as they are in memory (NumPy's npz, nothing pickled), so saving costs a copy and no object a row.
What never changes while a pipeline runs, the catalog and the rules of windows, is not in it: whoever reads says what
that is. Bytes of another version are refused, never guessed at.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, fields, replace
from typing import TypeAlias
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from holdfast.model.errors import UnknownFormat
from meridian.fusion.contacts import Contacts
from meridian.fusion.emissions import Meeting, Said, Telling
from meridian.fusion.estimates import Estimates
from meridian.fusion.evidence import Evidence
from meridian.fusion.exact import Sums
from meridian.fusion.figures import BUCKETS, BySource, Figures
from meridian.fusion.judging import Astronomer
from meridian.fusion.life import Conjunction, Conjunctions, Passage, Stage
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.state import Fusion, Risks, Seen, Totals
from meridian.fusion.summaries import Summaries, Summary
from meridian.fusion.tracks import Tracks
from meridian.fusion.watermarks import Heard, Watermarks

VERSION = 3
_NEVER = np.iinfo(np.int64).min
Columns: TypeAlias = Mapping[str, npt.NDArray[np.generic]]

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
    "newest": np.int64,
}


def saved(state: Fusion) -> bytes:
    """The state as bytes; the same state gives the same bytes."""
    correlator = state.correlator
    return _written(
        marks=_marks(correlator.watermarks),
        evidence=_evidence(correlator.evidence),
        tracks=_tracks(_astronomer(correlator).tracks),
        said=_said(correlator.telling),
        lives=_lives(state.conjunctions),
        opinions=_opinions(state.conjunctions),
        summaries=_summaries(state.summaries),
        contacts=_contacts(state.contacts),
        totals={name: np.array([value]) for name, value in asdict(state.totals).items()},
        figures=_figures(state.figures),
        catalog={"digest": np.array([state.catalog], np.str_)},
    )


def restored(content: bytes, empty: Fusion) -> Fusion:
    """The state that was saved, on top of one that has seen nothing.

    Numbers of objects and deviations mean nothing beside another catalog than they were made with. With a new one,
    tracks and contacts begin anew; all that was told, and how often, stays.
    """
    columns, correlator, contacts = _read(content), empty.correlator, empty.contacts
    correlator = replace(
        correlator,
        watermarks=_with_marks(correlator.watermarks, _part(columns, "marks")),
        telling=_telling_of(_part(columns, "said")),
    )
    if _part(columns, "catalog")["digest"].tolist() == [empty.catalog]:
        correlator = replace(
            correlator,
            evidence=_evidence_of(_part(columns, "evidence")),
            judge=replace(_astronomer(correlator), tracks=_tracks_of(_part(columns, "tracks"))),
        )
        contacts = Contacts(**_part(columns, "contacts"))  # type: ignore[arg-type]
    return Fusion(
        correlator,
        _conjunctions_of(_part(columns, "lives"), _part(columns, "opinions")),
        _summaries_of(_part(columns, "summaries")),
        contacts,
        Totals(**{name: int(value[0]) for name, value in _part(columns, "totals").items()}),
        _figures_of(_part(columns, "figures")),
        empty.catalog,
    )


def packed(seen: Seen) -> bytes:
    """What one task has seen, on its way to where everything is added up."""
    return _written(evidence=_evidence(seen.evidence), heard=_heard(seen.heard), figures=_figures(seen.figures))


def unpacked(content: bytes) -> Seen:
    """What a task has seen."""
    columns = _read(content)
    return Seen(
        _evidence_of(_part(columns, "evidence")),
        _heard_of(_part(columns, "heard")),
        _figures_of(_part(columns, "figures")),
    )


def _written(**parts: Columns) -> bytes:
    columns = {f"{part}.{name}": column for part, of in parts.items() for name, column in of.items()}
    written = io.BytesIO()
    np.savez(written, allow_pickle=False, version=np.array([VERSION]), **columns)
    return written.getvalue()


def _read(content: bytes) -> Columns:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            columns = dict(file)
    except (ValueError, OSError, KeyError, EOFError, RuntimeError, BadZipFile, zlib.error) as error:
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


def _astronomer(correlator: Risks) -> Astronomer:
    assert isinstance(correlator.judge, Astronomer), "only what an astronomer knows can be saved"
    return correlator.judge


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
    kept = {each.name: getattr(evidence, each.name) for each in fields(Evidence) if each.name != "sums"}
    return kept | {"whole": evidence.sums.whole, "part": evidence.sums.part}


def _evidence_of(columns: Columns) -> Evidence:
    kept = dict(columns)
    return Evidence(sums=Sums(kept.pop("whole"), kept.pop("part")), **kept)  # type: ignore[arg-type]


def _tracks(tracks: Tracks) -> Columns:
    kept = {name: getattr(tracks, name) for name in ("objects", "slices", "counts", "newest", "sources")}
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
        **_risks(findings),
    }


def _telling_of(columns: Columns) -> Telling[ConjunctionRisk]:
    findings = iter(_risks_of(columns))
    names = ("windows", "a", "b", "sequences", "holds")
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    said = {
        Meeting(window, a, b): Said(sequence, next(findings) if holds else None)
        for window, a, b, sequence, holds in rows
    }
    return Telling(said)


def _lives(conjunctions: Conjunctions) -> Columns:
    """One row for each conjunction."""
    lives = [conjunctions.known[passage] for passage in sorted(conjunctions.known)]
    return {
        "a": np.array([life.passage.a for life in lives], np.str_),
        "b": np.array([life.passage.b for life in lives], np.str_),
        "passages": np.array([life.passage.encounter for life in lives], np.int64),
        "stages": np.array([life.stage.value for life in lives], np.str_),
        "windows": np.array([life.windows for life in lives], np.int64),
        "versions": np.array([life.version for life in lives], np.int64),
        **_risks([life.risk for life in lives]),
    }


def _opinions(conjunctions: Conjunctions) -> Columns:
    """What each window says of each conjunction, one row each; one that found nothing has no finding."""
    lives = [conjunctions.known[passage] for passage in sorted(conjunctions.known)]
    rows = [(place, window, life.told[window]) for place, life in enumerate(lives) for window in sorted(life.told)]
    return {
        "lives": np.array([place for place, *_ in rows], np.int64),
        "windows": np.array([window for _, window, _ in rows], np.int64),
        "holds": np.array([finding is not None for *_, finding in rows], np.bool_),
        **_risks([finding for *_, finding in rows if finding is not None]),
    }


def _conjunctions_of(lives: Columns, opinions: Columns) -> Conjunctions:
    findings = iter(_risks_of(opinions))
    told: list[dict[int, ConjunctionRisk | None]] = [{} for _ in lives["a"]]
    rows = zip(*(opinions[name].tolist() for name in ("lives", "windows", "holds")), strict=True)
    for place, window, holds in rows:
        told[place][window] = next(findings) if holds else None
    passages = [Passage(*row) for row in zip(*(lives[name].tolist() for name in ("a", "b", "passages")), strict=True)]
    rest = zip(*(lives[name].tolist() for name in ("stages", "windows", "versions")), strict=True)
    known = {
        passage: Conjunction(passage, Stage(stage), risk, said, windows, version)
        for passage, risk, said, (stage, windows, version) in zip(passages, _risks_of(lives), told, rest, strict=True)
    }
    return Conjunctions(known)


def _summaries(summaries: Summaries) -> Columns:
    rows = np.array([astuple(summary) for summary in summaries.known.values()], np.int64)
    return {"rows": rows.reshape(-1, len(fields(Summary)))}


def _summaries_of(columns: Columns) -> Summaries:
    known = [Summary(*row) for row in columns["rows"].tolist()]
    return Summaries({summary.slice_: summary for summary in known})


def _contacts(contacts: Contacts) -> Columns:
    return {each.name: getattr(contacts, each.name) for each in fields(Contacts)}


def _figures(figures: BySource) -> Columns:
    sources = sorted(figures)
    of = [figures[source] for source in sources]
    numbers = [(each.observations, each.ahead, each.oldest, each.newest) for each in of]
    return {
        "sources": np.array(sources, np.str_),
        "numbers": np.array(numbers, np.int64).reshape(-1, 4),
        "source_lags": np.array([each.source_lags for each in of], np.int64).reshape(len(of), BUCKETS),
    }


def _figures_of(columns: Columns) -> dict[str, Figures]:
    rows = zip(columns["sources"].tolist(), columns["numbers"].tolist(), columns["source_lags"], strict=True)
    return {
        source: Figures(observations, ahead, lags, oldest, newest)
        for source, (observations, ahead, oldest, newest), lags in rows
    }


def _risks(risks: Sequence[ConjunctionRisk]) -> Columns:
    return {name: np.array([getattr(risk, name) for risk in risks], kind) for name, kind in _RISK.items()}


def _risks_of(columns: Columns) -> list[ConjunctionRisk]:
    rows = zip(*(_values(columns[name]) for name in _RISK), strict=True)
    return [ConjunctionRisk(**dict(zip(_RISK, row, strict=True))) for row in rows]


def _values(column: npt.NDArray[np.generic]) -> list[object]:
    return [tuple(value) if isinstance(value, list) else value for value in column.tolist()]


def _part(columns: Columns, part: str) -> dict[str, npt.NDArray[np.generic]]:
    return {name.removeprefix(f"{part}."): column for name, column in columns.items() if name.startswith(f"{part}.")}
