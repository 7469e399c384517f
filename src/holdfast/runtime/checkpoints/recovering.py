"""Where a start gets its checkpoints: from the local store, from its remote copy, or from nothing.

A start from nothing is only for a pipeline that never published anything. Whatever could make it one unasked is
refused: another kind of store in the document, a store that was lost or replaced, a remote copy that cannot be read.
Checkpoints of another pipeline are refused before their owner is fenced.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast.checkpoint import CURSORS, RecoveryPath, ReplicatedStore, recover, recovery_path_total
from holdfast.log import outbox_index
from holdfast.log.opening import FILE, open_to_read
from holdfast.model.errors import CheckpointsMissing, LogMissing, StoreUnavailable
from holdfast.runtime.checkpoints.opening import (
    check_same_kind,
    is_there,
    open_local,
    open_remote,
    open_replicated,
    record_kind,
)
from holdfast.runtime.records import GENERATION, HISTORY, LOGS, PAUSE, Logs
from holdfast.runtime.rollback.records import ROLLBACKS

if TYPE_CHECKING:
    from holdfast.checkpoint import CheckpointStore, Replication
    from holdfast.runtime.checkpoints.settings import RemoteSettings
    from holdfast.runtime.layout import Layout
    from holdfast.runtime.plan import Plan

log = logging.getLogger("holdfast")

_KEYS = tuple(key.name for key in (LOGS, GENERATION, HISTORY, PAUSE, ROLLBACKS, CURSORS))
"""What a pipeline remembers; it is recovered together or not at all."""
_FINAL_COPY = timedelta(seconds=5)
"""How long the end of a run waits for the last copy."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoint store of a pipeline that this process owns."""

    store: CheckpointStore
    epoch: int
    logs: Logs
    """Which logs the checkpoints belong to."""
    recovery: RecoveryPath
    """Where they came from."""

    def replication(self) -> Replication | None:
        """How the remote copy stands; None when there is no remote store."""
        return self.store.replication() if isinstance(self.store, ReplicatedStore) else None

    def close(self) -> None:
        """Give the store up, after a last copy if the remote store answers soon."""
        if isinstance(self.store, ReplicatedStore):
            left = self.store.flush(_FINAL_COPY)
            if left.keys_behind:
                log.warning(
                    "the remote checkpoint store lacks the last changes: %s", left.last_error or "no answer yet"
                )
        self.store.close()


def open_checkpoints(plan: Plan, layout: Layout) -> Checkpoints:
    """Open the store, become its owner, and recover what it lacks."""
    check_same_kind(plan, layout)
    outbox = _find_outbox(layout)
    remote = plan.checkpoint.remote
    if remote is None and outbox.has_published and not is_there(plan.checkpoint.store, layout):
        raise _missing(plan, outbox)
    with ExitStack() as opened:
        store = opened.enter_context(
            open_local(plan.checkpoint.store, layout, plan.name)
            if remote is None
            else open_replicated(plan, layout, remote)
        )
        if remote is None:
            _check_belongs(store.get(LOGS), outbox)
        else:
            _check_remote_belongs(plan, remote, outbox)
        epoch = store.take_over()
        recovery = _recovered(store, epoch)
        logs = store.get(LOGS)
        _check_belongs(logs, outbox)
        if logs is None and outbox.has_published:
            raise _missing(plan, outbox)
        record_kind(layout, plan.checkpoint.store.kind)
        opened.pop_all()
    _log(plan, recovery)
    return Checkpoints(store, epoch, logs or Logs(), recovery)


@dataclass(frozen=True, slots=True)
class _Outbox:
    """What is in the pipeline's directory now."""

    layout: Layout
    uuid: str | None = None
    """None when there is no outbox."""
    published: int = 0

    @property
    def has_published(self) -> bool:
        return self.published > 0


def _find_outbox(layout: Layout) -> _Outbox:
    if not (layout.outbox / FILE).exists():
        return _Outbox(layout)
    index, identity = open_to_read(layout.outbox, outbox_index.KIND)
    try:
        with index.reading() as db:
            return _Outbox(layout, identity.uuid, outbox_index.read_state(db).last_oseq)
    finally:
        index.close()


def _check_belongs(logs: Logs | None, outbox: _Outbox) -> None:
    """`LogMissing` when the checkpoints speak of another outbox than the one that is here."""
    if logs is None or logs.outbox is None or logs.outbox == outbox.uuid:
        return
    found = f"it is {outbox.uuid}" if outbox.uuid else f"there is none in {outbox.layout.root}"
    raise LogMissing(
        f"The outbox is not the one this pipeline wrote before: {found} instead of {logs.outbox}.",
        kept="The inboxes, the cursors and every sink are untouched.",
        remedy="Put the outbox's directory back; what it held cannot be told from the sinks.",
    )


def _check_remote_belongs(plan: Plan, remote: RemoteSettings, outbox: _Outbox) -> None:
    """Refuse the copy of another pipeline before its owner is fenced. One that does not answer is asked again later."""
    with suppress(StoreUnavailable), open_remote(remote, plan.name) as store:
        _check_belongs(store.get(LOGS), outbox)


def _recovered(store: CheckpointStore, epoch: int) -> RecoveryPath:
    if not isinstance(store, ReplicatedStore):
        return RecoveryPath.LOCAL if store.get_raw(LOGS.name) else RecoveryPath.FRESH
    try:
        return recover(store, _KEYS, epoch=epoch, paths=recovery_path_total()).path
    except StoreUnavailable as error:
        trouble = store.replication().last_error
        raise StoreUnavailable(
            "The checkpoint store is empty, and its remote copy, which may say where every sink stands, "
            f"cannot be read: {trouble or error.what}",
            kept="Logs and sinks are untouched; nothing was started from the beginning.",
            remedy="Bring the remote store back and start again. For a pipeline that never ran, start it once "
            "without `remote`.",
        ) from error


def _missing(plan: Plan, outbox: _Outbox) -> CheckpointsMissing:
    remote = " and its remote copy hold" if plan.checkpoint.remote else " holds"
    return CheckpointsMissing(
        f"The {plan.checkpoint.store.kind} checkpoint store{remote} nothing of pipeline {plan.name!r}, which has "
        f"published {outbox.published:,} batches. Without its cursors, sinks could get rows twice.",
        kept="Logs and sinks are untouched.",
        remedy="Put the store back, name the one that was used before, or import an export into it with "
        "`holdfast checkpoints import DOCUMENT FILE`.",
        pipeline=plan.name,
    )


def _log(plan: Plan, recovery: RecoveryPath) -> None:
    kind = plan.checkpoint.store.kind
    match recovery:
        case RecoveryPath.REMOTE:
            log.warning(
                "checkpoints of pipeline %s were recovered from the remote %s store, because the local %s store lacked "
                "them; sinks that keep a cursor go on from it, others may get their last batches again",
                plan.name,
                plan.checkpoint.remote.kind if plan.checkpoint.remote else "",
                kind,
            )
        case RecoveryPath.LOCAL_FALLBACK:
            log.warning(
                "the newest checkpoints of pipeline %s in the %s store are damaged; it goes on with older ones",
                plan.name,
                kind,
            )
        case _:
            log.info("checkpoints of pipeline %s: %s store, %s", plan.name, kind, recovery.value)
