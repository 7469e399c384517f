"""Sends requests over one connection, and tells what a connection that fails leaves open. Needs the extra `http`.

The certificate of the server is verified, a redirect is an answer like any other, and nothing is sent twice by itself.
"""

from __future__ import annotations

import socket
import ssl
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.model.errors import CommitUnknown, DeliveryError, Fatal, MissingExtra, Transient
from holdfast.sinks.http_answers import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    import urllib3

_ANSWER = 2**16
"""So much of an answer is read; the connection of a longer one is given up."""


class HttpClient:
    """A connection to one server, made when it is first used.

    :param place: what errors call the server.
    :param timeout: seconds to connect, and seconds without a byte.
    """

    def __init__(
        self, url: str, place: str, *, headers: Mapping[str, str], timeout: float, ca_file: str | None
    ) -> None:
        try:
            import urllib3
        except ImportError as error:
            raise MissingExtra(
                f"{place} needs urllib3, which is not installed.", remedy="Install holdfast[http]."
            ) from error
        self._urllib3 = urllib3
        self._url = url
        self._place = place
        self._headers = headers
        self._seconds = timeout
        self._ca_file = ca_file
        self._pool = urllib3.PoolManager(
            num_pools=1,
            maxsize=1,
            retries=False,
            cert_reqs="CERT_REQUIRED",
            ca_certs=ca_file,
            timeout=urllib3.Timeout(connect=timeout, read=timeout),
        )

    def post(self, content: bytes, headers: Mapping[str, str]) -> Reply:
        """The server's answer. `Transient` when it was certainly not reached, `CommitUnknown` when there was none."""
        errors = self._urllib3.exceptions
        try:
            response = self._pool.request(
                "POST",
                self._url,
                body=content,
                headers={**self._headers, **headers},
                redirect=False,
                retries=False,
                preload_content=False,
            )
        except (errors.NewConnectionError, errors.ConnectTimeoutError) as error:
            raise self._error(Transient, "cannot be reached", error) from None
        except errors.SSLError as error:
            raise self._tls_error(error) from None
        except (errors.HTTPError, OSError) as error:
            raise self._error(CommitUnknown, "did not answer", error) from None
        return self._reply(response)

    def connect(self) -> None:
        """Make a connection, over TLS where the address asks for it, and give it up without sending anything."""
        url = self._urllib3.util.parse_url(self._url)
        is_tls = url.scheme == "https"
        address = ((url.host or "").strip("[]"), url.port or (443 if is_tls else 80))
        try:
            with socket.create_connection(address, timeout=self._seconds) as connection:
                if is_tls:
                    context = ssl.create_default_context(cafile=self._ca_file)
                    context.wrap_socket(connection, server_hostname=address[0]).close()
        except ssl.SSLError as error:
            raise self._tls_error(error) from None
        except OSError as error:
            raise self._error(Transient, "cannot be reached", error) from None

    def close(self) -> None:
        """Give up the connection."""
        self._pool.clear()

    def _reply(self, response: urllib3.BaseHTTPResponse) -> Reply:
        said = b""
        deadline = time.monotonic() + self._seconds
        with suppress(self._urllib3.exceptions.HTTPError, OSError):
            while len(said) < _ANSWER and time.monotonic() < deadline and (piece := response.read1(_ANSWER)):
                said += piece
        if len(said) < _ANSWER and time.monotonic() < deadline:
            response.release_conn()
        else:
            response.close()
        return Reply(
            response.status,
            said.decode("utf-8", "replace"),
            response.headers.get("retry-after"),
            response.headers.get("location"),
        )

    def _tls_error(self, error: Exception) -> DeliveryError:
        reason = error if isinstance(error, ssl.SSLError) or not error.args else error.args[0]
        if isinstance(reason, ssl.SSLCertVerificationError):
            return self._error(Fatal, "has a certificate that cannot be trusted", reason)
        return self._error(CommitUnknown, "broke the encrypted connection", error)

    def _error(self, kind: type[DeliveryError], what: str, error: BaseException) -> DeliveryError:
        """It names the kind of trouble and not its text, in which a library may quote the request."""
        reason = getattr(error, "verify_message", "") or type(error).__name__
        kept, remedy = _TELLING[kind]
        return kind(f"{self._place} {what}: {reason}.", kept=kept, remedy=remedy)


_TELLING: dict[type[DeliveryError], tuple[str, str]] = {
    Transient: ("Nothing was sent.", "The rows are tried again by themselves, over a new connection."),
    CommitUnknown: ("It may have taken the rows.", "The rows are sent again under the same key."),
    Fatal: ("Nothing was sent.", "Give the sink the `ca_file` of the server's authority, or mend the server."),
}
