"""Documents on the command line: made, checked with places, and described."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.command_line import DOCUMENT, holdfast

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("directory", ["/proc/orders", "/dev/null/orders", "x" * 300])
def test_a_directory_that_cannot_be_made_is_told_and_nothing_is_started(tmp_path: Path, directory: str) -> None:
    (tmp_path / "pipeline.yaml").write_text(DOCUMENT.replace("directory: pipeline", f"directory: {directory}"))
    refused = holdfast("run", directory=tmp_path)
    assert refused.code == 1
    assert refused.err.startswith("[HF-504] The directory ")
    assert "cannot be made: " in refused.err
    assert "Nothing was started" in refused.err
    assert refused.err.count("\n") == 2


def test_a_document_that_was_just_made_is_valid_and_all_of_it_answers(tmp_path: Path) -> None:
    made = holdfast("init", "orders.yaml", "--name", "sales", "--output", "json", directory=tmp_path)
    assert (made.code, made.json) == (0, {"document": "orders.yaml", "name": "sales"})
    checked = holdfast("validate", "orders.yaml", "--connect", "--output", "json", directory=tmp_path)
    assert (checked.code, checked.json["valid"], checked.json["problems"]) == (0, True, [])


def test_a_file_that_exists_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text("mine")
    refused = holdfast("init", directory=tmp_path)
    assert refused.code == 1
    assert "HF-902" in refused.err
    assert (tmp_path / "pipeline.yaml").read_text() == "mine"


def test_every_problem_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(
        "apiVersion: holdfast/v1\nkind: Pipeline\nmetadata: {nme: x}\nspec:\n  source: {type: generator}\n  sinks: []\n"
    )
    told = holdfast("validate", directory=tmp_path)
    assert told.code == 1
    assert "pipeline.yaml:3:12" in told.out
    same = holdfast("validate", "--output", "json", directory=tmp_path)
    assert same.code == 1
    assert same.json["problems"][0]["place"] == "pipeline.yaml:3:12"


def test_a_sink_that_does_not_answer_is_a_problem_only_when_asked_to_connect(tmp_path: Path) -> None:
    holdfast("init", directory=tmp_path)
    document = tmp_path / "pipeline.yaml"
    document.write_text(document.read_text().replace("orders-files", "nowhere/orders-files"))
    assert holdfast("validate", directory=tmp_path).code == 0
    told = holdfast("validate", "--connect", "--output", "json", directory=tmp_path)
    assert told.code == 1
    (problem,) = told.json["problems"]
    assert "archive" in problem["place"]


def test_the_schema_is_one_json_value_in_both_forms(tmp_path: Path) -> None:
    text, same = holdfast("schema", directory=tmp_path), holdfast("schema", "--output", "json", directory=tmp_path)
    assert text.json == same.json
    assert text.json["$schema"].startswith("https://json-schema.org/")


def test_a_command_that_is_nearly_right_is_named(tmp_path: Path) -> None:
    told = holdfast("valdiate", directory=tmp_path)
    assert told.code == 2
    assert "Did you mean 'validate'?" in told.err
