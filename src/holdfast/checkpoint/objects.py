"""Keeps checkpoints as objects, on S3 and everything else that `obstore` speaks to, as a log of commit documents.

A document is published with "create only": the server refuses a name that is taken. Whatever is not a plain yes is read
back: equal bytes mean that this writer's own document is there, because each carries a nonce.

A server keeps what it answered for. A directory through `obstore` survives the death of every process but not a loss of
power, since `obstore` syncs nothing there; use `FileStore` for that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from holdfast.checkpoint.commitlog.document import commit_name, commit_number
from holdfast.checkpoint.commitlog.oserrors import store_error, vanished
from holdfast.checkpoint.commitlog.store import LogStore, random_nonce
from holdfast.checkpoint.contract import Durability
from holdfast.model.clock import Clock, utc_now
from holdfast.model.errors import CheckpointError, CommitStateUnknown, MissingExtra, StoreReadOnly, StoreUnavailable

if TYPE_CHECKING:
    import obstore
    from obstore.store import ObjectStore as Client

PUTS = 3
"""How often a document is sent when the server neither has it nor says why not."""

_OS_ERROR = re.compile(r"\(os error (\d+)\)")


class ObjectStore(LogStore):
    """A store below a prefix of a bucket."""

    def __init__(
        self, store: Client, prefix: str = "", *, clock: Clock = utc_now, nonces: Callable[[], str] = random_nonce
    ) -> None:
        _require_obstore()
        super().__init__(ObjectMedium(store, prefix.strip("/")), clock=clock, nonces=nonces)


def open_object_store(url: str, **options: str) -> ObjectStore:
    """The store at `s3://bucket/prefix` or `file:///directory`.

    :param options: what `obstore` needs to know of S3: `region`, `endpoint`, `access_key_id`, `secret_access_key` … An
        endpoint that begins with `http://` is spoken to without encryption.
    """
    _require_obstore()
    from obstore.store import LocalStore, from_url

    if urlsplit(url).scheme == "file":
        return ObjectStore(LocalStore(Path(unquote(urlsplit(url).path)), mkdir=True))
    client = from_url(
        url,
        config=options,  # type: ignore[call-overload]
        client_options={"allow_http": options.get("endpoint", "").startswith("http://"), "timeout": "30s"},
        retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=20)},
    )
    return ObjectStore(client)


class ObjectMedium:
    """A prefix below which a name is taken only once."""

    def __init__(self, store: Client, prefix: str) -> None:
        self.durability = _durability(store)
        self._store = store
        self._prefix = prefix

    def where(self, name: str = "") -> str:
        """The store and the path in it."""
        return f"{self._store}/{self._path(name)}"

    def read(self, name: str) -> bytes | None:
        """The bytes of an object, or None when there is none."""
        import obstore

        with self._translating(name):
            try:
                return bytes(obstore.get(self._store, self._path(name)).bytes())
            except FileNotFoundError:
                return None

    def create(self, name: str, data: bytes) -> bool:
        """Send until the object is there, this one or another."""
        for _ in range(PUTS):
            error = self._put(name, data)
            found = data if error is None else self._read_back(name, error)
            if found is not None:
                return found == data
        raise _unanswered(self.where(name)) from error

    def newest(self, known: int) -> int:
        """Lists from the known number on; the newest document is never removed, so there is always one."""
        newest = max(self._numbers(after=known - 1), default=0)
        if newest < known:
            raise vanished(self.where(commit_name(known)))
        return newest

    def numbers(self) -> list[int]:
        """All commit numbers present, sorted."""
        return sorted(self._numbers(after=0))

    def blobs(self) -> list[str]:
        """The names of all blobs present."""
        return [f"blobs/{_file_name(meta)}" for meta in self._list("blobs")]

    def remove(self, names: Sequence[str]) -> None:
        """Remove in bulk, or one by one where a missing object is an error."""
        import obstore

        paths = [self._path(name) for name in names]
        with self._translating("", StoreReadOnly):
            try:
                obstore.delete(self._store, paths)
            except FileNotFoundError:
                for path in paths:
                    with suppress(FileNotFoundError):
                        obstore.delete(self._store, path)

    def strangers(self) -> list[str]:
        """The first objects below the prefix that are not documents of an unmarked store."""
        import obstore

        ours = (self._path("commits/"), self._path("blobs/"))
        with self._translating(""):
            for chunk in obstore.list(self._store, self._prefix or None):
                if foreign := [meta["path"] for meta in chunk if not meta["path"].startswith(ours)]:
                    return foreign
        return []

    def found(self) -> None:
        """Nothing: objects need no folders."""

    def _put(self, name: str, data: bytes) -> Exception | None:
        """Send once. None for a plain yes, the error when it must be read back; what is certainly a no is raised."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        try:
            obstore.put(self._store, self._path(name), data, mode="create")
        except (AlreadyExistsError, PreconditionError) as error:
            return error
        except (BaseError, OSError) as error:
            meaning = self._meaning(error, name, StoreReadOnly)
            if isinstance(error, BaseError) and isinstance(meaning, StoreUnavailable):
                return error
            raise meaning from error
        return None

    def _read_back(self, name: str, error: Exception) -> bytes | None:
        try:
            return self.read(name)
        except CheckpointError:
            raise _unanswered(self.where(name)) from error

    def _numbers(self, *, after: int) -> Iterator[int]:
        offset = self._path(commit_name(after)) if after > 0 else None
        for meta in self._list("commits", offset):
            if (number := commit_number(_file_name(meta))) is not None:
                yield number

    def _list(self, folder: str, offset: str | None = None) -> list[obstore.ObjectMeta]:
        import obstore

        with self._translating(folder):
            return list(obstore.list(self._store, self._path(folder) or None, offset=offset).collect())

    def _path(self, name: str) -> str:
        return "/".join(part for part in (self._prefix, name) if part)

    @contextmanager
    def _translating(self, name: str, forbidden: type[CheckpointError] = StoreUnavailable) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as error:
            raise self._meaning(error, name, forbidden) from error

    def _meaning(self, error: Exception, name: str, forbidden: type[CheckpointError]) -> CheckpointError:
        from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

        reason, where = str(error).split("\n")[0], self.where(name)
        if isinstance(error, PermissionDeniedError | UnauthenticatedError):
            remedy = "Give these credentials the right to list, read, write and delete there."
            return forbidden(f"{where} may not be used: {reason}.", remedy=remedy, where=where)
        code = _OS_ERROR.search(str(error))
        return store_error(int(code[1]) if code else None, where, reason)


def _durability(store: Client) -> Durability:
    from obstore.store import LocalStore, MemoryStore

    if isinstance(store, MemoryStore):
        return Durability.PROCESS
    return Durability.CRASH if isinstance(store, LocalStore) else Durability.REMOTE


def _file_name(meta: obstore.ObjectMeta) -> str:
    return meta["path"].rpartition("/")[2]


def _require_obstore() -> None:
    try:
        import obstore  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "Checkpoints in an object store need the client library obstore, which is not installed.",
            remedy="Install it: pip install holdfast[objects]",
            extra="objects",
        ) from error


def _unanswered(where: str) -> CommitStateUnknown:
    return CommitStateUnknown(
        f"{where} was sent, but the server did not say whether it is stored.",
        kept="Either all of the commit is there or nothing of it.",
        remedy="Read the keys back, then decide.",
        where=where,
    )
