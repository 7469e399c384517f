"""How far the time of events has come, for all together and for each source, and where the time goes. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from meridian.orbit.time import NS_PER_SECOND
from meridian.screen.parts import DIM, Column, Part, Piece, cell, line, listed, split, table
from meridian.screen.wording import NOTHING, clock, lasting
from meridian.service.values import Progress, Snapshot, SourceProgress

_SLOW_SECONDS = 30.0
"""Longer an alert must not take."""
_STALLED_SECONDS = 60.0
"""Longer the watermark of a network that is heard does not stand still."""
_SPLIT_FROM, _SPLIT = 100, 30
"""From this width on a bar of so many characters shows which lag is the larger one."""
_COLUMNS = (
    Column("source"),
    Column("watermark", is_number=True),
    Column("behind", is_number=True),
    Column("source lag", is_number=True),
    Column("pipeline lag", is_number=True),
    Column("observations", is_number=True),
    Column("future", is_number=True),
)
_SPLIT_COLUMN = Column("█ source, ▒ pipeline")


def completeness(snapshot: Snapshot, width: int) -> Part:
    """Watermarks, windows, and the lag before the edge beside the lag behind it."""
    progress = snapshot.progress
    title = line(("Watermarks and lag", "bold"), *_windows(progress))
    if progress is None:
        waiting = line(("Waiting for the first observations.", "italic"))
        return Part(title, lambda height: waiting, least=1, wanted=1)
    rows = len(progress.sources) + 2

    def draw(height: int) -> RenderableType:
        shown = progress.sources[: max(height - 2, 0)]
        return Group(_together(snapshot, progress), _sources(shown, snapshot.at_ns, width))

    return Part(title, draw, least=min(rows, 5), wanted=rows)


def held_by(progress: Progress) -> str | None:
    """The source that is furthest behind: all wait for it."""
    heard = [(each.watermark_ns, each.source) for each in progress.sources if each.watermark_ns is not None]
    return min(heard)[1] if heard else None


def _windows(progress: Progress | None) -> list[Piece]:
    if progress is None:
        return []
    return [f": windows {progress.active:,} active, {progress.retained:,} retained"]


def _together(snapshot: Snapshot, progress: Progress) -> Text:
    return listed([*_watermark(progress, snapshot.at_ns), *_late(progress)])


def _watermark(progress: Progress, now_ns: int) -> list[Piece]:
    if progress.watermark_ns is None:
        silent = [each.source for each in progress.sources if each.watermark_ns is None]
        return [("no watermark yet", "yellow"), f"not heard: {', '.join(silent) or NOTHING}"]
    behind = _behind_s(progress.watermark_ns, now_ns)
    return [
        (f"watermark {clock(progress.watermark_ns)}", "bold"),
        (f"{lasting(behind)} behind", f"bold {_style(behind, _STALLED_SECONDS)}"),
        f"held by {held_by(progress) or NOTHING}",
    ]


def _late(progress: Progress) -> list[Piece]:
    dropped: Piece = (f"too late {progress.dropped:,}", "yellow" if progress.dropped else "")
    return [f"late {progress.late:,}", dropped]


def _sources(sources: Sequence[SourceProgress], now_ns: int, width: int) -> RenderableType:
    if width < _SPLIT_FROM:
        return table(_COLUMNS, [_source(each, now_ns) for each in sources])
    rows = [[*_source(each, now_ns), split(each.source_lag_s, each.pipeline_lag_s, _SPLIT)] for each in sources]
    return table([*_COLUMNS, _SPLIT_COLUMN], rows)


def _source(source: SourceProgress, now_ns: int) -> list[Text | str]:
    behind = None if source.watermark_ns is None else _behind_s(source.watermark_ns, now_ns)
    return [
        source.source,
        clock(source.watermark_ns) if source.watermark_ns is not None else cell("not heard", DIM),
        _lag(behind, _STALLED_SECONDS),
        _lag(source.source_lag_s, _SLOW_SECONDS),
        _lag(source.pipeline_lag_s, _SLOW_SECONDS),
        f"{source.observations:,}",
        cell(f"{source.clock_ahead:,}", "yellow" if source.clock_ahead else DIM),
    ]


def _lag(seconds: float | None, bound: float) -> Text:
    return cell(lasting(seconds), DIM if seconds is None else _style(seconds, bound))


def _style(seconds: float, bound: float) -> str:
    return "red" if seconds > 2 * bound else "yellow" if seconds > bound else "green"


def _behind_s(time_ns: int, now_ns: int) -> float:
    return (now_ns - time_ns) / NS_PER_SECOND
