"""Conjunction data messages written from numbers, in any frame, and real ones written anew in another frame."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tests.support.conjunction_oracle import MU, ORDER, rtn_axes, to_fixed

Floats = NDArray[np.float64]

TCA = "2026-08-21T03:04:05.678"
_STATE = ("X", "Y", "Z", "X_DOT", "Y_DOT", "Z_DOT")


@dataclass(frozen=True)
class Written:
    """One object of a message: its inertial state, its covariance in RTN, and what is said of it."""

    state: Floats
    covariance: Floats
    method: str = "CALCULATED"
    frame: str = "EME2000"
    center: str | None = None
    pole: tuple[float, float] = (0.0, 0.0)
    """Polar motion on the day, in radians."""

    def lines(self, name: str, tca: str) -> list[str]:
        """Its part of the message."""
        r, v = self.state[:3], self.state[3:]
        if self.frame == "ITRF":
            r, v = to_fixed(r, v, tca, self.pole)
        texts = {
            "OBJECT": name, "OBJECT_DESIGNATOR": name[-1], "CATALOG_NAME": "SATCAT", "OBJECT_NAME": name,
            "INTERNATIONAL_DESIGNATOR": "1998-067A", "EPHEMERIS_NAME": "NONE", "COVARIANCE_METHOD": self.method,
            "MANEUVERABLE": "N/A",
        }  # fmt: skip
        texts |= {"ORBIT_CENTER": self.center} if self.center else {}
        texts |= {"REF_FRAME": self.frame}
        texts |= {key: repr(float(value / 1e3)) for key, value in zip(_STATE, (*r, *v), strict=True)}
        texts |= {
            f"C{ORDER[row]}_{ORDER[column]}": repr(float(self.covariance[row, column]))
            for row in range(6)
            for column in range(row + 1)
        }
        return [f"{key} = {value}" for key, value in texts.items()]


@dataclass(frozen=True)
class Message:
    """A whole message about two objects."""

    objects: tuple[Written, Written]
    radius_m: float | None = 10.0
    tca: str = TCA
    miss_m: float | None = None
    relative: Mapping[str, float] = field(default_factory=dict)
    """The keywords of the relative state, where the message says it."""

    def inertial(self) -> Message:
        """The same in an inertial frame."""
        one, other = (replace(each, frame="EME2000") for each in self.objects)
        return replace(self, objects=(one, other))

    @property
    def text(self) -> str:
        """As KVN."""
        apart = self.objects[1].state[:3] - self.objects[0].state[:3]
        miss = self.miss_m if self.miss_m is not None else math.hypot(*apart)
        head = [
            "CCSDS_CDM_VERS = 1.0", "CREATION_DATE = 2026-08-20T12:00:00.000", "ORIGINATOR = TEST",
            "MESSAGE_ID = made-up", f"TCA = {self.tca}", f"MISS_DISTANCE = {miss!r} [m]",
        ]  # fmt: skip
        head += [f"{keyword} = {value!r}" for keyword, value in self.relative.items()]
        if self.radius_m is not None:
            head.append(f"COMMENT HBR = {self.radius_m!r} [m]")
        one, other = (each.lines(f"OBJECT{at}", self.tca) for at, each in enumerate(self.objects, start=1))
        return "\n".join([*head, *one, *other]) + "\n"


def circular(radius_m: float, inclination: float) -> Floats:
    """The state of a circular orbit at its node on the x axis."""
    speed = np.sqrt(MU / radius_m)
    return np.array([radius_m, 0.0, 0.0, 0.0, speed * np.cos(inclination), speed * np.sin(inclination)])


def orbital_covariance(state: Floats, sigma_m: Sequence[float], along_m: float) -> Floats:
    """As an orbit determination leaves it: small errors of their own, and one along the orbit that moves the velocity.

    :param sigma_m: of the radial, transverse and normal position; the velocities have a thousandth of it a second.
    :param along_m: of the error along the orbit.
    """
    own = np.diag(np.concatenate([np.square(sigma_m), np.square(np.asarray(sigma_m) * 1e-3)]))
    position, velocity = state[:3], state[3:]
    fall = -MU / np.linalg.norm(position) ** 3 * position
    axes = rtn_axes(state).T
    late = np.concatenate([axes @ velocity, axes @ fall]) * along_m / np.linalg.norm(velocity)
    return own + np.outer(late, late)


def with_frame(text: str, frame: str, pole: tuple[float, float] = (0.0, 0.0)) -> str:
    """A message in EME2000 written anew in another frame, to the last digit of its states.

    :param pole: polar motion on the day, in radians.
    """
    tca = re.search(r"^TCA\s*=\s*(\S+)", text, re.MULTILINE)
    assert tca is not None
    lines, state = [], dict[str, float]()
    for line in text.splitlines():
        key = line.split("=")[0].strip()
        if key == "REF_FRAME":
            line = f"REF_FRAME = {frame}"
        if key in _STATE:
            state[key] = float(line.split("=")[1].split("[")[0])
            if len(state) < len(_STATE):
                continue
            numbers = np.array([state[each] for each in _STATE])
            if frame == "ITRF":
                numbers = np.concatenate(to_fixed(numbers[:3], numbers[3:], tca[1], pole))
            lines += [f"{each} = {float(value)!r}" for each, value in zip(_STATE, numbers, strict=True)]
            state = {}
            continue
        lines.append(line)
    return "\n".join(lines) + "\n"
