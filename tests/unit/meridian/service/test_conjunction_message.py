"""A conjunction as a CCSDS message: what an independent reader finds in it, and that it agrees with itself."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from ccsds_ndm.ndm_io import NdmIo
from click.testing import CliRunner
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from sgp4.propagation import gstime
from tests.support.service_home import NOON_NS, SECOND, ServiceHome, conjunction_row, object_row

from meridian.cli.commands import meridian
from meridian.operation.home import Home
from meridian.orbit import Elements, Propagator, Screening, assess_message, format_json, read_cdm, screen, write_cdm
from meridian.orbit.time import JULIAN_UNIX_EPOCH, NS_PER_DAY
from meridian.service.conjunction_message import conjunction_message
from meridian.service.reading import conjunction, known_object
from meridian.service.values import ConjunctionSeen, ObjectKnown

Floats = NDArray[np.float64]
MU = 3.986004418e14
SPIN = 7.292115146706979e-5
HOURS_BEFORE = 2.0
RTN = np.array([60.0, 200.0, 40.0, 0.2, 0.06, 0.05])


def circular(norad: int, raan_deg: float, mean_anomaly_deg: float) -> Elements:
    return Elements(norad, f"2020-00{norad % 10}A", f"OBJECT {norad}", NOON_NS, 60.0, raan_deg, 1e-4, 0.0,
                    mean_anomaly_deg, 15.0, 0.0)  # fmt: skip


@pytest.fixture(scope="module")
def pair() -> tuple[list[Elements], int]:
    """Two orbits that cross, with the time at which the second passes the first."""
    first, horizon = circular(90_001, 0.0, 0.0), (NOON_NS + 3 * 3600 * SECOND, NOON_NS + 4 * 3600 * SECOND)
    nearest, threshold = np.arange(0.0, 360.0, 1.0), 80e3
    for step in (0.01, 1e-4):
        others = [circular(90_002, 80.0, float(at) % 360.0) for at in nearest]
        approaches = screen([first, *others], Screening(*horizon, threshold, processes=1), primaries=[0])
        found = min((each for each in approaches if 0 in (each.first, each.second)), key=lambda each: each.miss_m)
        place = max(found.first, found.second) - 1
        nearest, threshold = nearest[place] + step * np.arange(-60, 61), 5e3
    return [first, others[place]], found.tca_ns


def track(elements: Elements, time_ns: int, deviation: Floats) -> ObjectKnown:
    """What fusion knows of an object two hours before: off its reference by this, with a covariance."""
    epoch = time_ns - int(HOURS_BEFORE * 3600) * SECOND
    state = reference(elements, epoch)
    axes = np.kron(np.eye(2), rtn(state))
    covariance = axes.T @ np.diag(RTN**2) @ axes
    numbers = dict(zip(("x_m", "y_m", "z_m", "vx_m_s", "vy_m_s", "vz_m_s"), map(float, state + deviation), strict=True))
    upper = covariance[np.triu_indices(6)].tolist()
    row = object_row(elements.object_id, epoch_ns=epoch, last_seen_ns=epoch - SECOND, observations=37, **numbers)
    return known_object({**row, "covariance": str(upper)})


def reference(elements: Elements, time_ns: int) -> Floats:
    """Where the catalog has an object, with the velocity at which SGP4's positions change: its own differs by cm/s."""
    times = time_ns + SECOND // 10 * np.array([-1, 0, 1])
    before, there, after = Propagator([elements]).states(times).position_m[0]
    return np.concatenate([there, (after - before) / 0.2])


def rtn(state: Floats) -> Floats:
    r, n = state[:3] / np.linalg.norm(state[:3]), np.cross(state[:3], state[3:])
    n = n / np.linalg.norm(n)
    return np.array([r, np.cross(n, r), n])


def passage(time_ns: int, **given: object) -> ConjunctionSeen:
    return conjunction(conjunction_row(encounter_ns=time_ns, closest_ns=time_ns, radius_m=7.5, **given))


DEVIATIONS = (np.array([80.0, -150.0, 60.0, 0.1, -0.05, 0.02]), np.array([-40.0, 90.0, 30.0, -0.03, 0.08, 0.01]))


def tracks(pair: tuple[list[Elements], int]) -> dict[str, ObjectKnown]:
    both, time_ns = pair
    return {each.object_id: track(each, time_ns, off) for each, off in zip(both, DEVIATIONS, strict=True)}


def flown(state: Floats, seconds: float) -> Floats:
    """Two-body motion, by numerical integration."""

    def rates(_: float, y: Floats) -> Floats:
        return np.concatenate([y[3:], -MU * y[:3] / np.linalg.norm(y[:3]) ** 3])

    found: Floats = solve_ivp(rates, (0.0, seconds), state, rtol=1e-12, atol=1e-6).y[:, -1]
    return found


