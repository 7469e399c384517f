"""Files of element sets: one that is bad is refused alone, with its line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meridian.orbit.catalog import CatalogFile, CatalogForm, read_catalog
from meridian.orbit.omm_writing import format_csv, format_json, format_kvn, format_xml
from meridian.orbit.tle import checksum, parse_tle

FIRST = "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927"
SECOND = "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537"
ISS = parse_tle(FIRST, SECOND, "ISS")


def places(file: CatalogFile) -> list[tuple[int, str]]:
    return [(refusal.line, refusal.field) for refusal in file.refusals]


@pytest.mark.parametrize("name", ["ISS", "0 ISS", "ISS                     ", " " * 1000 + "ISS"])
def test_a_name_stands_above_with_or_without_its_number(name: str) -> None:
    assert read_catalog(f"{name}\r\n{FIRST}\r\n{SECOND}\r\n") == CatalogFile(CatalogForm.TLE, (ISS,), (), {})


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


def mended(line: str) -> str:
    return f"{line[:68]}{checksum(line)}"


@pytest.mark.req("ORB-01")
def test_a_number_with_a_blank_inside_and_a_right_checksum_costs_no_other_set() -> None:
    bad = mended(SECOND.replace("247.4627", "2 7.4627"))
    file = read_catalog("\n".join(["A", FIRST, SECOND, "B", FIRST, bad, "C", FIRST, SECOND]))
    assert [elements.name for elements in file.elements] == ["A", "C"]
    assert [(each.line, each.column, each.field) for each in file.refusals] == [(6, 18, "raan_deg")]


def spoiled(old: str, new: str) -> str:
    """Three objects of JSON, a line each, of which the second is spoiled."""
    one = format_json([ISS]).strip("[]").replace("\n", " ")
    assert old in one
    return "[\n" + ",\n".join([one, one.replace(old, new, 1), one]) + "\n]"


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"BSTAR":', '"BSTAR": 1, "BSTAR":', "BSTAR"),
        ('"NORAD_CAT_ID": 25544', f'"NORAD_CAT_ID": {"9" * 5000}', "NORAD_CAT_ID"),
        ('"NORAD_CAT_ID": 25544', f'"NORAD_CAT_ID": {"[" * 100_000}', "syntax"),
        ('"NORAD_CAT_ID": 25544', f'"NORAD_CAT_ID": {"[" * 10_000}{"]" * 10_000}', "syntax"),
        ('"NORAD_CAT_ID": 25544', '"NORAD_CAT_ID": {"a": {"b": 1}}', "syntax"),
        ('"NORAD_CAT_ID": 25544', '"NORAD_CAT_ID": true', "syntax"),
        ('"NORAD_CAT_ID": 25544', '"NORAD_CAT_ID": "\uff125544"', "NORAD_CAT_ID"),
        ('"INCLINATION": 51.6416', '"INCLINATION": "5_1.6"', "INCLINATION"),
        ('"INCLINATION": 51.6416', '"INCLINATION": NaN', "syntax"),
        ('"INCLINATION": 51.6416', '"INCLINATION": 1e999', "INCLINATION"),
        ('"INCLINATION": 51.6416', '"INCLINATION": ', "syntax"),
        ('"OBJECT_NAME": "ISS"', '"OBJECT_NAME": "ISS', "syntax"),
        ('"OBJECT_NAME": "ISS"', '"OBJECT_NAME": "\\ud800"', "OBJECT_NAME"),
        ('"OBJECT_NAME": "ISS"', '"OBJECT_NAME": "\\u001b[2J"', "OBJECT_NAME"),
    ],
    ids=lambda value: value[:40],
)
@pytest.mark.req("ORB-01")
def test_an_object_of_json_that_is_spoiled_costs_no_other(old: str, new: str, field: str) -> None:
    file = read_catalog(spoiled(old, new))
    assert [place for place in places(file) if place[0] == 3] == [(3, field)]
    is_open = new.count("[") > new.count("]") + 1
    assert len(file.elements) == (1 if is_open else 2), "what is opened and never closed has no end"


@pytest.mark.req("ORB-01")
def test_an_object_of_json_without_its_end_costs_no_other() -> None:
    file = read_catalog(spoiled("}", ""))
    assert (len(file.elements), places(file)) == (2, [(4, "syntax")])


def test_the_column_in_json_is_that_of_the_keyword() -> None:
    (refusal,) = read_catalog('{"EPOCH": "2026-01-01T00:00:00",\n   "EPOCH": "x"}').refusals
    assert (refusal.line, refusal.column, refusal.field) == (2, 4, "EPOCH")


@pytest.mark.parametrize("size", [9_000, 200_000])
@pytest.mark.req("ORB-01")
def test_a_field_of_csv_that_is_too_long_costs_no_other_row(size: int) -> None:
    header, row = format_csv([ISS]).splitlines()
    file = read_catalog("\n".join([header, row, row.replace("ISS", "x" * size), row]))
    assert len(file.elements) == 2
    assert [line for line, _ in places(file)] == [3]


@pytest.mark.req("ORB-01")
def test_a_quote_without_an_end_costs_no_other_row() -> None:
    header, row = format_csv([ISS]).splitlines()
    file = read_catalog("\n".join([header, row.replace("ISS", '"ISS'), "", row.replace("ISS", '"I ""S"", S"')]))
    assert [elements.name for elements in file.elements] == ['I "S", S']
    assert places(file) == [(2, "syntax")]


def test_a_column_that_is_there_twice_is_refused() -> None:
    header, row = format_csv([ISS]).splitlines()
    file = read_catalog(f"{header},BSTAR\n{row},1.0")
    assert (file.elements, places(file)) == ((), [(1, "columns")])


@pytest.mark.req("ORB-01")
def test_a_line_of_kvn_that_is_spoiled_costs_no_other_message() -> None:
    good = format_kvn(ISS, originator="US", created_ns=ISS.epoch_ns)
    bad = good.replace("BSTAR =", "BSTAR")
    file = read_catalog(good + bad + good)
    assert len(file.elements) == 2
    assert [field for _, field in places(file)] == ["syntax"]


@pytest.mark.req("ORB-01")
def test_messages_of_xml_above_and_below_a_bad_one_are_read() -> None:
    good = format_xml(ISS, originator="US", created_ns=ISS.epoch_ns).split("\n", 1)[1]
    bad = good.replace("<BSTAR>", "<Bstar/><BSTAR>")
    file = read_catalog(f"<ndm>\n{good}{bad}{good}</ndm>")
    assert (len(file.elements), places(file)) == (2, [(3, "syntax")])
    broken = read_catalog(f"<ndm>\n{good}{bad}{good}<omm")
    assert len(broken.elements) >= 1


def test_a_file_of_nothing_but_bad_lines_is_given_up_and_counted() -> None:
    file = read_catalog("2 x\n" * 200_000)
    assert (len(file.refusals), dict(file.refused)) == (1_000, {"line": 100_000})


@settings(deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300), st.sampled_from(CatalogForm))
def test_no_text_does_more_than_be_refused(text: str, form: CatalogForm) -> None:
    assert read_catalog(text, form).elements == ()
