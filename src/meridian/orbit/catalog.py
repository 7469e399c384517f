"""Reads whole files of element sets, in any of their forms. One bad set never costs the others: it is refused alone.

Opens no file: it is given the text, and says what was good and what was refused, with line and field.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from meridian.orbit.elements import Elements, invalid
from meridian.orbit.errors import InvalidElements
from meridian.orbit.ndm import COMMENT, Entry, Unreadable, entries
from meridian.orbit.omm import VERSION, OmmForm, elements_of
from meridian.orbit.tle import is_name, parse_tle


class CatalogForm(StrEnum):
    """How a catalog is written."""

    TLE = "tle"
    KVN = "kvn"
    XML = "xml"
    JSON = "json"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An element set that was not taken: where, in which field, and why."""

    line: int
    field: str
    reason: InvalidElements


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """What a text held."""

    form: CatalogForm
    elements: tuple[Elements, ...]
    refusals: tuple[Refusal, ...]


_Attempt = Callable[[], Elements]


def read_catalog(text: str, form: CatalogForm | None = None) -> CatalogFile:
    """Every element set of a text, and every refusal; the form is seen from its beginning when it is not given."""
    form = form or form_of(text)
    good: list[Elements] = []
    refused: list[Refusal] = []
    for attempt in _READERS[form](text):
        try:
            good.append(attempt())
        except InvalidElements as error:
            refused.append(Refusal(int(str(error.context["line"] or 1)), str(error.context["field"]), error))
    return CatalogFile(form, tuple(good), tuple(refused))


def form_of(text: str) -> CatalogForm:
    """The form that the first line looks like."""
    head = text.lstrip("\ufeff \t\r\n")
    first = head.split("\n", 1)[0]
    if head.startswith("<"):
        return CatalogForm.XML
    if head.startswith(("[", "{")):
        return CatalogForm.JSON
    if "," in first and "EPOCH" in first:
        return CatalogForm.CSV
    return CatalogForm.KVN if first.startswith((VERSION, COMMENT)) else CatalogForm.TLE


def _tle(text: str) -> Iterator[_Attempt]:
    name, first = "", None
    for number, raw in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        line = raw.rstrip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("2 ") and first is not None:
            yield _pair(first[1], line, name, first[0])
            name, first = "", None
        elif line.startswith("2 "):
            yield _refused("There is no first line above it.", number)
        else:
            if first is not None:
                yield _refused("There is no second line below it.", first[0])
            first = (number, line) if line.startswith("1 ") else None
            if first is None:
                yield from [] if is_name(line) else [_refused("It is neither a name nor a line of a set.", number)]
                name = line.removeprefix("0 ")
    if first is not None:
        yield _refused("There is no second line below it.", first[0])


def _pair(first: str, second: str, name: str, line: int) -> _Attempt:
    return lambda: parse_tle(first, second, name, line=line)


def _refused(what: str, line: int, field: str = "line") -> _Attempt:
    def refuse() -> Elements:
        raise invalid(what, field=field, line=line)

    return refuse


def _messages(text: str) -> Iterator[_Attempt]:
    """KVN and XML: a message begins with its version."""
    form = OmmForm.XML if form_of(text) is CatalogForm.XML else OmmForm.KVN
    gathered: list[Entry] = []
    try:
        for entry in entries(text):
            if entry.keyword == VERSION and gathered:
                yield _message(gathered, form)
                gathered = []
            gathered += [entry] if entry.keyword != COMMENT else []
    except Unreadable as error:
        yield _refused(error.what, error.line, "syntax")
        return
    if gathered:
        yield _message(gathered, form)


def _message(gathered: list[Entry], form: OmmForm) -> _Attempt:
    fields: dict[str, Entry] = {}
    for entry in gathered:
        if entry.keyword in fields:
            return _refused(f"{entry.keyword} comes a second time.", entry.line, entry.keyword)
        fields[entry.keyword] = entry
    return _omm(fields, gathered[0].line, form)


def _omm(fields: Mapping[str, Entry], line: int, form: OmmForm) -> _Attempt:
    return lambda: elements_of(fields, line=line, form=form)


def _json(text: str) -> Iterator[_Attempt]:
    """An array of objects, or one object; each is read alone, so that its line is known and a broken end is refused."""
    decoder, at, line = json.JSONDecoder(), 0, 1
    while at < len(text):
        if text[at] in "[], \t\r\n\ufeff":
            line += text[at] == "\n"
            at += 1
            continue
        try:
            found, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            yield _refused(f"It is no JSON: {error.msg}.", line + text.count("\n", at, error.pos), "syntax")
            return
        yield _json_object(found, line)
        line += text.count("\n", at, end)
        at = end


def _json_object(found: object, line: int) -> _Attempt:
    if not isinstance(found, dict):
        return _refused("It is no object.", line, "syntax")
    fields = {str(key): Entry(line, str(key), "" if value is None else str(value)) for key, value in found.items()}
    return _omm(fields, line, OmmForm.JSON)


def _csv(text: str) -> Iterator[_Attempt]:
    reader = csv.reader(text.lstrip("\ufeff").splitlines(), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        for row in reader:
            yield _csv_row(header, row, reader.line_num)
    except csv.Error as error:
        yield _refused(f"It is no CSV: {error}.", reader.line_num, "syntax")


def _csv_row(header: list[str], row: list[str], line: int) -> _Attempt:
    if len(row) != len(header):
        return _refused(f"It has {len(row)} columns and the header {len(header)}.", line, "columns")
    return _omm({key: Entry(line, key, value) for key, value in zip(header, row, strict=True)}, line, OmmForm.CSV)


_READERS: Mapping[CatalogForm, Callable[[str], Iterator[_Attempt]]] = {
    CatalogForm.TLE: _tle,
    CatalogForm.KVN: _messages,
    CatalogForm.XML: _messages,
    CatalogForm.JSON: _json,
    CatalogForm.CSV: _csv,
}
