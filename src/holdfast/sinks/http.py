"""Delivers rows as requests to an HTTP server, each under an `Idempotency-Key`. Needs the extra `http`.

What a server has taken nobody can take back, so a batch comes in pieces: a request takes all its rows or none. The key
of a piece is made of the outbox, the lane, the oseq and the first and last ordinal; of a single row it is the row's id.
A piece that comes again, after an answer that was lost or a crash, has the same key and the same rows. So rows are
there at least once, and once for a server that recognises keys.

2xx is taken. 429 and 503 are waited for as the server says, 408 and no connection are tried again. Other 5xx, 409 and a
connection that breaks leave it open whether the rows were taken: they are sent again. 401, 403, 404, redirects and
whatever else is not about the rows stops the lane. 413 and other 4xx refuse the rows: the piece is halved, and what is
refused alone goes to the dead letters.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qsl, urlsplit

from holdfast.deliver.contract import LaneIdentity, Sink, SinkBatch, Tier
from holdfast.model.errors import Fatal, InvalidPipeline, Rejected
from holdfast.model.steps import Step
from holdfast.sinks.columns.lines import row_texts
from holdfast.sinks.http_answers import refusal
from holdfast.sinks.http_client import HttpClient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

_OURS = {"content-type", "content-length", "host", "idempotency-key", "transfer-encoding", "connection"}
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SECRET_LENGTH = 6
"""Shorter words of a header are no secrets, and are in every answer."""


class HttpBody(Enum):
    """What a request holds."""

    LINES = "lines"
    """A row a line, as application/x-ndjson."""
    ARRAY = "array"
    """An array of rows, as application/json."""
    OBJECT = "object"
    """One row, as application/json."""


class Http(Sink):
    """A server that takes rows at `url`.

    :param headers: sent with every request; what they say is never told in an error.
    :param max_rows: how many rows a request may hold; one, when the body is a single row.
    :param max_bytes: how large a request may be; a row that is larger goes to the dead letters.
    :param timeout: how many seconds to wait for a connection, and for an answer.
    :param ca_file: the certificates that vouch for the server, if they are not those of this machine.
    """

    kind: ClassVar[str] = "http"
    tier = Tier.AT_LEAST_ONCE

    def __init__(
        self,
        url: str,
        *,
        body: HttpBody = HttpBody.LINES,
        headers: Mapping[str, str] | None = None,
        max_rows: int = 1000,
        max_bytes: int = 8 << 20,
        timeout: float = 30.0,
        ca_file: str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._place = _place(url)
        self._body = body
        self._max_bytes = max_bytes
        self._now = now
        self._secrets = _secrets(url, headers or {})
        self._lane: LaneIdentity | None = None
        self.piece_rows = 1 if body is HttpBody.OBJECT else max_rows
        _check(self._place, url, headers or {}, min(max_rows, max_bytes, timeout))
        self._client = HttpClient(url, self._place, headers=headers or {}, timeout=timeout, ca_file=ca_file)

    def open(self, identity: LaneIdentity) -> None:
        """Nothing is asked of the server before there are rows."""
        self._lane = identity

    def check_connection(self, identity: LaneIdentity) -> None:
        """Connect, over TLS where the address asks for it, and send nothing."""
        self._client.connect()

    def cursor(self) -> None:
        """A server keeps no cursor of ours."""

    def deliver(self, batch: SinkBatch) -> None:
        """Send the rows in one request."""
        lane = self._opened()
        if not batch.rows.num_rows:
            return
        lane.hook(Step.SINK_WRITE)
        content = self._content(batch.rows)
        lane.hook(Step.SINK_COMMIT)
        reply = self._client.post(content, self._head(lane, batch))
        error = refusal(reply, self._place, secrets=self._secrets, now=self._now())
        if error is not None:
            raise error
        lane.hook(Step.SINK_COMMITTED)

    def probe(self, batch: SinkBatch) -> None:
        """Write the rows as they would be sent, and send nothing."""
        self._opened()
        self._content(batch.rows)

    def close(self) -> None:
        """Give up the connection."""
        self._lane = None
        self._client.close()

    def _head(self, lane: LaneIdentity, batch: SinkBatch) -> dict[str, str]:
        first, last = batch.ordinals[0].as_py(), batch.ordinals[-1].as_py()
        row, piece = f"{lane.outbox}/{batch.oseq}/{first}", f"{lane.outbox}/{lane.lane}/{batch.oseq}/{first}-{last}"
        return {
            "content-type": "application/x-ndjson" if self._body is HttpBody.LINES else "application/json",
            "idempotency-key": row if self._body is HttpBody.OBJECT else piece,
        }

    def _content(self, rows: pa.Table) -> bytes:
        texts = list(row_texts(rows))
        match self._body:
            case HttpBody.LINES:
                content = "".join(f"{text}\n" for text in texts)
            case HttpBody.ARRAY:
                content = f"[{','.join(texts)}]"
            case HttpBody.OBJECT:
                content = self._only(texts)
        return self._fitting(content.encode())

    def _only(self, texts: list[str]) -> str:
        if len(texts) != 1:
            raise Fatal(
                f"{self._place} is sent one row a request, so {len(texts)} rows cannot be refused together.",
                kept="Nothing was sent.",
                remedy="Set the sink's poison unit to the row, or send lines or an array.",
            )
        return texts[0]

    def _fitting(self, content: bytes) -> bytes:
        if len(content) > self._max_bytes:
            raise Rejected(
                f"The rows are {len(content)} bytes, and a request may have {self._max_bytes}.",
                kept="Nothing was sent.",
                remedy="They are sent in smaller pieces; a row that is too large alone goes to the dead letters.",
            )
        return content

    def _opened(self) -> LaneIdentity:
        if self._lane is None:
            raise Fatal(f"{self._place} is not open.", remedy="Open the sink with the lane's identity first.")
        return self._lane


def _place(url: str) -> str:
    """What errors call the server: without what may be a secret in its address."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"The HTTP server at {parts.scheme}://{parts.hostname}{port}{parts.path}"


def _secrets(url: str, headers: Mapping[str, str]) -> frozenset[str]:
    """What must not be told: the headers, also word by word, and what the address asks with."""
    words = {word for value in headers.values() for word in (value, *value.split())}
    asked = {value for _, value in parse_qsl(urlsplit(url).query)}
    return frozenset(word for word in words | asked if len(word) >= _SECRET_LENGTH)


def _check(place: str, url: str, headers: Mapping[str, str], smallest: float) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or parts.fragment:
        raise _invalid(
            f"{place} is no address to send rows to.",
            "Give an http or https address without a user; a password belongs into a header.",
        )
    for name, value in headers.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OURS or not value.isprintable() or not value.isascii():
            raise _invalid(
                f"{place} cannot be sent the header {name!r}.", "Give it another name, or a value of one line."
            )
    if smallest <= 0:
        raise _invalid(f"{place} can take nothing: a limit is 0 or less.", "Give limits above 0.")


def _invalid(what: str, remedy: str) -> InvalidPipeline:
    return InvalidPipeline(what, remedy=remedy)
