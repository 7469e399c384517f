"""Pushes over HTTP against a real server and a real inbox: what each answer means, and what is there afterwards."""

from __future__ import annotations

import gzip
import json
import socket
from typing import TYPE_CHECKING

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from holdfast.capture import CaptureState, HttpPush
from holdfast.model.errors import InvalidSource
from holdfast.model.steps import Step
from tests.support.http_source import Receiving, receiving, wait_until

if TYPE_CHECKING:
    from pathlib import Path

NDJSON, PROTOBUF = "application/x-ndjson", "application/x-protobuf"
ORDERS = [{"n": 1, "note": "ü"}, {"n": 2, "note": None}, {"n": 3, "note": 'a"b'}]
TEXTS = [json.dumps(order, ensure_ascii=False) for order in ORDERS]


def test_a_push_is_one_transaction_of_events_with_their_bytes(tmp_path: Path) -> None:
    with receiving(tmp_path, name="shop", headers=["X-Trace"]) as work:
        answer = work.post(f"[{', '.join(TEXTS)}]", x_trace="7f", x_other="no")
        assert (answer.status, answer.json()) == (200, {"added": 3, "repeated": 0})
        rows = work.rows()
    assert [row["payload"] for row in rows] == [text.encode() for text in TEXTS]
    assert [row["event_id"] for row in rows] == ["shop/1/0", "shop/2/0", "shop/3/0"]
    assert [(row["tx_id"], row["tx_end"]) for row in rows] == [("3", False), ("3", False), ("3", True)]
    assert {(row["source"], row["op"]) for row in rows} == {("shop", "m")}
    for row in rows:
        assert [(header["key"], header["value"]) for header in row["headers"]] == [
            ("content-type", b"application/json"),
            ("path", b"/v1/events"),
            ("x-trace", b"7f"),
        ]


@pytest.mark.req("X9")
def test_the_answer_comes_after_the_events_are_synced_and_committed(tmp_path: Path) -> None:
    """A kill, or a loss of power, between any step and the answer: nobody was told anything yet."""
    told: list[str] = []
    with receiving(tmp_path, hook=told.append) as work:
        assert work.post("1").status == 200
        assert told == [Step.INBOX_WRITE, Step.INBOX_FSYNC, Step.INBOX_INDEX, Step.INBOX_INDEXED]


# Two encodings


@pytest.mark.req("A2")
def test_no_answer_waits_for_the_clients_word_about_its_first_half() -> None:
    with HttpPush()._bound() as listener:
        client = socket.create_connection(listener.getsockname())
        connection, _ = listener.accept()
        with client, connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_array_lines_and_gzip_give_the_same_rows(tmp_path: Path) -> None:
    def chunks() -> object:
        yield f"[{TEXTS[0]}".encode()
        yield f",{TEXTS[1]},{TEXTS[2]}]".encode()

    array, lines = f"[{','.join(TEXTS)}]".encode(), "\n".join(TEXTS).encode()
    ways = {
        "array": lambda post: post(array),
        "chunked": lambda post: post(chunks()),
        "with charset": lambda post: post(array, "Application/JSON; charset=UTF-8"),
        "gzip": lambda post: post(gzip.compress(array), content_encoding="gzip"),
        "lines": lambda post: post(lines, NDJSON),
        "jsonl": lambda post: post(lines + b"\n", "application/jsonl"),
        "lines in gzip": lambda post: post(gzip.compress(lines), NDJSON, content_encoding="gzip"),
    }
    found = []
    for name, push in ways.items():
        with receiving(tmp_path / name.replace(" ", "-")) as work:
            assert push(work.post).status == 200, name
            found.append([row | {"capture_time": None} for row in work.rows()])
    assert len(found[0]) == 3
    assert all(rows == found[0] for rows in found)


@pytest.mark.req("A2")
def test_otlp_in_protobuf_and_in_json_gives_the_same_rows(tmp_path: Path) -> None:
    request = ExportLogsServiceRequest()
    scoped = request.resource_logs.add().scope_logs.add()
    for number in range(3):
        record = scoped.log_records.add(time_unix_nano=1_790_000_000_000_001_000 + number, trace_id=bytes(16))
        record.body.string_value = f"line {number}"
    records = [
        {"timeUnixNano": str(1_790_000_000_000_001_000 + n), "traceId": "0" * 32, "body": {"stringValue": f"line {n}"}}
        for n in range(3)
    ]
    as_json = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]})
    found = []
    for name, body, content_type in (
        ("protobuf", request.SerializeToString(), PROTOBUF),
        ("json", as_json, "application/json"),
    ):
        with receiving(tmp_path / name) as work:
            answer = work.post(body, content_type, path="/v1/logs")
            assert (answer.status, answer.headers["content-type"]) == (200, content_type)
            assert answer.content == (b"" if name == "protobuf" else b"{}")
            found.append([row | {"capture_time": None} for row in work.rows()])
    assert len(found[0]) == 3
    assert found[0] == found[1]
    assert found[0][0]["event_time"].isoformat() == "2026-09-21T14:13:20.000001+00:00"


