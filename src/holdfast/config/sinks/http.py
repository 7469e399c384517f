"""`type: http`, as a sink."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, SecretStr

from holdfast.config.fields import Count, Duration, Size, Text
from holdfast.config.sinks.base import SinkBlock
from holdfast.sinks.http import Http, HttpBody

if TYPE_CHECKING:
    from holdfast.deliver import Sink


class HttpBlock(SinkBlock):
    """Requests to an HTTP server, each under an idempotency key. Needs the extra `http`."""

    local_paths: ClassVar[tuple[str, ...]] = ("ca_file",)

    type: Literal["http"]
    """Requests to an HTTP server."""
    url: SecretStr
    """Where rows are sent to."""
    body: Annotated[HttpBody, Field(strict=False)] = HttpBody.LINES
    """What a request holds."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """What is sent with every request."""
    max_rows: Count = 1000
    """How many rows a request may hold."""
    max_bytes: Size = 8 << 20
    """How large a request may be; a row that is larger goes to the dead letters."""
    timeout: Duration = timedelta(seconds=30)
    """How long to wait for a connection, and for an answer."""
    ca_file: Text | None = None
    """The certificates that vouch for the server, if they are not those of this machine."""

    def sink(self) -> Sink:
        """A server that takes rows."""
        return Http(
            self.url.get_secret_value(),
            body=self.body,
            headers={name: value.get_secret_value() for name, value in self.headers.items()},
            max_rows=self.max_rows,
            max_bytes=self.max_bytes,
            timeout=self.timeout.total_seconds(),
            ca_file=self.ca_file,
        )
