"""Opens the checkpoint store of a pipeline, and keeps on record in its directory which kind of store is in use.

The record lets a start notice that its document names another kind of store, and lets commands that are given a
directory open the right one. It holds no address and no password.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast.checkpoint import FileStore, LateStore, PostgresStore, ReplicatedStore, SqliteStore, open_object_store
from holdfast.checkpoint.replication.takeover import WithoutRemote
from holdfast.disk.files import replace_file
from holdfast.log.oserrors import disk_error
from holdfast.model.errors import CheckpointDamaged, CheckpointsMissing, StoreChanged, StoreUnavailable
from holdfast.runtime.checkpoints.settings import FileSettings, PostgresSettings, S3Settings, SqliteSettings

if TYPE_CHECKING:
    from holdfast.checkpoint import CheckpointStore
    from holdfast.runtime.checkpoints.settings import LocalSettings, RemoteSettings
    from holdfast.runtime.layout import Layout
    from holdfast.runtime.plan import Plan

_FORMAT = 1
_KINDS = (SqliteSettings.kind, FileSettings.kind, PostgresSettings.kind)


def open_local(settings: LocalSettings, layout: Layout, name: str) -> CheckpointStore:
    """The store that every write goes to at once; it is made when it does not exist."""
    match settings:
        case PostgresSettings(dsn):
            return PostgresStore(dsn, namespace=name)
        case FileSettings():
            return FileStore(settings.directory or layout.checkpoint_files)
        case SqliteSettings():
            return SqliteStore(layout.checkpoints)


def open_existing(settings: LocalSettings, layout: Layout, name: str) -> CheckpointStore:
    """The same for a pipeline that ran before: a store that is gone is not replaced by an empty one."""
    if not is_there(settings, layout):
        raise CheckpointsMissing(
            f"The checkpoint store of the pipeline in {layout.root} is gone.",
            kept="Logs and sinks are untouched.",
            remedy="Put it back from a copy; with a `remote`, `holdfast run` recovers it from there.",
        )
    return open_local(settings, layout, name)


def open_remote(settings: RemoteSettings, name: str) -> CheckpointStore:
    """The store that writes are copied to; `StoreUnavailable` when it cannot be reached."""
    match settings:
        case PostgresSettings(dsn):
            return PostgresStore(dsn, namespace=name)
        case S3Settings(url, options):
            return open_object_store(url, **options)
        case FileSettings(directory):
            assert directory is not None, "a remote store without a directory is refused when it is declared"
            if not directory.is_dir():  # a disk that is not mounted must not look like a store that is empty
                raise StoreUnavailable(
                    f"The directory {directory} of the remote checkpoint store does not exist.",
                    remedy="Mount its disk, or create the directory.",
                )
            return FileStore(directory)


def open_replicated(plan: Plan, layout: Layout, remote: RemoteSettings) -> ReplicatedStore:
    """The local store with its remote copy. Whether the remote one can be reached shows when it is taken over.

    Only this host has the logs of the pipeline, so no other host can run it: an outage of the remote store delays no
    start that finds its local store.
    """
    settings = plan.checkpoint.store
    local = open_local(settings, layout, plan.name)
    try:
        reader = open_local(settings, layout, plan.name)
    except BaseException:
        local.close()
        raise
    return ReplicatedStore(
        local,
        LateStore(lambda: open_remote(remote, plan.name)),
        every=plan.checkpoint.replicate_every,
        without_remote=WithoutRemote.DETACH,
        reader=reader,
    )


def is_there(settings: LocalSettings, layout: Layout) -> bool:
    """Whether the local store has files; a server's store is always taken to be there."""
    match settings:
        case PostgresSettings():
            return True
        case FileSettings(directory):
            return (directory or layout.checkpoint_files).is_dir()
        case SqliteSettings():
            return layout.checkpoints.exists()


# The record in the directory


def recorded_kind(layout: Layout) -> str | None:
    """The kind of store that the pipeline used last; None when it never ran. Older versions knew SQLite alone."""
    path = layout.checkpoint_kind
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return SqliteSettings.kind if layout.checkpoints.exists() else None
    except OSError as error:
        raise disk_error(error, path) from error
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("format") != _FORMAT or found.get("store") not in _KINDS:
        raise CheckpointDamaged(
            f"{path} does not say which kind of checkpoint store the pipeline uses.",
            kept="Every store is untouched.",
            remedy=f'Write {{"format": {_FORMAT}, "store": "sqlite"}} into it, or `file` or `postgres` as it was.',
            where=str(path),
        )
    return str(found["store"])


def record_kind(layout: Layout, kind: str) -> None:
    """Write down which kind of store is in use from now on."""
    if recorded_kind(layout) == kind and layout.checkpoint_kind.exists():
        return
    try:
        replace_file(layout.checkpoint_kind, json.dumps({"format": _FORMAT, "store": kind}))
    except OSError as error:
        raise disk_error(error, layout.checkpoint_kind) from error


def check_same_kind(plan: Plan, layout: Layout) -> None:
    """`StoreChanged` when the pipeline's checkpoints are in another kind of store than the plan names."""
    before, now = recorded_kind(layout), plan.checkpoint.store.kind
    if before in (None, now):
        return
    raise StoreChanged(
        f"Pipeline {plan.name!r} keeps its checkpoints in the {before} store, and is started with `store: {now}`.",
        kept="Both stores, the logs and every sink are untouched.",
        remedy=(
            f"Move them: `holdfast checkpoints export {layout.root} moved.jsonl`, then "
            f"`holdfast checkpoints import DOCUMENT moved.jsonl` with the new document. Or write `store: {before}`."
        ),
        before=before,
        now=now,
    )
