"""How near two objects were said to pass, word by word, and how probably they touch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holdfast.model.errors import InvalidRequest
from meridian.plots.style import (
    BLUE,
    FAINT,
    INK,
    days,
    headed,
    keyed,
    level,
    literal,
    logarithmic,
    moment,
    sheet,
    tidy,
    timed,
)
from meridian.service.values import ConjunctionSeen, Missed

_ACTED_ON = 1e-4
_LEAST_PROBABILITY = 1e-12
_LOWEST = 0.6
"""The foot of the picture, in parts of the smallest length that is drawn."""


def miss(conjunction: ConjunctionSeen, said: Sequence[Missed], threshold_m: float) -> Figure:
    """Above the distance against what is told of, with how well it is known now; below the probability."""
    if not said:
        raise InvalidRequest(
            f"No word tells how near the conjunction {conjunction.conjunction_id} is.",
            remedy="Ask for one that `meridian alerts` lists.",
        )
    ordered = sorted(said, key=lambda each: each.said_ns)
    figure = sheet(8.4, 5.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    _distances(above, conjunction, ordered, threshold_m)
    _probabilities(below, ordered)
    above.tick_params(labelbottom=False)
    timed(below)
    headed(figure, _title(conjunction), *_notes(conjunction))
    return figure


def sigma_m(conjunction: ConjunctionSeen) -> float:
    """The standard deviation of the distance, along the direction in which the second object passes."""
    (x, y), (along, across, both) = conjunction.plane_m, conjunction.spread_m2
    length = math.hypot(x, y)
    cos, sin = (x / length, y / length) if length > 0 else (1.0, 0.0)
    return math.sqrt(max(cos * cos * along + sin * sin * across + 2 * cos * sin * both, 0.0))


def _distances(axes: Axes, conjunction: ConjunctionSeen, said: Sequence[Missed], threshold_m: float) -> None:
    tidy(axes)
    lowest = _LOWEST * min(conjunction.radius_m, *(max(each.miss_m, 1.0) for each in said))
    _words(axes, said, [max(each.miss_m, lowest) for each in said])
    _spread(axes, conjunction, max(each.said_ns for each in said), lowest)
    logarithmic(axes, _told)
    axes.set_ylim(lowest, 1.8 * max(threshold_m, *(each.miss_m for each in said)))
    axes.set_ylabel("miss distance")
    level(axes, threshold_m, f"told of below {_told(threshold_m)}")
    level(axes, conjunction.radius_m, f"hard body, {_told(conjunction.radius_m)}", INK)
    keyed(axes)


def _spread(axes: Axes, conjunction: ConjunctionSeen, last_ns: int, lowest: float) -> None:
    sigma, last = sigma_m(conjunction), days(last_ns)
    for number, width in ((2, 1.4), (1, 4.0)):
        low, high = max(conjunction.miss_m - number * sigma, lowest), conjunction.miss_m + number * sigma
        axes.plot(
            [last, last], [low, max(high, lowest)], color=BLUE, linewidth=width, alpha=0.45, solid_capstyle="butt"
        )


def _told(metres: float) -> str:
    return f"{metres:,g} m" if metres < 1000 else f"{metres / 1000:,g} km"


def _words(axes: Axes, said: Sequence[Missed], values: Sequence[float]) -> None:
    standing = [(each, value) for each, value in zip(said, values, strict=True) if each.is_standing]
    taken_back = [(each, value) for each, value in zip(said, values, strict=True) if not each.is_standing]
    axes.plot(
        [days(each.said_ns) for each, _ in standing],
        [value for _, value in standing],
        color=BLUE,
        linewidth=1.2,
        marker="o",
        markersize=4,
        label="stands",
    )
    axes.plot(
        [days(each.said_ns) for each, _ in taken_back],
        [value for _, value in taken_back],
        color=FAINT,
        linestyle="none",
        marker="o",
        markersize=5,
        markerfacecolor="white",
        label="was taken back",
    )


def _probabilities(axes: Axes, said: Sequence[Missed]) -> None:
    tidy(axes)
    _words(axes, said, [max(each.probability, _LEAST_PROBABILITY) for each in said])
    logarithmic(axes, lambda value: f"{value:.0e}")
    level(axes, _ACTED_ON, "acted on above this")
    axes.set_ylabel("probability")


def _title(conjunction: ConjunctionSeen) -> str:
    return (
        f"{literal(conjunction.called[0])} and {literal(conjunction.called[1])} pass within {conjunction.miss_m:,.0f} m"
    )


def _notes(conjunction: ConjunctionSeen) -> tuple[str, str]:
    sigma = rf"1 $\sigma$ and 2 $\sigma$ of the distance, {sigma_m(conjunction):,.0f} m each"
    return (
        f"Closest approach at {moment(conjunction.closest_ns)} UTC. A dot is a word on it, at the watermark of then.",
        f"Bars at the newest word: {sigma}.",
    )
