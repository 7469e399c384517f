"""The conjunctions that stand, and what was said last. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType

from meridian.fusion.life import Stage
from meridian.screen.parts import (
    DIM,
    Column,
    Part,
    Piece,
    Row,
    cell,
    cut,
    cut_in_the_middle,
    fitting,
    line,
    printable,
    rest,
    table,
)
from meridian.screen.wording import Severity, chance, clock, countdown, distance, moment, severity_of, speed
from meridian.service.values import ConjunctionSeen, Progress, Snapshot, WordSaid

_STAGES = {Stage.RAISED: "bold", Stage.UPDATED: "", Stage.WITHDRAWN: DIM, Stage.EXPIRED: DIM}
_KINDS = {"insert": "green", "retract": "magenta"}


_CONJUNCTION = (
    Column(""),
    Column("closest in", is_number=True),
    Column("closest (UTC)", optional=2),
    Column("objects", share=1),
    Column("miss", is_number=True),
    Column("probability", is_number=True),
    Column("speed", is_number=True, optional=1),
    Column("windows", is_number=True, optional=3),
    Column("stage"),
    Column("conjunction", optional=4),
)
_WORD = (
    Column("word"),
    Column("", optional=1),
    Column("window to", is_number=True, optional=2),
    Column("objects", share=1),
    Column("miss", is_number=True),
    Column("prob.", is_number=True),
    Column("observed", is_number=True, optional=3),
    Column("no.", is_number=True, optional=4),
    Column("alert", optional=5),
)
_LEAST_NAME = 9
"""A name that is cut to fewer characters says less than a catalog number."""
_PAIR = 3
"""The column of the pair, in both tables."""


def conjunctions(snapshot: Snapshot, width: int) -> Part:
    """Those on which people act first, then the soonest, and last those that were withdrawn."""
    standing = sorted(snapshot.conjunctions, key=lambda each: severity_of(each.probability) is not Severity.HIGH)
    listed, withdrawn = [*standing, *snapshot.withdrawn], len(snapshot.withdrawn)
    counted: list[Piece] = [(f", withdrawn: {withdrawn:,}", DIM)] if withdrawn else []
    title = line(("Conjunctions that stand: ", "bold"), (f"{len(standing):,}", "bold"), *counted)
    if not listed:
        return Part(title, lambda height: line(("No conjunction stands.", DIM)), least=1, wanted=1)

    def draw(height: int) -> RenderableType:
        shown = cut(len(listed), height - 1)
        rows = [_conjunction(each, snapshot.at_ns) for each in listed[:shown]]
        more = [rest(len(listed) - shown, "conjunctions")] if shown < len(listed) else []
        return Group(_pairs(_CONJUNCTION, rows, listed[:shown], width), *more)

    return Part(title, draw, least=min(len(listed) + 1, 4), wanted=len(listed) + 1)


def words(snapshot: Snapshot, width: int) -> Part:
    """What was told and what was taken back, the newest first."""
    said = snapshot.words
    title = line(("Newest words", "bold"), *_told(snapshot.progress))
    if not said:
        return Part(title, lambda height: line(("Nothing was said yet.", DIM)), least=1, wanted=1)

    def draw(height: int) -> RenderableType:
        shown = said[: max(height - 1, 0)]
        return _pairs(_WORD, [_word(each) for each in shown], shown, width)

    return Part(title, draw, least=min(len(said) + 1, 3), wanted=len(said) + 1)


def _pairs(
    columns: Sequence[Column], rows: Sequence[Row], about: Sequence[ConjunctionSeen | WordSaid], width: int
) -> RenderableType:
    """A table about pairs: columns that it can do without make room for the names of both objects."""
    named = [" & ".join(map(printable, each.called)) for each in about]
    wanted = max((cell_len(each) for each in named), default=0)
    kept, room = fitting(columns, rows, width, wanted)
    texts = named if wanted <= room else [_in_room(each, room) for each in about]
    cells = [[*row[:_PAIR], text, *row[_PAIR + 1 :]] for row, text in zip(rows, texts, strict=True)]
    return table([columns[at] for at in kept], [[row[at] for at in kept] for row in cells])


def _in_room(about: ConjunctionSeen | WordSaid, room: int) -> str:
    """Both objects in so many characters: the longer name is cut first, numbers replace names that say too little."""
    a, b = map(printable, about.called)
    each = (room - len(" & ")) // 2
    if cell_len(a) + cell_len(b) + len(" & ") <= room:
        return f"{a} & {b}"
    if each < _LEAST_NAME:
        return f"{cut_in_the_middle(about.object_a, each)} & {cut_in_the_middle(about.object_b, each)}"
    spare_a, spare_b = max(0, each - cell_len(a)), max(0, each - cell_len(b))
    return f"{cut_in_the_middle(a, each + spare_b)} & {cut_in_the_middle(b, each + spare_a)}"


def _told(progress: Progress | None) -> list[Piece]:
    return [] if progress is None else [f": {progress.told:,} told, {progress.retracted:,} taken back"]


def _conjunction(seen: ConjunctionSeen, now_ns: int) -> Row:
    severity = severity_of(seen.probability)
    left = seen.closest_ns - now_ns
    return [
        cell(severity.mark, severity.value),
        cell(countdown(left), DIM if left < 0 else ""),
        moment(seen.closest_ns),
        "",
        distance(seen.miss_m),
        cell(chance(seen.probability), severity.value),
        speed(seen.speed_m_s),
        f"{seen.windows:,}",
        cell(seen.stage.value, _STAGES[seen.stage]),
        cell(seen.conjunction_id, DIM),
    ]


def _word(said: WordSaid) -> Row:
    severity = severity_of(said.probability)
    return [
        cell(said.kind, _KINDS.get(said.kind, "")),
        cell("early" if said.is_early else "", DIM),
        clock(said.window_end_ns),
        "",
        distance(said.miss_m),
        cell(chance(said.probability), severity.value),
        f"{said.observed[0]:,} + {said.observed[1]:,}",
        f"{said.sequence:,}",
        cell(said.alert_id, DIM),
    ]
