"""Where rows go. Each sink states in code what it promises, and passes the suite in `tests/integration/sinks`."""

from __future__ import annotations

from holdfast.sinks.console import Console, ConsoleForm
from holdfast.sinks.files import Files
from holdfast.sinks.filesystem.formats import Format
from holdfast.sinks.http import Http, HttpBody
from holdfast.sinks.postgres import Postgres
from holdfast.sinks.sql.mode import Upsert
from holdfast.sinks.sqlite import Sqlite

__all__ = ["Console", "ConsoleForm", "Files", "Format", "Http", "HttpBody", "Postgres", "Sqlite", "Upsert"]
