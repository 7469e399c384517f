"""`type: postgres`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import SecretStr

from holdfast.config.sinks.table import TableBlock

if TYPE_CHECKING:
    from holdfast.deliver import Sink


class PostgresBlock(TableBlock):
    """A table of a PostgreSQL database. Needs the extra `postgres`."""

    type: Literal["postgres"]
    """A table of a PostgreSQL database."""
    dsn: SecretStr
    """How the database is reached, as libpq understands it."""

    def sink(self) -> Sink:
        """A table of a PostgreSQL database."""
        from holdfast.sinks.postgres import Postgres

        return Postgres(self.dsn.get_secret_value(), table=self.table, mode=self.mode)
