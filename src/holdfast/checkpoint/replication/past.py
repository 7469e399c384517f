"""Tells whether a key that is absent now may have been there before, as far as the store remembers."""

from __future__ import annotations

from holdfast.checkpoint.commitlog.reader import LogReader
from holdfast.checkpoint.commitlog.store import LogStore
from holdfast.checkpoint.contract import CheckpointStore
from holdfast.checkpoint.sql.store import SqlStore


def may_have_held(store: CheckpointStore, key: str) -> bool:
    """Whether the store ever had a version of `key`, or cannot tell."""
    match store:
        case SqlStore():
            return store.has_counted(key)
        case LogStore():
            return key in LogReader(store.medium).look().document.chains
        case _:
            return True
