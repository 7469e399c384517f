"""Any valid conjunction message has the probability that a second computation finds, or none, with the reason.

`HOLDFAST_EXAMPLES=20` tries twenty times as many messages. Failures are not shrunk: one message takes up to a second.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from tests.support import conjunction_oracle as oracle
from tests.support.conjunction_texts import Message, Written, circular, orbital_covariance

from meridian.orbit.cdm import read_cdm
from meridian.orbit.errors import InvalidMessage
from meridian.orbit.pc import Assessment, Flaw, Method, assess, encounter_of

Floats = NDArray[np.float64]
FRAMES = ("EME2000", "GCRF", "ITRF")
"""All that CCSDS 508.0-B-1 permits."""
SAME = {"EME2000": 1e-6, "GCRF": 1e-6, "ITRF": 2e-3}
"""How far the planar probability may be off, relatively.

Both integrals are good to 1e-9; messages are written with all digits. In ITRF the messages have polar motion, which the
product neglects: 0.6 arcseconds tilt the transverse axis by at most 3e-6 radians in a geostationary orbit. A sigma of
300 m along the track then moves the ellipse by a millimetre, against at least 8 m across.
"""
NOTHING = 1e-14
"""Below this the direct quadrature of a density of many sigmas loses digits, and nobody acts on it."""
CURVED = 0.03
"""The oracles of the curved probability linearise the objects' own errors; NASA's own figures agree within 1e-2."""
FULL = ("orbital", "diagonal", "four digits")
"""Forms of a covariance that say all that is needed."""
WITHHELD = {
    "zero": Flaw.NO_COVARIANCE,
    "one variance zero": Flaw.NO_COVARIANCE,
    "placeholder": Flaw.PLACEHOLDER_COVARIANCE,
    "default": Flaw.DEFAULT_COVARIANCE,
    "position indefinite": Flaw.INDEFINITE_POSITION,
}
"""Forms that say nothing of the position, and what is said of them."""
PLANAR_ONLY = {
    "position only": Flaw.NO_VELOCITY_COVARIANCE,
    "velocity indefinite": Flaw.INDEFINITE_VELOCITY,
}
_ONES = np.ones((3, 3))
_NO_NORMAL = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
_MANY = int(os.environ.get("HOLDFAST_EXAMPLES", "1"))


def tried(examples: int) -> settings:
    """So many messages, times what the environment asks for."""
    return settings(deadline=None, max_examples=examples * _MANY, phases=(Phase.explicit, Phase.reuse, Phase.generate))


@dataclass(frozen=True)
class Shape:
    """The size of a covariance."""

    sigma_m: tuple[float, float, float]
    along_m: float

    def of(self, state: Floats, form: str) -> Floats:
        """The covariance of a state in RTN, in one of the forms."""
        whole = orbital_covariance(state, self.sigma_m, self.along_m)
        if form in ("diagonal", "zero", "one variance zero", "position only"):
            kept = {"diagonal": np.eye(6), "zero": np.zeros((6, 6)), "position only": np.kron(np.diag([1, 0]), _ONES)}
            return whole * kept.get(form, np.outer(_NO_NORMAL, _NO_NORMAL))
        if form == "placeholder":
            return np.diag([6.378e7**2] * 3 + [1e4] * 3)
        if form == "four digits":
            return np.vectorize(lambda value: float(f"{value:.3e}"))(whole)
        if form.endswith("indefinite"):
            row, column = (1, 0) if form.startswith("position") else (4, 3)
            whole[row, column] = whole[column, row] = 1.2 * math.sqrt(whole[row, row] * whole[column, column])
        return whole


shapes = st.builds(Shape, st.tuples(*[st.floats(8.0, 60.0)] * 3), st.floats(0.0, 300.0))
small_shapes = st.builds(Shape, st.tuples(*[st.floats(8.0, 30.0)] * 3), st.floats(0.0, 30.0))
long_shapes = st.builds(Shape, st.tuples(*[st.floats(8.0, 40.0)] * 3), st.floats(1_000.0, 30_000.0))
radii = st.floats(6.7e6, 4.3e7)
arcseconds = st.floats(-0.6, 0.6).map(lambda seconds: math.radians(seconds / 3600.0))
times = st.integers(1_100_000_000, 2_000_000_000).map(
    lambda seconds: datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.250")
)
turns = st.tuples(*[st.floats(0.0, 6.28)] * 3).map(lambda angles: Rotation.from_euler("zxz", angles).as_matrix())
fast = st.floats(0.02, 3.0)
slow = st.floats(3e-4, 1e-3)


@st.composite
def pairs(draw: st.DrawFn, crossing: st.SearchStrategy[float], *, eccentric: bool) -> tuple[Floats, Floats]:
    """Two orbits that cross, at any place and in any direction."""
    distance, turn = draw(radii), np.kron(np.eye(2), draw(turns))
    first, second = circular(distance, 0.0), circular(distance, draw(crossing))
    if eccentric:
        for state in (first, second):
            speed = np.linalg.norm(state[3:])
            state[3:] *= draw(st.floats(0.7, 1.2))
            state[3] += draw(st.floats(-0.2, 0.2)) * speed
    return turn @ first, turn @ second


@st.composite
def messages(
    draw: st.DrawFn,
    forms: tuple[str, ...],
    pair: st.SearchStrategy[tuple[Floats, Floats]],
    sizes: st.SearchStrategy[Shape] = shapes,
) -> Message:
    """Two objects with a miss of up to two sigmas along each axis, in one of the frames."""
    first, second = draw(pair)
    ours, theirs = draw(sizes), draw(sizes)
    miss = [draw(st.floats(-2.0, 2.0)) * sigma for sigma in ours.sigma_m]
    second = second + np.array([*miss, 0.0, 0.0, 0.0])
    frame, form = draw(st.sampled_from(FRAMES)), draw(st.sampled_from(forms))
    pole = (draw(arcseconds), draw(arcseconds))
    method = "DEFAULT" if form == "default" else "CALCULATED"
    known = Written(first, ours.of(first, form if form in FULL else "orbital"), frame=frame, pole=pole)
    spoiled = Written(second, theirs.of(second, form), method, frame, pole=pole)
    objects = (known, spoiled) if form in FULL or draw(st.booleans()) else (spoiled, known)
    return Message(objects, draw(st.floats(1.0, 30.0)), draw(times))


def assessed(message: Message) -> Assessment:
    return assess(encounter_of(read_cdm(message.text)))


def planar_of(message: Message) -> float:
    return oracle.planar(oracle.pair_of(message.inertial().text))


def close(expected: float, message: Message, least: float = 0.0) -> object:
    return pytest.approx(expected, rel=max(SAME[message.objects[0].frame], least), abs=NOTHING)


@tried(20)
@given(messages(FULL, pairs(fast, eccentric=True)))
@pytest.mark.req("ORB-05")
def test_the_probability_of_a_fast_encounter_is_the_one_of_the_contour(message: Message) -> None:
    found, expected = assessed(message), planar_of(message)
    event(f"{found.method}")
    assert found.planar == close(expected, message)
    assert found.probability == close(expected, message, 0.05)
    assert found.method is Method.CURVED or found.probability == found.planar


@tried(8)
@given(messages(("orbital",), pairs(slow, eccentric=False), small_shapes))
@pytest.mark.req("ORB-06")
def test_the_probability_of_a_slow_encounter_is_the_number_of_entries(message: Message) -> None:
    found = assessed(message)
    pair = oracle.pair_of(message.inertial().text)
    speed = np.linalg.norm(pair.relative[3:])
    half = (9.0 * math.sqrt(np.linalg.eigvalsh(pair.covariance[:3, :3])[-1]) + np.linalg.norm(pair.relative)) / speed
    event(f"{found.method}")
    assert found.method is not None
    assert found.probability == pytest.approx(min(1.0, oracle.entries(pair, float(half))), rel=CURVED, abs=NOTHING)


@dataclass(frozen=True)
class Late:
    """A message about two objects of which one may be late by seconds, and what the oracle needs to know of it."""

    message: Message
    own: tuple[Floats, Floats]
    sigma_s: float
    width_s: float


@st.composite
def late_messages(draw: st.DrawFn) -> Late:
    """Two orbits that cross and objects that are thought to miss by up to two sigmas along them: up to 100 km."""
    angle = draw(st.floats(0.2, 2.4))
    first, second = draw(pairs(st.just(angle), eccentric=True))
    up = first[:3] / np.linalg.norm(first[:3])
    second = second + np.concatenate([draw(st.floats(-20.0, 20.0)) * up, np.zeros(3)])
    sizes = draw(long_shapes), draw(long_shapes)
    speeds = [float(np.linalg.norm(state[3:])) for state in (first, second)]
    sigma_s = math.hypot(*(size.along_m / speed for size, speed in zip(sizes, speeds, strict=True)))
    passing = oracle.closest_when_late((first, second), draw(st.floats(-2.0, 2.0)) * sigma_s)
    frame, pole = draw(st.sampled_from(FRAMES)), (draw(arcseconds), draw(arcseconds))
    one, other = (
        Written(state, size.of(state, "orbital"), frame=frame, pole=pole)
        for state, size in zip(passing, sizes, strict=True)
    )
    own = tuple(np.diag(np.square(size.sigma_m)) for size in sizes)
    relative = second[3:] - first[3:]
    across = np.linalg.norm(np.cross(second[3:], relative)) / np.linalg.norm(relative)
    radius = draw(st.floats(1.0, 30.0))
    width = (9.0 * math.hypot(*(max(size.sigma_m) for size in sizes)) + radius + 20.0) / float(across)
    return Late(Message((one, other), radius, draw(times)), (own[0], own[1]), sigma_s, width)


@tried(8)
@given(late_messages())
@pytest.mark.req("ORB-06")
def test_the_probability_with_long_errors_along_the_orbit_is_the_one_of_every_delay(late: Late) -> None:
    found = assessed(late.message)
    pair = oracle.pair_of(late.message.inertial().text)
    event(f"{found.method}")
    assert found.probability == pytest.approx(oracle.late(pair, late.own, late.sigma_s, late.width_s), rel=CURVED)


@tried(60)
@given(messages(tuple(WITHHELD), pairs(fast, eccentric=True)))
@pytest.mark.req("ORB-07")
def test_a_covariance_that_says_nothing_gives_no_probability(message: Message) -> None:
    found = assessed(message)
    assert found.probability is None
    assert {caveat.flaw for caveat in found.caveats} <= set(WITHHELD.values())
    assert found.reason


@tried(60)
@given(messages(tuple(PLANAR_ONLY), pairs(fast, eccentric=True)))
@pytest.mark.req("ORB-07")
def test_a_covariance_without_velocity_gives_the_planar_probability_or_none(message: Message) -> None:
    found, expected = assessed(message), planar_of(message)
    event(f"{found.method}")
    assert {caveat.flaw for caveat in found.caveats} <= set(PLANAR_ONLY.values())
    assert found.planar == close(expected, message)
    assert found.probability == (found.planar if not found.violations else None)


@given(messages(FULL, pairs(fast, eccentric=True)), st.sampled_from(["TEME", "TOD", "J2000", "ITRF2014", "RTN"]))
@tried(10)
def test_another_frame_is_refused_by_name(message: Message, frame: str) -> None:
    one, other = message.objects
    text = replace(message, objects=(replace(one, frame=frame), replace(other, frame=frame))).text
    with pytest.raises(InvalidMessage, match=f"REF_FRAME is '{frame}' and must be GCRF or EME2000 or ITRF"):
        read_cdm(text)
