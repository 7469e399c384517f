"""The probability of a conjunction message, computed a second time without any code of the product.

It reads the KVN text itself, turns ITRF states into an inertial frame by a rotation matrix and its numerical
derivative, builds RTN axes by hand, minimises the distance on straight lines, and integrates along the contour of the
hard body (Patera 2001). For slow encounters it counts entries into the sphere on linearised two-body motion, which is
integrated numerically. For long errors along the orbit it takes each delay of one object against the other by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation
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
    both = np.kron(np.eye(2), rtn_axes(np.concatenate([r, v])))
    rtn = np.array([[float(part[_key(i, j)]) for j in range(6)] for i in range(6)])
    return np.concatenate([r, v]), both @ rtn @ both.T


def rtn_axes(state: Floats) -> Floats:
    """The radial, transverse and normal unit vectors, as columns."""
    r, v = state[:3], state[3:]
    up = r / math.sqrt(r @ r)
    ahead = v - (v @ up) * up
    ahead = ahead / math.sqrt(ahead @ ahead)
    return np.column_stack([up, ahead, np.cross(up, ahead)])


def _key(row: int, column: int) -> str:
    return f"C{ORDER[max(row, column)]}_{ORDER[min(row, column)]}"


def earth_rotation(tca: str, seconds: float = 0.0, pole: tuple[float, float] = (0.0, 0.0)) -> Floats:
    """From Earth-fixed to inertial axes: polar motion (in radians), then a turn by the Earth rotation angle."""
    form = "%Y-%jT%H:%M:%S.%f" if tca[7] != "-" else "%Y-%m-%dT%H:%M:%S.%f"
    since = (datetime.strptime(tca, form) - datetime(2000, 1, 1, 12)).total_seconds()  # noqa: DTZ001, DTZ007
    angle = 2.0 * math.pi * math.fmod(0.7790572732640 + 1.00273781191135448 * since / 86_400.0, 1.0) + OMEGA * seconds
    cos, sin = math.cos(angle), math.sin(angle)
    wobble = Rotation.from_euler("yx", [-pole[0], -pole[1]]).as_matrix()
    return np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]]) @ wobble


def to_inertial(r: Floats, v: Floats, tca: str) -> tuple[Floats, Floats]:
    """The velocity is the derivative of the turned position: no cross product is used."""
    turn = earth_rotation(tca)
    rate = (earth_rotation(tca, 10.0) - earth_rotation(tca, -10.0)) / (2.0 * math.sin(10.0 * OMEGA) / OMEGA)
    return turn @ r, turn @ v + rate @ r


def to_fixed(r: Floats, v: Floats, tca: str, pole: tuple[float, float] = (0.0, 0.0)) -> tuple[Floats, Floats]:
    """The way back, to write a message in ITRF as it is on a day with this polar motion."""
    back = earth_rotation(tca, 0.0, pole).T
    change = (earth_rotation(tca, 10.0, pole) - earth_rotation(tca, -10.0, pole)).T
    rate = change / (2.0 * math.sin(10.0 * OMEGA) / OMEGA)
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
    moved = [followed(state, times) for state in pair.states]
    rates = []
    for at in range(steps):
        mean = moved[1][0][at] - moved[0][0][at]
        spread = sum(turn[at] @ p @ turn[at].T for (_, turn), p in zip(moved, pair.covariances, strict=True))
        rates.append(_entry_rate(mean, np.asarray(spread), pair.radius))
    return float(np.trapezoid(rates, times))


def late(pair: Pair, own: tuple[Floats, Floats], sigma_s: float, width_s: float, steps: int = 301) -> float:
    """The probability where one object may be late on its own orbit, by a normal delay.

    For each delay both orbits are followed exactly to their closest approach. What is left there are the objects' own
    errors, which are small, so that the planar probability holds. A delay that both have in common changes nothing.

    :param own: the covariance of position in RTN of each object apart from the delay.
    :param sigma_s: of the delay of the second object against the first.
    :param width_s: how far from the delay of the nearest approach there is anything to count.
    """
    paths = [_path(state, 9.0 * sigma_s) for state in pair.states]
    rough = np.linspace(-4.0 * sigma_s, 4.0 * sigma_s, 201)

    def miss(delay: float) -> float:
        return float(np.linalg.norm(np.subtract(*_closest(paths, delay))[:3]))

    best = int(np.argmin([miss(delay) for delay in rough]))
    around = rough[max(best - 1, 0)], rough[min(best + 1, len(rough) - 1)]
    found = minimize_scalar(miss, bounds=around, method="bounded", options={"xatol": 1e-7})
    delays = np.linspace(found.x - width_s, found.x + width_s, steps)
    values = [_planar_of(_closest(paths, delay), own, pair.radius) for delay in delays]
    return float(np.trapezoid(values * norm.pdf(delays, scale=sigma_s), delays))


def closest_when_late(states: tuple[Floats, Floats], delay_s: float) -> tuple[Floats, Floats]:
    """The states of two objects when they are closest, where the second one is late on its orbit."""
    return _closest([_path(state, 3.0 * abs(delay_s) + 5.0) for state in states], delay_s)


def _planar_of(states: tuple[Floats, Floats], own: tuple[Floats, Floats], radius: float) -> float:
    covariances = []
    for state, rtn in zip(states, own, strict=True):
        whole = np.zeros((6, 6))
        turn = rtn_axes(state)
        whole[:3, :3] = turn @ rtn @ turn.T
        covariances.append(whole)
    return planar(Pair(states, (covariances[0], covariances[1]), radius), points=720)


def _closest(paths: list[Callable[[float], Floats]], delay: float) -> tuple[Floats, Floats]:
    """Both states when they are closest, the second one being late."""
    at = 0.0
    for _ in range(4):
        apart = paths[1](at - delay)[:6] - paths[0](at)[:6]
        at -= float(apart[:3] @ apart[3:] / (apart[3:] @ apart[3:]))
    return paths[0](at)[:6], paths[1](at - delay)[:6]


def _path(state: Floats, reach_s: float) -> Callable[[float], Floats]:
    """Two-body motion from a state, both ways."""
    ways = [
        solve_ivp(_fall, (0.0, end), state, rtol=1e-12, atol=1e-6, method="DOP853", dense_output=True).sol
        for end in (-reach_s, reach_s)
    ]
    return lambda seconds: np.asarray(ways[int(seconds >= 0.0)](seconds))


def _fall(_: float, y: Floats) -> Floats:
    r = y[:3]
    return np.concatenate([y[3:6], -MU / math.sqrt(r @ r) ** 3 * r])


def followed(state: Floats, times: Floats) -> tuple[Floats, Floats]:
    """The states (n, 6) of two-body motion at times other than now, and the transitions (n, 6, 6) to them."""
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
