"""Files of element sets: one that is bad is refused alone, with its line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meridian.orbit.catalog import CatalogFile, CatalogForm, read_catalog
from meridian.orbit.omm_writing import format_csv, format_json
from meridian.orbit.tle import parse_tle

FIRST = "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927"
SECOND = "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537"
ISS = parse_tle(FIRST, SECOND, "ISS")


def places(file: CatalogFile) -> list[tuple[int, str]]:
    return [(refusal.line, refusal.field) for refusal in file.refusals]


@pytest.mark.parametrize("name", ["ISS", "0 ISS", "ISS                     "])
def test_a_name_stands_above_with_or_without_its_number(name: str) -> None:
    assert read_catalog(f"{name}\r\n{FIRST}\r\n{SECOND}\r\n") == CatalogFile(CatalogForm.TLE, (ISS,), ())


def test_two_lines_need_no_name() -> None:
    file = read_catalog(f"# from a file\n{FIRST}\n{SECOND}\n\n{FIRST}\n{SECOND}")
    assert [elements.name for elements in file.elements] == ["", ""]


@pytest.mark.req("ORB-01")
def test_each_bad_set_of_lines_is_refused_alone() -> None:
    text = "\n".join([
        "A", FIRST, SECOND,
        "B", FIRST[:-1] + "0", SECOND,
        "C", FIRST,
        "D", SECOND,
        "E", FIRST, SECOND[:40],
        "F" * 40,
        "G", FIRST, SECOND,
        FIRST,
    ])  # fmt: skip
    file = read_catalog(text)
    assert [elements.name for elements in file.elements] == ["A", "G"]
    assert places(file) == [(5, "checksum"), (8, "line"), (10, "line"), (13, "line"), (14, "line"), (18, "line")]


@pytest.mark.req("ORB-01")
def test_each_bad_object_of_json_is_refused_alone() -> None:
    objects = json.loads(format_json([ISS] * 3))
    objects[1]["ECCENTRICITY"] = 2
    text = "[\n" + ",\n".join(json.dumps(each) for each in objects) + ",\n7]"
    file = read_catalog(text)
    assert len(file.elements) == 2
    assert places(file) == [(3, "eccentricity"), (5, "syntax")]


def test_json_that_is_cut_gives_what_is_whole() -> None:
    text = format_json([ISS, ISS]).replace("}, {", "},\n{")
    file = read_catalog(text[:-40])
    assert len(file.elements) == 1
    assert [field for _, field in places(file)] == ["syntax"]


@pytest.mark.req("ORB-01")
def test_each_bad_row_of_csv_is_refused_alone() -> None:
    header, row = format_csv([ISS]).splitlines()
    file = read_catalog("\n".join([header, row, row.replace("51.6416", "x"), row + ",1", row, '"']))
    assert len(file.elements) == 2
    assert places(file) == [(3, "INCLINATION"), (4, "columns"), (6, "syntax")]


@settings(deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300), st.sampled_from(CatalogForm))
def test_no_text_does_more_than_be_refused(text: str, form: CatalogForm) -> None:
    assert read_catalog(text, form).elements == ()
