"""Two-line element sets: what the columns mean, and that nothing else than they may be is taken."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meridian.orbit.elements import Elements
from meridian.orbit.errors import InvalidElements
from meridian.orbit.tle import checksum, format_alpha5, format_tle, parse_alpha5, parse_tle

FIRST = "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927"
SECOND = "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537"


def mended(line: str) -> str:
    return f"{line[:68]}{checksum(line)}"


@pytest.mark.req("ORB-01")
def test_each_column_has_its_meaning() -> None:
    elements = parse_tle(FIRST, SECOND, "ISS (ZARYA)")
    assert elements == Elements(
        norad=25544,
        designator="1998-067A",
        name="ISS (ZARYA)",
        epoch_ns=1_221_913_540_104_192_000,
        inclination_deg=51.6416,
        raan_deg=247.4627,
        eccentricity=0.0006703,
        argument_of_perigee_deg=130.5360,
        mean_anomaly_deg=325.0288,
        mean_motion_rev_day=15.72125391,
        bstar=-0.11606e-4,
        mean_motion_dot=-0.00002182,
        element_set=292,
        revolution=56353,
    )
    assert elements.object_id == "25544"


@pytest.mark.parametrize(
    ("number", "text", "field", "column"),
    [
        (1, FIRST[:-1] + "8", "checksum", 69),
        (1, FIRST[:-1], "line", 69),
        (1, FIRST + " ", "line", 70),
        (1, "2" + FIRST[1:], "line number", 1),
        (1, mended(FIRST.replace("25544U", "2554XU")), "norad", 3),
        (1, mended(FIRST.replace("25544U", "I5544U")), "norad", 3),
        (1, mended(FIRST.replace("98067A  ", "98067a  ")), "designator", 10),
        (1, mended(FIRST.replace("08264.5", "08367.5")), "epoch day", 21),
        (1, mended(FIRST.replace("08264.5", "08000.5")), "epoch day", 21),
        (1, mended(FIRST.replace("-.00002182", "-0.0002182")), "mean_motion_dot", 34),
        (1, mended(FIRST.replace("-11606-4", "-11606 4")), "bstar", 54),
        (1, mended(FIRST.replace("U 98", "UX98")), "columns", 9),
        (2, mended(SECOND.replace(" 51.6416", "181.6416")), "inclination_deg", 9),
        (2, mended(SECOND.replace("247.4627", "247.46 7")), "raan_deg", 18),
        (2, mended(SECOND.replace("0006703", " 006703")), "eccentricity", 27),
        (2, mended(SECOND.replace("15.72125391", "25.72125391")), "mean_motion_rev_day", 53),
        (2, mended(SECOND.replace("25544 ", "25545 ")), "norad", 3),
        (1, mended(FIRST.replace("25544U", "2 544U")), "norad", 3),
        (1, mended(FIRST.replace("25544U", "A 544U")), "norad", 3),
        (1, mended(FIRST.replace("08264.5", "082 4.5")), "epoch day", 21),
        (1, mended(FIRST.replace("  2927", " 2 927")), "element_set", 65),
        (1, mended(FIRST.replace(" 0  2927", " 4  2927")), "ephemeris_type", 63),
        (1, mended(FIRST.replace("98067A  ", "98067A B")), "designator", 10),
        (1, FIRST.replace("25544U", "\uff125544U"), "line", 3),
        (2, mended(SECOND.replace(" 51.6416", "5 1.6416")), "inclination_deg", 9),
        (2, mended(SECOND.replace("247.4627", "2 7.4627")), "raan_deg", 18),
        (2, mended(SECOND.replace("325.0288", "3 5.0288")), "mean_anomaly_deg", 44),
        (2, mended(SECOND.replace("56353", "5 353")), "revolution", 64),
    ],
)  # fmt: skip
@pytest.mark.req("ORB-01")
def test_what_is_not_of_its_form_is_refused_with_its_place(number: int, text: str, field: str, column: int) -> None:
    lines = (text, SECOND) if number == 1 else (FIRST, text)
    with pytest.raises(InvalidElements) as refused:
        parse_tle(*lines, line=10)
    assert refused.value.context == {"field": field, "line": 9 + number, "column": column}
    assert refused.value.what.startswith(f"Line {9 + number}, column {column}: ")


def test_a_line_of_the_right_length_is_not_said_to_be_of_the_wrong_one() -> None:
    with pytest.raises(InvalidElements, match="not ASCII") as refused:
        parse_tle(FIRST.replace("-.0000", "\u2212.0000"), SECOND)
    assert "69" not in refused.value.what


@pytest.mark.parametrize("text", ["", "1234", "1 234", "A 001", "I0001", "\uff112345", "-1234", "123456"])
def test_what_is_no_catalog_number_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidElements, match="catalog number"):
        parse_alpha5(text)


@pytest.mark.parametrize(("text", "number"), [("00005", 5), ("    5", 5), ("A0000", 100_000), ("Z9999", 339_999)])
def test_catalog_numbers_may_begin_with_a_letter(text: str, number: int) -> None:
    assert parse_alpha5(text) == number
    assert parse_alpha5(format_alpha5(number)) == number


@settings(deadline=None)
@given(st.integers(0, 339_999))
def test_every_catalog_number_that_fits_is_read_back(number: int) -> None:
    assert parse_alpha5(format_alpha5(number)) == number


@settings(deadline=None)
@given(
    norad=st.integers(0, 339_999),
    epoch=st.integers(-4_000, 30_000),
    fraction=st.integers(0, 10**8 - 1),
    angles=st.tuples(*[st.integers(0, 3_599_999)] * 3),
    inclination=st.integers(0, 1_800_000),
    eccentricity=st.integers(0, 9_999_999),
    motion=st.integers(1_000, 1_999_999_999),
    mantissa=st.integers(-99_999, 99_999).filter(lambda m: m == 0 or abs(m) >= 10_000),
    power=st.integers(-9, 9),
)
@pytest.mark.req("ORB-01")
def test_what_is_written_is_read_back_equal(
    norad: int, epoch: int, fraction: int, angles: tuple[int, int, int], inclination: int, eccentricity: int,
    motion: int, mantissa: int, power: int,
) -> None:  # fmt: skip
    elements = Elements(
        norad=norad,
        designator="2024-001AB",
        name="X",
        epoch_ns=epoch * 86_400_000_000_000 + fraction * 864_000,
        inclination_deg=inclination / 1e4,
        raan_deg=angles[0] / 1e4,
        eccentricity=eccentricity / 1e7,
        argument_of_perigee_deg=angles[1] / 1e4,
        mean_anomaly_deg=angles[2] / 1e4,
        mean_motion_rev_day=motion / 1e8,
        bstar=float(f"{mantissa}e{power - 5}"),
    )
    assert parse_tle(*format_tle(elements), "X") == elements


def test_a_number_that_does_not_fit_is_not_written() -> None:
    elements = parse_tle(FIRST, SECOND)
    too_large = Elements(**{name: getattr(elements, name) for name in Elements.__slots__} | {"norad": 340_000})
    with pytest.raises(InvalidElements, match="does not fit"):
        format_tle(too_large)
