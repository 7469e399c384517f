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
    ("number", "text", "field"),
    [
        (1, FIRST[:-1] + "8", "checksum"),
        (1, FIRST[:-1], "line"),
        (1, FIRST + " ", "line"),
        (1, "2" + FIRST[1:], "line number"),
        (1, mended(FIRST.replace("25544U", "2554XU")), "norad"),
        (1, mended(FIRST.replace("25544U", "I5544U")), "norad"),
        (1, mended(FIRST.replace("98067A  ", "98067a  ")), "designator"),
        (1, mended(FIRST.replace("08264.5", "08367.5")), "epoch day"),
        (1, mended(FIRST.replace("08264.5", "08000.5")), "epoch day"),
        (1, mended(FIRST.replace("-.00002182", "-0.0002182")), "mean_motion_dot"),
        (1, mended(FIRST.replace("-11606-4", "-11606 4")), "bstar"),
        (1, mended(FIRST.replace("U 98", "UX98")), "columns"),
        (2, mended(SECOND.replace(" 51.6416", "181.6416")), "inclination_deg"),
        (2, mended(SECOND.replace("247.4627", "247.46 7")), "raan_deg"),
        (2, mended(SECOND.replace("0006703", " 006703")), "eccentricity"),
        (2, mended(SECOND.replace("15.72125391", "25.72125391")), "mean_motion_rev_day"),
        (2, mended(SECOND.replace("25544 ", "25545 ")), "norad"),
    ],
)  # fmt: skip
@pytest.mark.req("ORB-01")
def test_what_is_not_of_its_form_is_refused_with_line_and_field(number: int, text: str, field: str) -> None:
    lines = (text, SECOND) if number == 1 else (FIRST, text)
    with pytest.raises(InvalidElements) as refused:
        parse_tle(*lines, line=10)
    assert refused.value.context == {"field": field, "line": 9 + number}


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
