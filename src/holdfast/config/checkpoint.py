"""The block `checkpoint` of a document: which store keeps the checkpoints, and where they are copied to."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, SecretStr, StringConstraints

from holdfast.config.fields import Block, Count, Duration, Text
from holdfast.model.errors import InvalidPipeline
from holdfast.runtime.checkpoints.settings import (
    FileSettings,
    LocalSettings,
    PostgresSettings,
    RemoteSettings,
    S3Settings,
    SqliteSettings,
)
from holdfast.runtime.plan import Checkpointing

_CHECKPOINT = Checkpointing()
_EXAMPLE_DSN = "dsn: ${CHECKPOINTS_DSN}"


class FileRemoteBlock(Block):
    """A directory that survives the loss of this disk: another disk, or a mounted one."""

    local_paths: ClassVar[tuple[str, ...]] = ("directory",)

    type: Literal["file"]
    """A directory on another disk."""
    directory: Text
    """The directory. It must exist, so that a disk that is not mounted is noticed."""

    def settings(self) -> RemoteSettings:
        """The value."""
        return FileSettings(Path(self.directory))


class PostgresRemoteBlock(Block):
    """Tables of a PostgreSQL database. Needs the extra `postgres`."""

    type: Literal["postgres"]
    """Tables of a PostgreSQL database."""
    dsn: SecretStr
    """How the database is reached, as libpq understands it."""

    def settings(self) -> RemoteSettings:
        """The value."""
        return PostgresSettings(self.dsn.get_secret_value())


class S3RemoteBlock(Block):
    """Objects below a prefix of an S3 bucket. Needs the extra `objects`."""

    type: Literal["s3"]
    """Objects of an S3 bucket."""
    url: Annotated[str, StringConstraints(pattern=r"^s3://[^/]+(/.*)?$"), Field(examples=["s3://backup/orders"])]
    """The bucket and the prefix; each pipeline needs a prefix of its own."""
    region: Text | None = None
    """The region; without it, as the environment says (`AWS_REGION`)."""
    endpoint: Text | None = None
    """The address of a server other than Amazon's. One that begins with `http://` is spoken to without encryption."""
    access_key_id: SecretStr | None = None
    """The access key; without it, as the environment says (`AWS_ACCESS_KEY_ID`)."""
    secret_access_key: SecretStr | None = None
    """Its secret; without it, as the environment says (`AWS_SECRET_ACCESS_KEY`)."""

    def settings(self) -> RemoteSettings:
        """The value."""
        secrets = {"access_key_id": self.access_key_id, "secret_access_key": self.secret_access_key}
        given = {"region": self.region, "endpoint": self.endpoint}
        given |= {name: secret.get_secret_value() for name, secret in secrets.items() if secret is not None}
        return S3Settings(self.url, {name: value for name, value in given.items() if value is not None})


RemoteBlock = Annotated[FileRemoteBlock | PostgresRemoteBlock | S3RemoteBlock, Field(discriminator="type")]


class CheckpointBlock(Block):
    """Where checkpoints are kept and copied to, how often cursors are written, and how many versions of them stay."""

    store: Literal["sqlite", "file", "postgres"] = "sqlite"
    """Where checkpoints are kept: in a SQLite file or in `checkpoints/` of the pipeline's directory, or on a server.
    It is changed by an export and an import, see docs/guides/checkpoint-stores.md."""
    dsn: SecretStr | None = None
    """How the database is reached, as libpq understands it; only with the store `postgres`."""
    remote: RemoteBlock | None = None
    """Where checkpoints are copied to in the background, to recover from when the local store is lost."""
    replicate_every: Duration | None = None
    """From one copy to the next; `30s` without it. Only with `remote`."""
    cadence: Duration = _CHECKPOINT.cadence
    """From one write to the next, up to `1s`, so that answers of sinks share it; `0s` writes whenever one came."""
    keep_versions: Count = _CHECKPOINT.keep_versions
    """How many versions `holdfast checkpoints` can show; older ones go now and then."""

    def check(self) -> None:
        """Values that fit together."""
        if self.store == "postgres" and self.dsn is None:
            raise _refused("`store: postgres` needs a `dsn`.", f"Add `{_EXAMPLE_DSN}` to `checkpoint`.")
        if self.store != "postgres" and self.dsn is not None:
            raise _refused(f"`store: {self.store}` has no `dsn`.", "Write `store: postgres`, or take the `dsn` out.")
        if self.replicate_every is not None and self.remote is None:
            raise _refused("`replicate_every` needs a `remote`.", "Add `remote`, or take `replicate_every` out.")
        self.checkpointing()

    def checkpointing(self) -> Checkpointing:
        """The value."""
        return Checkpointing(
            cadence=self.cadence,
            keep_versions=self.keep_versions,
            store=self.local_settings(),
            remote=None if self.remote is None else self.remote.settings(),
            replicate_every=self._every(),
        )

    def local_settings(self) -> LocalSettings:
        """The store that every write goes to."""
        if self.dsn is not None:
            return PostgresSettings(self.dsn.get_secret_value())
        return FileSettings() if self.store == "file" else SqliteSettings()

    def _every(self) -> timedelta:
        return _CHECKPOINT.replicate_every if self.replicate_every is None else self.replicate_every


def _refused(what: str, remedy: str) -> InvalidPipeline:
    return InvalidPipeline(what, remedy=remedy)
