"""A snapshot as a screen of a given size: which part stands where, and how many lines each one gets. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from meridian.screen.alarms import alarms
from meridian.screen.completeness import completeness
from meridian.screen.conjunctions import conjunctions, words
from meridian.screen.parts import DIM, Part, Piece, line, titled
from meridian.screen.pressure import pressure
from meridian.screen.resilience import resilience
from meridian.screen.wording import clock, lasting
from meridian.service.delays import Delay
from meridian.service.values import Snapshot

_GAP = 3
_MEDIUM, _WIDE = 120, 170
"""From these widths on, two parts stand side by side in one more place."""


@dataclass(frozen=True, slots=True)
class Size:
    """Of a screen, in characters."""

    width: int
    height: int


PLAIN = Size(100, 60)
"""Where there is no terminal."""


@dataclass(frozen=True, slots=True)
class _Placed:
    part: Part
    width: int


_Row = list[_Placed]


def drawn(snapshot: Snapshot, size: Size = PLAIN) -> RenderableType:
    """The screen: no line is longer than its width, and none too many where there is room for the least."""
    rows = _arranged(snapshot, size.width)
    heights = shared(
        [(max(each.part.least for each in row), max(each.part.wanted for each in row)) for row in rows],
        size.height - 1 - len(rows),
    )
    return Group(_head(snapshot), *(_side_by_side(row, height) for row, height in zip(rows, heights, strict=True)))


def shared(needs: Sequence[tuple[int, int]], lines: int) -> list[int]:
    """So many lines for each of these, who need at least and want at most so many: what is left goes round."""
    given = [least for least, _ in needs]
    left = lines - sum(given)
    while left > 0 and (hungry := [at for at, (_, wanted) in enumerate(needs) if given[at] < wanted]):
        for at in hungry[:left]:
            given[at] += 1
        left -= len(hungry)
    return given


def _arranged(snapshot: Snapshot, width: int) -> list[_Row]:
    """Watermarks above, what was found in the middle, what may be wrong below."""
    below: list[_Row] = [[_Placed(resilience(snapshot, width), width)]]
    if snapshot.alarms:
        below.append([_Placed(alarms(snapshot, width), width)])
    found = _Placed(conjunctions(snapshot, width), width)
    if width < _MEDIUM:
        left, right = _split(width, 0.56)
        said = [_Placed(words(snapshot, left), left), _Placed(pressure(snapshot, right), right)]
        return [[_Placed(completeness(snapshot, width), width)], [found], said, *below]
    left, right = _split(width, 0.66)
    above = [_Placed(completeness(snapshot, left), left), _Placed(pressure(snapshot, right), right)]
    if width < _WIDE:
        return [above, [found], [_Placed(words(snapshot, width), width)], *below]
    return [above, [_Placed(conjunctions(snapshot, left), left), _Placed(words(snapshot, right), right)], *below]


def _split(width: int, share: float) -> tuple[int, int]:
    left = round((width - _GAP) * share)
    return left, width - _GAP - left


def _head(snapshot: Snapshot) -> Text:
    running = _state(snapshot)
    count = len(snapshot.alarms)
    badge: list[Piece] = [" ", (f" {count} alarm{'s' * (count > 1)} ", "white on red")] if count else []
    tail = f"  {clock(snapshot.at_ns)} UTC  {snapshot.objects:,} objects  "
    return line(("MERIDIAN ", "bold"), running, *badge, (tail, DIM), *_delay(snapshot.delay))


def _state(snapshot: Snapshot) -> Piece:
    if snapshot.pipeline is not None and snapshot.pipeline.state == "stopped":
        return " stopped ", "black on yellow"
    if not snapshot.is_running:
        return " not running ", "white on red"
    if snapshot.pipeline is not None and snapshot.pipeline.state == "draining":
        return " draining ", "black on yellow"
    return " running ", "black on green"


def _delay(delay: Delay) -> list[Piece]:
    """How long alerts take, against how long they may."""
    if not delay.words:
        return []
    parts = f" ({lasting(delay.source.p99_s)} to us, {lasting(delay.pipeline.p99_s)} here)"
    return [(f"alerts take {lasting(delay.whole.p99_s)}", "green" if delay.is_met else "red"), (parts, DIM)]


def _side_by_side(row: _Row, height: int) -> RenderableType:
    if len(row) == 1:
        return _column(row[0], height)
    grid = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
    for each in row:
        grid.add_column(width=each.width)
    grid.add_row(*(_column(each, height) for each in row))
    return grid


def _column(placed: _Placed, height: int) -> RenderableType:
    return Group(titled(placed.part.title, placed.width), placed.part.draw(height))
