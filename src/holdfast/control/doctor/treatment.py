"""Carries out what a diagnosis proposes, as the owner of the directory. Nothing of it loses anything."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.checkpoint import CURSORS, DryRun
from holdfast.checkpoint import examine as examine_store
from holdfast.checkpoint import repair as repair_store
from holdfast.control.doctor.examination import examine_owned
from holdfast.control.doctor.repairs import (
    ASIDE,
    CutTail,
    MendStore,
    Remove,
    RollBackRecord,
    SetAside,
    SignOwner,
    UpgradeDeadLetters,
    UpgradeStore,
    WriteMetadata,
)
from holdfast.control.doctor.spark_files import checksum_of
from holdfast.control.stores import open_store_at
from holdfast.disk.files import replace_file, sync_directory, sync_file
from holdfast.log import DeadLetterLog
from holdfast.model.clock import utc_now
from holdfast.model.errors import HoldfastError
from holdfast.runtime.layout import Layout
from holdfast.runtime.owner import LOCK, Ownership, recorded

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.control.doctor.findings import Diagnosis
    from holdfast.control.doctor.repairs import Repair


@dataclass(frozen=True, slots=True)
class Done:
    """One repair, and what became of it."""

    repair: Repair
    failed: str | None = None
    """Why it was not possible; None when it was done."""

    def __str__(self) -> str:
        return f"done: {self.repair}" if self.failed is None else f"not done: {self.repair} ({self.failed})"


def repair(directory: Path) -> tuple[tuple[Done, ...], Diagnosis]:
    """Repair what loses nothing, and say what was done and what is wrong still. `PipelineBusy` when it is owned."""
    is_signed = recorded(directory / LOCK) is not None
    ownership = Ownership.take(directory)
    try:
        cures = examine_owned(directory).repairs if is_signed else (SignOwner(), *examine_owned(directory).repairs)
        done = tuple(_carried_out(Layout(directory), cure) for cure in cures)
        return done, examine_owned(directory)
    finally:
        ownership.release()


def _carried_out(layout: Layout, cure: Repair) -> Done:
    try:
        _carry_out(layout, cure)
    except (HoldfastError, OSError) as error:
        return Done(cure, str(error))
    return Done(cure)


def _carry_out(layout: Layout, cure: Repair) -> None:
    match cure:
        case Remove(path):
            path.unlink(missing_ok=True)
            sync_directory(path.parent)
        case CutTail(path, length):
            os.truncate(path, length)
            sync_file(path)
        case SetAside(paths):
            _set_aside(layout, paths)
        case WriteMetadata(path, query_id):
            _write_metadata(layout, path, query_id)
        case UpgradeStore(epoch):
            with open_store_at(layout.root) as store:
                store.take_over(at_least=epoch + 1)
        case MendStore():
            _mend_store(layout)
        case RollBackRecord(key, version):
            with open_store_at(layout.root) as store:
                store.roll_back(key, version, epoch=store.take_over())
        case UpgradeDeadLetters():
            with open_store_at(layout.root) as store:
                epoch = store.take_over()
            with DeadLetterLog.open(layout.dead_letters, epoch=epoch) as dead:
                dead.migrate()
        case SignOwner():
            """Whoever repairs has become the owner, and signed."""


def _mend_store(layout: Layout) -> None:
    """Twice, for a newest version that is replaced by an older one is itself an older one then."""
    with open_store_at(layout.root) as store:
        epoch = store.take_over()
        for _ in range(2):
            repair_store(store, examine_store(store, cursors=[CURSORS]), epoch=epoch, dry_run=DryRun.NO)


def _set_aside(layout: Layout, paths: tuple[Path, ...]) -> None:
    """Move files to a folder of this moment, under the same paths."""
    folder = layout.root / ASIDE / utc_now().strftime("%Y%m%dT%H%M%S.%fZ")
    for path in (path for path in paths if path.exists()):
        target = folder / path.relative_to(layout.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
    for parent in {path.parent for path in paths if path.parent.exists()}:
        sync_directory(parent)


def _write_metadata(layout: Layout, path: Path, query_id: str) -> None:
    _set_aside(layout, (path, checksum_of(path)))
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, json.dumps({"id": query_id}))
