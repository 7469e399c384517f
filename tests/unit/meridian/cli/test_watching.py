"""`meridian top` and `meridian plot`, over a service that is made up."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.support import seen

from holdfast.cli.exits import ExitCode
from meridian.cli.commands import meridian
from meridian.cli.plotting import usual
from meridian.fusion.life import Stage
from meridian.hosting.demonstration import prepare
from meridian.operation.catalog import read_elements, write_elements
from meridian.operation.home import Home
from meridian.service.values import ConjunctionSeen, Missed, Progress, Snapshot

STANDING = seen.conjunction()
OVER = replace(STANDING, conjunction_id="over", stage=Stage.EXPIRED)


class FakeService:
    """Shows the same things every time."""

    asked: list[str | None]

    def __init__(self, directory: Path, control: str | None = None) -> None:
        self.asked.append(control)

    def snapshot(self) -> Snapshot:
        return seen.FULL

    def conjunctions(self) -> Sequence[ConjunctionSeen]:
        return [STANDING]

    def conjunctions_over(self, limit: int) -> Sequence[ConjunctionSeen]:
        return [OVER][:limit]

    def conjunction(self, conjunction_id: str) -> ConjunctionSeen | None:
        return {each.conjunction_id: each for each in (STANDING, OVER)}.get(conjunction_id)

    def misses(self, conjunction_id: str) -> Sequence[Missed]:
        return seen.misses() if self.conjunction(conjunction_id) else []

    def history(self) -> Sequence[Progress]:
        return seen.history(9)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    FakeService.asked = []
    monkeypatch.setattr("meridian.service.service.Service", FakeService)
    made = Home(tmp_path / "home")
    prepare(made, now_ns=seen.NOW)
    write_elements(made.catalog, [replace(each, epoch_ns=time.time_ns()) for each in seen.CATALOG])
    return made.directory


def called(*arguments: object) -> Result:
    return CliRunner().invoke(meridian, [str(each) for each in arguments])


# top


def test_top_without_a_terminal_looks_once_and_in_plain_text(home: Path) -> None:
    done = called("top", "--directory", home)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("MERIDIAN") == 1
    assert "Conjunctions that stand: 12" in done.stdout
    assert "\x1b" not in done.stdout


def test_top_looks_as_often_as_it_is_told(home: Path) -> None:
    done = called("top", "--directory", home, "--times", 3, "--every", "1ms")
    assert done.stdout.count("MERIDIAN") == 3


def test_top_asks_the_edge_of_the_operation(home: Path) -> None:
    called("top", "--directory", home)
    assert FakeService.asked == ["127.0.0.1:7704"]


def test_top_tells_programs_the_snapshot(home: Path) -> None:
    done = called("top", "--directory", home, "--times", 2, "--every", "1ms", "--output", "json")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == 2
    assert told[0]["bottleneck"] == seen.FULL.bottleneck
    assert told[0]["conjunctions"][0]["stage"] == "updated"


@pytest.mark.parametrize("every", ["soon", "1", "-1s"])
def test_what_is_no_length_of_time_is_refused(home: Path, every: str) -> None:
    done = called("top", "--directory", home, "--every", every)
    assert done.exit_code == 2
    assert "no length of time" in done.stderr


def test_top_of_no_operation_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    done = called("top", "--directory", tmp_path / "nowhere", "--output", "json")
    assert done.exit_code == ExitCode.NOT_RUNNING
    assert "meridian run" in json.loads(done.stdout)["error"]["remedy"]


# alerts


@pytest.mark.parametrize(("asked", "stages"), [((), [STANDING.stage.value]), (("--over",), ["expired"])])
def test_alerts_are_those_that_stand_unless_others_are_asked_for(
    home: Path, asked: tuple[str, ...], stages: list[str]
) -> None:
    done = called("alerts", *asked, "--directory", home, "--output", "json")
    assert [each["stage"] for each in json.loads(done.stdout)] == stages


def test_alerts_name_objects_by_number_and_by_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = replace(STANDING, name_a="METEOR 2-5", name_b=f"FENGYUN 1C DEB ({STANDING.object_b})")
    monkeypatch.setattr(FakeService, "conjunctions", lambda self: [named])
    done = called("alerts", "--directory", home)
    assert f"  {STANDING.object_a} METEOR 2-5  FENGYUN 1C DEB ({STANDING.object_b})  " in done.stdout


def test_a_probability_that_is_not_known_is_told_as_that_and_null_to_programs(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = replace(STANDING, probability=float("nan"))
    monkeypatch.setattr(FakeService, "conjunctions", lambda self: [unknown])
    assert "  unknown  " in called("alerts", "--directory", home).stdout
    done = called("alerts", "--directory", home, "--output", "json")
    assert "NaN" not in done.stdout, "that is no JSON"
    assert json.loads(done.stdout)[0]["probability"] is None


# plot

PICTURES = {
    "ground-tracks": ("ground-tracks",),
    "ground-tracks of some": ("ground-tracks", "--objects", "90001, 90025"),
    "miss": ("miss", STANDING.conjunction_id),
    "encounter": ("encounter", STANDING.conjunction_id),
    "miss of one that is over": ("miss", "over"),
    "encounter of one that is over": ("encounter", "over"),
    "watermarks": ("watermarks",),
}


@pytest.mark.parametrize("ending", [".png", ".svg"])
@pytest.mark.parametrize("picture", PICTURES)
def test_every_picture_is_written(home: Path, tmp_path: Path, picture: str, ending: str) -> None:
    path = tmp_path / f"picture{ending}"
    done = called("plot", *PICTURES[picture], "--to", path, "--directory", home, "--output", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"file": str(path), "bytes": path.stat().st_size}


@pytest.mark.parametrize("picture", ["miss", "encounter"])
def test_a_conjunction_that_is_not_known_is_an_error_with_a_remedy(home: Path, tmp_path: Path, picture: str) -> None:
    path = tmp_path / "picture.png"
    done = called("plot", picture, "0123456789abcdef", "--to", path, "--directory", home, "--output", "json")
    error = json.loads(done.stdout)["error"]
    assert (done.exit_code, error["kind"]) == (1, "InvalidRequest")
    assert "0123456789abcdef" in error["what"]
    assert "meridian alerts" in error["remedy"]
    assert not path.exists()


def test_an_object_that_is_not_known_is_named(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    done = called(
        "plot", "ground-tracks", "--objects", "90001,4", "--to", path, "--directory", home, "--output", "json"
    )
    error = json.loads(done.stdout)["error"]
    assert (done.exit_code, error["what"]) == (1, "The catalog has no object 4.")
    assert not path.exists()


def test_without_names_the_objects_that_meet_are_drawn(home: Path) -> None:
    catalog = {each.object_id: each for each in read_elements(Home(home).catalog)}
    assert list(catalog) == ["90001", "90006", "90025"]
    assert [each.object_id for each in usual(catalog, [STANDING])] == ["90001", "90025"]
    assert [each.object_id for each in usual(catalog, [])] == ["90001", "90006", "90025"]


def test_a_name_that_tells_no_form_is_refused(home: Path, tmp_path: Path) -> None:
    done = called("plot", "watermarks", "--to", tmp_path / "a.jpg", "--directory", home)
    assert done.exit_code == 2
    assert "ends neither in .png nor in .svg" in done.stderr


def test_a_file_that_cannot_be_written_is_an_error_with_a_remedy(home: Path, tmp_path: Path) -> None:
    done = called("plot", "watermarks", "--to", tmp_path / "no" / "a.png", "--directory", home, "--output", "json")
    assert json.loads(done.stdout)["error"]["code"] == "MD-401"
