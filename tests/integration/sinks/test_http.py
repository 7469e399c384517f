"""The HTTP sink against a real server: what each kind of trouble means, what is sent, and what is never told."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from holdfast.deliver.contract import Sink
from holdfast.model.errors import CommitUnknown, DeliveryError, Fatal, InvalidPipeline, Rejected, Throttled, Transient
from holdfast.sinks import Http, HttpBody
from tests.support.keeper import free_port
from tests.support.sink_lanes import OUTBOX, batch_of, identity, part_of, rows_of, seqs_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.http_receiver import RoomAddress
    from tests.support.servers import Servers

TOKEN = "Bearer s3cret-of-ours"


@pytest.fixture
def room(servers: Servers) -> RoomAddress:
    return servers.fresh_room()


@contextmanager
def opened(url: str, **how: Any) -> Iterator[Sink]:
    sink = Http(url, **how)
    sink.open(identity())
    try:
        yield sink
    finally:
        sink.close()


# What is sent


@pytest.mark.parametrize(
    ("body", "content_type", "sent"),
    [
        (HttpBody.LINES, "application/x-ndjson", '{"seq":1,"id":"a"}\n{"seq":2,"id":"b"}\n'),
        (HttpBody.ARRAY, "application/json", '[{"seq":1,"id":"a"},{"seq":2,"id":"b"}]'),
    ],
)
def test_a_piece_is_one_request_under_a_key_of_its_own(
    room: RoomAddress, body: HttpBody, content_type: str, sent: str
) -> None:
    rows = pa.table({"seq": [1, 2], "id": ["a", "b"]})
    with opened(room.url, body=body, headers={"X-Api": "value"}) as sink:
        sink.deliver(batch_of(7, rows))
    (request,) = room.look().requests
    assert (request["type"], request["size"]) == (content_type, len(sent))
    assert request["key"] == f"{OUTBOX}/archive/7/0-1"
    assert request["headers"]["X-Api"] == "value"
    assert room.look().rows == rows.to_pylist()


def test_a_row_by_itself_is_sent_under_its_row_id(room: RoomAddress) -> None:
    with opened(room.url, body=HttpBody.OBJECT) as sink:
        assert sink.piece_rows == 1
        for at in range(3):
            sink.deliver(part_of(batch_of(7), at, 1))
    assert [request["key"] for request in room.look().requests] == [f"{OUTBOX}/7/{at}" for at in range(3)]
    assert room.look().rows == rows_of(7, 3).to_pylist()


def test_rows_that_are_to_be_refused_together_cannot_be_sent_one_by_one(room: RoomAddress) -> None:
    with opened(room.url, body=HttpBody.OBJECT) as sink, pytest.raises(Fatal, match="poison unit"):
        sink.deliver(batch_of(1))
    assert room.look().requests == []


@pytest.mark.req("K13")
def test_a_piece_that_is_too_large_is_refused_before_it_is_sent(room: RoomAddress) -> None:
    with opened(room.url, max_bytes=100) as sink:
        for attempt in (sink.deliver, sink.probe):
            with pytest.raises(Rejected, match="a request may have 100"):
                attempt(batch_of(1))
        sink.deliver(part_of(batch_of(1), 0, 1))
    assert len(room.look().requests) == 1


def test_many_pieces_go_over_one_connection(room: RoomAddress) -> None:
    with opened(room.url) as sink:
        for oseq in range(1, 20):
            sink.deliver(batch_of(oseq))
        (pool,) = sink._client._pool.pools._container.values()  # type: ignore[attr-defined]
        assert (pool.num_connections, pool.num_requests) == (1, 19)


# What answers mean: the answers themselves are a table in tests/unit/sinks/test_http_answers.py


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        ({"status": 503, "headers": {"Retry-After": "7"}}, Throttled),
        ({"status": 429}, Throttled),
        ({"status": 500}, CommitUnknown),
        ({"status": 413}, Rejected),
        ({"status": 401}, Fatal),
        ({"cut": True}, CommitUnknown),
        ({"lose": True}, CommitUnknown),
        ({"wait": 1.0}, CommitUnknown),
    ],
    ids=str,
)
def test_trouble_is_told_as_what_it_is_and_the_next_attempt_puts_the_rows_there_once(
    room: RoomAddress, answer: dict[str, Any], meaning: type[DeliveryError]
) -> None:
    room.tell(next_answers=[answer])
    with opened(room.url, timeout=0.3) as sink:
        with pytest.raises(meaning) as trouble:
            sink.deliver(batch_of(1))
        assert type(trouble.value) is meaning
        if "headers" in answer:
            assert trouble.value.context["retry_after"] == 7.0
        sink.deliver(batch_of(1))
    assert [row["seq"] for row in room.look().rows] == seqs_of(1)


def test_a_server_that_is_not_there_has_certainly_taken_nothing() -> None:
    with opened(f"http://127.0.0.1:{free_port()}/rows") as sink, pytest.raises(Transient, match="cannot be reached"):
        sink.deliver(batch_of(1))


def test_a_name_that_nobody_knows_has_certainly_taken_nothing() -> None:
    with opened("http://nobody.invalid/rows") as sink, pytest.raises(Transient, match="cannot be reached"):
        sink.deliver(batch_of(1))


def test_a_server_that_accepts_and_never_answers_is_a_doubt() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with opened(f"http://127.0.0.1:{port}/", timeout=0.2) as sink, pytest.raises(CommitUnknown):
            sink.deliver(batch_of(1))


def test_a_redirect_is_not_followed(room: RoomAddress, servers: Servers) -> None:
    elsewhere = servers.fresh_room()
    room.tell(always={"status": 307, "headers": {"Location": elsewhere.url}})
    with opened(room.url) as sink, pytest.raises(Fatal, match="answered 307"):
        sink.deliver(batch_of(1))
    assert elsewhere.look().requests == []


def test_an_answer_without_end_is_not_listened_to() -> None:
    def talk() -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.recv(100_000)
            connection.sendall(b"HTTP/1.1 400 Bad\r\ntransfer-encoding: chunked\r\n\r\n")
            while True:
                connection.sendall(b"3e8\r\n" + b"x" * 1000 + b"\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        talking = threading.Thread(target=talk)
        talking.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with opened(url, timeout=1000) as sink, pytest.raises(Rejected, match="answered 400: xxx"):
            sink.deliver(batch_of(1))
        talking.join(20)
        assert not talking.is_alive()


def test_a_connection_that_the_server_closed_meanwhile_is_made_again(room: RoomAddress) -> None:
    room.tell(next_answers=[{"status": 200, "headers": {"Connection": "close"}}])
    with opened(room.url) as sink:
        sink.deliver(batch_of(1))
        sink.deliver(batch_of(2))
    assert [request["status"] for request in room.look().requests] == [200, 200]


# Secrets


@pytest.mark.parametrize("answer", [{"status": 400}, {"status": 403}, {"status": 500}, {"cut": True}], ids=str)
def test_a_header_or_a_query_is_never_told(room: RoomAddress, answer: dict[str, Any]) -> None:
    echo = f"you sent {TOKEN} and key=hidden-key-1"
    room.tell(always={"said": {"error": echo}, **answer})
    with opened(f"{room.url}?key=hidden-key-1", headers={"Authorization": TOKEN}) as sink:
        with pytest.raises(DeliveryError) as trouble:
            sink.deliver(batch_of(1))
        whole = "".join(map(str, _chain(trouble.value))) + repr(trouble.value.context) + repr(sink)
    assert "s3cret" not in whole
    assert "hidden-key" not in whole
    assert room.look().requests[0]["headers"]["Authorization"] == TOKEN


def _chain(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield f"{error!r} {error}"
        error = error.__cause__ or error.__context__


# Encrypted connections


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that vouches for itself, with its key in the same file."""
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