def inertial(position_km: Floats, velocity_km_s: Floats, time_ns: int) -> Floats:
    """From the turning Earth to TEME, by the sidereal time of the `sgp4` package."""
    angle = gstime(JULIAN_UNIX_EPOCH + time_ns / NS_PER_DAY)
    turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
    position = position_km * 1e3
    velocity = velocity_km_s * 1e3 + np.cross([0.0, 0.0, SPIN], position)
    return np.concatenate([turn @ position, turn @ velocity])


def test_an_independent_reader_finds_both_objects_where_their_tracks_lead(
    pair: tuple[list[Elements], int], tmp_path: Path
) -> None:
    both, time_ns = pair
    known = tracks(pair)
    made = conjunction_message(passage(time_ns), both, known, NOON_NS)
    file = tmp_path / "message.cdm"
    file.write_text(write_cdm(made))
    read = NdmIo().from_path(file)
    for segment, elements, deviation in zip(read.body.segment, both, DEVIATIONS, strict=True):
        assert segment.metadata.object_designator == elements.object_id
        assert segment.metadata.object_name == elements.name
        vector = segment.data.state_vector
        place = np.array([vector.x.value, vector.y.value, vector.z.value])
        speed = np.array([vector.x_dot.value, vector.y_dot.value, vector.z_dot.value])
        before, there = (reference(elements, at) for at in (known[elements.object_id].epoch_ns, made.tca_ns))
        seconds = (made.tca_ns - known[elements.object_id].epoch_ns) / SECOND
        expected = there + flown(before + deviation, seconds) - flown(before, seconds)
        found = inertial(place, speed, made.tca_ns)
        assert np.linalg.norm(found[:3] - expected[:3]) < 5.0  # of a deviation that grows to kilometres
        assert np.linalg.norm(found[:3] - there[:3]) > 100.0
        assert np.linalg.norm(found[3:] - expected[3:]) < 0.01


def test_the_message_agrees_with_itself(pair: tuple[list[Elements], int]) -> None:
    both, time_ns = pair
    message = read_cdm(write_cdm(conjunction_message(passage(time_ns), both, tracks(pair), NOON_NS)))
    found = assess_message(message)
    assert found.hard_body_radius_m == 7.5
    assert found.miss_distance_m == pytest.approx(message.miss_distance_m, rel=1e-6)
    assert found.stated is not None
    assert found.assessment.planar == pytest.approx(found.stated.probability, rel=1e-6, abs=0.0)
    assert found.assessment.caveats == ()
    place = np.array([message.relative.number(f"RELATIVE_POSITION_{axis}") for axis in "RTN"])
    velocity = np.array([message.relative.number(f"RELATIVE_VELOCITY_{axis}") for axis in "RTN"])
    assert np.linalg.norm(place) == pytest.approx(message.miss_distance_m)
    assert np.linalg.norm(velocity) == pytest.approx(found.relative_speed_m_s)
    assert abs(place @ velocity) < 1e-3 * np.linalg.norm(place) * np.linalg.norm(velocity)


def test_an_object_that_was_never_observed_has_a_default_covariance_and_no_probability(
    pair: tuple[list[Elements], int],
) -> None:
    both, time_ns = pair
    known = tracks(pair)
    del known["90002"]
    message = read_cdm(write_cdm(conjunction_message(passage(time_ns), both, known, NOON_NS)))
    assert not message.first.has_default_covariance
    assert message.second.has_default_covariance
    assert "COLLISION_PROBABILITY" not in message.relative.values
    hours = (time_ns - NOON_NS) / SECOND / 3600
    assert math.sqrt(message.second.covariance_rtn[1, 1]) == pytest.approx(500.0 + 1000.0 * hours / 24.0, rel=1e-3)


def test_the_command_writes_the_message_of_a_conjunction(pair: tuple[list[Elements], int], tmp_path: Path) -> None:
    both, time_ns = pair
    Home(tmp_path).catalog.write_text(format_json(both))
    made = ServiceHome(tmp_path)
    made.batch({"conjunctions": [conjunction_row(encounter_ns=time_ns, closest_ns=time_ns)]})
    made.close()
    done = CliRunner().invoke(meridian, ["alerts", "c0", "--cdm", "--directory", str(tmp_path)])
    assert done.exit_code == 0, done.output
    message = read_cdm(done.stdout)
    assert [message.first.designator, message.second.designator] == ["90001", "90002"]
    assert message.message_id.startswith("c0_")
    unknown = CliRunner().invoke(meridian, ["alerts", "c9", "--cdm", "--directory", str(tmp_path)])
    assert unknown.exit_code == 1
    assert "There is no alert and no conjunction c9." in unknown.output
    Home(tmp_path).catalog.write_text(format_json(both[:1]))
    gone = CliRunner().invoke(meridian, ["alerts", "c0", "--cdm", "--directory", str(tmp_path)])
    assert "The catalog has no elements of 90002 any more." in gone.output


@pytest.mark.parametrize("words", [["c0"], ["--cdm"]])
def test_a_conjunction_and_the_form_belong_together(words: list[str], tmp_path: Path) -> None:
    done = CliRunner().invoke(meridian, ["alerts", *words, "--directory", str(tmp_path)])
    assert done.exit_code == 2
    assert "together" in done.output
