"""The control socket: bounded, versioned, of the owner's user alone, and never in the way of its pipeline."""

from __future__ import annotations

import json
import socket
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from holdfast.control.client import ask
from holdfast.control.socket import FILE, ControlSocket, address
from holdfast.control.values import raised
from holdfast.model.errors import ControlMismatch, ControlUnavailable, InvalidRequest, NotRetained, NotRunning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def echo(what: str, given: Mapping[str, object]) -> object:
    """Says what it was asked, or fails as it is told."""
    if what == "refuse":
        raise NotRetained("It is gone.", remedy="Ask for another.", kept="All is kept.")
    if what == "break":
        raise ZeroDivisionError("by zero")
    if what == "much":
        return "x" * (8 << 20)
    return {"what": what, **given}


@contextmanager
def served(directory: Path) -> Iterator[ControlSocket]:
    control = ControlSocket(directory, echo)
    try:
        yield control
    finally:
        control.close()


def raw(directory: Path, line: bytes) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        with address(directory) as where:
            connection.connect(where)
        connection.sendall(line)
        with connection.makefile("rb") as answers:
            answer: dict[str, object] = json.loads(answers.readline())
            return answer


def test_a_request_that_fails_unforeseen_leaves_its_stack_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with served(tmp_path), pytest.raises(ControlUnavailable, match=r"log/holdfast\.log"):
        ask(tmp_path, "break")
    assert "ZeroDivisionError: by zero" in caplog.text


def test_a_question_is_answered_and_an_error_keeps_its_kind(tmp_path: Path) -> None:
    with served(tmp_path):
        assert ask(tmp_path, "hello", name="x") == {"what": "hello", "name": "x"}
        with pytest.raises(NotRetained, match=r"It is gone\. All is kept\. Ask for another\."):
            ask(tmp_path, "refuse")
        with pytest.raises(ControlUnavailable, match="by zero"):
            ask(tmp_path, "break")
        with pytest.raises(InvalidRequest, match="too long"):
            ask(tmp_path, "much")


def test_only_its_user_may_open_it_and_it_goes_when_it_is_closed(tmp_path: Path) -> None:
    with served(tmp_path):
        assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert not (tmp_path / FILE).exists()
    with pytest.raises(NotRunning):
        ask(tmp_path, "hello")


def test_a_left_over_socket_is_replaced_and_one_that_took_its_place_is_left(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / FILE))
    with pytest.raises(NotRunning):
        ask(tmp_path, "hello")
    with served(tmp_path):
        assert ask(tmp_path, "hello")["what"] == "hello"
        newer = ControlSocket(tmp_path, echo)
    assert ask(tmp_path, "still")["what"] == "still"
    newer.close()


def test_a_directory_with_a_long_path_has_a_socket_too(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with served(deep):
        assert ask(deep, "hello")["what"] == "hello"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"version": 2, "ask": "hello"}\n', "HF-953"),
        (b"not json\n", "HF-953"),
        (b'{"version": 1}\n', "HF-954"),
        (b'{"version": 1, "ask": "hello", "with": 3}\n', "HF-954"),
        (b"x" * (5 << 20), "HF-952"),
    ],
)
def test_what_is_not_a_request_is_refused(tmp_path: Path, line: bytes, code: str) -> None:
    with served(tmp_path):
        try:
            answer = raw(tmp_path, line)
        except (BrokenPipeError, ConnectionResetError):
            assert code == "HF-952", "only what is too long is cut off"
        else:
            error = answer["error"]
            assert isinstance(error, dict)
            assert error["code"] == code
        assert ask(tmp_path, "hello")["what"] == "hello"


def test_a_version_that_is_not_ours_is_told_as_that(tmp_path: Path) -> None:
    with served(tmp_path):
        error = raw(tmp_path, b'{"version": 9}\n')["error"]
    assert isinstance(error, dict)
    assert isinstance(raised(error), ControlMismatch)


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"version": ' + b"9" * 5_000 + b"}", b"\xff", b"{"])
def test_a_line_that_is_no_message_is_answered_and_the_next_one_too(line: bytes, tmp_path: Path) -> None:
    with served(tmp_path):
        answer = raw(tmp_path, line + b"\n")
        assert answer["error"]["code"] == ControlMismatch.code  # type: ignore[index]
        assert ask(tmp_path, "hello") == {"what": "hello"}
