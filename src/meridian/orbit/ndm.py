"""The two written forms of CCSDS navigation messages, KVN and XML, taken apart into the same entries.

An entry is a keyword with its value, unit and line. What the keywords mean, which must be there and in what order is
not known here. XML is read without any document type, so that no entity can be declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.parsers import expat

_LINE = re.compile(r"\s*(?P<keyword>[A-Z][A-Z0-9_]*)\s*=\s*(?P<value>.*?)\s*(?:\[(?P<unit>[^\]]*)\])?\s*")
_COMMENT = re.compile(r"\s*COMMENT(?:\s(?P<text>.*))?")
COMMENT = "COMMENT"


@dataclass(frozen=True, slots=True)
class Entry:
    """One keyword of a message, where it stands, and its value as it is written."""

    line: int
    keyword: str
    value: str
    unit: str | None = None


class Unreadable(Exception):
    """A text is not KVN or not XML at a line; readers turn it into the error of their own message."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what


def entries(text: str) -> Iterator[Entry]:
    """The entries of a text, which is XML when its first character opens a tag, and KVN otherwise."""
    return xml_entries(text) if text.lstrip("\ufeff \t\r\n").startswith("<") else kvn_entries(text)


def kvn_entries(text: str) -> Iterator[Entry]:
    """The entries of a text with one `KEYWORD = value [unit]` a line."""
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        if not line.strip():
            continue
        if comment := _COMMENT.fullmatch(line):
            yield Entry(number, COMMENT, (comment["text"] or "").strip())
        elif found := _LINE.fullmatch(line):
            yield Entry(number, found["keyword"], found["value"], found["unit"])
        else:
            raise Unreadable(number, f"It is no `KEYWORD = value`: {line.strip()[:60]!r}.")


def xml_entries(text: str) -> Iterator[Entry]:
    """The entries of an XML message: its elements in capitals, and the version in the root's attributes."""
    collector = _Collector()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, attributes: collector.start(tag, attributes, parser.CurrentLineNumber)
    parser.EndElementHandler = lambda tag: collector.end(tag)
    parser.CharacterDataHandler = collector.text
    parser.StartDoctypeDeclHandler = lambda *_: collector.refuse_doctype(parser.CurrentLineNumber)
    try:
        parser.Parse(text.lstrip("\ufeff \t\r\n").encode(), True)
    except expat.ExpatError as error:
        raise Unreadable(error.lineno, f"It is not well-formed XML: {expat.ErrorString(error.code)}.") from error
    yield from collector.entries


class _Collector:
    """Gathers the elements in capitals while expat walks through the text."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._open: Entry | None = None
        self._text: list[str] = []

    def start(self, tag: str, attributes: dict[str, str], line: int) -> None:
        if self._open is not None:
            raise Unreadable(line, f"<{tag}> stands inside <{self._open.keyword}>.")
        if "id" in attributes and "version" in attributes:
            self.entries.append(Entry(line, attributes["id"], attributes["version"]))
        if tag.isupper():
            self._open, self._text = Entry(line, _keyword(tag, attributes), "", attributes.get("units")), []

    def text(self, text: str) -> None:
        if self._open is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        if self._open is not None:
            begun = self._open
            self.entries.append(Entry(begun.line, begun.keyword, "".join(self._text).strip(), begun.unit))
            self._open = None

    def refuse_doctype(self, line: int) -> None:
        raise Unreadable(line, "It declares a document type, which no message needs.")


def _keyword(tag: str, attributes: dict[str, str]) -> str:
    return f"USER_DEFINED_{attributes.get('parameter', '')}" if tag == "USER_DEFINED" else tag
