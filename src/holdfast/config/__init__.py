"""The pipeline document: read strictly, explained with places, planned and compared. It starts and stops nothing."""

from __future__ import annotations

from holdfast.config.change import Alteration, Change, Effect, compare
from holdfast.config.document import Document, find_problems, load
from holdfast.config.problems import Place, Problem
from holdfast.config.schema import json_schema

__all__ = [
    "Alteration",
    "Change",
    "Document",
    "Effect",
    "Place",
    "Problem",
    "compare",
    "find_problems",
    "json_schema",
    "load",
]
