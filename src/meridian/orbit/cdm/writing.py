"""Writes conjunction data messages as KVN. What is read back is equal, comments at the head of their part included."""

from __future__ import annotations

from collections.abc import Iterator

from meridian.orbit.cdm.keywords import KEYWORDS, Block, Keyword, Kind
from meridian.orbit.cdm.message import ConjunctionMessage, Said, Value
from meridian.orbit.ndm import COMMENT
from meridian.orbit.time import format_ccsds

_WIDTH = max(len(name) for keywords in KEYWORDS.values() for name in keywords)


def write_cdm(message: ConjunctionMessage) -> str:
    """The text of a message."""
    parts = [(message.relative, Block.RELATIVE), (message.first, Block.OBJECT), (message.second, Block.OBJECT)]
    return "".join(f"{line}\n" for said, block in parts for line in _lines(said, block))


def _lines(said: Said, block: Block) -> Iterator[str]:
    for at, keyword in enumerate(KEYWORDS[block].values()):
        if keyword.name in said.values:
            yield f"{keyword.name:<{_WIDTH}} = {_text(keyword, said.values[keyword.name])}"
        if at == 0:
            yield from (f"{COMMENT} {comment}".rstrip() for comment in said.comments)


def _text(keyword: Keyword, value: Value) -> str:
    if keyword.kind is Kind.TIME:
        return format_ccsds(int(value))
    written = repr(value) if isinstance(value, float) else str(value)
    return f"{written} [{keyword.unit}]" if keyword.unit else written
