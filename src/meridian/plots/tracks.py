"""Over which places of the Earth objects pass, and where the sensors stand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from holdfast.model.errors import InvalidRequest
from meridian.orbit.elements import Elements
from meridian.orbit.frames import Floats, teme_to_fixed
from meridian.orbit.propagation import Propagator
from meridian.orbit.sites import Site, fixed_to_geodetic
from meridian.orbit.time import NS_PER_DAY
from meridian.plots.style import BODY, FAINT, GRID, HALO, SMALL, colours, headed, literal, moment, sheet

_POINTS = 361
_HALF = 180.0
_Point = tuple[float, float]
_CORNERS: tuple[_Point, ...] = ((1, 1), (-1, -1), (1, -1), (-1, 1))
_NAME = (18.0, 7.0)
"""How wide and how high the name of an object is on the map, in degrees."""


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """The places below an object during one revolution, in degrees; the first is where it is at the beginning."""

    object_id: str
    name: str
    latitude_deg: Floats
    longitude_deg: Floats

    @property
    def called(self) -> str:
        """Its name, or its number where the catalog has no name."""
        return literal(self.name or self.object_id)


def tracks_of(elements: Sequence[Elements], start_ns: int) -> list[Track]:
    """The next revolution of each object; one that has decayed has no track."""
    found = (_track(each, start_ns) for each in elements)
    return [each for each in found if each is not None]


def _track(elements: Elements, start_ns: int) -> Track | None:
    length_ns = NS_PER_DAY / elements.mean_motion_rev_day
    times = start_ns + np.linspace(0, length_ns, _POINTS).astype(np.int64)
    states = Propagator([elements]).of_one(0, times)
    if not states.good.all():
        return None
    fixed, _ = teme_to_fixed(states.position_m[0], states.velocity_m_s[0], times)
    latitude, longitude, _ = fixed_to_geodetic(fixed)
    return Track(elements.object_id, elements.name, np.degrees(latitude), np.degrees(longitude))


def broken(longitude_deg: Floats, latitude_deg: Floats) -> tuple[Floats, Floats]:
    """A line on the map, led to the edge and begun anew at the other wherever it crosses the date line."""
    xs, ys = [longitude_deg[:1]], [latitude_deg[:1]]
    for at in range(1, len(longitude_deg)):
        before, after = longitude_deg[at - 1], longitude_deg[at]
        if abs(after - before) > _HALF:
            edge = math.copysign(_HALF, before)
            share = (edge - before) / (after + 2 * edge - before)
            level = latitude_deg[at - 1] + share * (latitude_deg[at] - latitude_deg[at - 1])
            xs.append(np.array([edge, np.nan, -edge]))
            ys.append(np.array([level, np.nan, level]))
        xs.append(longitude_deg[at : at + 1])
        ys.append(latitude_deg[at : at + 1])
    return np.concatenate(xs), np.concatenate(ys)


def ground_tracks(tracks: Sequence[Track], sites: Sequence[Site], start_ns: int) -> Figure:
    """One revolution of each object from a time on, over a graticule with the sensors on it."""
    if not tracks:
        raise InvalidRequest(
            "None of the objects has a place below it at this time.",
            remedy="Ask for objects that `meridian catalog list` shows with elements of the last days.",
        )
    figure = sheet(10.0, 5.6)
    axes = figure.add_subplot()
    _graticule(axes)
    _sensors(axes, sites)
    corners = corners_of([(float(track.longitude_deg[0]), float(track.latitude_deg[0])) for track in tracks])
    for track, colour, corner in zip(tracks, colours(len(tracks)), corners, strict=True):
        _drawn(axes, track, colour, corner)
    headed(figure, _title(tracks), *_notes(start_ns))
    return figure


def _graticule(axes: Axes) -> None:
    axes.set(xlim=(-180, 180), ylim=(-90, 90), xticks=range(-180, 181, 30), yticks=range(-60, 61, 30))
    axes.set_aspect("equal", anchor="N")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _degrees(value, "E", "W")))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _degrees(value, "N", "S")))
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.axhline(0, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, labelsize=SMALL, length=0)
    for spine in axes.spines.values():
        spine.set(color=GRID)


def _degrees(value: float, positive: str, negative: str) -> str:
    side = "" if value in (0, 180, -180) else positive if value > 0 else negative
    return f"{abs(value):.0f}°{side}"


def _sensors(axes: Axes, sites: Sequence[Site]) -> None:
    places = [((site.longitude_deg + _HALF) % 360 - _HALF, site.latitude_deg) for site in sites]
    for number, ((longitude, latitude), site) in enumerate(zip(places, sites, strict=True)):
        is_crowded = any(abs(x - longitude) < 20 and abs(y - latitude) < 8 for x, y in places[:number])
        axes.plot([longitude], [latitude], marker="^", markersize=4.5, color=FAINT, linestyle="none")
        axes.annotate(
            site.name,
            (longitude, latitude),
            xytext=(0, 5 if is_crowded else -10),
            textcoords="offset points",
            ha="center",
            fontsize=6.5,
            color=FAINT,
        )


def corners_of(places: Sequence[_Point]) -> list[_Point]:
    """On which side of each place its name goes, right or left and above or below: where it covers the least."""
    chosen: list[_Point] = []
    taken = list(places)
    for place in places:
        corner = min(_CORNERS, key=lambda each: _covered(_named(place, each), taken))
        chosen.append(corner)
        taken.append(_named(place, corner))
    return chosen


def _named(place: _Point, corner: _Point) -> _Point:
    """The middle of a name."""
    return place[0] + corner[0] * (_NAME[0] / 2 + 2), place[1] + corner[1] * _NAME[1] / 2


def _covered(name: _Point, taken: Sequence[_Point]) -> int:
    """How many names and places there would be below a name; the edge of the map counts more than any."""
    beyond = len(taken) * (abs(name[0]) + _NAME[0] / 2 > _HALF)
    return beyond + sum(abs(x - name[0]) < _NAME[0] and abs(y - name[1]) < _NAME[1] for x, y in taken)


def _drawn(axes: Axes, track: Track, colour: str, corner: _Point) -> None:
    axes.plot(*broken(track.longitude_deg, track.latitude_deg), color=colour, linewidth=1.5)
    longitude, latitude = float(track.longitude_deg[0]), float(track.latitude_deg[0])
    axes.plot([longitude], [latitude], marker="o", markersize=6, color=colour, markeredgecolor="white", zorder=4)
    axes.annotate(
        track.called,
        (longitude, latitude),
        xytext=(7 * corner[0], 5 * corner[1]),
        textcoords="offset points",
        ha="left" if corner[0] > 0 else "right",
        va="bottom" if corner[1] > 0 else "top",
        fontsize=BODY,
        fontweight="bold",
        color=colour,
        path_effects=HALO,
        zorder=5,
    )


def _title(tracks: Sequence[Track]) -> str:
    names = [each.called for each in tracks]
    if len(names) > 4:
        return f"Ground tracks of {len(names)} objects"
    return f"Ground track{'s' if names[1:] else ''} of {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}"


def _notes(start_ns: int) -> tuple[str]:
    return (f"One revolution from {moment(start_ns)} UTC, where the dots are. Triangles: sensors.",)
