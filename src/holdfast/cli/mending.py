"""The command that explains what is wrong with a pipeline's files, and repairs what loses nothing."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command, pipeline_argument
from holdfast.cli.exits import ExitCode
from holdfast.cli.output import fitted, results_width, styled
from holdfast.control.place import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.cli.output import Output
    from holdfast.control.doctor import Diagnosis, Finding

_WIDTH = 110
_COLORS = {"breaks the start": "red", "starts, and misses something": "red"}


@command("doctor", examples=("holdfast doctor", "holdfast doctor orders.yaml --repair"))
@pipeline_argument
@click.option("--repair", is_flag=True, help="Carry the repairs out; without this they are only named.")
def doctor(out: Output, pipeline: Path, repair: bool) -> ExitCode | None:
    """Explain what is wrong with the files of a pipeline that does not run: checkpoints, logs, Spark's books.

    Every byte that is kept is read, and nothing is changed without `--repair`. What that does loses nothing; files that
    are of no more use are moved to `set-aside` in the pipeline's directory. The exit code is 3 when something was found
    that is not mended.
    """
    from holdfast.control.doctor import examine
    from holdfast.control.doctor import repair as treat

    directory = find(pipeline).directory
    diagnosis = examine(directory)
    done = [f"would do: {each}" for each in diagnosis.repairs]
    if repair and diagnosis.repairs:
        treated, diagnosis = treat(directory)
        done = [str(each) for each in treated]
    value = {
        "directory": directory,
        "healthy": diagnosis.is_healthy,
        "findings": [
            {
                "code": finding.code,
                "severity": finding.severity,
                "what": finding.what,
                "place": finding.place,
                "offset": finding.offset,
                "kept": finding.kept,
                "remedy": finding.remedy,
                "repair": str(finding.repair) if finding.repair else None,
            }
            for finding in diagnosis.findings
        ],
        "actions": done,
    }
    out.result(value, fitted("\n".join(_lines(diagnosis, done)), results_width()))
    return None if diagnosis.is_healthy else ExitCode.DEGRADED


def _lines(diagnosis: Diagnosis, done: list[str]) -> Iterator[str]:
    count = len(diagnosis.findings)
    found = "nothing is wrong" if not count else "one finding" if count == 1 else f"{count} findings"
    yield f"{diagnosis.directory}: {found}."
    for number, finding in enumerate(diagnosis.findings, 1):
        yield from _told(number, finding)
    yield from ([""] if done else [])
    yield from done


def _told(number: int, finding: Finding) -> Iterator[str]:
    severity = finding.severity.value
    where = f"{finding.place}" + ("" if finding.offset is None else f", offset {finding.offset:,}")
    yield ""
    yield f"{number:>3}. {finding.code.value}: {styled(severity, _COLORS.get(severity, 'yellow'))}"
    yield f"     {'where':<8}{where}"
    repair = "yes: " + str(finding.repair) if finding.repair else "none that loses nothing"
    for label, text in (("what", finding.what), ("kept", finding.kept), ("remedy", finding.remedy), ("repair", repair)):
        indent = " " * 13
        width = min(_WIDTH, results_width() or _WIDTH)
        yield textwrap.fill(f"     {label:<8}{text}", width, subsequent_indent=indent)
