"""Which store keeps the checkpoints of a pipeline, and where they are copied to. Values only; nothing is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, TypeAlias


@dataclass(frozen=True, slots=True)
class SqliteSettings:
    """One SQLite file in the pipeline's directory: the default."""

    kind: ClassVar[str] = "sqlite"


@dataclass(frozen=True, slots=True)
class FileSettings:
    """A directory with one JSON document for each commit."""

    kind: ClassVar[str] = "file"
    directory: Path | None = None
    """Where; None for `checkpoints` in the pipeline's directory. A remote store needs a directory."""


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """Tables of a PostgreSQL database; the pipeline's name is the namespace."""

    kind: ClassVar[str] = "postgres"
    dsn: str = field(repr=False)
    """How the database is reached, as libpq understands it."""


@dataclass(frozen=True, slots=True)
class S3Settings:
    """Objects below a prefix of an S3 bucket."""

    kind: ClassVar[str] = "s3"
    url: str
    """`s3://bucket/prefix`."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the client needs: `region`, `endpoint`, `access_key_id`, `secret_access_key`."""


LocalSettings: TypeAlias = SqliteSettings | FileSettings | PostgresSettings
"""A store that every write goes to at once."""

RemoteSettings: TypeAlias = FileSettings | PostgresSettings | S3Settings
"""A store that writes are copied to in the background."""
