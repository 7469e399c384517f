"""The paths of the source: what each takes, and in what words it answers. Pure."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from holdfast.capture.http.events import Pushed
from holdfast.capture.http.jsons import lines, values
from holdfast.model.errors import UnsupportedPush

if TYPE_CHECKING:
    from holdfast.log.values import Appended
    from holdfast.model.errors import HoldfastError

Decoder = Callable[[bytes], Pushed]
"""Finds what a body holds; `InvalidPush` when it is not what its content type says."""

JSON = "application/json"


class Door(ABC):
    """One path."""

    path: ClassVar[str]
    decoders: ClassVar[Mapping[str, Decoder]]
    """By content type."""

    def decoder(self, content_type: str) -> Decoder:
        """How a body of this type is read; `UnsupportedPush` when nobody knows."""
        found = self.decoders.get(content_type)
        if found is None:
            raise UnsupportedPush(
                f"{self.path} does not take the content type {content_type!r}.",
                remedy=f"Send one of {', '.join(self.decoders)}.",
            )
        return found

    def speaks(self, content_type: str) -> str:
        """In what type a push of this type is answered."""
        return JSON

    @abstractmethod
    def done(self, content_type: str, appended: Appended) -> bytes:
        """The answer to a push of this type that is durable."""

    @abstractmethod
    def refused(self, content_type: str, error: HoldfastError) -> bytes:
        """The answer to a push of this type that was not taken in."""


class Events(Door):
    """JSON: an array holds an event in each element, anything else is one event. NDJSON: an event a line."""

    path = "/v1/events"
    decoders: ClassVar[Mapping[str, Decoder]] = {
        JSON: lambda body: Pushed(values(body)),
        "application/x-ndjson": lambda body: Pushed(lines(body)),
        "application/jsonl": lambda body: Pushed(lines(body)),
    }

    def done(self, content_type: str, appended: Appended) -> bytes:
        """How many events were added, and how many had been added before under the same key."""
        return json.dumps({"added": appended.rows, "repeated": appended.left_out}).encode()

    def refused(self, content_type: str, error: HoldfastError) -> bytes:
        """What happened and what to do."""
        told = {"code": error.code, "message": error.what, "kept": error.kept, "remedy": error.remedy}
        return json.dumps(told, ensure_ascii=False).encode()
