"""What the answer of an HTTP server means for a delivery. Pure: the time is passed in.

An answer about the address, the way or the right to send blames no row and freezes the lane. One that leaves open
whether the rows were taken is a doubt. Of the others that blame the sender, the rows are to blame.
"""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from holdfast.model.errors import CommitUnknown, DeliveryError, Fatal, Rejected, Throttled, Transient

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

_BUSY = {429, 503}
_NOT_READ = {408, 425}
_IN_DOUBT = {409}
"""A request with the same key is being worked on: that is ours, from before we lost patience."""
_NOT_THE_ROWS = {401, 402, 403, 404, 405, 407, 410, 411, 414, 415, 426, 451}
_LONGEST_WAIT = 3600.0
_SAID = 300
"""How many characters of what a server says are told."""

_REMEDIES: dict[type[DeliveryError], str] = {
    Transient: "The rows are tried again by themselves.",
    Throttled: "The rows are tried again when the server said, or later.",
    CommitUnknown: "The rows are sent again under the same key.",
    Rejected: "The rows that are refused alone go to the dead letters.",
    Fatal: "Correct the address, the headers or the rights of the sink. The rows are tried again by themselves.",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered."""

    status: int
    said: str = ""
    """The beginning of the body."""
    retry_after: str | None = None
    location: str | None = None


def refusal(reply: Reply, place: str, *, secrets: Collection[str], now: datetime) -> DeliveryError | None:
    """The error to raise for an answer; None when the rows were taken.

    :param secrets: what must never be told, even if the server says it.
    """
    if 200 <= reply.status < 300:
        return None
    kind = _meaning(reply.status)
    said = redacted(" ".join(reply.said.split())[:_SAID], secrets)
    context = {"retry_after": seconds} if (seconds := _wait(reply.retry_after, now)) is not None else {}
    return kind(
        f"{place} answered {reply.status}{f': {said}' if said else ''}.",
        kept="It may have taken the rows." if kind is CommitUnknown else "It took none of the rows.",
        remedy=_REMEDIES[kind],
        status=reply.status,
        **context,
    )


def redacted(text: str, secrets: Collection[str]) -> str:
    """The text without secrets, longest first: one may hold another."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _meaning(status: int) -> type[DeliveryError]:
    if status in _BUSY:
        return Throttled
    if status in _NOT_READ:
        return Transient
    if status in _NOT_THE_ROWS or 300 <= status < 400:
        return Fatal
    if status in _IN_DOUBT or not 400 <= status < 500:
        return CommitUnknown
    return Rejected


def _wait(retry_after: str | None, now: datetime) -> float | None:
    """How many seconds a server asks us to wait, which it says as a number or as a date."""
    if retry_after is None:
        return None
    try:
        seconds = (
            float(retry_after) if retry_after.isdigit() else (parsedate_to_datetime(retry_after) - now).total_seconds()
        )
    except (ValueError, TypeError):
        return None
    return min(max(seconds, 0.0), _LONGEST_WAIT)
