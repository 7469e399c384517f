"""Runs the subscriber until it is told to stop: takes words into its book, and acts on what is new in it, in order.

Entries are said to be done after they were acted on. Killed in between, they are acted on once more, under the same
numbers: who does something that must not be done twice keeps the number beside it, in one transaction.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from holdfast.model.errors import SourceUnavailable
from meridian.fusion.subscriber.book import Book, Entry
from meridian.fusion.subscriber.server import application

_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Listening:
    """Where words are taken.

    :param token: what a sender has to know; none when anybody may send.
    """

    host: str
    port: int
    token: str | None = None


async def serve(
    book: Book, at: Listening, *, act: Callable[[Entry], None], ready: Callable[[], None] = lambda: None
) -> None:
    """Until SIGTERM or SIGINT; requests that were begun are answered.

    :param ready: is called when words can come.
    """
    over, news = asyncio.Event(), asyncio.Event()

    def stop() -> None:
        over.set()
        news.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    runner = web.AppRunner(application(book, token=at.token, taken=news.set), access_log=None)
    await runner.setup()
    try:
        await _listen(runner, at)
        ready()
        while not over.is_set():
            await asyncio.to_thread(act_on_all, book, act)
            await news.wait()
            news.clear()
    finally:
        await runner.cleanup()
    act_on_all(book, act)


def act_on_all(book: Book, act: Callable[[Entry], None]) -> None:
    """Act on what nobody has acted on yet."""
    while entries := book.to_do(_AT_ONCE):
        for entry in entries:
            act(entry)
        book.done(entries[-1].number)


async def _listen(runner: web.AppRunner, at: Listening) -> None:
    try:
        await web.TCPSite(runner, at.host, at.port).start()
    except OSError as error:
        raise SourceUnavailable(
            f"The subscriber cannot listen at {at.host}:{at.port}: {error.strerror}.",
            remedy="Name an address of this machine and a port that is free.",
        ) from error
