"""How far behind the time of events is, for each source and for all, and which part of the way takes the time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holdfast.model.errors import InvalidRequest
from meridian.orbit.time import NS_PER_SECOND
from meridian.plots.style import (
    CYCLE,
    INK,
    SOURCES,
    days,
    headed,
    keyed,
    level,
    logarithmic,
    moment,
    sheet,
    tidy,
    timed,
)
from meridian.service.delays import TARGET_S
from meridian.service.values import Progress, SourceProgress

_LEAST_LAG = 1e-3
_Value = Callable[[Progress, SourceProgress], float]


def watermarks(history: Sequence[Progress]) -> Figure:
    """Above how far behind each watermark is, below the lags of the sources and of the pipeline."""
    if not history:
        raise InvalidRequest(
            "There is no progress to draw: fusion has not finished a batch.",
            remedy="Wait until `meridian top` shows a watermark.",
        )
    figure = sheet(8.4, 6.4)
    above, middle, below = figure.subplots(3, 1, sharex=True, height_ratios=(1.5, 1, 1))
    times = [days(_at_ns(each)) for each in history]
    _behind(above, times, history)
    _lags(middle, times, history, "source lag (s)", lambda _, source: source.source_lag_s)
    _lags(below, times, history, "pipeline lag (s)", lambda _, source: source.pipeline_lag_s)
    for axes in (above, middle):
        axes.tick_params(labelbottom=False)
    timed(below)
    headed(figure, _title(history[-1]), *_notes(history))
    return figure


def _behind(axes: Axes, times: Sequence[float], history: Sequence[Progress]) -> None:
    tidy(axes)
    for source in _names(history):
        axes.plot(times, _of(history, source, _behind_s), color=_colour(source), linewidth=1.6, label=source)
    together = [_since_s(each, each.watermark_ns) for each in history]
    axes.plot(times, together, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label="all together")
    axes.set_ylabel("watermark behind (s)")
    axes.set_ylim(bottom=0)
    keyed(axes)


def _lags(axes: Axes, times: Sequence[float], history: Sequence[Progress], label: str, value: _Value) -> None:
    tidy(axes)
    for source in _names(history):
        lags = [max(each, _LEAST_LAG) for each in _of(history, source, value)]
        axes.plot(times, lags, color=_colour(source), linewidth=1.4)
    logarithmic(axes, lambda seconds: f"{seconds:g}")
    level(axes, TARGET_S, f"{TARGET_S:.0f} s")
    axes.set_ylabel(label)


def _names(history: Sequence[Progress]) -> list[str]:
    return list(dict.fromkeys(source.source for each in history for source in each.sources))


def _of(history: Sequence[Progress], name: str, value: _Value) -> list[float]:
    """A value of one source at each batch; not a number where the batch says nothing of it."""
    found = ((each, next((one for one in each.sources if one.source == name), None)) for each in history)
    return [math.nan if source is None else value(each, source) for each, source in found]


def _behind_s(progress: Progress, source: SourceProgress) -> float:
    return _since_s(progress, source.watermark_ns)


def _since_s(progress: Progress, watermark_ns: int | None) -> float:
    return math.nan if watermark_ns is None else (_at_ns(progress) - watermark_ns) / NS_PER_SECOND


def _at_ns(progress: Progress) -> int:
    return progress.at_ns if progress.judged_ns is None else progress.judged_ns


def _colour(source: str) -> str:
    return SOURCES.get(source, CYCLE[sum(map(ord, source)) % len(CYCLE)])


def _title(newest: Progress) -> str:
    behind = _since_s(newest, newest.watermark_ns)
    return "There is no watermark yet" if math.isnan(behind) else f"The watermark is {behind:,.0f} s behind"


def _notes(history: Sequence[Progress]) -> tuple[str, str]:
    batches = f"{len(history):,} batches until {moment(_at_ns(history[-1]))} UTC"
    return (
        f"{batches}. All together are as far as the one that is furthest behind.",
        "Source lag: from observation to the edge, 99th percentile. Pipeline lag: from the edge until it was judged.",
    )