@pytest.mark.req("A3")
@pytest.mark.parametrize(
    ("path", "content_type", "body"),
    [
        ("/v1/events", "application/json", b"[]"),
        ("/v1/events", NDJSON, b""),
        ("/v1/logs", PROTOBUF, b""),
        ("/v1/logs", "application/json", b"{}"),
    ],
)
def test_a_push_of_nothing_is_answered_and_adds_nothing(
    tmp_path: Path, path: str, content_type: str, body: bytes
) -> None:
    with receiving(tmp_path) as work:
        assert work.post(body, content_type, path=path, idempotency_key="k").status == 200
        assert work.rows() == []


# Keys


@pytest.mark.req("X9")
def test_a_push_that_comes_again_with_its_key_adds_nothing_also_after_a_restart(tmp_path: Path) -> None:
    with receiving(tmp_path) as work:
        assert work.post("[1, 2]", idempotency_key="a").json() == {"added": 2, "repeated": 0}
        assert work.post("[1, 2]", idempotency_key="a").json() == {"added": 0, "repeated": 2}
    with receiving(tmp_path, epoch=2) as work:
        assert work.post("[1, 2]", idempotency_key="a").json() == {"added": 0, "repeated": 2}
        assert work.post("[1, 2, 3]", idempotency_key="a").json() == {"added": 0, "repeated": 3}
        assert work.post("[1, 2]", idempotency_key="b").json() == {"added": 2, "repeated": 0}
        assert work.post("[1, 2]").json() == {"added": 2, "repeated": 0}
        assert len(work.rows()) == 6


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\tin it", "käse"])
def test_a_key_that_is_none_is_refused(tmp_path: Path, key: str) -> None:
    with receiving(tmp_path) as work:
        answer = work.post("1", idempotency_key=key.encode().decode("latin-1"))
        assert (answer.status, answer.json()["code"]) == (400, "HF-651")
        assert work.rows() == []


@pytest.mark.req("X9", "X20")
def test_keys_are_bounded_and_the_newest_are_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.capture.reception._KEYS_AT_ONCE", 10)

    def is_forgotten(work: Receiving, key: str) -> bool:
        with work.inbox._store.log.index.reading() as db:
            return db.execute("SELECT 1 FROM keys WHERE key = ?", (key,)).fetchone() is None

    with receiving(tmp_path, keys_kept=20) as work:
        for number in range(100):
            assert work.post("1", idempotency_key=f"key-{number}").json() == {"added": 1, "repeated": 0}
        wait_until(lambda: is_forgotten(work, "key-0"))
        for number in range(80, 100):
            assert work.post("1", idempotency_key=f"key-{number}").json() == {"added": 0, "repeated": 1}
        assert work.post("1", idempotency_key="key-0").json() == {"added": 1, "repeated": 0}


# Refusals: nothing is accepted, and every byte is counted


REFUSED = {
    "no json": ((b'[1,\n{"a":}]',), {}, 400, "HF-651", "line 2, column 6"),
    "no gzip": ((b"plain",), {"content_encoding": "gzip"}, 400, "HF-651", "gzip"),
    "cut gzip": ((gzip.compress(b"[1]")[:-3],), {"content_encoding": "gzip"}, 400, "HF-651", "cut off"),
    "no text": ((b'"\xff"',), {}, 400, "HF-651", "UTF-8"),
    "type": ((b"1", "text/plain"), {}, 415, "HF-653", "text/plain"),
    "no type": ((b"1", ""), {}, 415, "HF-653", "content type"),
    "protobuf at events": ((b"", PROTOBUF), {}, 415, "HF-653", PROTOBUF),
    "encoding": ((b"1",), {"content_encoding": "br"}, 415, "HF-653", "br"),
    "charset": ((b"1", "application/json; charset=latin-1"), {}, 415, "HF-653", "latin-1"),
    "path": ((b"1",), {"path": "/v2/events"}, 404, "HF-658", "/v2/events"),
    "too large": ((b'"' + b"x" * 5000 + b'"',), {}, 413, "HF-652", "4000"),
    "bomb": ((gzip.compress(b"0" * 1_000_000),), {"content_encoding": "gzip"}, 413, "HF-652", "unpacked"),
    "chunked too large": ((iter([b"[1"] + [b",1" * 500] * 10),), {}, 413, "HF-652", "4000"),
}


