"""What is answered to a request: the status that belongs to each error, and what goes with it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from holdfast.model.errors import (
    HoldfastError,
    InvalidPush,
    LogClosed,
    LogFull,
    LogQuota,
    LogReadOnly,
    LogUnavailable,
    PushNotAllowed,
    PushTooLarge,
    PushTooSlow,
    ReceiverBusy,
    ReceiverStopping,
    UnknownPath,
    UnsupportedPush,
)

OK = 200
UNAVAILABLE = 503
_FAILED = 500
_STATUS: dict[type[HoldfastError], int] = {
    InvalidPush: 400,
    PushNotAllowed: 401,
    UnknownPath: 404,
    PushTooSlow: 408,
    PushTooLarge: 413,
    UnsupportedPush: 415,
    LogQuota: 429,
    ReceiverBusy: 429,
    ReceiverStopping: UNAVAILABLE,
    LogClosed: UNAVAILABLE,
    LogFull: UNAVAILABLE,
    LogReadOnly: UNAVAILABLE,
    LogUnavailable: UNAVAILABLE,
}
"""Of all these nothing was accepted. What is not here may have been: it is a 500, and a key helps to repeat it."""

_HEADERS = {
    401: ((b"www-authenticate", b"Bearer"),),
    405: ((b"allow", b"POST"),),
    415: ((b"accept-encoding", b"gzip, identity"),),
    429: ((b"retry-after", b"1"),),
    503: ((b"retry-after", b"1"),),
}

Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    content: bytes
    content_type: str
    more: tuple[Header, ...] = ()

    @property
    def headers(self) -> list[Header]:
        """Its headers, as ASGI has them."""
        length = str(len(self.content)).encode()
        about = [(b"content-type", self.content_type.encode()), (b"content-length", length)]
        return [*about, *_HEADERS.get(self.status, ()), *self.more]

    def closing(self) -> Answer:
        """The same, and then the connection is closed."""
        return replace(self, more=(*self.more, (b"connection", b"close")))


def status_of(error: HoldfastError) -> int:
    """The status that says it."""
    if isinstance(error, UnknownPath) and "method" in error.context:
        return 405
    return _STATUS.get(type(error), _FAILED)
