"""The JSON Schema for editors: it takes what the document takes, and refuses what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from tests.support.broken_documents import broken_documents
from tests.support.documents import FULL, several_sources, walk, with_value

from holdfast.config import json_schema
from holdfast.config.schema import blocks

ROOT = Path(__file__).resolve().parents[3]
VALIDATOR = Draft202012Validator(json_schema())


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize(
    "document", [FULL, several_sources(), yaml.safe_load((ROOT / "examples/orders.yaml").read_text())]
)
def test_it_takes_what_is_valid(document: Any) -> None:
    assert list(VALIDATOR.iter_errors(document)) == []


def test_it_takes_references_where_a_document_does() -> None:
    for spot in walk(FULL):
        if spot.node.get("type") in ("integer", "number", "boolean") or "enum" in spot.node:
            assert VALIDATOR.is_valid(with_value(FULL, spot.path, "${VALUE}")), spot.path


def test_it_refuses_keys_that_are_missing_misspelled_or_moved() -> None:
    accepted = [
        broken.name
        for broken in broken_documents()
        if (broken.at_key or broken.name.startswith("deleted"))
        and VALIDATOR.is_valid(yaml.load(broken.text, yaml.CSafeLoader))
    ]
    assert accepted == []


def test_every_key_says_what_it_is() -> None:
    for path, block in blocks():
        for key, node in block["properties"].items():
            assert node.get("description", "").rstrip().endswith(".") or "$ref" in node, f"{path}.{key}"
