"""How all pictures look: a light ground, few lines, colours that colour-blind people can tell apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import FuncFormatter, NullFormatter

from meridian.orbit.time import NS_PER_DAY, format_ccsds

BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION = "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"
"""By Okabe and Ito."""
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
INK, FAINT, GRID = "#222222", "#6b6b6b", "#e3e3e3"
SMALL, BODY, LARGE = 8.0, 9.0, 12.0
SOURCES = {"radar": BLUE, "optical": ORANGE, "isl": GREEN}
"""A source has the same colour in every picture."""
HALO = (Stroke(linewidth=2.5, foreground="white", alpha=0.85), Normal())
"""Keeps a text legible over lines."""


def sheet(width: float, height: float) -> Figure:
    """An empty sheet, in inches, on which nothing overlaps."""
    return Figure(figsize=(width, height), dpi=144, facecolor="white", layout="constrained")


def headed(figure: Figure, title: str, *notes: str) -> None:
    """Say above everything what is seen, and below that what must be known to read it."""
    lines = 1 + len(notes)
    inches = figure.get_figheight()
    engine = figure.get_layout_engine()
    assert engine is not None
    top = (0.12 + 0.24 + 0.17 * len(notes)) / inches
    engine.set(rect=(0.0, 0.005, 0.985, 0.995 - top))  # type: ignore[call-arg]  # the constrained engine takes it
    left = 0.12 / figure.get_figwidth()
    figure.text(left, 1 - 0.12 / inches, title, fontsize=LARGE, fontweight="bold", color=INK, va="top")
    for number in range(1, lines):
        height = 1 - (0.12 + 0.24 + 0.17 * (number - 1)) / inches
        figure.text(left, height, notes[number - 1], fontsize=BODY, color=FAINT, va="top")


def tidy(axes: Axes) -> None:
    """Leave of the frame what helps to read values."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, labelsize=SMALL, length=3)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set(fontsize=BODY, color=INK)


def days(time_ns: int) -> float:
    """A time as an axis takes it: days since 1970."""
    return time_ns / NS_PER_DAY


def timed(axes: Axes) -> None:
    """Times of day in UTC below."""
    locator = AutoDateLocator(tz=UTC, minticks=4, maxticks=8)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
    axes.xaxis.get_offset_text().set(fontsize=SMALL, color=FAINT)
    axes.set_xlabel("time (UTC)")


def keyed(axes: Axes) -> None:
    """A key in one line above, where nothing is drawn."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=6,
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        borderpad=0,
        borderaxespad=0.4,
    )


def level(axes: Axes, value: float, text: str, color: str = VERMILION) -> None:
    """A line across at a value, with a word on what it is at its right end."""
    axes.axhline(value, color=color, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1.5)
    axes.annotate(
        text,
        (1.0, value),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 3),
        textcoords="offset points",
        ha="right",
        fontsize=SMALL,
        color=color,
        path_effects=HALO,
    )


def logarithmic(axes: Axes, told: Callable[[float], str]) -> None:
    """Powers of ten up the side, each as it is told."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: told(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="y", which="minor", length=0)


def literal(name: str) -> str:
    """A name as it is, where matplotlib would take a dollar sign for the beginning of a formula."""
    return name.replace("$", r"\$")


def power(probability: float) -> str:
    """A probability as it is printed; so small that nobody could act on it, it is told as that."""
    if probability < 1e-12:
        return r"less than $\mathbf{10^{-12}}$"
    mantissa, exponent = f"{probability:.1e}".split("e")
    return rf"$\mathbf{{{mantissa}\times10^{{{int(exponent)}}}}}$"


def moment(time_ns: int) -> str:
    """Day and time, to the second."""
    return format_ccsds(time_ns)[:19].replace("T", " ")


def scaled(extent_m: float) -> tuple[float, str]:
    """How many metres the unit has in which lengths of this extent are told, and its name."""
    return (1000.0, "km") if extent_m >= 2000 else (1.0, "m")


def colours(count: int) -> Sequence[str]:
    """So many, each told from its neighbours."""
    return [CYCLE[number % len(CYCLE)] for number in range(count)]
