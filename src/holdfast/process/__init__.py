"""The steps from events to output: SQL, functions on DataFrames, batches and rows, and a few that are ready made."""

from __future__ import annotations

from holdfast.process.functions import batches, rows
from holdfast.process.parsing import parse_json, parse_logfmt, parse_regex, parse_text
from holdfast.process.steps import Step, applied, filter_rows, fingerprint, flatten, python, route, sql

__all__ = [
    "Step",
    "applied",
    "batches",
    "filter_rows",
    "fingerprint",
    "flatten",
    "parse_json",
    "parse_logfmt",
    "parse_regex",
    "parse_text",
    "python",
    "route",
    "rows",
    "sql",
]
