"""The probability of a conjunction message, computed a second time without any code of the product.

It reads the KVN text itself, turns ITRF states into an inertial frame by a rotation matrix and its numerical
derivative, builds RTN axes by hand, minimises the distance on straight lines, and integrates along the contour of the
hard body (Patera 2001). For slow encounters it counts entries into the sphere on linearised two-body motion, which is
integrated numerically.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.stats import norm

Floats = NDArray[np.float64]

MU = 3.986004418e14
OMEGA = 2.0 * math.pi * 1.00273781191135448 / 86_400.0
ORDER = ("R", "T", "N", "RDOT", "TDOT", "NDOT")


@dataclass(frozen=True, eq=False)
class Pair:
    """Relative inertial state and combined covariance, and what is needed to move them."""

    states: tuple[Floats, Floats]
    covariances: tuple[Floats, Floats]
    radius: float

    @property
    def relative(self) -> Floats:
        return self.states[1] - self.states[0]

    @property
    def covariance(self) -> Floats:
        return self.covariances[0] + self.covariances[1]


def pair_of(text: str) -> Pair:
    """The pair of a KVN text, in one inertial frame."""
    head, one, other = _parts(text)
    radius = next(float(line.split("=")[1].split("[")[0]) for line in text.splitlines() if "HBR" in line)
    found = [_inertial(part, head["TCA"]) for part in (one, other)]
    return Pair((found[0][0], found[1][0]), (found[0][1], found[1][1]), radius)


def _parts(text: str) -> list[dict[str, str]]:
    parts: list[dict[str, str]] = [{}]
    for line in text.splitlines():
        if "=" not in line or line.startswith("COMMENT"):
            continue
        key, value = (side.strip() for side in line.split("=", 1))
        if key == "OBJECT":
            parts.append({})
        parts[-1][key] = value.split("[")[0].strip()
    return parts


def _inertial(part: dict[str, str], tca: str) -> tuple[Floats, Floats]:
    r = np.array([float(part[key]) for key in ("X", "Y", "Z")]) * 1e3
    v = np.array([float(part[key]) for key in ("X_DOT", "Y_DOT", "Z_DOT")]) * 1e3
    if part["REF_FRAME"] == "ITRF":
        r, v = to_inertial(r, v, tca)
    up = r / math.sqrt(r @ r)
    ahead = v - (v @ up) * up
    ahead = ahead / math.sqrt(ahead @ ahead)
    turn = np.column_stack([up, ahead, np.cross(up, ahead)])
    both = np.kron(np.eye(2), turn)
    rtn = np.array([[float(part[_key(i, j)]) for j in range(6)] for i in range(6)])
    return np.concatenate([r, v]), both @ rtn @ both.T


def _key(row: int, column: int) -> str:
    return f"C{ORDER[max(row, column)]}_{ORDER[min(row, column)]}"


def earth_rotation(tca: str, seconds: float = 0.0) -> Floats:
    """From Earth-fixed to inertial axes: a turn by the Earth rotation angle (IAU 2000)."""
    form = "%Y-%jT%H:%M:%S.%f" if tca[7] != "-" else "%Y-%m-%dT%H:%M:%S.%f"
    since = (datetime.strptime(tca, form) - datetime(2000, 1, 1, 12)).total_seconds()  # noqa: DTZ001, DTZ007
    angle = 2.0 * math.pi * math.fmod(0.7790572732640 + 1.00273781191135448 * since / 86_400.0, 1.0) + OMEGA * seconds
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])


def to_inertial(r: Floats, v: Floats, tca: str) -> tuple[Floats, Floats]:
    """The velocity is the derivative of the turned position: no cross product is used."""
    turn = earth_rotation(tca)
    rate = (earth_rotation(tca, 10.0) - earth_rotation(tca, -10.0)) / (2.0 * math.sin(10.0 * OMEGA) / OMEGA)
    return turn @ r, turn @ v + rate @ r


def to_fixed(r: Floats, v: Floats, tca: str) -> tuple[Floats, Floats]:
    """The way back, to write a message in ITRF."""
    back = earth_rotation(tca).T
    rate = (earth_rotation(tca, 10.0) - earth_rotation(tca, -10.0)).T / (2.0 * math.sin(10.0 * OMEGA) / OMEGA)
    return back @ r, back @ v + rate @ r


def planar(pair: Pair, points: int = 20_000) -> float:
    """By the contour of the disc, seen with the ellipse as a unit circle."""
    r, v = pair.relative[:3], pair.relative[3:]
    r = r - (r @ v) / (v @ v) * v
    basis = np.linalg.svd(v[None])[2][1:]
    root = np.linalg.cholesky(basis @ pair.covariance[:3, :3] @ basis.T)
    turn = 2.0 * math.pi * np.arange(points) / points
    circle, slope = np.stack([np.cos(turn), np.sin(turn)]), np.stack([-np.sin(turn), np.cos(turn)])
    at = np.linalg.solve(root, pair.radius * circle - (basis @ r)[:, None])
    going = np.linalg.solve(root, pair.radius * slope)
    square = np.sum(at**2, axis=0)
    angle_rate = (at[0] * going[1] - at[1] * going[0]) / square
    return float(np.mean(-np.expm1(-0.5 * square) * angle_rate))


def entries(pair: Pair, half_span_s: float, steps: int = 601) -> float:
    """The expected number of entries into the sphere, with the mean and covariance moved by two-body motion."""
    times = np.linspace(-half_span_s, half_span_s, steps)
    moved = [_moved(state, times) for state in pair.states]
    rates = []
    for at in range(steps):
        mean = moved[1][0][at] - moved[0][0][at]
        spread = sum(turn[at] @ p @ turn[at].T for (_, turn), p in zip(moved, pair.covariances, strict=True))
        rates.append(_entry_rate(mean, np.asarray(spread), pair.radius))
    return float(np.trapezoid(rates, times))


def _moved(state: Floats, times: Floats) -> tuple[Floats, Floats]:
    states, turns = np.empty((len(times), 6)), np.empty((len(times), 6, 6))
    for half in (times >= 0.0, times < 0.0):
        order = np.argsort(np.abs(times[half]))
        wanted = times[half][order]
        if not len(wanted):
            continue
        start = np.concatenate([state, np.eye(6).ravel()])
        done = solve_ivp(_rate, (0.0, wanted[-1]), start, t_eval=wanted, rtol=1e-11, atol=1e-7, method="DOP853")
        places = np.flatnonzero(half)[order]
        states[places], turns[places] = done.y[:6].T, done.y[6:].T.reshape(-1, 6, 6)
    return states, turns


def _rate(_: float, y: Floats) -> Floats:
    r, turn = y[:3], y[6:].reshape(6, 6)
    distance = math.sqrt(r @ r)
    gradient = np.zeros((6, 6))
    gradient[:3, 3:] = np.eye(3)
    gradient[3:, :3] = MU / distance**5 * (3.0 * np.outer(r, r) - distance**2 * np.eye(3))
    return np.concatenate([y[3:6], -MU / distance**3 * r, (gradient @ turn).ravel()])


def _entry_rate(mean: Floats, spread: Floats, radius: float) -> float:
    """The mean inward speed times the density, over the sphere in Fibonacci's lattice."""
    nearest = math.sqrt(mean[:3] @ np.linalg.solve(spread[:3, :3], mean[:3])) if mean[:3].any() else 0.0
    if nearest - radius / math.sqrt(np.linalg.eigvalsh(spread[:3, :3])[0]) > 9.0:
        return 0.0
    normals = _LATTICE
    away = radius * normals - mean[:3]
    inverse = np.linalg.inv(spread[:3, :3])
    density = np.exp(-0.5 * np.einsum("ni,ij,nj->n", away, inverse, away))
    density /= math.sqrt((2.0 * math.pi) ** 3 * np.linalg.det(spread[:3, :3]))
    gain = spread[3:, :3] @ inverse
    speed = np.sum(normals * (mean[3:] + away @ gain.T), axis=1)
    left = spread[3:, 3:] - gain @ spread[:3, 3:]
    sigma = np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", normals, left, normals), 1e-24))
    inward = sigma * norm.pdf(speed / sigma) - speed * norm.cdf(-speed / sigma)
    return float(4.0 * math.pi * radius**2 * np.mean(density * inward))


def _lattice(count: int) -> Floats:
    at = np.arange(count) + 0.5
    height, turn = 1.0 - 2.0 * at / count, math.pi * (1.0 + math.sqrt(5.0)) * at
    ring = np.sqrt(1.0 - height**2)
    return np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)


_LATTICE = _lattice(4_000)
