"""Every status has one meaning, a server's wish to wait is understood, and a secret is never told."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.model.errors import CommitUnknown, DeliveryError, Fatal, Rejected, Throttled, Transient
from holdfast.sinks.http_answers import Reply, redacted, refusal

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)

MEANINGS: dict[type[DeliveryError] | None, list[int]] = {
    None: [200, 201, 202, 204, 299],
    Throttled: [429, 503],
    Transient: [408, 425],
    CommitUnknown: [100, 409, 500, 502, 504, 507, 599, 600],
    Fatal: [301, 302, 307, 308, 304, 401, 402, 403, 404, 405, 407, 410, 415, 426, 451],
    Rejected: [400, 406, 412, 413, 418, 422, 431, 499],
}


def told(reply: Reply, *secrets: str) -> DeliveryError | None:
    return refusal(reply, "The HTTP server at http://x/rows", secrets=secrets, now=NOW)


@pytest.mark.parametrize(("meaning", "status"), [(kind, status) for kind, all_ in MEANINGS.items() for status in all_])
def test_a_status_means_one_thing(meaning: type[DeliveryError] | None, status: int) -> None:
    error = told(Reply(status, "because"))
    assert (None if error is None else type(error)) is meaning
    if error is not None:
        assert f"answered {status}: because" in str(error)
        assert ("may have taken" in error.kept) == (meaning is CommitUnknown)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("Sun, 15 Nov 2026 12:01:30 GMT", 90.0),
        ("Sun, 15 Nov 2026 11:00:00 GMT", 0.0),
        ("999999999", 3600.0),
    ],
)
@pytest.mark.parametrize("status", [429, 503, 500])
def test_a_server_may_say_how_long_to_wait(status: int, said: str, seconds: float) -> None:
    error = told(Reply(status, retry_after=said))
    assert error is not None
    assert error.context["retry_after"] == seconds


@pytest.mark.parametrize("said", [None, "soon", "-1", "1e9", "Sun, 15 Nov 2026 12:01:30"])
def test_what_cannot_be_understood_is_no_wish(said: str | None) -> None:
    error = told(Reply(429, retry_after=said))
    assert error is not None
    assert "retry_after" not in error.context


def test_only_the_beginning_of_an_answer_is_told_and_on_one_line() -> None:
    error = told(Reply(400, "one\n\ntwo " + "x" * 10_000))
    assert error is not None
    assert "one two xxx" in str(error)
    assert len(str(error)) < 600


def test_a_secret_that_the_server_says_is_not_told() -> None:
    error = told(
        Reply(403, "your token s3cret-token is wrong: Bearer s3cret-token"), "Bearer s3cret-token", "s3cret-token"
    )
    assert error is not None
    assert "s3cret" not in str(error)
    assert redacted("a aa aaa", ["a", "aa"]) == "*** *** ******"
