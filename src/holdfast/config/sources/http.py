"""`type: http`, as a source."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import Field, SecretStr

from holdfast.config.fields import Count, Duration, Size, Text, Whole
from holdfast.config.sources.base import SourceBlock

if TYPE_CHECKING:
    from holdfast.capture.contract import Input


class HttpPushBlock(SourceBlock):
    """What others push over HTTP: JSON, NDJSON and OTLP logs. Needs the extra `http`."""

    type: Literal["http"]
    """Pushes over HTTP."""
    host: Text = "127.0.0.1"
    """The address it listens at."""
    port: Whole = 8080
    """The port it listens at; 0 for one that is free."""
    token: SecretStr | None = None
    """The bearer token that every push must carry. Without it, only this host may push."""
    headers: list[Text] = Field(default_factory=list)
    """The names of request headers that events carry."""
    max_body: Size = 16 << 20
    """The largest body, as sent and once unpacked."""
    patience: Duration = timedelta(seconds=30)
    """How long the head of a request may take, its body, and a connection that is idle."""
    max_connections: Count = 1024
    """While there are more connections, requests are answered with 503."""
    linger: Duration = timedelta(milliseconds=10)
    """After how long, about, a push is durable: so long it waits for others, to be synced together."""
    keys_kept: Count = 1_000_000
    """How many of the newest idempotency keys are remembered."""

    def source(self) -> Input:
        """A server for pushes."""
        from holdfast.capture.http.source import HttpPush

        return HttpPush(
            self.label,
            host=self.host,
            port=self.port,
            token=None if self.token is None else self.token.get_secret_value(),
            headers=self.headers,
            max_body=self.max_body,
            patience=self.patience.total_seconds(),
            max_connections=self.max_connections,
            linger=self.linger.total_seconds(),
            keys_kept=self.keys_kept,
        )