@contextmanager
def encrypted_server(certificate: Path) -> Iterator[str]:
    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response_only(204)
            self.end_headers()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with HTTPServer(("127.0.0.1", 0), Taking) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_address[1]}/rows"
        finally:
            server.shutdown()
            thread.join()


def test_a_server_whose_certificate_nobody_vouches_for_is_sent_nothing(certificate: Path) -> None:
    with (
        encrypted_server(certificate) as url,
        opened(url) as sink,
        pytest.raises(Fatal, match="certificate") as refusal,
    ):
        sink.deliver(batch_of(1))
    assert "ca_file" in refusal.value.remedy


def test_a_server_whose_certificate_is_vouched_for_is_delivered_to(certificate: Path) -> None:
    with encrypted_server(certificate) as url, opened(url, ca_file=str(certificate)) as sink:
        sink.deliver(batch_of(1))


# What is declared


@pytest.mark.parametrize(
    ("url", "how"),
    [
        ("ftp://host/", {}),
        ("http:///path", {}),
        ("host/path", {}),
        ("http://user:password@host/", {}),
        ("http://host/#part", {}),
        ("http://host/", {"headers": {"Idempotency-Key": "mine"}}),
        ("http://host/", {"headers": {"bad name": "x"}}),
        ("http://host/", {"headers": {"X-A": "two\r\nlines: x"}}),
        ("http://host/", {"max_rows": 0}),
        ("http://host/", {"max_bytes": 0}),
        ("http://host/", {"timeout": 0}),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(url: str, how: dict[str, Any]) -> None:
    with pytest.raises(InvalidPipeline) as refusal:
        Http(url, **how)
    assert "password" not in refusal.value.what


def test_what_is_sent_is_json_that_says_what_the_rows_say(room: RoomAddress) -> None:
    rows = pa.table({"id": ["ü\n"], "at": [datetime(2026, 1, 1, tzinfo=UTC)], "raw": [b"\x00\xff"]})
    with opened(room.url) as sink:
        sink.deliver(batch_of(1, rows))
    assert json.dumps(room.look().rows) == json.dumps(
        [{"id": "ü\n", "at": "2026-01-01T00:00:00.000000Z", "raw": "AP8="}]
    )
