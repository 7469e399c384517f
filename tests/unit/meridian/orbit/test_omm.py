"""Orbit mean-elements messages in their four forms, and what makes one invalid."""

from __future__ import annotations

import math

import pytest
from tests.fuzz.bounds import bounded

from meridian.orbit.catalog import CatalogForm, read_catalog
from meridian.orbit.elements import RANGES, Elements, Source, require_in_range
from meridian.orbit.errors import InvalidElements
from meridian.orbit.omm_writing import format_csv, format_json, format_kvn, format_xml
from meridian.orbit.time import parse_ccsds

KVN = """\
CCSDS_OMM_VERS = 2.0
COMMENT as in annex G of the standard
CREATION_DATE = 2007-065T16:00:00
ORIGINATOR = NOAA/USA
OBJECT_NAME = GOES 9
OBJECT_ID = 1995-025A
CENTER_NAME = EARTH
REF_FRAME = TEME
TIME_SYSTEM = UTC
MEAN_ELEMENT_THEORY = SGP/SGP4
EPOCH = 2007-064T10:34:41.4264
MEAN_MOTION = 1.00273272 [rev/day]
ECCENTRICITY = 0.0005013
INCLINATION = 3.0539 [deg]
RA_OF_ASC_NODE = 81.7939 [deg]
ARG_OF_PERICENTER = 249.2363 [deg]
MEAN_ANOMALY = 150.1602 [deg]
EPHEMERIS_TYPE = 0
CLASSIFICATION_TYPE = U
NORAD_CAT_ID = 23581
ELEMENT_SET_NO = 0925
REV_AT_EPOCH = 4316
BSTAR = 0.0001 [1/ER]
MEAN_MOTION_DOT = -0.00000113 [rev/day**2]
MEAN_MOTION_DDOT = 0.0 [rev/day**3]
"""
GOES_9 = Elements(
    norad=23581,
    designator="1995-025A",
    name="GOES 9",
    epoch_ns=parse_ccsds("2007-03-05T10:34:41.4264") or 0,
    inclination_deg=3.0539,
    raan_deg=81.7939,
    eccentricity=0.0005013,
    argument_of_perigee_deg=249.2363,
    mean_anomaly_deg=150.1602,
    mean_motion_rev_day=1.00273272,
    bstar=0.0001,
    mean_motion_dot=-0.00000113,
    element_set=925,
    revolution=4316,
    source=Source.OMM,
)


@pytest.mark.req("ORB-01")
def test_the_keywords_have_their_meaning() -> None:
    assert read_catalog(KVN).elements == (GOES_9,)


NAMELESS = Elements(**{name: getattr(GOES_9, name) for name in Elements.__slots__} | {"norad": None, "name": "A & B"})
WRITTEN = {
    CatalogForm.KVN: "".join(
        format_kvn(each, originator="US", created_ns=GOES_9.epoch_ns) for each in (GOES_9, NAMELESS)
    ),
    CatalogForm.XML: format_xml(NAMELESS, originator="US", created_ns=GOES_9.epoch_ns),
    CatalogForm.JSON: format_json([GOES_9, NAMELESS]),
    CatalogForm.CSV: format_csv([GOES_9, NAMELESS]),
}


def test_every_form_of_a_message_is_written() -> None:
    assert {*WRITTEN, CatalogForm.TLE} == {*CatalogForm}


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.req("ORB-01")
def test_what_is_written_in_a_form_is_read_back_equal(form: CatalogForm) -> None:
    file = read_catalog(WRITTEN[form])
    assert (file.form, file.refusals) == (form, ())
    assert file.elements == ((NAMELESS,) if form is CatalogForm.XML else (GOES_9, NAMELESS))


