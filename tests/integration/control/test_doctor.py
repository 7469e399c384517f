"""The doctor names every kind of damage, changes nothing unasked, and what it repairs goes on exactly once."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from holdfast.control.doctor import Code, Severity, examine, repair
from holdfast.control.doctor.repairs import ASIDE
from holdfast.model.errors import NotRunning, PipelineBusy
from holdfast.runtime.owner import Ownership
from holdfast.testing import LocalProcessor
from tests.support import rollbacks
from tests.support.crash.orders import orders
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.damages import DAMAGES, EVENTS, Damage, make, pipeline
from tests.support.local_pipelines import passed, run

if TYPE_CHECKING:
    from pathlib import Path

LATER = 2 * EVENTS


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("doctor")
    make(directory)
    return directory


@pytest.fixture
def world(made: Path, tmp_path: Path) -> Path:
    """A copy of the pipeline and its sinks."""
    directory = tmp_path / "world"
    shutil.copytree(made, directory, symlinks=True)
    return directory


def tree(root: Path) -> dict[str, str]:
    """Every file, and what is in it."""
    files = [path for path in sorted(root.rglob("*")) if not path.is_dir()]
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes() if p.is_file() else b"").hexdigest() for p in files}


def is_refused(directory: Path) -> bool:
    """Whether a start is refused."""
    whole = pipeline(directory, LATER)
    try:
        whole.start(processor=lambda: LocalProcessor(orders))
    except Exception:  # some damage is met by nobody who could name it
        return True
    whole.stop()
    return False


def check_exact(directory: Path, events: int) -> None:
    assert table_numbers(directory / "sink.db") == passed(events)
    assert file_numbers(directory / "files") == passed(events)


def test_a_whole_directory_has_no_findings_and_goes_on(world: Path) -> None:
    before = tree(world)
    assert examine(world / "pipeline").findings == ()
    assert tree(world) == before
    run(pipeline(world, LATER))
    check_exact(world, LATER)
    assert examine(world / "pipeline").findings == ()


def test_what_a_killed_process_left_in_a_journal_is_read_and_stays_there(world: Path) -> None:
    root = world / "pipeline"
    leave_in_the_journal(root / "checkpoints.db", "UPDATE holdfast_owners SET epoch = epoch + 1")
    leave_in_the_journal(root / "outbox" / "index.db", "UPDATE log SET opening = opening + 1")
    before = tree(world)
    assert examine(root).findings == ()
    assert tree(world) == before
    run(pipeline(world, LATER))
    check_exact(world, LATER)


def leave_in_the_journal(path: Path, statement: str) -> None:
    """As a process leaves a file that was killed after a commit: what it committed is in the journal only."""
    aside = path.with_name("aside")
    aside.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(statement)
        for name in (path.name, f"{path.name}-wal"):
            shutil.copyfile(path.with_name(name), aside / name)
    for left in list(aside.iterdir()):
        left.rename(path.with_name(left.name))
    aside.rmdir()


@pytest.mark.req("X19", "X23")
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_each_damage_is_named_and_what_is_repaired_goes_on_exactly_once(world: Path, damage: Damage) -> None:
    root = world / "pipeline"
    damage.plant(root)
    before = tree(world)
    found = examine(root)
    assert tree(world) == before, "to look changes nothing"
    assert {finding.code for finding in found.findings} == {damage.code}, found.findings
    assert all(finding.what and finding.kept and finding.remedy for finding in found.findings)
    assert all((finding.repair is not None) is damage.is_repairable for finding in found.findings)
    done, after = repair(root)
    assert [each.failed for each in done] == [None] * len(found.repairs)
    if not damage.is_repairable:
        assert {finding.code for finding in after.findings} == {damage.code}
        assert {**tree(world), "pipeline/owner.lock": ""} == {**before, "pipeline/owner.lock": ""}
        breaks = any(finding.severity is Severity.BREAKS_START for finding in found.findings)
        assert is_refused(world) is (breaks and damage.is_noticed)
        return
    assert tuple(finding.code for finding in after.findings) == damage.remains, after.findings
    run(pipeline(world, LATER))
    check_exact(world, LATER)


def test_a_pipeline_that_has_gone_back_is_whole_before_and_after_its_next_start(tmp_path: Path) -> None:
    rollbacks.prepare(tmp_path)
    whole = rollbacks.pipeline(tmp_path)
    rollbacks.run(whole)
    targets = whole.rollbacks().targets(None)
    whole.rollbacks().go_back(str(targets[len(targets) // 2].oseq), by="somebody")
    assert examine(tmp_path / "pipeline").findings == ()
    rollbacks.run(whole)
    assert examine(tmp_path / "pipeline").findings == ()


def test_a_part_that_every_sink_has_is_needed_only_to_go_back(tmp_path: Path) -> None:
    rollbacks.prepare(tmp_path)
    rollbacks.run(rollbacks.pipeline(tmp_path))
    {damage.name: damage for damage in DAMAGES}["part with other bytes"].plant(tmp_path / "pipeline")
    (finding,) = examine(tmp_path / "pipeline").findings
    assert (finding.code, finding.severity) == (Code.DATA_DAMAGED, Severity.LOSES_NOTHING)


def test_there_are_enough_kinds() -> None:
    assert len({damage.code for damage in DAMAGES}) >= 25


def test_several_damages_at_once_are_each_named_and_each_repaired(world: Path) -> None:
    root = world / "pipeline"
    names = {
        "newest cursors damaged",
        "segment with a torn tail",
        "part that nobody published",
        "Spark's metadata torn",
        "newest commit torn",
        "stale socket",
        "Spark's temporary file",
    }
    chosen = [damage for damage in DAMAGES if damage.name in names]
    for damage in chosen:
        damage.plant(root)
    before = tree(world)
    found = examine(root)
    assert tree(world) == before
    assert {finding.code for finding in found.findings} == {damage.code for damage in chosen}
    _, after = repair(root)
    assert after.findings == ()
    run(pipeline(world, LATER))
    check_exact(world, LATER)


def test_what_cannot_be_repaired_is_left_alone_beside_what_can(world: Path) -> None:
    root = world / "pipeline"
    by_name = {damage.name: damage for damage in DAMAGES}
    by_name["part gone"].plant(root)
    by_name["stale socket"].plant(root)
    _, after = repair(root)
    assert [(finding.code, finding.severity) for finding in after.findings] == [
        (Code.DATA_MISSING, Severity.BREAKS_START)
    ]


def test_a_place_in_a_file_is_told(world: Path) -> None:
    root = world / "pipeline"
    {damage.name: damage for damage in DAMAGES}["segment with a torn tail"].plant(root)
    (finding,) = examine(root).findings
    assert finding.offset == finding.place.stat().st_size - len("torn")
    assert finding.place.parent == root / "inbox" / "orders" / "segments"


def test_files_that_are_of_no_more_use_are_kept_aside(world: Path) -> None:
    root = world / "pipeline"
    {damage.name: damage for damage in DAMAGES}["newest offset torn"].plant(root)
    torn = max((root / "spark" / "1" / "offsets").iterdir(), key=lambda path: int(path.name)).read_bytes()
    repair(root)
    assert torn in [path.read_bytes() for path in (root / ASIDE).rglob("*") if path.is_file()]


def test_a_pipeline_that_runs_is_not_looked_at(world: Path) -> None:
    owner = Ownership.take(world / "pipeline")
    try:
        with pytest.raises(PipelineBusy):
            examine(world / "pipeline")
        with pytest.raises(PipelineBusy):
            repair(world / "pipeline")
    finally:
        owner.release()


def test_a_directory_without_a_pipeline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotRunning):
        examine(tmp_path)
