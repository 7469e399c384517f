"""The checkpoint store of a pipeline that no process runs, found by its directory alone.

The directory says which kind of store is in use. How a PostgreSQL server is reached stands in the document that the
pipeline last ran by, with its password as a reference; the variable must be set here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.control.document import kept_document
from holdfast.model.errors import NotRunning
from holdfast.runtime.checkpoints.opening import open_existing, recorded_kind
from holdfast.runtime.checkpoints.settings import FileSettings, PostgresSettings, SqliteSettings
from holdfast.runtime.layout import Layout

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.checkpoint import CheckpointStore
    from holdfast.runtime.checkpoints.settings import LocalSettings


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """What is needed to open the store of a pipeline."""

    settings: LocalSettings
    name: str
    """The name of the pipeline, which is its namespace on a server."""


def open_store_at(directory: Path) -> CheckpointStore:
    """The local checkpoint store of a pipeline; `NotRunning` when there never was one."""
    address = address_at(directory)
    return open_existing(address.settings, Layout(directory), address.name)


def address_at(directory: Path) -> StoreAddress:
    """Which store the pipeline in a directory uses."""
    match recorded_kind(Layout(directory)):
        case None:
            raise NotRunning(
                f"No pipeline was started in {directory} yet.",
                remedy="Start it with `holdfast run`, or name another one.",
            )
        case PostgresSettings.kind:
            return _on_a_server(directory)
        case FileSettings.kind:
            return StoreAddress(FileSettings(), directory.name)
        case _:
            return StoreAddress(SqliteSettings(), directory.name)


def _on_a_server(directory: Path) -> StoreAddress:
    document = kept_document(directory)
    settings = document.values.spec.checkpoint.local_settings() if document is not None else None
    if document is None or not isinstance(settings, PostgresSettings):
        raise NotRunning(
            f"The checkpoints of the pipeline in {directory} are in PostgreSQL, and no document there says where.",
            remedy="Ask the program that runs it; a pipeline started with `holdfast run` keeps its document there.",
        )
    return StoreAddress(settings, document.name)
