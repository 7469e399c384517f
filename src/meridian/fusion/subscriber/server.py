"""The subscriber over HTTP: rows of alerts come as lines of JSON, and 200 says that they are in the book.

    POST /alerts     application/x-ndjson, one word a line: alert_id, sequence, kind and whatever else it says
    GET  /alerts     the alerts that hold

A request is taken whole or not at all. One that is not about alerts is refused with 400 and the line that is wrong, and
a book that cannot be written is 503: the sender keeps its rows and comes again. With a token, whoever does not know it
is answered with 401.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import sqlite3
from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from meridian.fusion.emissions import Kind
from meridian.fusion.subscriber.book import Book
from meridian.fusion.subscriber.verdicts import Told

MAX_BYTES = 16 << 20


class NotAWord(ValueError):
    """A line of a request that says nothing about an alert."""


def application(book: Book, *, token: str | None = None, taken: Callable[[], None] = lambda: None) -> web.Application:
    """The subscriber, to be served by aiohttp.

    :param taken: is called when there are new words in the book.
    """
    app = web.Application(client_max_size=MAX_BYTES, middlewares=[] if token is None else [_known_by(token)])
    app.router.add_post("/alerts", lambda request: _take(book, taken, request))
    app.router.add_get("/alerts", lambda request: _holding(book))
    return app


def words_of(body: bytes) -> list[Told]:
    """The words in the body of a request."""
    return [_word(number, line) for number, line in enumerate(body.splitlines(), 1) if line.strip()]


def _known_by(token: str) -> Middleware:
    wanted = f"Bearer {token}".encode()

    @web.middleware
    async def known(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not hmac.compare_digest(request.headers.get("authorization", "").encode(), wanted):
            return web.json_response({"refused": "the token is not the one we know"}, status=401)
        return await handler(request)

    return known


async def _take(book: Book, taken: Callable[[], None], request: web.Request) -> web.Response:
    try:
        words = words_of(await request.read())
    except NotAWord as error:
        return web.json_response({"refused": str(error)}, status=400)
    try:
        verdicts = await asyncio.to_thread(book.take, words)
    except sqlite3.OperationalError as error:
        return web.json_response({"unavailable": str(error)}, status=503)
    taken()
    return web.json_response({"verdicts": [verdict.value for verdict in verdicts]})


async def _holding(book: Book) -> web.Response:
    holding = await asyncio.to_thread(book.holding)
    return web.json_response({alert: json.loads(content) for alert, content in holding.items()})


def _word(number: int, line: bytes) -> Told:
    try:
        text = line.decode()
        said = json.loads(text)
        alert_id, sequence, kind = said["alert_id"], said["sequence"], Kind(said["kind"])
        alert_id.encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotAWord(f"Line {number} is no word on an alert: {error!r}.") from error
    if not isinstance(alert_id, str) or not alert_id or type(sequence) is not int or not 0 <= sequence < 2**63:
        raise NotAWord(f"Line {number} has no alert_id that is text, or no sequence that is a number from 0 on.")
    return Told(alert_id, sequence, kind, text)
