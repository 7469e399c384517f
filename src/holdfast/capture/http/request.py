"""What the head of a request says. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

from holdfast.model.errors import InvalidPush, UnsupportedPush

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.capture.http.events import Headers

_ENCODINGS = {b"": False, b"identity": False, b"gzip": True, b"x-gzip": True}
_UTF8 = {"utf-8", "utf8", "us-ascii"}
_KEY_LENGTH = 255


@dataclass(frozen=True, slots=True)
class Request:
    """The head of a request."""

    method: str
    path: str
    headers: Mapping[str, bytes]
    """By their names in small letters; of several with one name, the last."""

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> Request:
        """As ASGI gives it."""
        headers = {name.decode("latin-1"): value for name, value in scope["headers"]}
        return cls(scope["method"], scope["path"], headers)

    @property
    def content_type(self) -> str:
        """The type of the body, without its parameters."""
        return self._type.partition(";")[0].strip()

    @property
    def is_gzip(self) -> bool:
        """Whether the body is packed; `UnsupportedPush` when it is in a way that we do not know, or is no UTF-8."""
        encoding = self.headers.get("content-encoding", b"").strip().lower()
        if encoding not in _ENCODINGS:
            raise UnsupportedPush(
                f"A body with the content encoding {encoding.decode('latin-1')!r} cannot be read.",
                remedy="Send gzip, or no Content-Encoding.",
            )
        charset = self._type.partition("charset=")[2].partition(";")[0].strip(' "')
        if charset and charset not in _UTF8:
            raise UnsupportedPush(f"A body in {charset!r} cannot be read.", remedy="Send UTF-8.")
        return _ENCODINGS[encoding]

    @property
    def length(self) -> int | None:
        """How long the body is, if it says so."""
        declared = self.headers.get("content-length")
        return None if declared is None else int(declared)

    @property
    def key(self) -> str | None:
        """The idempotency key."""
        key = self.headers.get("idempotency-key")
        if key is None:
            return None
        text = key.decode("latin-1")
        if not text or len(text) > _KEY_LENGTH or not (text.isascii() and text.isprintable()):
            raise InvalidPush(
                f"The Idempotency-Key is no text of 1 to {_KEY_LENGTH} printable characters.",
                remedy="Send a key that names this request and no other, such as a UUID.",
            )
        return text

    def carries(self, token: str) -> bool:
        """Whether it has this bearer token."""
        scheme, _, given = self.headers.get("authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and compare_digest(given.strip(), token.encode())

    def chosen(self, names: Sequence[str]) -> Headers:
        """The headers of these names, as far as they are there."""
        return tuple((name, self.headers[name]) for name in names if name in self.headers)

    @property
    def _type(self) -> str:
        return self.headers.get("content-type", b"").decode("latin-1").lower()
