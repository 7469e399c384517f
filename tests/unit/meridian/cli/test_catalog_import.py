"""`meridian catalog import`: bad sets are refused alone and listed, the rest is imported, and the exit code says so."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from holdfast.cli.exits import ExitCode
from meridian.cli.commands import meridian
from meridian.operation.catalog import read_elements
from meridian.operation.home import Home
from meridian.orbit import texts
from meridian.orbit.tle import checksum, format_alpha5

FIRST = "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927"
SECOND = "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537"


def tle(number: int, *, spoiled: bool = False) -> bytes:
    """Three lines of one object; spoiled, it has a blank inside of a number and a right checksum."""
    lines = [line[:2] + format_alpha5(number) + line[7:] for line in (FIRST, SECOND)]
    if spoiled:
        lines[1] = lines[1].replace("247.4627", "2 7.4627")
    summed = [f"{line[:68]}{checksum(line)}" for line in lines]
    return "\n".join([f"OBJECT {number}", *summed, ""]).encode()


def imported(place: Path, content: bytes, *options: str) -> Result:
    file = place / "gp.txt"
    file.write_bytes(content)
    return CliRunner().invoke(meridian, ["catalog", "import", str(file), "--directory", str(place / "op"), *options])


def numbers(place: Path) -> list[int | None]:
    return [each.norad for each in read_elements(Home(place / "op").catalog)]


@pytest.mark.req("ORB-01")
def test_the_sets_around_a_bad_one_are_imported(tmp_path: Path) -> None:
    done = imported(tmp_path, tle(1) + tle(2, spoiled=True) + tle(3))
    assert done.exit_code == ExitCode.PARTLY_REFUSED == 6
    assert "2 added, 0 renewed, 0 as new as before, 1 refused. The catalog has 2 objects." in done.output
    assert "Line 6, column 18: Columns 18 to 25, raan_deg, are '2 7.4627'." in done.output
    assert numbers(tmp_path) == [1, 3]


@pytest.mark.req("ORB-01")
def test_bytes_that_are_no_text_cost_their_line(tmp_path: Path) -> None:
    done = imported(tmp_path, tle(1) + b"\xff\xfe\n" + tle(3))
    assert done.exit_code == ExitCode.PARTLY_REFUSED
    assert numbers(tmp_path) == [1, 3]


def test_a_file_without_a_fault_ends_with_0(tmp_path: Path) -> None:
    done = imported(tmp_path, b"\xef\xbb\xbf" + tle(1).replace(b"\n", b"\r\n"))
    assert done.exit_code == 0
    assert "0 refused. The catalog has 1 object." in done.output


def test_many_refusals_are_counted_by_field_and_few_are_shown(tmp_path: Path) -> None:
    content = b"".join(tle(number, spoiled=number > 1) for number in range(1, 1502))
    text, program = imported(tmp_path, content), imported(tmp_path, content, "--output", "json")
    assert text.output.count("Line ") == 5
    assert "Refused by field: raan_deg 1,500." in text.output
    assert "lists the first 1,000" in text.output
    told = json.loads(program.output)
    assert (told["refused_count"], told["refused_by_field"], len(told["refused"])) == (1500, {"raan_deg": 1500}, 1000)
    assert {name: told["refused"][0][name] for name in ("line", "column", "field")} == {
        "line": 6,
        "column": 18,
        "field": "raan_deg",
    }


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is empty"),
        (tle(1, spoiled=True), "Line 3, column 18"),
        (b"\xff\xfe" + "x".encode("utf-16-le"), "UTF-16"),
        (gzip.compress(tle(1)), "gzip"),
        (b"[" * 100_000, "it is empty"),
        (b'{"a":' * 100_000, "Line 1, column 2"),
    ],
    ids=["empty", "one bad set", "utf-16", "gzip", "deep array", "deep object"],
)
def test_a_file_without_any_set_is_refused_and_the_catalog_stays(tmp_path: Path, content: bytes, why: str) -> None:
    imported(tmp_path, tle(7))
    done = imported(tmp_path, content)
    assert (done.exit_code, "[HF-902]" in done.output, why in done.output) == (ExitCode.FAILED, True, True)
    assert numbers(tmp_path) == [7]


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert texts.LARGEST_FILE == 128 * 2**20
    monkeypatch.setattr("meridian.operation.catalog.LARGEST_FILE", 100)
    done = imported(tmp_path, tle(1))
    assert (done.exit_code, "larger than" in done.output) == (ExitCode.FAILED, True)


def test_an_import_does_not_write_over_a_damaged_catalog(tmp_path: Path) -> None:
    imported(tmp_path, tle(1) + tle(2))
    catalog = Home(tmp_path / "op").catalog
    damaged = catalog.read_text().replace('"ECCENTRICITY": 0.0006703', '"ECCENTRICITY": 6.0', 1)
    catalog.write_text(damaged)
    done = imported(tmp_path, tle(3))
    assert (done.exit_code, "is damaged" in done.output) == (ExitCode.FAILED, True)
    assert catalog.read_text() == damaged
