"""Two-line element sets, by their columns: read strictly, written canonically.

Each field has fixed columns and a form; anything else is refused with the line, the column and the field. Blanks may
lead a number and never stand inside it. Catalog numbers may be
Alpha-5 (a letter for the first two digits, up to 339,999). A name is the line above, with or without a leading `0 `.
Whole files are read by `meridian.orbit.catalog`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from meridian.orbit.elements import OTHER_THEORIES, Elements, Source, invalid, require_in_range
from meridian.orbit.time import NS_PER_DAY, calendar, start_of_day

LENGTH = 69
HIGHEST_ALPHA5 = 339_999
_NAME_LENGTH = 24
_DIGITS = frozenset("0123456789")
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_DAY_STEP_NS = NS_PER_DAY // 10**8
_NUMBER = r"[A-HJ-NP-Z]\d{4}| *\d+"
_EXPONENT = r"[ +-]\d{5}[+-]\d"
_ANGLE = r" *\d+\.\d{4}"


@dataclass(frozen=True, slots=True)
class Column:
    """Where a field stands (from 0, `stop` not included) and what it may look like."""

    field: str
    start: int
    stop: int
    form: str


_FIRST = (
    Column("norad", 2, 7, _NUMBER),
    Column("classification", 7, 8, "[UCS ]"),
    Column("designator", 9, 17, r"\d{5}[A-Z]{0,3} *| {8}"),
    Column("epoch year", 18, 20, r"\d\d"),
    Column("epoch day", 20, 32, r" *\d+\.\d{8}"),
    Column("mean_motion_dot", 33, 43, r"[ +-]\.\d{8}"),
    Column("mean_motion_ddot", 44, 52, _EXPONENT),
    Column("bstar", 53, 61, _EXPONENT),
    Column("ephemeris_type", 62, 63, r"[\d ]"),
    Column("element_set", 64, 68, r" *\d*"),
)
_SECOND = (
    Column("norad", 2, 7, _NUMBER),
    Column("inclination_deg", 8, 16, _ANGLE),
    Column("raan_deg", 17, 25, _ANGLE),
    Column("eccentricity", 26, 33, r"\d{7}"),
    Column("argument_of_perigee_deg", 34, 42, _ANGLE),
    Column("mean_anomaly_deg", 43, 51, _ANGLE),
    Column("mean_motion_rev_day", 52, 63, r" ?\d+\.\d{8}"),
    Column("revolution", 63, 68, r" *\d*"),
)
_COLUMNS = {1: _FIRST, 2: _SECOND}
_FORMS = {column: re.compile(column.form) for columns in _COLUMNS.values() for column in columns}
_STARTS = {column.field: column.start + 1 for columns in _COLUMNS.values() for column in columns}
_GAPS = {
    number: [at for at in range(1, LENGTH - 1) if not any(c.start <= at < c.stop for c in columns)]
    for number, columns in _COLUMNS.items()
}


def parse_tle(first: str, second: str, name: str = "", *, line: int = 1) -> Elements:
    """The elements of two lines; `line` is the number of the first of them in its file."""
    one, two = _fields(first, 1, line), _fields(second, 2, line + 1)
    if one["norad"] != two["norad"]:
        what = f"This line is of object {two['norad'].strip()}, the line above of {one['norad'].strip()}."
        raise invalid(what, field="norad", line=line + 1, column=3)
    _require_for_sgp4(one, line)
    return Elements(
        norad=parse_alpha5(one["norad"]),
        designator=_long_designator(one["designator"]),
        name=name.strip(),
        epoch_ns=_epoch(one["epoch year"], one["epoch day"], line),
        inclination_deg=_decimal(two, "inclination_deg", line + 1),
        raan_deg=_decimal(two, "raan_deg", line + 1),
        eccentricity=_decimal(two, "eccentricity", line + 1),
        argument_of_perigee_deg=_decimal(two, "argument_of_perigee_deg", line + 1),
        mean_anomaly_deg=_decimal(two, "mean_anomaly_deg", line + 1),
        mean_motion_rev_day=_decimal(two, "mean_motion_rev_day", line + 1),
        bstar=_decimal(one, "bstar", line),
        mean_motion_dot=_decimal(one, "mean_motion_dot", line),
        mean_motion_ddot=_decimal(one, "mean_motion_ddot", line),
        classification=one["classification"].strip() or "U",
        ephemeris_type=int(one["ephemeris_type"].strip() or 0),
        element_set=int(one["element_set"].strip() or 0),
        revolution=int(two["revolution"].strip() or 0),
        source=Source.TLE,
    )


def format_tle(elements: Elements) -> tuple[str, str]:
    """The two lines. Refuses what they have no room for."""
    if elements.norad is None or elements.norad > HIGHEST_ALPHA5:
        raise invalid(f"The catalog number {elements.norad} does not fit into five columns.", field="norad")
    first, second = _first_line(elements, elements.norad), _second_line(elements, elements.norad)
    return f"{first}{checksum(first)}", f"{second}{checksum(second)}"


def _first_line(elements: Elements, norad: int) -> str:
    derivatives = (
        f"{_dot_text(elements.mean_motion_dot)} {_exponent_text(elements.mean_motion_ddot, 'mean_motion_ddot')}"
    )
    return (
        f"1 {format_alpha5(norad)}{elements.classification} {_short_designator(elements.designator)} "
        f"{_epoch_text(elements.epoch_ns)} {derivatives} {_exponent_text(elements.bstar, 'bstar')} "
        f"{elements.ephemeris_type} {elements.element_set % 10_000:4d}"
    )


def _second_line(elements: Elements, norad: int) -> str:
    eccentricity = min(round(elements.eccentricity * 1e7), 9_999_999)
    return (
        f"2 {format_alpha5(norad)} {elements.inclination_deg:8.4f} {_angle_text(elements.raan_deg)} "
        f"{eccentricity:07d} {_angle_text(elements.argument_of_perigee_deg)} "
        f"{_angle_text(elements.mean_anomaly_deg)} "
        f"{elements.mean_motion_rev_day:11.8f}{elements.revolution % 100_000:5d}"
    )


def checksum(line: str) -> int:
    """The last digit: the sum of the digits before it, a minus counting as one."""
    return sum(int(char) if char in _DIGITS else char == "-" for char in line[: LENGTH - 1]) % 10


def parse_alpha5(text: str) -> int:
    """The number of five columns, of which the first may be a letter."""
    if len(text) != 5 or not text.isascii() or not re.fullmatch(_NUMBER, text):
        raise invalid(f"{text[:20]!r} is no catalog number of five columns.", field="norad")
    head = text[0]
    return (10 + _LETTERS.index(head)) * 10_000 + int(text[1:]) if head in _LETTERS else int(text)


def format_alpha5(number: int) -> str:
    """Five columns for a number up to 339,999."""
    head, rest = divmod(number, 10_000)
    return f"{number:05d}" if head < 10 else f"{_LETTERS[head - 10]}{rest:04d}"


def is_name(text: str) -> bool:
    """Whether a line can be a name: no longer, and nothing in it that would act on a terminal."""
    return 0 < len(text.strip()) <= _NAME_LENGTH + 2 and text.isprintable()


def _fields(text: str, number: int, line: int) -> dict[str, str]:
    _require_shape(text, number, line)
    for at in _GAPS[number]:
        if text[at] != " ":
            what = f"Column {at + 1} is {text[at]!r} and not blank."
            raise invalid(what, field="columns", line=line, column=at + 1)
    if text[-1] != str(checksum(text)):
        what = f"The checksum is {text[-1]!r} and should be {checksum(text)}."
        raise invalid(what, field="checksum", line=line, column=LENGTH)
    return {column.field: _field(text, column, line) for column in _COLUMNS[number]}


def _require_shape(text: str, number: int, line: int) -> None:
    if not text.isascii():
        at = next(at for at, char in enumerate(text) if not char.isascii())
        raise invalid("There is a character that is not ASCII.", field="line", line=line, column=at + 1)
    if len(text) != LENGTH:
        what = f"The line has {len(text)} characters and must have {LENGTH}."
        raise invalid(what, field="line", line=line, column=min(len(text), LENGTH) + 1)
    if text[0] != str(number):
        what = f"The line begins with {text[0]!r} and not with {number}."
        raise invalid(what, field="line number", line=line, column=1)


def _field(text: str, column: Column, line: int) -> str:
    found = text[column.start : column.stop]
    if not _FORMS[column].fullmatch(found):
        what = f"Columns {column.start + 1} to {column.stop}, {column.field}, are {found!r}."
        raise invalid(what, field=column.field, line=line, column=column.start + 1)
    return found


def _decimal(fields: dict[str, str], field: str, line: int) -> float:
    text = fields[field]
    if field == "eccentricity":
        text = f"0.{text}"
    elif field in {"bstar", "mean_motion_ddot"}:
        text = f"{text[0].strip()}0.{text[1:6]}e{text[6:]}"
    return require_in_range(field, float(text), line, _STARTS[field])


def _require_for_sgp4(fields: dict[str, str], line: int) -> None:
    other = OTHER_THEORIES.get(int(fields["ephemeris_type"].strip() or 0))
    if other is not None:
        what = f"The elements are for {other}, and SGP4 would give wrong positions."
        raise invalid(what, field="ephemeris_type", line=line, column=_STARTS["ephemeris_type"])


def _epoch(year_text: str, day_text: str, line: int) -> int:
    year = int(year_text) + (1900 if int(year_text) >= 57 else 2000)
    day, _, fraction = day_text.strip().partition(".")
    moment = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=int(day) - 1)
    if int(day) < 1 or moment.year != year:
        what = f"The year {year} has no day {int(day)}."
        raise invalid(what, field="epoch day", line=line, column=_STARTS["epoch day"])
    return start_of_day(moment) + int(fraction) * _DAY_STEP_NS


def _epoch_text(epoch_ns: int) -> str:
    steps = round(epoch_ns / _DAY_STEP_NS) if epoch_ns % _DAY_STEP_NS else epoch_ns // _DAY_STEP_NS
    days, fraction = divmod(steps, 10**8)
    day = calendar(days * NS_PER_DAY)
    if not 1957 <= day.year <= 2056:
        raise invalid(f"The year {day.year} does not fit into two digits.", field="epoch year")
    return f"{day:%y}{day.timetuple().tm_yday:03d}.{fraction:08d}"


def _long_designator(text: str) -> str | None:
    if not text.strip():
        return None
    year = int(text[:2])
    return f"{1900 + year if year >= 57 else 2000 + year}-{text[2:5]}{text[5:].strip()}"


def _short_designator(text: str | None) -> str:
    found = re.fullmatch(r"\d\d(\d\d)-(\d{3})([A-Z]{0,3})", text or "")
    return f"{found[1]}{found[2]}{found[3]:<3}" if found else " " * 8


def _angle_text(degrees: float) -> str:
    return f"{round(degrees, 4) % 360.0:8.4f}"


def _dot_text(value: float) -> str:
    digits = round(abs(value) * 1e8)
    if digits >= 10**8:
        raise invalid(f"{value} does not fit into eight decimals.", field="mean_motion_dot")
    return f"{'-' if value < 0 else ' '}.{digits:08d}"


def _exponent_text(value: float, field: str) -> str:
    if value == 0.0:
        return " 00000+0"
    mantissa, _, exponent = f"{abs(value):.4e}".partition("e")
    power = int(exponent) + 1
    if power > 9:
        raise invalid(f"{value} does not fit into one digit of exponent.", field=field)
    if power < -9:
        return " 00000+0"
    sign = "-" if value < 0 else " "
    return f"{sign}{mantissa.replace('.', '')}{power:+d}"
