"""Commands about dead letters: what they are, and another chance for them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.checkpoint import DryRun
from holdfast.cli.command import command
from holdfast.cli.output import Form, table
from holdfast.model.errors import HoldfastError
from meridian.cli.options import directory_option
from meridian.operation import reprocessing
from meridian.operation.home import Home
from meridian.operation.letters import Letter, LetterKind, Wanted
from meridian.operation.letters import letters as read_letters
from meridian.operation.reprocessing import Manner, Report

if TYPE_CHECKING:
    from holdfast.cli.output import Output


def _moment(_: click.Context, __: click.Parameter, given: str | None) -> datetime | None:
    """A time; without a zone it is UTC."""
    if given is None:
        return None
    try:
        found = datetime.fromisoformat(given)
    except ValueError as error:
        raise click.BadParameter(f"{given!r} is no time; write 2026-01-31T12:00.") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _per_second(_: click.Context, __: click.Parameter, given: str | None) -> float | None:
    """A rate, as `100/s`."""
    if given is None:
        return None
    try:
        found = float(given.removesuffix("/s"))
    except ValueError:
        found = 0.0
    if found <= 0:
        raise click.BadParameter(f"{given!r} is no rate; write 100/s.")
    return found


_CHOOSING = (
    click.option(
        "--error-kind",
        "kinds",
        type=click.Choice([kind.value for kind in LetterKind]),
        multiple=True,
        metavar="KIND",
        help=f"Only of this kind: {', '.join(LetterKind)}; may be given often.",
    ),
    click.option("--operator", "operators", multiple=True, help="Only of this one, as `edge:obs.radar-1`."),
    click.option("--since", metavar="TIME", callback=_moment, help="Only what was given up then or later."),
    click.option("--until", metavar="TIME", callback=_moment, help="Only what was given up then or before."),
)
to_option = click.option(
    "--to",
    "into",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="The directory of a stopped pipeline that takes them instead; they stay dead letters here.",
)


def _choosing(body: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_CHOOSING):
        body = option(body)
    return body


@command(
    "letters",
    examples=("meridian letters", "meridian letters --error-kind Deserialization --output json"),
)
@directory_option
@_choosing
@click.option("--limit", default=20, show_default=True, help="How many at most, the oldest first.")
def letters(out: Output, directory: Path, limit: int, **given: Any) -> None:  # noqa: ANN401
    """Show dead letters of the edge and of fusion that nobody has seen to. Both may run meanwhile.

    As JSON, each is a line of its own, with its payload in hexadecimal.
    """
    found = list(islice(read_letters(Home(directory), _wanted(given)), limit))
    if out.form is Form.TEXT:
        head = ("time", "operator", "kind", "retries", "message")
        out.result(found, table(head, map(_line, found)) if found else "There are none.")
        return
    for letter in found:
        out.result({"unreadable": str(letter)} if isinstance(letter, HoldfastError) else letter, "")


@command(
    "reprocess",
    examples=(
        "meridian reprocess --dry-run",
        "meridian reprocess --error-kind ValidationFailed --since 2026-01-31T12:00 --rate 100/s",
        "meridian reprocess --operator step:Known --to data/trial/pipeline",
    ),
)
@directory_option
@_choosing
@click.option("--dry-run", is_flag=True, help="Only tell what would be done; nothing is written.")
@to_option
@click.option("--rate", metavar="N/s", callback=_per_second, help="How many a second; as many as can be without it.")
def reprocess(
    out: Output,
    directory: Path,
    dry_run: bool,
    into: Path | None,
    rate: float | None,
    **given: Any,  # noqa: ANN401
) -> None:
    """Give dead letters another chance, each once however often it is asked for.

    Observations that fusion gave up go back to its inbox, alerts to the sink that refused them. What the edge refused
    is read by its document of now: what passes goes to its log, and what does not stays. For those of the edge, the
    edge has to be stopped.
    """
    manner = Manner(dry_run=DryRun.YES if dry_run else DryRun.NO, into=into, per_second=rate)
    report = reprocessing.reprocess(Home(directory), _wanted(given), manner)
    by = [
        {"operator": label.operator, "error_kind": label.error_kind, "reprocessed": each.again, "skipped": each.skipped}
        for label, each in sorted(report.by.items())
    ]
    value = {"dry_run": dry_run, "reprocessed": report.reprocessed, "skipped": report.skipped, "by": by}
    out.result(value, _told(report, is_tried=dry_run))


def _line(letter: Letter | HoldfastError) -> tuple[object, ...]:
    if isinstance(letter, HoldfastError):
        return (None, None, None, None, str(letter))
    time, message = letter.timestamp.isoformat(timespec="milliseconds"), letter.error_message.partition("\n")[0]
    return (time, letter.operator, letter.error_kind.value, letter.retry_count, message)


def _told(report: Report, *, is_tried: bool) -> str:
    verb = "would be reprocessed" if is_tried else "are reprocessed"
    first = f"{report.reprocessed:,} {verb}, {sum(report.skipped.values()):,} skipped."
    rows = [
        (label.operator, label.error_kind, again, why)
        for label, outcome in sorted(report.by.items())
        for why, again in [(verb, outcome.again), *sorted(outcome.skipped.items())]
        if again
    ]
    return "\n".join([first, table(("operator", "kind", "letters", "what"), rows)] if rows else [first])


def _wanted(given: dict[str, Any]) -> Wanted:
    return Wanted(
        kinds=frozenset(map(LetterKind, given["kinds"])),
        operators=frozenset(given["operators"]),
        since=given["since"],
        until=given["until"],
    )
