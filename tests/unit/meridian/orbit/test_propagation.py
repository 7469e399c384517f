"""SGP4 against its verification set (33 objects, which the `sgp4` package carries along) and at its edges."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

import numpy as np
import pytest

from meridian.orbit.elements import Elements
from meridian.orbit.errors import PropagationFailed
from meridian.orbit.propagation import Propagator
from meridian.orbit.tle import checksum, parse_tle

TOLERANCE_KM = 2e-7
MINUTE_NS = 60_000_000_000


@dataclass(frozen=True)
class Case:
    elements: Elements
    minutes: list[float]
    states_km: np.ndarray
    asked: tuple[float, float, float]
    """From, to and step, as the set has them behind the second line."""


def mended(line: str) -> str:
    """Three objects of the set were made up, and their checksums with them."""
    return f"{line[:68]}{checksum(line)}"


def spans(second: str) -> tuple[float, float, float]:
    start, stop, step = (float(word) for word in second[69:].split())
    return start, stop, step


def verification_set() -> list[Case]:
    package = resources.files("sgp4")
    lines = [line for line in (package / "SGP4-VER.TLE").read_text().splitlines() if not line.startswith("#")]
    elements = [parse_tle(mended(one), mended(two)) for one, two in zip(lines[::2], lines[1::2], strict=True)]
    results = (package / "tcppver.out").read_text().replace("\r", "").split(" xx\n")[1:]
    rows = [[line.split()[:7] for line in block.splitlines() if len(line.split()) > 1] for block in results]
    return [
        Case(each, [float(row[0]) for row in block], np.array([[float(x) for x in row[1:]] for row in block]), asked)
        for each, block, asked in zip(elements, rows, (spans(line) for line in lines[1::2]), strict=True)
    ]


CASES = verification_set()


def times_of(case: Case, minutes: list[float]) -> np.ndarray:
    return case.elements.epoch_ns + np.round(np.array(minutes) * MINUTE_NS).astype(np.int64)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.elements.object_id)
@pytest.mark.req("ORB-02")
def test_every_state_of_the_verification_set_is_met(case: Case) -> None:
    states = Propagator([case.elements]).states(times_of(case, case.minutes))
    if case.elements.norad == 33334:
        assert states.codes.tolist() == [[3]], "it has no state at all; the set repeats the one before"
        return
    assert states.good.all()
    found = np.concatenate([states.position_m[0], states.velocity_m_s[0]], axis=1) / 1000.0
    assert np.abs(found - case.states_km).max() < TOLERANCE_KM


@pytest.mark.req("ORB-02")
def test_the_objects_that_fail_in_the_verification_set_fail_here() -> None:
    assert len(CASES) == 33
    failed = []
    for case in CASES:
        start, stop, step = case.asked
        codes = Propagator([case.elements]).states(times_of(case, [0.0, *np.arange(start, stop, step), stop])).codes[0]
        failed += codes[codes > 0][:1].tolist()
    assert failed == [1, 1, 6, 6, 4, 3, 6]


def test_many_objects_at_once_are_as_each_alone() -> None:
    elements = [case.elements for case in CASES[:6]]
    times = elements[0].epoch_ns + np.arange(5) * MINUTE_NS
    together, alone = Propagator(elements).states(times), [Propagator([each]).states(times) for each in elements]
    assert np.array_equal(together.position_m, np.concatenate([each.position_m for each in alone]))
    assert np.array_equal(Propagator(elements).of_one(3, times).velocity_m_s[0], alone[3].velocity_m_s[0])


def test_an_object_that_has_decayed_has_no_state() -> None:
    decayed = next(case for case in CASES if case.elements.norad == 28872)
    with pytest.raises(PropagationFailed, match="decayed") as failed:
        Propagator([decayed.elements]).state(0, decayed.elements.epoch_ns + 60 * MINUTE_NS)
    assert failed.value.context["object_id"] == "28872"
    position, velocity = Propagator([decayed.elements]).state(0, decayed.elements.epoch_ns)
    assert np.allclose(np.concatenate([position, velocity]) / 1000.0, decayed.states_km[0], atol=TOLERANCE_KM)
