"""Reads whole files of element sets, in any of their forms. One bad set never costs the others: it is refused alone.

Opens no file: it is given the text, and says what was good and what was refused, with line, column and field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from meridian.orbit.elements import Elements
from meridian.orbit.errors import InvalidElements
from meridian.orbit.ndm import COMMENT
from meridian.orbit.omm import VERSION
from meridian.orbit.omm_files import Attempt, csv_rows, json_objects, messages, refusal
from meridian.orbit.texts import lines_of
from meridian.orbit.tle import is_name, parse_tle

MOST_REFUSALS_KEPT = 1_000
"""So many refusals are told one by one, of the rest only how many there are."""
MOST_REFUSALS = 100_000
"""After so many a file counts as something else, and is not read on."""


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
    column: int
    field: str
    reason: InvalidElements


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """What a text held."""

    form: CatalogForm
    elements: tuple[Elements, ...]
    refusals: tuple[Refusal, ...]
    """The first `MOST_REFUSALS_KEPT` of them."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """How many there were in all, by field."""


def read_catalog(text: str, form: CatalogForm | None = None) -> CatalogFile:
    """Every element set of a text, and every refusal; the form is seen from its beginning when it is not given."""
    form = form or form_of(text)
    good: list[Elements] = []
    kept: list[Refusal] = []
    counts: dict[str, int] = {}
    for attempt in _bounded(_READERS[form](text), counts):
        try:
            good.append(attempt())
        except InvalidElements as error:
            found = _refusal(error)
            counts[found.field] = counts.get(found.field, 0) + 1
            if len(kept) < MOST_REFUSALS_KEPT:
                kept.append(found)
    return CatalogFile(form, tuple(good), tuple(kept), counts)


def _bounded(attempts: Iterator[Attempt], counts: Mapping[str, int]) -> Iterator[Attempt]:
    for attempt in attempts:
        if sum(counts.values()) >= MOST_REFUSALS:
            return
        yield attempt


def _refusal(error: InvalidElements) -> Refusal:
    line, column = (int(str(error.context[name] or 1)) for name in ("line", "column"))
    return Refusal(line, column, str(error.context["field"]), error.with_traceback(None))


def form_of(text: str) -> CatalogForm:
    """The form that the first line looks like."""
    head = text[:100_000].lstrip("\ufeff \t\r\n")
    first = head.split("\n", 1)[0]
    if head.startswith("<"):
        return CatalogForm.XML
    if head.startswith(("[", "{")):
        return CatalogForm.JSON
    if "," in first and "EPOCH" in first:
        return CatalogForm.CSV
    return CatalogForm.KVN if first.startswith((VERSION, COMMENT)) else CatalogForm.TLE


def _tle(text: str) -> Iterator[Attempt]:
    name, first = "", None
    for number, raw in lines_of(text):
        line = raw.rstrip()
        if line.startswith("#"):
            continue
        if line.startswith("2 ") and first is not None:
            yield _pair(first[1], line, name, first[0])
            name, first = "", None
        elif line.startswith("2 "):
            yield refusal("There is no first line above it.", number, 1, "line")
        else:
            if first is not None:
                yield refusal("There is no second line below it.", first[0], 1, "line")
            first = (number, line) if line.startswith("1 ") else None
            if first is None:
                name = line.strip().removeprefix("0 ").strip() if is_name(line) else ""
                if not name:
                    yield refusal("It is neither a name nor a line of an element set.", number, 1, "line")
    if first is not None:
        yield refusal("There is no second line below it.", first[0], 1, "line")


def _pair(first: str, second: str, name: str, line: int) -> Attempt:
    return lambda: parse_tle(first, second, name, line=line)


_READERS: Mapping[CatalogForm, Callable[[str], Iterator[Attempt]]] = {
    CatalogForm.TLE: _tle,
    CatalogForm.KVN: messages,
    CatalogForm.XML: messages,
    CatalogForm.JSON: json_objects,
    CatalogForm.CSV: csv_rows,
}
