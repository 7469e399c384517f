"""`meridian cdm assess`: every probability of a message with what qualifies it; a bad file is refused alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.support.cdm_text import as_xml
from tests.support.conjunction_texts import Message, Written, circular, orbital_covariance

from holdfast.cli.exits import ExitCode
from meridian.cli.commands import meridian
from meridian.orbit import assess, encounter_of, read_cdm
from meridian.orbit.pc import chan, maximum, plane_of

FIRST, SECOND = (
    Written(state, orbital_covariance(state, (50.0, 60.0, 30.0), 200.0))
    for state in (circular(7.0e6, 0.0), circular(7.0e6, 1.2) + np.array([100.0, 0.0, 80.0, 0.0, 0.0, 0.0]))
)
WHOLE = Message((FIRST, SECOND), radius_m=10.0)
KEPT = np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
QUICK = Message((replace(FIRST, covariance=KEPT @ FIRST.covariance @ KEPT), SECOND), radius_m=10.0)
"""Without a covariance of one velocity: it has a planar probability, and no curved one that takes seconds."""


def assessed(*options: str | Path) -> Result:
    return CliRunner().invoke(meridian, ["cdm", "assess", *map(str, options)])


def values(*options: str | Path) -> list[dict[str, Any]]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    found: list[dict[str, Any]] = json.loads(assessed(*options, "--output", "json").stdout, parse_constant=refuse)
    return found


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "good.cdm"
    file.write_text(QUICK.text)
    return file


def test_every_probability_is_there_with_the_one_to_act_on(tmp_path: Path) -> None:
    file = tmp_path / "whole.cdm"
    file.write_text(WHOLE.text)
    (found,) = values(file)
    encounter = encounter_of(read_cdm(WHOLE.text))
    known = assess(encounter)
    assert known.probability is not None
    assert known.probability > 1e-6
    assert found["probability"] == known.probability
    assert found["method"] == known.method
    assert found["planar"] == known.planar
    assert known.curved is not None
    assert found["curved"]["probability"] == known.curved.probability
    assert found["maximum"]["probability"] == maximum(plane_of(encounter)).probability
    assert found["chan"]["probability"] == chan(plane_of(encounter)).probability
    assert [each["designator"] for each in found["objects"]] == ["1", "2"]
    assert found["hard_body_radius_m"] == 10.0
    assert found["stated"] is None


def test_what_the_originator_states_stands_beside(tmp_path: Path) -> None:
    text = QUICK.text.replace("OBJECT = OBJECT1", "COLLISION_PROBABILITY = 1.5E-04\nOBJECT = OBJECT1")
    file = tmp_path / "stated.cdm"
    file.write_text(text)
    assert values(file)[0]["stated"] == {"probability": 1.5e-4, "method": None}
    assert "1.500e-04" in assessed(file).stdout


def test_a_radius_of_ones_own_counts_instead_of_the_comment(good: Path) -> None:
    (small,), (large,) = values(good), values(good, "--radius", "20")
    assert large["hard_body_radius_m"] == 20.0
    assert large["planar"] == pytest.approx(4.0 * small["planar"], rel=0.05, abs=0.0)


def test_without_any_radius_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "none.cdm"
    file.write_text(replace(QUICK, radius_m=None).text)
    done = assessed(file)
    assert done.exit_code == ExitCode.FAILED
    assert "MD-104" in done.stdout
    assert "says no hard-body radius" in done.stdout
    assert assessed(file, "--radius", "5").exit_code == 0


def test_a_covariance_that_is_not_known_gives_no_probability_and_says_why(tmp_path: Path) -> None:
    file = tmp_path / "zero.cdm"
    file.write_text(Message((FIRST, replace(SECOND, covariance=np.zeros((6, 6))))).text)
    (found,) = values(file)
    assert found["probability"] is None
    assert found["maximum"] is None
    assert [each["flaw"] for each in found["caveats"]] == ["no-covariance"]
    done = assessed(file)
    assert done.exit_code == 0
    assert "There is no probability to act on. Object 2 has no covariance of its position" in done.stdout


def test_a_bad_file_is_refused_alone_with_its_place(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.cdm"
    bad.write_text(QUICK.text.replace("REF_FRAME = EME2000", "REF_FRAME = MOON", 1))
    missing = tmp_path / "missing.cdm"
    done = assessed(bad, good, missing)
    assert done.exit_code == ExitCode.PARTLY_REFUSED
    assert "bad.cdm [MD-102]" in done.stdout
    assert "missing.cdm [HF-902]" in done.stdout
    assert "No such file" in done.stdout
    refused, other, _ = values(bad, good, missing)
    line = next(at for at, line in enumerate(bad.read_text().splitlines(), 1) if "MOON" in line)
    assert refused["error"]["line"] == line
    assert other["probability"] > 0.0


def test_when_every_file_is_refused_the_command_fails(tmp_path: Path) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    assert assessed(file, tmp_path).exit_code == ExitCode.FAILED


def test_a_message_in_xml_is_the_same(good: Path, tmp_path: Path) -> None:
    file = tmp_path / "good.xml"
    file.write_text(as_xml(QUICK.text))
    one, other = values(good, file)
    assert one["probability"] == other["probability"]


@pytest.mark.parametrize("columns", [80, 200])
def test_the_table_fits_the_terminal(good: Path, tmp_path: Path, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / "000025994_conj_000026132_20220224_100307_20220221_225515.cdm"
    long.write_text(QUICK.text)
    monkeypatch.setattr("meridian.cli.conjunction_messages.results_width", lambda: columns)
    done = assessed(good, long, tmp_path / "missing.cdm")
    figures = done.stdout.split("\n\n000025994")[0]
    assert max(map(len, figures.splitlines())) <= columns
    assert "good.cdm" in figures
