"""Conjunction data messages: what the keywords mean, what comes back, and what is refused where."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.bounds import bounded
from tests.support.cdm_text import HEADER, MESSAGE, OBJECT, TRIANGLE, as_xml

from meridian.orbit.cdm import read_cdm, write_cdm
from meridian.orbit.cdm.keywords import COVARIANCE
from meridian.orbit.errors import InvalidMessage
from meridian.orbit.pc import Flaw, assess, encounter_of
from meridian.orbit.time import parse_ccsds

ROW_OF_DRAG = "".join(f"{keyword.name} = 0.5 [{keyword.unit}]\n" for keyword in COVARIANCE[6])


@pytest.mark.parametrize("text", [MESSAGE, as_xml(MESSAGE)], ids=["kvn", "xml"])
@pytest.mark.req("ORB-04")
def test_the_keywords_have_their_meaning(text: str) -> None:
    message = read_cdm(text)
    assert message.message_id == "made-up-1"
    assert message.tca_ns == parse_ccsds("2026-08-21T03:04:05.678")
    assert message.created_ns == parse_ccsds("2026-08-20T12:00:00")
    assert (message.miss_distance_m, message.hard_body_radius_m) == (150.0, 12.5)
    assert (message.first.designator, message.first.frame) == ("12345", "EME2000")
    assert message.first.position_m.tolist() == [7e6, 1e4, -2e4]
    assert message.second.velocity_m_s.tolist() == [100.0, -7400.0, 200.0]
    assert np.diag(message.first.covariance_rtn).tolist() == [100.0, 200.0, 300.0, 400.0, 500.0, 600.0]
    assert (message.first.covariance_rtn == message.first.covariance_rtn.T).all()
    assert "WEIGHTED_RMS" not in message.first.values, "what is not a number is not known"


@pytest.mark.req("ORB-04")
def test_the_covariance_in_the_frame_of_the_state_has_the_orbit_as_its_axes() -> None:
    first = read_cdm(MESSAGE).first
    radial = first.position_m / np.linalg.norm(first.position_m)
    assert radial @ first.covariance[:3, :3] @ radial == pytest.approx(100.0)
    assert np.trace(first.covariance[3:, 3:]) == pytest.approx(1500.0)


@pytest.mark.parametrize("text", [MESSAGE, as_xml(MESSAGE), MESSAGE + ROW_OF_DRAG], ids=["kvn", "xml", "7x7"])
@pytest.mark.req("ORB-04")
def test_what_is_written_is_read_back_equal(text: str) -> None:
    message = read_cdm(text)
    assert read_cdm(write_cdm(message)) == message


@settings(deadline=None)
@given(st.floats(0, 1e9), st.floats(-1e12, 1e12), st.integers(0, 4 * 10**18))
@pytest.mark.req("ORB-04")
def test_numbers_and_times_come_back_to_the_last_digit(miss: float, x: float, tca: int) -> None:
    message = read_cdm(MESSAGE)
    relative = type(message.relative)({**message.relative.values, "MISS_DISTANCE": miss, "TCA": tca})
    first = type(message.first)({**message.first.values, "X": x})
    changed = type(message)(relative, first, message.second)
    assert read_cdm(write_cdm(changed)) == changed


@pytest.mark.parametrize(
    ("old", "new", "keyword", "line"),
    [
        ("CCSDS_CDM_VERS = 1.0", "CCSDS_CDM_VERS = 2.0", "CCSDS_CDM_VERS", 1),
        ("ORIGINATOR = MERIDIAN\n", "", "ORIGINATOR", 1),
        ("ORIGINATOR = MERIDIAN", "ORIGINATOR =", "ORIGINATOR", 3),
        ("ORIGINATOR = MERIDIAN", "ORIGINATOR: MERIDIAN", "syntax", 3),
        ("2026-08-21T03:04:05.678", "2026-08-32T03:04:05.678", "TCA", 5),
        ("MISS_DISTANCE = 150.0 [m]", "MISS_DISTANCE = 0.15 [km]", "MISS_DISTANCE", 7),
        ("MISS_DISTANCE = 150.0 [m]", "MISS_DISTANCE = -1 [m]", "MISS_DISTANCE", 7),
        ("MISS_DISTANCE = 150.0 [m]", "MISS_DISTANCE = NaN", "MISS_DISTANCE", 7),
        ("1.5E-04", "1.5", "COLLISION_PROBABILITY", 9),
        ("COLLISION_PROBABILITY = 1.5E-04", "COLISION_PROBABILITY = 1", "COLISION_PROBABILITY", 9),
        ("OBJECT = OBJECT1", "OBJECT = OBJECT2", "OBJECT", 10),
        ("REF_FRAME = EME2000", "REF_FRAME = TEME", "REF_FRAME", 18),
        ("OBS_USED = 31", "OBS_USED = 31.5", "OBS_USED", 19),
        ("X = 7000.0 [km]", "X = 7000.0 [m]", "X", 21),
        ("X = 7000.0 [km]\nY = 10.0 [km]", "Y = 10.0 [km]\nX = 7000.0 [km]", "X", 22),
        ("X = 7000.0 [km]", "X = 7000.0 [km]\nX = 7000.0 [km]", "X", 22),
        ("X = 7000.0 [km]\n", "", "X", 10),
        ("CR_R = 100.0", "CR_R = -100.0", "CR_R", 27),
        ("CT_R = 1.0", "CT_R = inf", "CT_R", 28),
        ("CNDOT_NDOT = 600.0 [m**2/s**2]\n", "", "CNDOT_NDOT", 10),
        ("HBR = 12.5 [m]", "HBR = 1.2.3", "HBR", 6),
        ("HBR = 12.5 [m]", "HBR = 1e999", "HBR", 6),
        ("HBR = 12.5 [m]", "HBR = -3", "HBR", 6),
        ("HBR = 12.5 [m]", "HBR = 12.5 [km]", "HBR", 6),
        ("HBR = 12.5 [m]", "HBR = 12.5\nCOMMENT HBR = 7 [m]", "HBR", 7),
        ("X = 7000.0 [km]", "X = 7_000.0 [km]", "X", 21),
        ("X = 7000.0 [km]", "X = \uff17000.0 [km]", "X", 21),
        ("X = 7000.0 [km]", "X = 7.0D3 [km]", "X", 21),
        ("X = 7000.0 [km]", "X = 1e300 [km]", "X", 21),
        ("X = 7000.0 [km]", "x = 7000.0 [km]", "syntax", 21),
        ("OBS_USED = 31", f"OBS_USED = {'9' * 5000}", "OBS_USED", 19),
        ("OBS_USED = 31", "OBS_USED = -31", "OBS_USED", 19),
        ("2026-08-21T03:04:05.678", "2016-12-31T23:59:60", "TCA", 5),
        ("2026-08-21T03:04:05.678", "0026-08-21T03:04:05.678", "TCA", 5),
        ("ORIGINATOR = MERIDIAN", f"ORIGINATOR = {'x' * 20_000}", "syntax", 3),
        ("ORIGINATOR = MERIDIAN", "ORIGINATOR = MERI\x00DIAN", "syntax", 3),
    ],
)
@pytest.mark.req("ORB-04")
def test_a_wrong_message_is_refused_with_line_and_keyword(old: str, new: str, keyword: str, line: int) -> None:
    with pytest.raises(InvalidMessage) as refused:
        read_cdm(MESSAGE.replace(old, new, 1))
    assert {name: refused.value.context[name] for name in ("keyword", "line")} == {"keyword": keyword, "line": line}
    assert refused.value.what.startswith(f"Line {line}, column {refused.value.context['column']}: ")


@pytest.mark.parametrize(
    "text", ["", HEADER, HEADER + OBJECT + TRIANGLE, MESSAGE + OBJECT + TRIANGLE, MESSAGE + "CDRG_R = 1.0"]
)
@pytest.mark.req("ORB-04")
def test_a_message_that_is_not_whole_is_refused(text: str) -> None:
    with pytest.raises(InvalidMessage):
        read_cdm(text)


@pytest.mark.req("ORB-04")
def test_the_place_of_a_value_is_its_column() -> None:
    with pytest.raises(InvalidMessage) as refused:
        read_cdm(MESSAGE.replace("X = 7000.0 [km]", "  X   =  7000,0 [km]"))
    assert (refused.value.context["line"], refused.value.context["column"]) == (21, 10)


@pytest.mark.parametrize("said", ["HBR = unknown", "HBR = NaN", "the HBR is not known"])
def test_a_comment_that_says_no_radius_says_nothing(said: str) -> None:
    assert read_cdm(MESSAGE.replace("HBR = 12.5 [m]", said)).hard_body_radius_m is None


def test_covariances_of_zero_are_read() -> None:
    """What a probability of them means is not the reader's affair."""
    zero = "".join(f"{keyword.name} = 0.0\n" for row in COVARIANCE[:6] for keyword in row)
    assert not read_cdm(MESSAGE.replace(TRIANGLE, zero)).first.covariance_rtn.any()


