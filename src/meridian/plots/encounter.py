"""The plane of an encounter: where one object passes the other, and how well that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Ellipse

from meridian.plots.style import (
    BLUE,
    BODY,
    FAINT,
    GRID,
    HALO,
    INK,
    SMALL,
    VERMILION,
    headed,
    literal,
    moment,
    power,
    scaled,
    sheet,
    tidy,
)
from meridian.service.values import ConjunctionSeen

SIGMAS = (3, 2, 1)
_SHADES = {3: 0.08, 2: 0.12, 1: 0.18}
_SMALLEST = 1 / 60
"""A hard body below this part of the picture is shown larger in a corner, too."""
_INSET = 0.24
_SHAPE = 0.66
"""The height of the picture, in widths."""
_Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Spread:
    """A covariance in the plane by its axes: their standard deviations, and how the long one is turned.

    :param turned_rad: from -90 to 90 degrees.
    """

    long_m: float
    short_m: float
    turned_rad: float

    @classmethod
    def of(cls, spread_m2: tuple[float, float, float]) -> Spread:
        """Of the covariance along x, along y, and of both; what rounding made negative counts as none."""
        along, across, both = spread_m2
        values, vectors = np.linalg.eigh(np.array([[along, both], [both, across]]))
        short, long = np.sqrt(np.maximum(values, 0.0))
        x, y = vectors[:, 1] * (-1.0 if vectors[0, 1] < 0 else 1.0)
        return cls(float(long), float(short), math.atan2(y, x))

    def reach_m(self, sigma: float) -> _Point:
        """How far the ellipse reaches along x and along y."""
        cos, sin = math.cos(self.turned_rad), math.sin(self.turned_rad)
        along = math.hypot(self.long_m * cos, self.short_m * sin)
        across = math.hypot(self.long_m * sin, self.short_m * cos)
        return sigma * along, sigma * across


@dataclass(frozen=True, slots=True)
class Frame:
    """What the picture shows, in metres from the first object."""

    left: float
    right: float
    low: float
    high: float

    @classmethod
    def of(cls, conjunction: ConjunctionSeen) -> Frame:
        """The hard body and three standard deviations, with a margin."""
        (x, y), radius = conjunction.plane_m, conjunction.radius_m
        wide, tall = Spread.of(conjunction.spread_m2).reach_m(max(SIGMAS))
        left, right = min(-2 * radius, x - wide), max(2 * radius, x + wide)
        low, high = min(-2 * radius, y - tall), max(2 * radius, y + tall)
        width = 1.24 * max(right - left, (high - low) / _SHAPE, 1.0)
        middle, level = (left + right) / 2, (low + high) / 2
        return cls(middle - width / 2, middle + width / 2, level - _SHAPE * width / 2, level + _SHAPE * width / 2)

    @property
    def width(self) -> float:
        """From left to right; its height is in a fixed proportion to that."""
        return self.right - self.left


def encounter(conjunction: ConjunctionSeen) -> Figure:
    """The first object with the hard body, the second with the ellipses of one, two and three standard deviations."""
    figure = sheet(7.2, 5.6)
    axes = figure.add_subplot()
    tidy(axes)
    frame = Frame.of(conjunction)
    unit, name = scaled(frame.width)
    _ellipses(axes, conjunction, unit)
    _objects(axes, conjunction, unit)
    axes.set_box_aspect(_SHAPE)
    axes.set(xlim=(frame.left / unit, frame.right / unit), ylim=(frame.low / unit, frame.high / unit))
    axes.set_xlabel(f"along the miss ({name})")
    axes.set_ylabel(f"across the miss ({name})")
    if conjunction.radius_m < _SMALLEST * frame.width:
        _magnified(axes, conjunction)
    headed(figure, _title(conjunction), *_notes(conjunction))
    return figure


def _ellipses(axes: Axes, conjunction: ConjunctionSeen, unit: float) -> None:
    spread = Spread.of(conjunction.spread_m2)
    x, y = conjunction.plane_m[0] / unit, conjunction.plane_m[1] / unit
    angle = math.degrees(spread.turned_rad)
    for sigma in SIGMAS:
        long, short = sigma * spread.long_m / unit, sigma * spread.short_m / unit
        axes.add_patch(Ellipse((x, y), 2 * long, 2 * short, angle=angle, color=BLUE, alpha=_SHADES[sigma], linewidth=0))
        axes.add_patch(Ellipse((x, y), 2 * long, 2 * short, angle=angle, fill=False, edgecolor=BLUE, linewidth=0.9))
        end = (x + long * math.cos(spread.turned_rad), y + long * math.sin(spread.turned_rad))
        _label(axes, rf"{sigma}$\sigma$", end, (4, 3), BLUE, SMALL)


def _objects(axes: Axes, conjunction: ConjunctionSeen, unit: float) -> None:
    x, y, radius = conjunction.plane_m[0] / unit, conjunction.plane_m[1] / unit, conjunction.radius_m / unit
    axes.plot([0, x], [0, y], color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.add_patch(Circle((0, 0), radius, facecolor=VERMILION, alpha=0.35, linewidth=0, zorder=3))
    axes.add_patch(Circle((0, 0), radius, fill=False, edgecolor=VERMILION, linewidth=1.2, zorder=3))
    axes.plot([x], [y], marker="o", markersize=4.5, color=BLUE, linestyle="none", zorder=4)
    _label(axes, literal(conjunction.called[0]), (0, -radius), (0, -13), VERMILION, BODY)
    _label(axes, literal(conjunction.called[1]), (x, y), (6, 6), BLUE, BODY)


def _label(axes: Axes, text: str, at: _Point, offset: _Point, color: str, size: float) -> None:
    axes.annotate(
        text,
        at,
        xytext=offset,
        textcoords="offset points",
        ha="left" if offset[0] else "center",
        color=color,
        fontsize=size,
        fontweight="bold" if size == BODY else "normal",
        path_effects=HALO,
        zorder=5,
    )


def _magnified(axes: Axes, conjunction: ConjunctionSeen) -> None:
    """The hard body again, in the corner beside the first object into which the ellipses do not reach."""
    radius = conjunction.radius_m
    is_high = Spread.of(conjunction.spread_m2).turned_rad > 0
    inset = axes.inset_axes((0.015, 0.93 - _INSET if is_high else 0.015, _INSET, _INSET))
    inset.add_patch(Circle((0, 0), radius, facecolor=VERMILION, alpha=0.35, linewidth=0))
    inset.add_patch(Circle((0, 0), radius, fill=False, edgecolor=VERMILION, linewidth=1.2))
    inset.plot([0, radius], [0, 0], color=VERMILION, linewidth=1.0)
    inset.text(radius / 2, radius * 0.08, f"{radius:g} m", ha="center", va="bottom", fontsize=SMALL, color=INK)
    inset.set(xlim=(-1.5 * radius, 1.5 * radius), ylim=(-1.5 * radius, 1.5 * radius), xticks=[], yticks=[])
    inset.set_aspect("equal")
    inset.set_title("hard body, magnified", fontsize=SMALL, color=FAINT, pad=3)
    for spine in inset.spines.values():
        spine.set(color=GRID, linewidth=1.0)


def _title(conjunction: ConjunctionSeen) -> str:
    pair = f"{literal(conjunction.called[0])} and {literal(conjunction.called[1])}"
    if math.isnan(conjunction.probability):
        return f"{pair}: the probability of a collision is unknown"
    return f"{pair} collide with a probability of {power(conjunction.probability)}"


def _notes(conjunction: ConjunctionSeen) -> tuple[str, str]:
    passing = f"They pass at {moment(conjunction.closest_ns)} UTC within {conjunction.miss_m:,.0f} m"
    ellipses = rf"Ellipses: 1, 2 and 3 $\sigma$ of where {literal(conjunction.called[1])} passes"
    return (
        f"{passing}, at {conjunction.speed_m_s / 1000:.2f} km/s. Seen along their relative velocity.",
        f"{ellipses}. Disc: the radii of both together, {conjunction.radius_m:g} m.",
    )
