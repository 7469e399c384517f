"""An optical archive on loopback: a real HTTP server that gives records since a time, at once or after a while."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Record = dict[str, object]

PATH = "/observations"


@dataclass(slots=True)
class Faults:
    """What is wrong with the archive just now."""

    status: int = 200
    body: bytes | None = None
    """Given instead of records."""
    retry_after: int | None = None
    """Seconds that it asks for."""

    @property
    def headers(self) -> dict[str, str]:
        """What it says beside the status."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


@dataclass(slots=True, eq=False)
class Archive:
    """The records of the telescopes, by their time."""

    faults: Faults = field(default_factory=Faults)
    requests: list[dict[str, int]] = field(default_factory=list)
    """What was asked for, request by request."""
    hold: asyncio.Event | None = None
    """While it is there and not set, nobody is answered."""
    _records: list[tuple[int, int, Record]] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _runner: web.AppRunner | None = None
    port: int = 0
    """Where it listens."""

    @property
    def endpoint(self) -> str:
        """Where it is asked."""
        return f"http://127.0.0.1:{self.port}{PATH}"

    def publish(self, records: Iterable[Record]) -> None:
        """These are there from now on."""
        for record in records:
            time = record["timestamp_ns"]
            assert isinstance(time, int)
            insort(self._records, (time, len(self._records), record))
        self._changed.set()

    def forget(self, before_ns: int) -> None:
        """What is older is gone, as it is after a day."""
        del self._records[: self._place(before_ns)]

    def since(self, time_ns: int) -> list[Record]:
        """The records of this time and later."""
        return [record for *_, record in self._records[self._place(time_ns) :]]

    async def start(self, port: int = 0) -> None:
        """Listen."""
        application = web.Application()
        application.router.add_get(PATH, self._answer)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Listen no more."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _answer(self, request: web.Request) -> web.Response:
        query = _numbers(request.query)
        self.requests.append(query)
        if self.hold is not None:
            await self.hold.wait()
        if self.faults.status != 200 or self.faults.body is not None:
            return web.Response(status=self.faults.status, body=self.faults.body, headers=self.faults.headers)
        found = self.since(query["since"])
        if not found and "wait_ms" in query:
            found = await self._awaited(query["since"], query["wait_ms"] / 1000)
        return web.json_response(found)

    async def _awaited(self, since: int, seconds: float) -> list[Record]:
        async def there() -> list[Record]:
            while not (found := self.since(since)):
                self._changed.clear()
                await self._changed.wait()
            return found

        try:
            return await asyncio.wait_for(there(), seconds)
        except TimeoutError:
            return []

    def _place(self, time_ns: int) -> int:
        return bisect_left(self._records, time_ns, key=lambda entry: entry[0])


def _numbers(query: Mapping[str, str]) -> dict[str, int]:
    return {name: int(value) for name, value in query.items()}