@pytest.mark.req("ORB-07")
def test_a_message_in_which_all_covariances_are_zero_gives_no_probability() -> None:
    zero = "".join(f"{keyword.name} = 0.0\n" for row in COVARIANCE[:6] for keyword in row)
    found = assess(encounter_of(read_cdm(MESSAGE.replace(TRIANGLE, zero))))
    assert (found.probability, found.method) == (None, None)
    assert Flaw.NO_COVARIANCE in {caveat.flaw for caveat in found.caveats}


@pytest.mark.parametrize(
    "line",
    [
        f"ORIGINATOR = A{' ' * 4_000}B [",
        f"ORIGINATOR = A{' []' * 1_300}",
        f"ORIGINATOR{' ' * 4_000}={' ' * 4_000}A",
        f"COMMENT{' ' * 4_000}HBR{' ' * 2_000}={' ' * 2_000}x",
        " " * 9_000,
    ],
)
def test_a_line_of_blanks_takes_time_in_proportion(line: str) -> None:
    """A pattern that went back and back took 109 s for 4,000 blanks."""
    with bounded():
        read_cdm(MESSAGE.replace("ORIGINATOR = MERIDIAN", f"ORIGINATOR = M\n{line}" if "ORIG" not in line else line))


def test_brackets_in_a_name_belong_to_the_name() -> None:
    message = read_cdm(MESSAGE.replace("OBJECT_NAME = ONE", "OBJECT_NAME = ONE [DEB]"))
    assert message.first.text("OBJECT_NAME") == "ONE [DEB]"


def test_line_ends_that_no_editor_counts_are_none() -> None:
    with pytest.raises(InvalidMessage, match=r"Line 3, column .*U\+0085"):
        read_cdm(MESSAGE.replace("ORIGINATOR = MERIDIAN", "ORIGINATOR = MERI\x85DIAN"))
    assert read_cdm(MESSAGE.replace("\n", "\r\n")) == read_cdm(MESSAGE) == read_cdm("\ufeff" + MESSAGE)


def test_a_message_that_is_too_large_is_not_read() -> None:
    with pytest.raises(InvalidMessage, match="characters"):
        read_cdm(MESSAGE + "COMMENT x\n" * 200_000)


def test_a_wrong_unit_of_what_follows_from_the_states_is_remarked() -> None:
    message = read_cdm(MESSAGE.replace("10000.0 [m/s]", "10000.0 [m]"))
    assert [(remark.line, remark.keyword) for remark in message.remarks] == [(8, "RELATIVE_SPEED")]


@settings(deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    with pytest.raises(InvalidMessage):
        read_cdm(text)
