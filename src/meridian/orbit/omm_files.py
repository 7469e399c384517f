"""Takes files of orbit mean-elements messages apart, as KVN, XML, JSON and CSV: each message is one attempt to read.

A part that cannot be read costs the message that it is in and no other. What the keywords mean is the affair of
`meridian.orbit.omm`. Every form is walked through once, from the beginning to the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from meridian.orbit.elements import Elements, invalid
from meridian.orbit.ndm import COMMENT, Entry, Unreadable, entries, is_xml
from meridian.orbit.omm import VERSION, OmmForm, elements_of, refused
from meridian.orbit.texts import Places, flaw_of, lines_of

Attempt = Callable[[], Elements]
"""Gives the elements of one set, or raises `InvalidElements`."""

_MOST_KEYWORDS = 1_000
"""Of one message. The standard has about a hundred."""
_STRING = r'"(?:[^"\\\x00-\x1f]|\\.)*+"'
_MEMBER = re.compile(
    rf"\s*+(?P<key>{_STRING})\s*+:\s*+(?:(?P<text>{_STRING})|(?P<number>-?[0-9][0-9.eE+-]*+)|(?P<null>null)\b)"
    r"\s*+(?P<end>[,}])"
)
_BRACKETS = re.compile(rf'{_STRING}|"[^\n]*+|[{{}}\[\]]')
_BETWEEN = re.compile(r"[\[\], \t\r\n\ufeff]++")
_SPACE = re.compile(r"\s*+")
_CELL = re.compile(r'"(?P<quoted>(?:[^"]|"")*+)"|(?P<plain>[^,"]*+)')


def refusal(what: str, line: int, column: int, field: str) -> Attempt:
    """An attempt that fails."""

    def refuse() -> Elements:
        raise invalid(what, field=field, line=line, column=column)

    return refuse


def messages(text: str) -> Iterator[Attempt]:
    """KVN and XML: a message begins with its version."""
    form = OmmForm.XML if is_xml(text) else OmmForm.KVN
    gathered: list[Entry | Unreadable] = []
    for item in entries(text):
        if isinstance(item, Entry) and item.keyword == VERSION and gathered:
            yield _message(gathered, form)
            gathered = []
        if (isinstance(item, Unreadable) or item.keyword != COMMENT) and len(gathered) <= _MOST_KEYWORDS:
            gathered.append(item)
    if gathered:
        yield _message(gathered, form)


def _message(gathered: list[Entry | Unreadable], form: OmmForm) -> Attempt:
    fields: dict[str, Entry] = {}
    for item in gathered:
        if isinstance(item, Unreadable):
            return refusal(item.what, item.line, item.column, "syntax")
        if item.keyword in fields:
            return _raising(item, f"{item.keyword[:60]} comes a second time.")
        if len(fields) == _MOST_KEYWORDS:
            return _raising(item, f"The message has more than {_MOST_KEYWORDS:,} keywords.")
        fields[item.keyword] = item
    return _omm(fields, gathered[0].line, form)


def _raising(entry: Entry, what: str) -> Attempt:
    def refuse() -> Elements:
        raise refused(entry, what)

    return refuse


def _omm(fields: Mapping[str, Entry], line: int, form: OmmForm) -> Attempt:
    return lambda: elements_of(fields, line=line, form=form)


def json_objects(text: str) -> Iterator[Attempt]:
    """An array of flat objects, or objects one after the other; each is read alone."""
    places, at = Places(text), 0
    while True:
        between = _BETWEEN.match(text, at)
        at = between.end() if between else at
        if at >= len(text):
            return
        line, column = places.of(at)
        if text[at] != "{":
            yield refusal("This is no object.", line, column, "syntax")
            at = _next_object(text, at)
            continue
        attempt, at = _json_object(text, at, places, line)
        yield attempt


def _json_object(text: str, start: int, places: Places, line: int) -> tuple[Attempt, int]:
    """The object at a place, and where the next one may begin."""
    fields: dict[str, Entry] = {}
    at = start + 1
    while found := _MEMBER.match(text, at):
        key = _unquoted(found["key"])
        here = places.of(found.start("key"))
        if key in fields:
            return refusal(f"{key[:60]} comes a second time.", *here, key[:60]), _behind_object(text, start)
        if len(fields) == _MOST_KEYWORDS:
            what = f"The object has more than {_MOST_KEYWORDS:,} keywords."
            return refusal(what, *here, "syntax"), _behind_object(text, start)
        value = found["number"] or (_unquoted(found["text"]) if found["text"] else "")
        fields[key] = Entry(*here, key, value, None, value)
        at = found.end()
        if found["end"] == "}":
            return _omm(fields, line, OmmForm.JSON), at
    here = places.of(_skipped(text, at))
    what = 'This is no `"KEYWORD": value` with a text, a number or null as its value.'
    return refusal(what, *here, "syntax"), _behind_object(text, start)


def _skipped(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _unquoted(string: str) -> str:
    if "\\" not in string:
        return string[1:-1]
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return string  # with its quotes it is neither a keyword nor a number


def _behind_object(text: str, start: int) -> int:
    """Where a broken object ends: behind its last bracket, or before an object that is not the value of a keyword."""
    depth = 0
    for found in _BRACKETS.finditer(text, start):
        bracket = found[0]
        if (
            bracket == "{"
            and depth == 1
            and not text[max(start, found.start() - 100) : found.start()].rstrip().endswith(":")
        ):
            return found.start()
        depth += (bracket in "{[") - (bracket in "}]")
        if depth <= 0:
            return found.end()
    return len(text)


def _next_object(text: str, at: int) -> int:
    found = text.find("{", at + 1)
    return len(text) if found < 0 else found


def csv_rows(text: str) -> Iterator[Attempt]:
    """A row a line below a header. A quoted field ends on its line, so that one without an end costs no other row."""
    header: list[str] | None = None
    for number, line in lines_of(text):
        cells = _cells(number, line)
        if isinstance(cells, Unreadable):
            yield refusal(cells.what, number, cells.column, "syntax")
            if header is None:
                return
        elif header is None:
            header = [value.strip() for _, value in cells]
            twice = [name for name in header if header.count(name) > 1]
            if twice:
                yield refusal(f"The header has {twice[0][:60]!r} twice. Nothing was read.", number, 1, "columns")
                return
        elif len(cells) != len(header):
            what = f"The row has {len(cells)} columns and the header {len(header)}."
            yield refusal(what, number, 1, "columns")
        else:
            row = zip(header, cells, strict=True)
            fields = {key: Entry(number, column, key, value, None, value) for key, (column, value) in row}
            yield _omm(fields, number, OmmForm.CSV)


def _cells(number: int, line: str) -> list[tuple[int, str]] | Unreadable:
    """The fields of a line, each with its column."""
    if flaw := flaw_of(line):
        return Unreadable(number, *flaw)
    cells: list[tuple[int, str]] = []
    at = 0
    while True:
        found = _CELL.match(line, at)
        assert found is not None, "the pattern matches everywhere"
        quoted = found["quoted"]
        cells.append((at + 1, found["plain"] if quoted is None else quoted.replace('""', '"')))
        at = found.end()
        if at == len(line):
            return cells
        if line[at] != ",":
            return Unreadable(number, at + 1, "A quote stands inside of a field, or the field has no closing quote.")
        at += 1
