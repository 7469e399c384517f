"""Which pipeline a document is about is told quickly, and also when the rest of the document is wrong."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.support.documents import FULL, text_of, with_value, without

from holdfast.config import load, named_in
from holdfast.control.place import find
from holdfast.model.errors import InvalidDocument

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "orders.yaml"


@pytest.mark.parametrize(
    "document",
    [FULL, without(FULL, ("spec", "directory")), with_value(FULL, ("spec", "directory"), "data/mine")],
    ids=["full", "without a directory", "with one"],
)
def test_it_is_what_the_whole_document_says(written: Path, document: object) -> None:
    written.write_text(text_of(document))
    whole = load(written)
    assert named_in(written) == (whole.name, whole.directory)


def test_a_name_from_the_environment_is_one(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAGE", "orders-test")
    written.write_text(text_of(with_value(FULL, ("metadata", "name"), "${STAGE}")))
    assert named_in(written, environment={"STAGE": "orders-test"}) == (load(written).name, load(written).directory)


def test_a_pipeline_is_found_though_its_document_was_spoilt(written: Path) -> None:
    written.write_text(text_of(with_value(FULL, ("spec", "sinks"), "none")))
    assert find(written).name == FULL["metadata"]["name"]  # type: ignore[index]


@pytest.mark.parametrize("name", ["", "Not A Name", 7, None, ["orders"]])
def test_a_document_without_a_name_is_told_what_is_wrong_with_it(written: Path, name: object) -> None:
    written.write_text(text_of(with_value(FULL, ("metadata", "name"), name)))
    assert named_in(written) is None
    with pytest.raises(InvalidDocument):
        find(written)


@pytest.mark.parametrize("text", ["", "[]", "a: [", "metadata: {name: orders}", "\t"])
def test_what_is_no_document_is_told_so(written: Path, text: str) -> None:
    written.write_text(text)
    assert named_in(written) is None
    with pytest.raises(InvalidDocument):
        find(written)


def test_nothing_heavy_is_imported_to_ask_a_running_pipeline(written: Path) -> None:
    written.write_text(text_of(FULL))
    asked = (
        "import sys; from pathlib import Path; import holdfast.cli.controlling; "
        f"from holdfast.control.place import find; find(Path({str(written)!r})); "
        "print(*sorted({'pydantic', 'pyarrow', 'numpy', 'pyspark'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