@pytest.mark.req("A1")
@pytest.mark.parametrize("name", REFUSED)
def test_a_push_that_is_refused_leaves_nothing_and_the_next_is_taken(tmp_path: Path, name: str) -> None:
    arguments, how, status, code, said = REFUSED[name]
    with receiving(tmp_path, max_body=4000) as work:
        answer = work.post(*arguments, **how)
        assert (answer.status, answer.json()["code"]) == (status, code)
        assert said in answer.json()["message"]
        assert answer.json()["remedy"]
        assert work.rows() == []
        boundary = work.reception.status().boundary
        assert boundary is not None
        assert boundary.answers == {status: 1}
        assert (boundary.accepted, boundary.received) == (0, boundary.refused)
        assert work.post("17").status == 200
        assert work.payloads() == [b"17"]


@pytest.mark.req("A1")
def test_every_byte_received_is_counted_as_accepted_or_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b"[1, 2, 3]" + b" " * 3000)
    with receiving(tmp_path, max_body=4000) as work:
        for body, how in (
            (b"[1, 2]", {}),
            (packed, {"content_encoding": "gzip"}),
            (b"nonsense", {}),
            (b"x" * 5000, {}),
            (b"[]", {}),
        ):
            work.post(body, **how)
        status = work.reception.status()
        boundary = status.boundary
    assert boundary is not None
    assert boundary.accepted == len(b"[1, 2]") + len(packed) + len(b"[]")
    assert boundary.refused == len(b"nonsense") + 5000
    assert (boundary.received, boundary.under_way) == (boundary.accepted + boundary.refused, 0)
    assert boundary.answers == {200: 3, 400: 1, 413: 1}
    assert (status.captured, status.end) == (5, 5)


def test_another_method_is_refused_saying_which_is_taken(tmp_path: Path) -> None:
    with receiving(tmp_path) as work:
        answer = work.request("PUT", "/v1/events", b"1")
        assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.req("A1")
def test_a_push_without_the_token_is_refused(tmp_path: Path) -> None:
    with receiving(tmp_path, token="s3cret") as work:
        for sent in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic s3cret"}):
            answer = work.post("1", **sent)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert "s3cret" not in answer.content.decode()
        assert work.rows() == []
        assert work.post("1", authorization="Bearer s3cret").status == 200
        assert work.request("GET", "/health").status == 200


@pytest.mark.req("A1")
def test_a_full_inbox_is_told_with_429_until_there_is_room(tmp_path: Path) -> None:
    with receiving(tmp_path, quota=5000) as work:
        while (answer := work.post(json.dumps("x" * 1000))).status == 200:
            pass
        assert (answer.status, answer.json()["code"], answer.headers["retry-after"]) == (429, "HF-506", "1")
        before = work.payloads()
        assert work.reception.status().state is CaptureState.BLOCKED
        health = work.request("GET", "/health")
        assert (health.status, health.json()) == (503, {"state": "blocked"})
        assert work.post("1", PROTOBUF, path="/v1/logs").status == 400
        assert work.post("1").status == 429
        assert work.payloads() == before
        work.inbox.set_cursor("spark", work.inbox.end())
        work.inbox.trim()
        assert work.request("GET", "/health").status == 200
        assert work.post("1").status == 200


def test_health_says_whether_a_push_would_be_taken(tmp_path: Path) -> None:
    with receiving(tmp_path) as work:
        assert (work.request("GET", "/health").status, work.request("HEAD", "/health").status) == (200, 200)
        assert work.request("GET", "/health").json() == {"state": "reading"}


# What is declared


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"host": "0.0.0.0"}, "no token"),
        ({"host": "::"}, "no token"),
        ({"host": "example.com"}, "no token"),
        ({"headers": ["Authorization"]}, "authorization"),
        ({"max_body": 0}, "limit"),
        ({"patience": 0}, "limit"),
        ({"port": 70000}, "port"),
    ],
)
def test_a_declaration_that_is_dangerous_or_makes_no_sense_is_refused(how: dict[str, object], why: str) -> None:
    with pytest.raises(InvalidSource, match=why):
        HttpPush(**how)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [{"host": "0.0.0.0", "token": "t"}, {"host": "localhost"}, {"host": "::1"}])
def test_a_declaration_that_is_safe_is_taken(how: dict[str, str]) -> None:
    HttpPush(**how)  # type: ignore[arg-type]
