"""Answers requests: a push is read, taken apart, handed to the inbox, and answered when it is durable there.

An ASGI application, so any server of that kind can run it.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from holdfast.capture.contract import Boundary
from holdfast.capture.http.answers import OK, UNAVAILABLE, Answer, status_of
from holdfast.capture.http.bodies import Bodies, Body, SenderGone
from holdfast.capture.http.doors import JSON, Events
from holdfast.capture.http.events import events_of
from holdfast.capture.http.request import Request
from holdfast.capture.runner import CaptureState
from holdfast.log.values import Appended
from holdfast.model.errors import HoldfastError, PushNotAllowed, UnknownPath

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from holdfast.capture.http.bodies import BodyLimits, Receive
    from holdfast.capture.http.doors import Decoder, Door
    from holdfast.capture.http.events import Pushed
    from holdfast.capture.reception import Intake

    Send = Callable[[dict[str, Any]], Awaitable[None]]

HEALTH = "/health"
_LARGE = 2**16
"""A body from this size on is taken apart in another thread, so that others are answered meanwhile."""
_NOTHING = Appended(1, 0)
_NO_DOOR = Events()
"""Who answers at a path that nobody knows."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How the source is set up."""

    source: str
    token: str | None
    headers: tuple[str, ...]
    """The names of the request headers that events carry."""
    limits: BodyLimits


class Application:
    """The application of one source. It lives in one event loop."""

    def __init__(self, manner: Manner, doors: Sequence[Door], intake: Intake) -> None:
        self._manner = manner
        self._doors = {door.path: door for door in doors}
        self._intake = intake
        self.bodies = Bodies(manner.limits)
        self._decoding = ThreadPoolExecutor(1, thread_name_prefix=f"holdfast-decode-{manner.source}")
        self._accepted = 0
        self._refused = 0
        self._answers: Counter[int] = Counter()

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        body, accepted = Body(receive, self.bodies), 0
        try:
            answer = await self._answer(Request.of(scope), body)
            accepted = body.received if answer.status == OK else 0
            await body.discard()
        except SenderGone:
            return
        finally:
            body.let_go()
            self._accepted += accepted
            self._refused += body.received - accepted
        self._answers[answer.status] += 1
        answer = answer if body.is_over else answer.closing()
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.content})

    def boundary(self) -> Boundary:
        """What came and what was answered."""
        accepted, refused, received = self._accepted, self._refused, self.bodies.received
        return Boundary(received, accepted, refused, received - accepted - refused, dict(self._answers))

    def close(self) -> None:
        """End its thread."""
        self._decoding.shutdown()

    async def _answer(self, request: Request, body: Body) -> Answer:
        if request.path == HEALTH and request.method in ("GET", "HEAD"):
            return self._health()
        door = self._doors.get(request.path, _NO_DOOR)
        said = request.content_type
        try:
            self._admit(request, door)
            appended = await self._take(door, request, body)
        except HoldfastError as error:
            return Answer(status_of(error), door.refused(said, error), door.speaks(said))
        return Answer(OK, door.done(said, appended), door.speaks(said))

    def _health(self) -> Answer:
        """Whether a push would be taken in now, for whoever distributes pushes among several of us."""
        state = self._intake.state()
        status = OK if state is CaptureState.READING else UNAVAILABLE
        return Answer(status, json.dumps({"state": state.name.lower()}).encode(), JSON)

    def _admit(self, request: Request, door: Door) -> None:
        if door is _NO_DOOR:
            raise UnknownPath(f"There is no {request.path!r} here.", remedy=f"Push to one of {', '.join(self._doors)}.")
        if request.method != "POST":
            raise UnknownPath(f"{door.path} takes POST only.", remedy="Send a POST.", method=request.method)
        token = self._manner.token
        if token is not None and not request.carries(token):
            raise PushNotAllowed("The push does not carry the token.", remedy="Send `Authorization: Bearer TOKEN`.")
        self._intake.check()

    async def _take(self, door: Door, request: Request, body: Body) -> Appended:
        decode, key = door.decoder(request.content_type), request.key
        pushed = await self._decoded(decode, await body.read(declared=request.length, is_gzip=request.is_gzip))
        if not pushed.payloads:
            return _NOTHING
        events = events_of(
            pushed,
            source=self._manner.source,
            headers=(
                ("content-type", JSON.encode()),
                ("path", door.path.encode()),
                *request.chosen(self._manner.headers),
            ),
            captured=datetime.now(UTC),
        )
        keys = None if key is None else [*[None] * (events.num_rows - 1), key]
        return await asyncio.wrap_future(self._intake.push(events, keys))

    async def _decoded(self, decode: Decoder, body: bytes) -> Pushed:
        if len(body) < _LARGE:
            return decode(body)
        return await asyncio.get_running_loop().run_in_executor(self._decoding, decode, body)
