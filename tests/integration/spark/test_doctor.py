"""What the doctor repairs in a checkpoint that real Spark wrote, real Spark goes on with, and counts nothing twice."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from tests.support.damages import DAMAGES, book, newest
from tests.support.spark_pipelines import run, stateful, totals, totals_in

from holdfast.control.doctor import Code, examine, repair

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


EVENTS, LATER = 4400, 5500

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]
BY_NAME = {damage.name: damage for damage in DAMAGES}


def lose_state(back: int) -> Callable[[Path], None]:
    """Remove what a batch wrote down of its state in one partition."""

    def plant(root: Path) -> None:
        version = newest(root, "commits") + 1 - back
        (path,) = (root / "spark" / "1" / "state" / "0" / "1").glob(f"{version}_*.changelog")
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink()

    return plant


def spoil_offset(root: Path) -> None:
    """Other bytes that are JSON all the same: only the checksum tells."""
    path = book(root, "offsets")
    path.write_text(path.read_text().replace('"batchWatermarkMs":0', '"batchWatermarkMs":9'))


KINDS = [
    pytest.param(lose_state(0), Code.SPARK_STATE_MISSING, id="newest state gone"),
    pytest.param(lose_state(1), Code.SPARK_STATE_MISSING, id="state before it gone"),
    pytest.param(spoil_offset, Code.SPARK_OFFSET_TORN, id="newest offset does not match its checksum"),
    pytest.param(BY_NAME["hole in the offsets that matters"].plant, Code.SPARK_OFFSET_HOLE, id="hole in the offsets"),
    pytest.param(BY_NAME["checksum of an offset torn"].plant, Code.SPARK_CHECKSUM_WRONG, id="checksum torn"),
    pytest.param(BY_NAME["Spark's checkpoint gone"].plant, Code.SPARK_MISSING, id="checkpoint gone"),
]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with state, made once."""
    directory = tmp_path_factory.mktemp("doctor-spark")
    run(stateful(directory, events=EVENTS))
    return directory


@pytest.fixture
def world(made: Path, tmp_path: Path) -> Path:
    directory = tmp_path / "world"
    shutil.copytree(made, directory)
    return directory


def test_nothing_is_wrong_with_what_spark_writes(world: Path) -> None:
    assert examine(world / "pipeline").findings == ()


@pytest.mark.req("X10", "X22", "X23")
@pytest.mark.parametrize(("plant", "code"), KINDS)
def test_what_is_repaired_goes_on_and_counts_nothing_twice(
    world: Path, plant: Callable[[Path], None], code: Code
) -> None:
    root = world / "pipeline"
    plant(root)
    found = examine(root)
    assert {finding.code for finding in found.findings} == {code}, found.findings
    assert found.repairs
    _, after = repair(root)
    assert after.findings == ()
    run(stateful(world, events=LATER))
    assert totals_in(world) == totals(LATER)
