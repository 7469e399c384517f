"""What a pipeline remembers about itself in the checkpoint store, besides its cursors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from holdfast.checkpoint.contract import TypedKey
from holdfast.model.errors import UnknownFormat
from holdfast.runtime.restarts import History, HistoryCodec


@dataclass(frozen=True, slots=True)
class Logs:
    """Which logs are the pipeline's own: one that is made anew in the place of another is noticed."""

    inboxes: Mapping[str, str] = field(default_factory=dict)
    """The uuid of the inbox of each source that the pipeline ever had, by name."""
    outbox: str | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """Which generation runs, and where it begins: {inbox uuid: seq}."""

    number: int
    initial: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pause:
    """Whether an operator has paused the pipeline: it stays so until somebody resumes it, across restarts."""

    since: datetime | None = None
    """None when it is not paused."""


def load_record(payload: bytes, what: str) -> dict[str, Any]:
    """A record of format 1, or `UnknownFormat`."""
    document = json.loads(payload)
    if not isinstance(document, dict) or document.get("format") != 1:
        raise UnknownFormat(
            f"The record of {what} is not of format 1, which this version reads.", remedy="Upgrade Holdfast."
        )
    return document


class LogsCodec:
    """Logs as versioned JSON."""

    def encode(self, value: Logs) -> bytes:
        """The bytes that are stored."""
        document = {"format": 1, "inboxes": dict(value.inboxes), "outbox": value.outbox}
        return json.dumps(document, sort_keys=True).encode()

    def decode(self, payload: bytes) -> Logs:
        """The logs again."""
        document = load_record(payload, "the logs")
        inboxes, outbox = document["inboxes"], document["outbox"]
        assert isinstance(inboxes, dict)
        assert outbox is None or isinstance(outbox, str)
        return Logs(inboxes, outbox)


class GenerationCodec:
    """A generation as versioned JSON."""

    def encode(self, value: Generation) -> bytes:
        """The bytes that are stored."""
        document = {"format": 1, "number": value.number, "initial": dict(value.initial)}
        return json.dumps(document, sort_keys=True).encode()

    def decode(self, payload: bytes) -> Generation:
        """The generation again."""
        document = load_record(payload, "the generation")
        number, initial = document["number"], document["initial"]
        assert isinstance(number, int)
        assert isinstance(initial, dict)
        return Generation(number, initial)


class PauseCodec:
    """A pause as versioned JSON."""

    def encode(self, value: Pause) -> bytes:
        """The bytes that are stored."""
        return json.dumps({"format": 1, "since": value.since and value.since.isoformat()}).encode()

    def decode(self, payload: bytes) -> Pause:
        """The pause again."""
        since = load_record(payload, "the pause")["since"]
        return Pause(None if since is None else datetime.fromisoformat(str(since)))


LOGS: TypedKey[Logs] = TypedKey("logs", LogsCodec())
GENERATION: TypedKey[Generation] = TypedKey("generation", GenerationCodec())
HISTORY: TypedKey[History] = TypedKey("history", HistoryCodec())
PAUSE: TypedKey[Pause] = TypedKey("pause", PauseCodec())
