"""Senders that are slow, endless, many or gone, a disk that is full, and a source that stops: all of it is bounded."""

from __future__ import annotations

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest

from holdfast.capture import CaptureState
from holdfast.model.errors import LogFenced
from tests.support.engine_disks import Ballast
from tests.support.http_source import answer_on, receiving, wait_until
from tests.support.mounts import small_disk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.http_source import Receiving

HEAD = "POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
CHUNKED = f"{HEAD}transfer-encoding: chunked\r\n\r\n".encode()
CHUNK = b"%x\r\n%s\r\n" % (1000, b"1" * 1000)
PAUSE = 0.05
LONG_HEAD = HEAD.encode() + b"x-more: y\r\n" * 10
DRIPPING = PAUSE * len(LONG_HEAD)
"""How long this head takes when it comes byte by byte."""
SHORT = 0.4
"""The patience of sources that are to lose it."""


def of_length(length: int) -> bytes:
    return f"{HEAD}content-length: {length}\r\n\r\n".encode()


def drip(connection: socket.socket, data: bytes) -> float:
    """Send byte after byte, until it is over or nobody listens any more; how long that took."""
    began = time.monotonic()
    with suppress(OSError):
        for byte in data:
            connection.send(bytes([byte]))
            time.sleep(PAUSE)
    return time.monotonic() - began


def is_cut(connection: socket.socket, data: bytes, times: int) -> bool:
    """Send the same again and again; whether the other side puts an end to it."""
    try:
        for _ in range(times):
            connection.sendall(data)
    except OSError:
        return True
    return False


# Slow and endless senders


@pytest.mark.parametrize("sent", [b"", HEAD[:30].encode(), HEAD.encode()], ids=["nothing", "half a line", "half"])
def test_a_connection_that_sends_no_head_is_closed(tmp_path: Path, sent: bytes) -> None:
    with receiving(tmp_path, patience=SHORT) as work, work.connection() as slow:
        slow.sendall(sent)
        assert answer_on(slow) == b""


def test_a_head_that_drips_in_is_not_waited_for(tmp_path: Path) -> None:
    with receiving(tmp_path, patience=SHORT) as work, work.connection() as slow:
        assert drip(slow, LONG_HEAD) < DRIPPING / 2
        assert work.rows() == []


def test_the_head_of_a_second_request_is_bounded_too(tmp_path: Path) -> None:
    with receiving(tmp_path, patience=SHORT) as work, work.connection() as slow:
        slow.sendall(of_length(1) + b"1")
        assert b"200 OK" in slow.recv(1000)
        assert drip(slow, LONG_HEAD) < DRIPPING / 2
        assert len(work.rows()) == 1


def test_a_head_without_end_is_not_taken(tmp_path: Path) -> None:
    with receiving(tmp_path) as work, work.connection() as endless:
        endless.sendall(HEAD.encode())
        assert is_cut(endless, b"x-more: " + b"y" * 5000 + b"\r\n", 1000)
        assert work.post("1").status == 200


@pytest.mark.req("A1")
def test_a_body_that_drips_in_is_answered_with_408(tmp_path: Path) -> None:
    with receiving(tmp_path, patience=SHORT) as work, work.connection() as slow:
        slow.sendall(of_length(1000))
        dripping = threading.Thread(target=drip, args=(slow, b"1" * 1000))
        dripping.start()
        answer = answer_on(slow)
        dripping.join()
        assert b"408 Request Timeout" in answer
        assert b"HF-655" in answer
        assert b"connection: close" in answer
        assert work.rows() == []


@pytest.mark.req("A1")
def test_a_body_without_end_is_answered_with_413_and_cut(tmp_path: Path) -> None:
    with receiving(tmp_path, max_body=10_000) as work, work.connection() as endless:
        endless.sendall(CHUNKED)
        assert is_cut(endless, CHUNK, 100_000)
        boundary = work.reception.status().boundary
        assert boundary is not None
        assert boundary.answers == {413: 1}
        assert boundary.received < 10_000_000
        assert work.rows() == []


def test_a_sender_that_writes_all_before_it_reads_still_gets_its_413(tmp_path: Path) -> None:
    with receiving(tmp_path, max_body=10_000_000) as work, work.connection() as stubborn:
        stubborn.sendall(of_length(19_000_000) + b"1" * 19_000_000)
        assert b"413" in stubborn.recv(1000)


def test_a_body_without_end_at_a_path_that_is_unknown_is_cut_too(tmp_path: Path) -> None:
    with receiving(tmp_path, max_body=10_000) as work, work.connection() as endless:
        endless.sendall(CHUNKED.replace(b"/v1/events", b"/nowhere"))
        assert is_cut(endless, CHUNK, 100_000)


def test_a_sender_that_goes_away_leaves_nothing(tmp_path: Path) -> None:
    with receiving(tmp_path) as work:
        with work.connection() as going:
            going.sendall(of_length(1000) + b"[1,2,3")
            wait_until(lambda: _boundary(work) == (6, 6))
        wait_until(lambda: _boundary(work) == (6, 0))
        assert work.rows() == []


def _boundary(work: Receiving) -> tuple[int, int]:
    boundary = work.reception.status().boundary
    assert boundary is not None
    return boundary.received, boundary.under_way


# Many senders


