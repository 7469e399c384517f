"""Writes orbit mean-elements messages (CCSDS 502.0) as KVN, XML, JSON and CSV. What is read back is equal."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from xml.sax.saxutils import escape

from meridian.orbit.elements import Elements
from meridian.orbit.omm import FIXED, NUMBERS, THEORY, VERSION, WHOLE
from meridian.orbit.time import format_ccsds


def keywords_of(elements: Elements) -> dict[str, str]:
    """The keywords of one message, without header and metadata that are the same for all."""
    return {
        "OBJECT_NAME": elements.name,
        "OBJECT_ID": elements.designator or "",
        "EPOCH": format_ccsds(elements.epoch_ns),
        **{keyword: repr(float(getattr(elements, field))) for keyword, (field, _) in NUMBERS.items()},
        "EPHEMERIS_TYPE": str(elements.ephemeris_type),
        "CLASSIFICATION_TYPE": elements.classification,
        "NORAD_CAT_ID": "" if elements.norad is None else str(elements.norad),
        "ELEMENT_SET_NO": str(elements.element_set),
        "REV_AT_EPOCH": str(elements.revolution),
    }


def format_kvn(elements: Elements, *, originator: str, created_ns: int) -> str:
    """One message as KVN."""
    parts = _parts(elements, originator, created_ns)
    said = {VERSION: "2.0"} | {keyword: value for part in parts.values() for keyword, value in part.items()}
    return "".join(f"{keyword} = {value}\n" for keyword, value in said.items())


def format_xml(elements: Elements, *, originator: str, created_ns: int) -> str:
    """One message as XML."""
    parts = _parts(elements, originator, created_ns)
    header, metadata, mean, tle = (_xml(name, part) for name, part in parts.items())
    body = f"<body><segment>{metadata}<data>{mean}{tle}</data></segment></body>"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<omm id="{VERSION}" version="2.0">{header}{body}</omm>\n'


def format_json(elements: Iterable[Elements]) -> str:
    """Messages as a JSON array, in CelesTrak's form."""
    return json.dumps([_json(keywords_of(each)) for each in elements], indent=0)


def format_csv(elements: Iterable[Elements]) -> str:
    """Messages as lines of CSV below a header, in CelesTrak's form."""
    rows = [keywords_of(each) for each in elements]
    written = io.StringIO()
    writer = csv.DictWriter(written, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue()


def _parts(elements: Elements, originator: str, created_ns: int) -> dict[str, dict[str, str]]:
    said = {keyword: value for keyword, value in keywords_of(elements).items() if value or keyword != "NORAD_CAT_ID"}
    named = {keyword: said.pop(keyword) for keyword in ("OBJECT_NAME", "OBJECT_ID")}
    return {
        "header": {"CREATION_DATE": format_ccsds(created_ns), "ORIGINATOR": originator},
        "metadata": named | FIXED | {THEORY: "SGP4"},
        "meanElements": {keyword: said.pop(keyword) for keyword in ("EPOCH", *list(NUMBERS)[:6])},
        "tleParameters": said,
    }


def _xml(name: str, part: dict[str, str]) -> str:
    inner = "".join(f"<{keyword}>{escape(value)}</{keyword}>" for keyword, value in part.items())
    return f"<{name}>{inner}</{name}>"


def _json(said: dict[str, str]) -> dict[str, object]:
    numbers = {*NUMBERS, *WHOLE, "NORAD_CAT_ID"}
    return {key: json.loads(value or "null") if key in numbers else value for key, value in said.items()}
