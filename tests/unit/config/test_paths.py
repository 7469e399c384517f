"""A relative path of a document begins at its folder; what earlier versions left elsewhere is not passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config import find_problems, load
from holdfast.config.fields import Block
from holdfast.config.paths import located
from holdfast.config.pipeline import Spec
from holdfast.control.place import find
from holdfast.model.errors import PathInWorkingDirectory
from holdfast.runtime.checkpoints.settings import FileSettings

TEXT = """\
apiVersion: holdfast/v1
kind: Pipeline
metadata: {name: orders}
spec:
  source: {type: files, name: log, paths: [logs/*.log]}
  sinks:
    - {name: archive, type: files, directory: out}
    - {name: table, type: sqlite, path: orders.db, table: orders}
"""


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A document in `home`, while the working directory is `elsewhere`."""
    for name in ("home", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    path = tmp_path / "home" / "orders.yaml"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(("line", "directory"), [("", "holdfast-data/orders"), ("  directory: data", "data")])
def test_the_directory_lies_beside_the_document(document: Path, line: str, directory: str) -> None:
    document.write_text(f"{TEXT}{line}\n")
    assert find(document).directory == load(document).plan().directory == document.parent / directory


def test_a_path_in_full_is_left_as_it_is(document: Path) -> None:
    document.write_text(f"{TEXT}  directory: /somewhere/else\n")
    assert find(document).directory == Path("/somewhere/else")


def test_what_is_read_and_written_lies_beside_the_document_too(document: Path) -> None:
    spec = load(document).values.spec
    read, files, table = (block.located(document.parent) for block in (*spec.all_sources, *spec.sinks))
    home = str(document.parent)
    assert [read.paths, files.directory, table.path] == [[f"{home}/logs/*.log"], f"{home}/out", f"{home}/orders.db"]  # type: ignore[union-attr]


def test_a_copy_of_the_checkpoints_lies_beside_the_document_too(document: Path) -> None:
    document.write_text(f"{TEXT}  checkpoint: {{remote: {{type: file, directory: copy}}}}\n")
    assert load(document).plan().checkpoint.remote == FileSettings(document.parent / "copy")


@pytest.mark.parametrize("former", ["holdfast-data/orders/owner.lock", "logs/app.log", "out/1.parquet", "orders.db"])
def test_what_an_earlier_version_left_in_the_working_directory_is_not_begun_anew(document: Path, former: str) -> None:
    path = Path(former)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    told = _told(document)
    assert str(document.parent / path.parts[0]) in told
    assert str(Path(path.parts[0]).absolute()) in told


def test_once_it_is_moved_beside_the_document_nothing_is_said(document: Path) -> None:
    Path("holdfast-data/orders").mkdir(parents=True)
    assert find(document).directory == document.parent / "holdfast-data" / "orders", "no pipeline was started there"
    Path("holdfast-data/orders/owner.lock").touch()
    with pytest.raises(PathInWorkingDirectory):
        find(document)
    Path("holdfast-data").rename(document.parent / "holdfast-data")
    assert find(document).directory == document.parent / "holdfast-data" / "orders"


def test_where_both_are_there_the_one_beside_the_document_is_meant(document: Path) -> None:
    Path("out").mkdir()
    (document.parent / "out").mkdir()
    assert located("out", document.parent) == str(document.parent / "out")


def test_a_document_in_the_working_directory_keeps_its_paths_short(
    document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(document.parent)
    assert find(Path(document.name)).directory == Path("holdfast-data/orders")


def test_every_key_that_names_a_file_or_a_directory_is_taken_from_the_folder() -> None:
    kinds = [kind for kind in _below(Block) if kind is not Spec]
    for kind in kinds:
        named = {key for key in kind.model_fields if key in ("path", "paths", "directory") or key.endswith("_file")}
        assert named == set(kind.local_paths), kind
    assert any(kind.local_paths for kind in kinds)


def _below(base: type[Block]) -> list[type[Block]]:
    return [kind for child in base.__subclasses__() for kind in (child, *_below(child))]


def _told(document: Path) -> str:
    try:
        return " ".join(problem.what for problem in find_problems(document))
    except PathInWorkingDirectory as error:
        return error.what
