"""Commands about conjunction data messages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from holdfast.cli.exits import ExitCode
from holdfast.cli.output import results_width, table, wrapped
from holdfast.control.values import told
from holdfast.model.errors import DocumentUnreadable, HoldfastError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.cli.output import Output
    from meridian.orbit.pc import MessageAssessment

_NONE = "-"


@click.group()
def cdm() -> None:
    """Assess conjunction data messages (CCSDS 508.0-B-1)."""


@command(
    "assess",
    examples=("meridian cdm assess conjunction.cdm", "meridian cdm assess *.xml --radius 20 --output json"),
)
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--radius",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="METRES",
    help="The combined hard-body radius, instead of the one in the comment `HBR` of each message.",
)
def assess(out: Output, files: tuple[Path, ...], radius: float | None) -> ExitCode | None:
    """Compute the probabilities of collision of received messages, with what qualifies each.

    A message is KVN or XML. The column `probability` is the one to act on: the planar one where it applies, the one
    with curved orbits elsewhere, and none where the data support neither. `planar max` is the largest planar one that
    a covariance of the same shape could give. `stated` is what the originator says.

    A file that cannot be read is refused alone, and the exit code is 6. When every file is refused, it is 1.
    """
    found: dict[Path, MessageAssessment | HoldfastError] = {}
    for file in files:
        if out.is_terminal:
            out.progress(f"{len(found):,} of {len(files):,} messages assessed")
        found[file] = _assessed(file, radius)
    out.end_progress()
    out.result([_plain(file, each) for file, each in found.items()], "\n\n".join(_text(found)))
    refused = sum(isinstance(each, HoldfastError) for each in found.values())
    if refused == len(found):
        return ExitCode.FAILED
    return ExitCode.PARTLY_REFUSED if refused else None


def _assessed(file: Path, radius: float | None) -> MessageAssessment | HoldfastError:
    from meridian.orbit.cdm import read_cdm
    from meridian.orbit.pc import assess_message

    try:
        return assess_message(read_cdm(_content(file)), radius)
    except HoldfastError as error:
        return error


def _content(file: Path) -> str:
    from meridian.orbit.texts import LARGEST_MESSAGE, NotText, decoded

    try:
        with file.open("rb") as opened:
            return decoded(opened.read(4 * LARGEST_MESSAGE + 1))
    except (OSError, NotText) as error:
        why = error.strerror if isinstance(error, OSError) else error
        remedy = "Name files of conjunction data messages, KVN or XML in UTF-8."
        raise DocumentUnreadable(f"The file cannot be read: {why}.", remedy=remedy) from error


# As text


def _text(found: dict[Path, MessageAssessment | HoldfastError]) -> Iterator[str]:
    assessed = {file: each for file, each in found.items() if not isinstance(each, HoldfastError)}
    if assessed:
        head = ("message", "closest (UTC)", "object", "and", "miss m", "m/s")
        figures = ("probability", "planar", "curved", "planar max", "stated")
        rows = [_row(file, each) for file, each in assessed.items()]
        yield table((*head, *figures), rows, results_width())
    for file, each in found.items():
        notes = [f"{each.what} {each.remedy}"] if isinstance(each, HoldfastError) else list(_notes(each))
        if notes:
            label = f"{file.name} [{each.code}]" if isinstance(each, HoldfastError) else file.name
            yield "\n".join([label, *(wrapped(note, results_width()) for note in notes)])


def _row(file: Path, each: MessageAssessment) -> Sequence[str]:
    from meridian.orbit.time import format_ccsds

    message, assessment = each.message, each.assessment
    return (
        _shortened(file.name),
        format_ccsds(message.tca_ns)[:19],
        message.first.designator,
        message.second.designator,
        f"{each.miss_distance_m:,.0f}",
        f"{each.relative_speed_m_s:,.0f}",
        _chance(assessment.probability),
        _chance(assessment.planar),
        _chance(None if assessment.curved is None else assessment.curved.probability),
        _chance(None if each.maximum is None else each.maximum.probability),
        _chance(None if each.stated is None else each.stated.probability),
    )


def _shortened(name: str) -> str:
    """A file name that leaves room for its figures, without its middle if it is too long."""
    width = results_width()
    most = len(name) if width is None else max(20, width // 4)
    return name if len(name) <= most else f"{name[: most // 2]}…{name[len(name) - (most - most // 2 - 1) :]}"


def _chance(probability: float | None) -> str:
    return _NONE if probability is None else f"{probability:.3e}"


def _notes(each: MessageAssessment) -> Iterator[str]:
    assessment = each.assessment
    if assessment.probability is None:
        yield f"There is no probability to act on. {assessment.reason}"
    else:
        yield from (caveat.text for caveat in assessment.caveats)
        if assessment.violations:
            flags = ", ".join(sorted(assessment.violations))
            yield f"The planar probability does not apply ({flags}); act on the one with curved orbits."
    if assessment.remedies:
        yield f"Made positive definite: {', '.join(sorted(assessment.remedies))}."
    if each.maximum is not None and each.maximum.diluted:
        yield "The planar probability is diluted: a smaller covariance could raise it, up to the maximum."
    yield from (f"Line {remark.line}, {remark.keyword}: {remark.what}" for remark in each.message.remarks)


# As JSON


def _plain(file: Path, each: MessageAssessment | HoldfastError) -> dict[str, object]:
    if isinstance(each, HoldfastError):
        return {"file": str(file), "error": {**told(each), **each.context}}
    from meridian.orbit.time import format_ccsds

    message, assessment = each.message, each.assessment
    return {
        "file": str(file),
        "message_id": message.message_id,
        "originator": message.relative.text("ORIGINATOR"),
        "created": format_ccsds(message.created_ns),
        "tca": format_ccsds(message.tca_ns),
        "objects": [
            {"designator": one.designator, "name": one.text("OBJECT_NAME"), "frame": one.frame}
            for one in (message.first, message.second)
        ],
        "miss_distance_m": each.miss_distance_m,
        "relative_speed_m_s": each.relative_speed_m_s,
        "hard_body_radius_m": each.hard_body_radius_m,
        "probability": assessment.probability,
        "method": assessment.method,
        "reason": assessment.reason,
        "planar": assessment.planar,
        "curved": assessment.curved,
        "maximum": each.maximum,
        "diluted": None if each.maximum is None else each.maximum.diluted,
        "chan": each.chan,
        "stated": each.stated,
        "violations": sorted(assessment.violations),
        "remedies": sorted(assessment.remedies),
        "caveats": assessment.caveats,
        "remarks": message.remarks,
    }


cdm.add_command(assess)
