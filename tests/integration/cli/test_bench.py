"""A pipeline is measured on scratch copies: the figures are right, and nothing of its own is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.command_line import DOCUMENT, ROOT, Ended

from holdfast.config import load

if TYPE_CHECKING:
    from pathlib import Path

FINITE = DOCUMENT.replace("pace: {rate: 500}", "events: 1100")


def bench(directory: Path, *options: object, text: str = FINITE) -> Ended:
    (directory / "pipeline.yaml").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.command_line", "bench", *map(str, options)],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_figures_are_told_and_nothing_stays_behind(tmp_path: Path) -> None:
    ended = bench(tmp_path, "--output", "json")
    assert ended.code == 0, ended.err
    found = ended.json["measured"]["figures"]
    assert ended.json["sinks"] == {"archive": "scratch files", "table": "scratch sqlite"}
    assert 900 <= found["events"] < 1100, "all but the first batch"
    assert found["events"] > found["rows"] > 0
    assert found["events_per_second"] > 0
    assert found["megabytes_per_second"] > 0
    assert {latency["batches"] for latency in found["latency"].values()} == {found["batches"]}
    assert set(found["spent"]) == {"inbox", "spark", "sink archive", "sink table"}
    assert ended.json["measured"]["dead"] == 0
    assert names(tmp_path) == ["pipeline.yaml"]


def test_what_the_pipeline_has_is_left_as_it_is(tmp_path: Path) -> None:
    plan = load(FINITE).plan()
    for place in (tmp_path / plan.directory, tmp_path / "files"):
        place.mkdir()
        (place / "mine").write_text("kept")
    (tmp_path / "sink.db").write_bytes(b"not even a database")
    (tmp_path / "pipeline.yaml").write_text(FINITE)
    before = contents(tmp_path)
    ended = bench(tmp_path)
    assert ended.code == 0, ended.err
    assert "sink table" in ended.out
    assert contents(tmp_path) == before


def test_real_sinks_are_written_to_only_when_they_are_asked_for(tmp_path: Path) -> None:
    ended = bench(tmp_path, "--real-sinks")
    assert ended.code == 0, ended.err
    assert names(tmp_path) == ["files", "pipeline.yaml", "sink.db"]


def test_it_ends_when_the_time_is_up(tmp_path: Path) -> None:
    ended = bench(tmp_path, "--for", 1, "--rate", 300, "--output", "json", text=DOCUMENT)
    assert ended.code == 0, ended.err
    assert 1 <= ended.json["measured"]["figures"]["seconds"] < 30


def test_a_pipeline_without_events_is_told(tmp_path: Path) -> None:
    ended = bench(tmp_path, "--output", "json", text=DOCUMENT.replace("pace: {rate: 500}", "events: 0"))
    assert (ended.code, ended.json["error"]["code"]) == (1, "HF-954")