@pytest.mark.req("A1", "X20")
def test_more_bodies_at_once_than_memory_may_hold_are_told_429(tmp_path: Path) -> None:
    with receiving(tmp_path, max_body=10_000) as work, ExitStack() as opened:
        for _ in range(8):
            waiting = opened.enter_context(work.connection())
            waiting.sendall(of_length(10_000) + b"1" * 9_999)
        wait_until(lambda: _boundary(work)[1] == 8 * 9_999)
        answer = work.post("1" * 100)
        assert (answer.status, answer.json()["code"], answer.headers["retry-after"]) == (429, "HF-656", "1")
        opened.close()
        wait_until(lambda: _boundary(work)[1] == 0)
        assert work.post("1" * 100).status == 200


def test_requests_are_told_503_while_there_are_more_connections_than_allowed(tmp_path: Path) -> None:
    with receiving(tmp_path, max_connections=3) as work, ExitStack() as opened:
        for _ in range(4):
            opened.enter_context(work.connection())
        wait_until(lambda: work.request("GET", "/health").status == 503)
        opened.close()
        wait_until(lambda: work.request("GET", "/health").status == 200)


def test_thirty_two_senders_are_answered_together(tmp_path: Path) -> None:
    syncs: list[str] = []
    with receiving(tmp_path, flush_interval=0.02, hook=syncs.append) as work, ThreadPoolExecutor(32) as senders:
        answers = list(senders.map(lambda n: work.post(f'{{"n": {n}}}').status, range(640)))
        assert answers == [200] * 640
        assert sorted(json.loads(payload)["n"] for payload in work.payloads()) == list(range(640))
    assert syncs.count("inbox.fsync") < 320


# The disk and the owner


@pytest.mark.req("A1")
def test_a_full_disk_is_told_with_503_until_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, "1M"), receiving(disk / "inbox") as work:
        assert work.post('"before"').status == 200
        ballast = Ballast(disk)
        answer = work.post(json.dumps("x" * 100_000))
        assert (answer.status, answer.json()["code"], answer.headers["retry-after"]) == (503, "HF-503", "1")
        assert work.request("GET", "/health").json() == {"state": "retrying"}
        assert work.reception.status().state is CaptureState.RETRYING
        assert work.payloads() == [b'"before"']
        ballast.remove()
        assert work.post('"after"').status == 200
        assert work.request("GET", "/health").status == 200
        assert work.payloads() == [b'"before"', b'"after"']
        assert work.failures == []


@pytest.mark.req("X11")
def test_a_source_whose_inbox_was_taken_over_takes_nothing_and_says_so(tmp_path: Path) -> None:
    with receiving(tmp_path) as old:
        wait_until(lambda: bool(old.reception._keys._marks))  # so that the push alone finds that it was taken over
        _taken_over(tmp_path, old)


def _taken_over(directory: Path, old: Receiving) -> None:
    with receiving(directory, epoch=2) as new:
        assert new.post('"new"').status == 200
        assert old.post('"old"').status == 500
        wait_until(lambda: bool(old.failures))
        assert isinstance(old.failures[0], LogFenced)
        assert old.reception.status().state is CaptureState.FAILED
        assert new.payloads() == [b'"new"']


# Starting and stopping


def test_a_port_that_is_taken_is_waited_for(tmp_path: Path) -> None:
    from holdfast.capture import HttpPush, Reception
    from holdfast.log import Inbox

    with socket.create_server(("127.0.0.1", 0)) as other, Inbox.open(tmp_path, name="http", epoch=1) as inbox:
        source = HttpPush(port=other.getsockname()[1])
        reception = Reception(source, inbox, failed=lambda _: None, retry_pause=0.02)
        reception.start()
        wait_until(lambda: reception.status().state is CaptureState.RETRYING)
        assert "cannot listen" in str(reception.status().error)
        other.close()
        wait_until(lambda: reception.status().state is CaptureState.READING)
        reception.stop()
        assert reception.status().state is CaptureState.STOPPED


@pytest.mark.req("X9")
def test_a_push_under_way_is_answered_when_the_source_stops(tmp_path: Path) -> None:
    with receiving(tmp_path, flush_interval=1.0) as work, ThreadPoolExecutor(1) as sender:
        under_way = sender.submit(work.post, "1")
        wait_until(lambda: _boundary(work) == (1, 1))
        work.reception.stop()
        assert under_way.result().status == 200
        assert work.payloads() == [b"1"]


@pytest.mark.req("A1")
def test_a_sender_that_is_still_writing_when_the_source_stops_is_told_503(tmp_path: Path) -> None:
    with receiving(tmp_path) as work, work.connection() as writing:
        writing.sendall(of_length(100) + b"[1")
        wait_until(lambda: _boundary(work) == (2, 2))
        began = time.monotonic()
        work.reception.stop()
        assert time.monotonic() - began < 4
        answer = answer_on(writing)
        assert b"503" in answer
        assert b"HF-657" in answer
        assert work.rows() == []


@pytest.mark.req("A1")
def test_a_push_to_a_source_that_is_stopping_is_told_503(tmp_path: Path) -> None:
    with receiving(tmp_path) as work:
        work.reception._intake.is_closing = True
        for body in ("1", "[]"):
            answer = work.post(body)
            assert (answer.status, answer.json()["code"], answer.headers["retry-after"]) == (503, "HF-657", "1")
        assert work.request("GET", "/health").json() == {"state": "stopped"}
        assert work.rows() == []


def test_a_source_may_be_served_again_at_the_same_address(tmp_path: Path) -> None:
    with receiving(tmp_path) as work:
        work.reception.stop()
        work.reception.stop()
        again = type(work.reception)(work.reception.source, work.inbox, failed=work.failures.append)
        again.start()
        wait_until(lambda: _is_up(work))
        assert work.post("1").status == 200
        again.stop()


def _is_up(work: Receiving) -> bool:
    try:
        return work.request("GET", "/health").status == 200
    except Exception:
        return False
