"""The two written forms of CCSDS navigation messages, KVN and XML, taken apart into the same entries.

An entry is a keyword with its value, unit and place. What the keywords mean, which must be there and in what order is
not known here. What cannot be read stands among the entries as `Unreadable`, so that only the message it is in is
refused. XML is read without any document type, so that no entity can be declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.parsers import expat

from meridian.orbit.texts import flaw_of, lines_of

COMMENT = "COMMENT"
_KEYWORD = re.compile(r"[A-Z][A-Z0-9_]*+")
_HEAD = "\ufeff \t\r\n"
_ROOTS = frozenset({"omm", "cdm"})
_GROUPS = frozenset(
    {
        *(*_ROOTS, "ndm", "header", "body", "segment", "metadata", "data"),
        *("meanElements", "spacecraftParameters", "tleParameters", "userDefinedParameters", "covarianceMatrix"),
        *("relativeMetadataData", "relativeStateVector", "odParameters", "additionalParameters", "stateVector"),
    }
)
"""The elements of CCSDS 505.0 that hold others and no value."""
_ATTRIBUTES = frozenset({"units", "parameter", "xmlns"})
_PIECE = 65_536
_MOST_FAULTS = 1_000
"""A text with so many faults is no message: nothing more is looked for in it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One keyword of a message, where its value stands, and the value without its unit."""

    line: int
    column: int
    keyword: str
    value: str
    unit: str | None = None
    written: str = ""
    """The whole of it, for a keyword that holds text: there, brackets belong to the text."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A part of a text that is not KVN or not XML."""

    line: int
    column: int
    what: str


Item = Entry | Unreadable


def is_xml(text: str) -> bool:
    """Whether the first character opens a tag."""
    return text.lstrip(_HEAD).startswith("<")


def entries(text: str) -> Iterator[Item]:
    """The entries of a text, which is XML when its first character opens a tag, and KVN otherwise."""
    return xml_entries(text) if is_xml(text) else kvn_entries(text)


def kvn_entries(text: str) -> Iterator[Item]:
    """The entries of a text with one `KEYWORD = value [unit]` a line."""
    for number, line in lines_of(text):
        flaw = flaw_of(line)
        yield _kvn_entry(number, line) if flaw is None else Unreadable(number, *flaw)


def _kvn_entry(number: int, line: str) -> Item:
    start = len(line) - len(line.lstrip())
    if line.split(maxsplit=1)[0] == COMMENT:
        comment = line[start + len(COMMENT) :].strip()
        return Entry(number, start + 1, COMMENT, comment, None, comment)
    keyword, sign, rest = line.partition("=")
    if not sign or not _KEYWORD.fullmatch(keyword.strip()):
        return Unreadable(number, start + 1, f"It is no `KEYWORD = value`: {line.strip()[:60]!r}.")
    written = rest.strip()
    column = len(line) - len(rest.lstrip()) + 1 if written else len(line) + 1
    return Entry(number, column, keyword.strip(), *_value_and_unit(written), written)


def _value_and_unit(written: str) -> tuple[str, str | None]:
    opened = written.rfind("[") if written.endswith("]") else -1
    return (written, None) if opened < 0 else (written[:opened].rstrip(), written[opened + 1 : -1])


def xml_entries(text: str) -> Iterator[Item]:
    """The entries of an XML message: its elements in capitals, and the version in the root's attributes.

    The text is given to the parser piece by piece, so that a file with many messages is never in memory as entries.
    """
    head = len(text) - len(text.lstrip(_HEAD))
    collector = _Collector(text.count("\n", 0, head))
    parser = collector.parser
    try:
        for start in range(head, len(text), _PIECE):
            parser.Parse(text[start : start + _PIECE].encode("utf-8", "surrogatepass"), False)
            yield from collector.taken()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        collector.fault(f"It is not well-formed XML: {expat.ErrorString(error.code)}. Nothing below was read.")
    except _GivenUp as error:
        collector.fault(f"{error} Nothing below was read.")
    yield from collector.taken()


class _GivenUp(Exception):
    """Ends the walk through a text, and says why."""


class _Collector:
    """Gathers the elements in capitals while expat walks through the text."""

    def __init__(self, lines_above: int) -> None:
        self._lines_above = lines_above
        self._found: list[Item] = []
        self._faults = 0
        self._open: Entry | None = None
        self._text: list[str] = []
        self.parser = expat.ParserCreate(encoding="UTF-8")  # whatever it declares: it is given as a text, not as bytes
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._character_data
        self.parser.StartDoctypeDeclHandler = self._doctype

    def taken(self) -> list[Item]:
        """What was gathered since the last time."""
        found, self._found = self._found, []
        return found

    def fault(self, what: str) -> None:
        """Something here is not right; the walk ends when that is so everywhere."""
        self._found.append(Unreadable(*self._place(), what))
        self._faults += 1
        if self._faults == _MOST_FAULTS:
            raise _GivenUp(f"There are more than {_MOST_FAULTS:,} places like this.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if self._open is not None:
            self.fault(f"<{tag[:60]}> stands inside <{self._open.keyword}>.")
        elif name in _ROOTS and "id" in attributes and "version" in attributes:
            version = attributes["version"]
            self._found.append(Entry(*self._place(), attributes["id"], version, None, version))
        elif _KEYWORD.fullmatch(name):
            self._begin(name, attributes)
        elif name not in _GROUPS:
            self.fault(f"<{tag[:60]}> is no element of such a message.")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        unknown = [each for each in attributes if each not in _ATTRIBUTES and ":" not in each]
        if unknown:
            self.fault(f"<{name}> has an attribute {unknown[0][:60]!r}, which means nothing there.")
        keyword = f"USER_DEFINED_{attributes.get('parameter', '')}" if name == "USER_DEFINED" else name
        self._open, self._text = Entry(*self._place(), keyword, "", attributes.get("units")), []

    def _character_data(self, text: str) -> None:
        if self._open is not None:
            self._text.append(text)
        elif not text.isspace():
            self.fault(f"There is a text outside of every keyword: {text.strip()[:60]!r}.")

    def _end(self, tag: str) -> None:
        begun = self._open
        if begun is not None and tag.rpartition(":")[2] in (begun.keyword, "USER_DEFINED"):
            value = "".join(self._text).strip()
            self._found.append(Entry(begun.line, begun.column, begun.keyword, value, begun.unit, value))
            self._open = None

    def _doctype(self, *_: object) -> None:
        raise _GivenUp("It declares a document type, which no message needs.")

    def _place(self) -> tuple[int, int]:
        return self.parser.CurrentLineNumber + self._lines_above, self.parser.CurrentColumnNumber + 1
