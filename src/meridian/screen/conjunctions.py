"""The conjunctions that stand, and what was said last. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from meridian.fusion.life import Stage
from meridian.screen.parts import DIM, Column, Part, Piece, cell, cut, line, rest, table
from meridian.screen.wording import chance, clock, countdown, distance, moment, severity_of, speed
from meridian.service.values import ConjunctionSeen, Progress, Snapshot, WordSaid

_STAGES = {Stage.RAISED: "bold", Stage.UPDATED: "", Stage.WITHDRAWN: DIM, Stage.EXPIRED: DIM}
_KINDS = {"insert": "green", "retract": "magenta"}


@dataclass(frozen=True, slots=True)
class _Shown:
    """A column, and the width of the table from which on it is shown."""

    column: Column
    from_width: int = 0


_CONJUNCTION = (
    _Shown(Column("")),
    _Shown(Column("closest in", is_number=True)),
    _Shown(Column("closest (UTC)"), 100),
    _Shown(Column("objects", share=1)),
    _Shown(Column("miss", is_number=True)),
    _Shown(Column("probability", is_number=True)),
    _Shown(Column("speed", is_number=True), 72),
    _Shown(Column("windows", is_number=True), 110),
    _Shown(Column("stage")),
    _Shown(Column("conjunction"), 115),
)
_WORD = (
    _Shown(Column("word")),
    _Shown(Column(""), 60),
    _Shown(Column("window to", is_number=True), 60),
    _Shown(Column("objects", share=1)),
    _Shown(Column("miss", is_number=True)),
    _Shown(Column("prob.", is_number=True)),
    _Shown(Column("observed", is_number=True), 78),
    _Shown(Column("no.", is_number=True), 84),
    _Shown(Column("alert"), 100),
)


def conjunctions(snapshot: Snapshot, width: int) -> Part:
    """Those on which somebody may have to act, the soonest first."""
    standing = snapshot.conjunctions
    title = line(("Conjunctions that stand: ", "bold"), (f"{len(standing):,}", "bold"))
    if not standing:
        return Part(title, lambda height: line(("No conjunction stands.", DIM)), least=1, wanted=1)

    def draw(height: int) -> RenderableType:
        shown = cut(len(standing), height - 1)
        rows = [_kept(_CONJUNCTION, _conjunction(each, snapshot.at_ns), width) for each in standing[:shown]]
        more = [rest(len(standing) - shown, "later")] if shown < len(standing) else []
        return Group(table(_columns(_CONJUNCTION, width), rows), *more)

    return Part(title, draw, least=min(len(standing) + 1, 4), wanted=len(standing) + 1)


def words(snapshot: Snapshot, width: int) -> Part:
    """What was told and what was taken back, the newest first."""
    said = snapshot.words
    title = line(("Newest words", "bold"), *_told(snapshot.progress))
    if not said:
        return Part(title, lambda height: line(("Nothing was said yet.", DIM)), least=1, wanted=1)

    def draw(height: int) -> RenderableType:
        rows = [_kept(_WORD, _word(each), width) for each in said[: max(height - 1, 0)]]
        return table(_columns(_WORD, width), rows)

    return Part(title, draw, least=min(len(said) + 1, 3), wanted=len(said) + 1)


def _told(progress: Progress | None) -> list[Piece]:
    return [] if progress is None else [f": {progress.told:,} told, {progress.retracted:,} taken back"]


def _columns(shown: tuple[_Shown, ...], width: int) -> list[Column]:
    return [each.column for each in shown if width >= each.from_width]


def _kept(shown: tuple[_Shown, ...], cells: list[Text | str], width: int) -> list[Text | str]:
    return [cell for each, cell in zip(shown, cells, strict=True) if width >= each.from_width]


def _conjunction(seen: ConjunctionSeen, now_ns: int) -> list[Text | str]:
    severity = severity_of(seen.probability)
    left = seen.closest_ns - now_ns
    return [
        cell(severity.mark, severity.value),
        cell(countdown(left), DIM if left < 0 else ""),
        moment(seen.closest_ns),
        _pair(seen.object_a, seen.object_b),
        distance(seen.miss_m),
        cell(chance(seen.probability), severity.value),
        speed(seen.speed_m_s),
        f"{seen.windows:,}",
        cell(seen.stage.value, _STAGES[seen.stage]),
        cell(seen.conjunction_id, DIM),
    ]


def _word(said: WordSaid) -> list[Text | str]:
    severity = severity_of(said.probability)
    return [
        cell(said.kind, _KINDS.get(said.kind, "")),
        cell("early" if said.is_early else "", DIM),
        clock(said.window_end_ns),
        _pair(said.object_a, said.object_b),
        distance(said.miss_m),
        cell(chance(said.probability), severity.value),
        f"{said.observed[0]:,} + {said.observed[1]:,}",
        f"{said.sequence:,}",
        cell(said.alert_id, DIM),
    ]


def _pair(a: str, b: str) -> str:
    return f"{a} & {b}"
