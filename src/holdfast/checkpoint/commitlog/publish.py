"""Publishes a decided commit: payloads first, then the document under its number, then a look whether it stands.

A writer that slept between deciding and publishing does no harm, for the number it decided on is taken. Only a number
that was taken, used up and swept away meanwhile is free again. So after publishing the writer looks for newer
documents, and when there are some, asks whether they know of its own.
"""

from __future__ import annotations

from contextlib import suppress

from holdfast.checkpoint.commitlog.document import commit_name, encode
from holdfast.checkpoint.commitlog.medium import Medium
from holdfast.checkpoint.commitlog.model import Draft
from holdfast.checkpoint.commitlog.reader import LogReader
from holdfast.model.errors import CheckpointError, CommitStateUnknown, StoreUnavailable


class Publisher:
    """The writing half of a log store."""

    def __init__(self, medium: Medium, reader: LogReader) -> None:
        self._medium = medium
        self._reader = reader

    def publish(self, draft: Draft) -> bool:
        """Publish a draft and say whether it is now part of the log; False means: decide again."""
        try:
            self._put_blobs(draft)
            published = self._medium.create(commit_name(draft.document.number), encode(draft.document))
        except CommitStateUnknown:
            raise
        except CheckpointError:
            self._discard(*draft.blobs)
            raise
        if published and self._stands(draft):
            return True
        self._discard(*draft.blobs)
        return False

    def _put_blobs(self, draft: Draft) -> None:
        for name, data in draft.blobs.items():
            try:
                stored = self._medium.create(name, data)
            except CommitStateUnknown as error:
                raise self._not_stored(name) from error
            if not stored:
                raise self._not_stored(name)

    def _stands(self, draft: Draft) -> bool:
        try:
            if self._medium.newest(draft.document.number) == draft.document.number:
                return True
            known = self._is_known(draft)
        except CheckpointError as error:
            raise self._unknown(draft) from error
        if known is False:
            self._discard(commit_name(draft.document.number))
        if known is None and draft.keys:
            raise self._unknown(draft)
        return bool(known)

    def _is_known(self, draft: Draft) -> bool | None:
        """Whether the newest document knows of this one, or of another in its place; None when it tells neither."""
        view = self._reader.look()
        if view.document.rules_out(draft.document):
            return False
        for mine in draft.document.written():
            for found in self._reader.walk(view, mine.version.key):
                if found.number == mine.number:
                    return found.nonce == mine.nonce
        return None

    def _discard(self, *names: str) -> None:
        """Remove what was written in vain; what cannot be removed now is removed by a sweep."""
        if names:
            with suppress(CheckpointError):
                self._medium.remove(names)

    def _not_stored(self, name: str) -> StoreUnavailable:
        where = self._medium.where(name)
        return StoreUnavailable(f"{where} could not be stored.", remedy="Try again.", where=where)

    def _unknown(self, draft: Draft) -> CommitStateUnknown:
        number = draft.document.number
        return CommitStateUnknown(
            f"Commit {number} was published in {self._medium.where()}, but it is not known whether it stands.",
            kept="Either all of the commit is there or nothing of it.",
            remedy="Read the keys back, then decide.",
            number=number,
        )
