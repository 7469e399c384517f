"""Any valid conjunction message has the probability that a second computation finds, or none, with the reason."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support import conjunction_oracle as oracle
from tests.support.conjunction_texts import Message, Written, circular, orbital_covariance

from meridian.orbit.cdm import read_cdm
from meridian.orbit.pc import Assessment, Flaw, Method, assess, encounter_of

Floats = NDArray[np.float64]
FRAMES = ("EME2000", "GCRF", "ITRF")
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


_ONES = np.ones((3, 3))
_NO_NORMAL = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])

shapes = st.builds(Shape, st.tuples(*[st.floats(8.0, 60.0)] * 3), st.floats(0.0, 300.0))
small_shapes = st.builds(Shape, st.tuples(*[st.floats(8.0, 30.0)] * 3), st.floats(0.0, 30.0))
radii = st.floats(6.7e6, 4.3e7)
times = st.integers(1_100_000_000, 2_000_000_000).map(
    lambda seconds: datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.250")
)


@st.composite
def messages(
    draw: st.DrawFn,
    forms: tuple[str, ...],
    crossing: st.SearchStrategy[float],
    sizes: st.SearchStrategy[Shape] = shapes,
) -> Message:
    """Two objects on circular orbits that cross, with a miss of up to three sigmas, in one of the frames."""
    distance, angle = draw(radii), draw(crossing)
    ours, theirs = draw(sizes), draw(sizes)
    inclination = draw(st.floats(0.0, 3.0))
    first = circular(distance, inclination)
    miss = [draw(st.floats(-2.0, 2.0)) * sigma for sigma in ours.sigma_m]
    second = circular(distance, inclination + angle) + np.array([*miss, 0.0, 0.0, 0.0])
    frame, form, tca = draw(st.sampled_from(FRAMES)), draw(st.sampled_from(forms)), draw(times)
    spoiled = Written(second, theirs.of(second, form), "DEFAULT" if form == "default" else "CALCULATED", frame)
    other = form if form in FULL else "orbital"
    known = Written(first, ours.of(first, other), frame=frame)
    turn = draw(st.floats(0.0, 6.28))
    return Message((_turned(known, turn), _turned(spoiled, turn)), draw(st.floats(1.0, 30.0)), tca)


def _turned(written: Written, angle: float) -> Written:
    """The same orbit seen after a turn about the z axis."""
    cos, sin = math.cos(angle), math.sin(angle)
    both = np.kron(np.eye(2), np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]]))
    return replace(written, state=both @ written.state)


def assessed(message: Message) -> Assessment:
    return assess(encounter_of(read_cdm(message.text)))


fast = st.floats(0.02, 3.0)
slow = st.floats(3e-4, 1e-3)


@settings(deadline=None, max_examples=25)
@given(messages(FULL, fast))
@pytest.mark.req("ORB-05")
def test_the_probability_of_a_fast_encounter_is_the_one_of_the_contour(message: Message) -> None:
    found, expected = assessed(message), oracle.planar(oracle.pair_of(message.text))
    event(f"{found.method}")
    assert found.planar == pytest.approx(expected, rel=1e-6, abs=1e-14)
    assert found.probability == pytest.approx(expected, rel=0.05, abs=1e-14)
    assert found.method is Method.CURVED or found.probability == found.planar


@settings(deadline=None, max_examples=8)
@given(messages(("orbital",), slow, small_shapes))
@pytest.mark.req("ORB-06")
def test_the_probability_of_a_slow_encounter_is_the_number_of_entries(message: Message) -> None:
    found = assessed(message)
    pair = oracle.pair_of(message.text)
    speed = np.linalg.norm(pair.relative[3:])
    half = (9.0 * math.sqrt(np.linalg.eigvalsh(pair.covariance[:3, :3])[-1]) + np.linalg.norm(pair.relative)) / speed
    event(f"{found.method}")
    assert found.method is not None
    assert found.probability == pytest.approx(min(1.0, oracle.entries(pair, float(half))), rel=0.03, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(messages(tuple(WITHHELD), fast))
@pytest.mark.req("ORB-07")
def test_a_covariance_that_says_nothing_gives_no_probability(message: Message) -> None:
    found = assessed(message)
    assert found.probability is None
    assert {caveat.flaw for caveat in found.caveats} <= set(WITHHELD.values())
    assert found.reason


@settings(deadline=None, max_examples=60)
@given(messages(tuple(PLANAR_ONLY), fast))
@pytest.mark.req("ORB-07")
def test_a_covariance_without_velocity_gives_the_planar_probability_or_none(message: Message) -> None:
    found, expected = assessed(message), oracle.planar(oracle.pair_of(message.text))
    event(f"{found.method}")
    assert {caveat.flaw for caveat in found.caveats} <= set(PLANAR_ONLY.values())
    assert found.planar == pytest.approx(expected, rel=1e-6, abs=1e-14)
    assert found.probability == (found.planar if not found.violations else None)
