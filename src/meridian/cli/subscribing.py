"""The command that runs a subscriber of alerts."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from meridian.orbit.time import format_ccsds

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.cli.output import Output
    from meridian.fusion.subscriber.book import Entry

_KEPT = timedelta(days=30)
"""How long a word is in the book after it was acted on; where each alert stands stays."""
_THERE = click.Path(path_type=Path, dir_okay=False, exists=True)


def _address(context: click.Context, option: click.Parameter, text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise click.BadParameter("Write an address and a port, as 127.0.0.1:7710.")
    return host.strip("[]"), int(port)


@command(
    "subscribe",
    examples=(
        "meridian subscribe --listen 127.0.0.1:7710 --book data/book.db",
        "meridian subscribe --listen 127.0.0.1:7710 --book data/book.db --catch-up data/meridian/words.db",
    ),
)
@click.option("--listen", required=True, metavar="HOST:PORT", callback=_address, help="Where alerts are taken.")
@click.option("--book", "file", required=True, type=click.Path(path_type=Path, dir_okay=False), help="Made if missing.")
@click.option("--token-file", type=_THERE, help="A file with the token that senders have to know.")
@click.option("--catch-up", "words", type=_THERE, help="First take what the book lacks from an operation's `words.db`.")
def subscribe(out: Output, listen: tuple[str, int], file: Path, token_file: Path | None, words: Path | None) -> None:
    """Take alerts, and tell of each that is raised, updated or withdrawn: once, however often it is sent.

    What was taken is in the book before the sender is answered. SIGTERM or Ctrl-C ends it; killed and started again it
    goes on where it was. Name it in `meridian.toml`, as `[subscriber]` with its `url`.
    """
    from meridian.fusion.subscriber import Book
    from meridian.fusion.subscriber.catching import catch_up
    from meridian.fusion.subscriber.serving import Listening, serve

    token = None if token_file is None else token_file.read_text().strip()
    file.parent.mkdir(parents=True, exist_ok=True)
    book = Book(file, now=lambda: datetime.now(UTC))
    book.forget(datetime.now(UTC) - _KEPT)
    if words is not None:
        out.note(f"{catch_up(book, words):,} words were not in the book.")
    ready = f"Listening at {listen[0]}:{listen[1]}, /alerts; {len(book.holding()):,} alerts hold."
    asyncio.run(serve(book, Listening(*listen, token), act=_telling(out), ready=lambda: out.note(ready)))
    book.close()


def _telling(out: Output) -> Callable[[Entry], None]:
    """Writes an entry as it is acted on."""

    def tell(entry: Entry) -> None:
        said = json.loads(entry.word.content)
        value = {"number": entry.number, "verdict": entry.verdict.value, "at": entry.at.isoformat(), "word": said}
        out.result(value, line(entry, said))

    return tell


def line(entry: Entry, said: dict[str, object]) -> str:
    """One entry, for people."""
    told = f"{entry.number} {entry.verdict.value}: alert {entry.word.alert_id}"
    match said:
        case {"object_a": str(a), "object_b": str(b), "closest_ns": int(closest), "miss_m": float(miss)}:
            return f"{told}, {a} and {b} pass at {format_ccsds(closest)[:19]} within {miss:,.0f} m"
        case _:
            return told
