"""Gives dead letters of an operation another chance, each once however often it is asked for, and adds up.

Those of fusion go back to the inbox or the lane that they came from, by Holdfast's own means. Those of the edge are
read by its rules of now (see `edge_letters`). This module decides which are meant, and adds up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.checkpoint import DryRun
from holdfast.control import Rate
from holdfast.control.asking import ask_dead_letters
from holdfast.log import DeadLetterFilter, DeadLetterReader, Where
from holdfast.log.dead_values import DONE, NEW
from holdfast.runtime.layout import Layout
from meridian.operation.edge_letters import EdgeLetters
from meridian.operation.home import Home
from meridian.operation.letters import Label, Wanted, label_of
from meridian.operation.outcomes import BEFORE, Outcome
from meridian.sensors.config import load as load_edge
from meridian.sensors.letters import FOLDER

NOT_ASKED_FOR = "not asked for"
_CODE = re.compile(r"\[(HF-\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How letters are to be reprocessed.

    :param into: the directory of another pipeline, whose inboxes take them; they stay as they are then.
    """

    dry_run: DryRun = DryRun.NO
    into: Path | None = None
    per_second: float | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What became of all letters that there are."""

    by: Mapping[Label, Outcome] = field(default_factory=dict)

    @property
    def reprocessed(self) -> int:
        """How many are on their way again; in a dry run, how many would be."""
        return sum(outcome.again for outcome in self.by.values())

    @property
    def skipped(self) -> Mapping[str, int]:
        """How many are not, by the reason."""
        return sum((outcome.skipped for outcome in self.by.values()), Counter[str]())


def reprocess(home: Home, wanted: Wanted, manner: Manner) -> Report:
    """Reprocess the letters that are meant: of the edge first, which `PipelineBusy` refuses while the edge runs."""
    found: dict[Label, Outcome] = {}
    for store, way in ((home.edge / FOLDER, _of_edge), (Layout(home.pipeline).dead_letters, _of_fusion)):
        if store.exists():
            meant = _note_the_others(found, store, wanted)
            _add(found, way(home, {where: wanted.among(where) for where in meant}, manner))
    return Report(found)


def _note_the_others(found: dict[Label, Outcome], store: Path, wanted: Wanted) -> Sequence[Where]:
    """The places of the letters that are meant; of the other letters it is noted why they are skipped."""
    with DeadLetterReader.open(store) as reader:
        new, seen_to = (reader.counts(DeadLetterFilter(states=states)) for states in (NEW, DONE))
        timely = reader.counts(wanted.among())
    meant = {where: count for where, count in timely.items() if wanted.is_meant(label_of(where))}
    for where, count in new.items():
        _add(found, {where: Outcome.skipping(NOT_ASKED_FOR, count - meant.get(where, 0))})
    _add(found, {where: Outcome.skipping(BEFORE, count) for where, count in seen_to.items()})
    return sorted(meant)


def _add(found: dict[Label, Outcome], outcomes: Mapping[Where, Outcome]) -> None:
    for where, outcome in outcomes.items():
        label = label_of(where)
        found[label] = found.get(label, Outcome()) + outcome


def _of_edge(home: Home, chosen: Mapping[Where, DeadLetterFilter], manner: Manner) -> dict[Where, Outcome]:
    if not chosen:
        return {}
    letters = EdgeLetters(home.edge, load_edge(home.edge_file))
    if manner.dry_run is DryRun.YES:
        return letters.preview(chosen)
    return letters.run(chosen, rate=Rate(manner.per_second), into=manner.into)


def _of_fusion(home: Home, chosen: Mapping[Where, DeadLetterFilter], manner: Manner) -> dict[Where, Outcome]:
    """By the process that runs fusion, or on its files when none does."""
    given = {
        "dry_run": manner.dry_run is DryRun.YES,
        "rate": manner.per_second,
        "into": None if manner.into is None else str(manner.into.absolute()),
    }
    return {
        where: _understood(ask_dead_letters(home.pipeline, "reprocess", _words(filter_), given))
        for where, filter_ in chosen.items()
    }


def _words(chosen: DeadLetterFilter) -> dict[str, object]:
    times = {"since": chosen.since, "until": chosen.until}
    said = {name: time.isoformat() for name, time in times.items() if time is not None}
    return {"kinds": sorted(chosen.kinds), "stages": sorted(chosen.stages), **said}


def _understood(answer: dict[str, Any]) -> Outcome:
    """The outcome that an answer tells, to a request or to a trial of one."""
    again = len(answer["candidates"]) if "candidates" in answer else answer["again"]
    skipped = Counter(_reason(refused["why"]) for refused in answer["refused"])
    return Outcome(again, skipped + Counter({BEFORE: answer.get("before", 0)}))


def _reason(why: str) -> str:
    """An error by its code, since it names its letter; a sentence as it is."""
    code = _CODE.match(why)
    return code[1] if code else why