@pytest.mark.parametrize(
    ("old", "new", "line", "field"),
    [
        ("CCSDS_OMM_VERS = 2.0", "CCSDS_OMM_VERS = 9.0", 1, "CCSDS_OMM_VERS"),
        ("REF_FRAME = TEME", "REF_FRAME = EME2000", 8, "REF_FRAME"),
        ("TIME_SYSTEM = UTC\n", "", 1, "TIME_SYSTEM"),
        ("MEAN_ELEMENT_THEORY = SGP/SGP4", "MEAN_ELEMENT_THEORY = DSST", 10, "MEAN_ELEMENT_THEORY"),
        ("2007-064T10:34:41.4264", "2007-064 10:34", 11, "EPOCH"),
        ("1.00273272 [rev/day]", "1.00273272 [deg/day]", 12, "MEAN_MOTION"),
        ("0.0005013", "1.0005013", 13, "eccentricity"),
        ("INCLINATION = 3.0539 [deg]", "INCLINATION = x", 14, "INCLINATION"),
        ("INCLINATION = 3.0539 [deg]", "INCLINATION = nan", 14, "INCLINATION"),
        ("INCLINATION = 3.0539 [deg]\n", "", 1, "INCLINATION"),
        ("NORAD_CAT_ID = 23581", "NORAD_CAT_ID = 1234567890", 20, "NORAD_CAT_ID"),
        ("REV_AT_EPOCH = 4316", "REV_AT_EPOCH = -1", 22, "REV_AT_EPOCH"),
        ("BSTAR = 0.0001 [1/ER]", "BSTARR = 0.0001", 23, "BSTARR"),
        ("REV_AT_EPOCH = 4316", "BSTAR = 0.0001", 23, "BSTAR"),
        ("BSTAR = 0.0001 [1/ER]", "bstar: 0.0001", 23, "syntax"),
        ("BSTAR = 0.0001 [1/ER]", "bstar = 0.0001", 23, "syntax"),
        ("BSTAR = 0.0001 [1/ER]", "BSTAR = 1e999", 23, "BSTAR"),
        ("BSTAR = 0.0001 [1/ER]", "BSTAR = 1e-999", 23, "BSTAR"),
        ("BSTAR = 0.0001 [1/ER]", "BSTAR = 1_5.5", 23, "BSTAR"),
        ("BSTAR = 0.0001 [1/ER]", "BSTAR = \uff10.\uff10\uff10\uff10\uff11", 23, "BSTAR"),
        ("BSTAR = 0.0001 [1/ER]", "BSTAR = 1.0D-4", 23, "BSTAR"),
        ("BSTAR = 0.0001 [1/ER]", "BSTAR = 0x1", 23, "BSTAR"),
        ("BSTAR = 0.0001 [1/ER]", "BSTAR = 0.0001 0", 23, "BSTAR"),
        ("BSTAR = 0.0001 [1/ER]", "BSTAR = 0.0001\x00", 23, "syntax"),
        ("REV_AT_EPOCH = 4316", "REV_AT_EPOCH = \uff14\uff13\uff11\uff16", 22, "REV_AT_EPOCH"),
        ("REV_AT_EPOCH = 4316", f"REV_AT_EPOCH = {'9' * 5000}", 22, "REV_AT_EPOCH"),
        ("2007-064T10:34:41.4264", "\uff12\uff10\uff10\uff17-064T10:34:41.4264", 11, "EPOCH"),
        ("2007-064T10:34:41.4264", "0001-064T10:34:41.4264", 11, "EPOCH"),
        ("2007-064T10:34:41.4264", "2016-12-31T23:59:60", 11, "EPOCH"),
        ("MEAN_ELEMENT_THEORY = SGP/SGP4", "MEAN_ELEMENT_THEORY = SGP4-XP", 10, "MEAN_ELEMENT_THEORY"),
        ("EPHEMERIS_TYPE = 0", "EPHEMERIS_TYPE = 4", 18, "EPHEMERIS_TYPE"),
        ("OBJECT_NAME = GOES 9", f"OBJECT_NAME = {'x' * 5000}", 5, "OBJECT_NAME"),
        ("OBJECT_NAME = GOES 9", "OBJECT_NAME = \x1b[2JGOES", 5, "syntax"),
        ("CLASSIFICATION_TYPE = U", "CLASSIFICATION_TYPE = ?", 19, "CLASSIFICATION_TYPE"),
    ],
)
@pytest.mark.req("ORB-01")
def test_a_wrong_message_is_refused_with_line_and_field(old: str, new: str, line: int, field: str) -> None:
    file = read_catalog(KVN.replace(old, new))
    assert file.elements == ()
    assert [(refusal.line, refusal.field) for refusal in file.refusals] == [(line, field)]


def test_brackets_in_a_name_belong_to_the_name() -> None:
    (elements,) = read_catalog(KVN.replace("GOES 9", "COSMOS [DEB]")).elements
    assert elements.name == "COSMOS [DEB]"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<BSTAR>", "<bstar>1</bstar><BSTAR>"),
        ("<BSTAR>", '<BSTAR unit="1/km">'),
        ("<BSTAR>", "17<BSTAR>"),
        ("<BSTAR>", "<BSTAR><GM/>"),
        ("<BSTAR>", "<BSTAR>1</BSTAR><BSTAR>"),
    ],
    ids=["small letters", "unknown attribute", "text between", "nested", "twice"],
)
def test_xml_of_which_a_part_would_be_passed_over_is_refused(old: str, new: str) -> None:
    file = read_catalog(WRITTEN[CatalogForm.XML].replace(old, new))
    assert (file.elements, len(file.refusals)) == ((), 1)


def test_xml_is_read_as_the_text_that_it_is_whatever_encoding_it_declares() -> None:
    text = WRITTEN[CatalogForm.XML].replace("A &amp; B", "Zürich").replace("UTF-8", "ISO-8859-1")
    assert read_catalog(text).elements[0].name == "Zürich"


def test_lines_of_xml_are_counted_from_the_beginning_of_the_file() -> None:
    file = read_catalog("\n\n\n<omm id='CCSDS_OMM_VERS' version='2.0'>\n<X>\n</omm>")
    assert [(refusal.line, refusal.field) for refusal in file.refusals] == [(6, "syntax")]


def test_xml_that_declares_entities_is_refused() -> None:
    file = read_catalog(
        '<?xml version="1.0"?>\n<!DOCTYPE omm [<!ENTITY a "b">]>\n<omm id="CCSDS_OMM_VERS" version="2.0"/>'
    )
    assert [(refusal.line, refusal.field) for refusal in file.refusals] == [(2, "syntax")]


@pytest.mark.parametrize("field", RANGES)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_finite_number_is_refused_as_such(field: str, value: float) -> None:
    """The range of a field without bounds was said to be "-inf to inf"."""
    with pytest.raises(InvalidElements) as refused:
        require_in_range(field, value)
    assert refused.value.what == f"{field} is {value} and must be a finite number."


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("inclination_deg", 1e300, "is 1e+300 and must be at least 0 and at most 180."),
        ("eccentricity", 1.0, "is 1 and must be at least 0 and less than 1."),
        ("mean_motion_rev_day", -1.0, "is -1 and must be at least 1e-06 and less than 20."),
    ],
)
def test_a_number_out_of_range_is_refused_with_the_range(field: str, value: float, said: str) -> None:
    with pytest.raises(InvalidElements) as refused:
        require_in_range(field, value)
    assert refused.value.what == f"{field} {said}"


def test_a_line_of_blanks_takes_time_in_proportion() -> None:
    """A pattern that went back and back took 109 s for 4,000 blanks."""
    with bounded():
        (elements,) = read_catalog(KVN.replace("NOAA/USA", f"A{' ' * 4_000}B [")).elements
    assert elements == GOES_9
