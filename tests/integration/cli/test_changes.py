"""A changed document is planned, and one sink of it added or removed while the pipeline runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.command_line import DOCUMENT, holdfast, running, wait_until

from holdfast.control.client import ask

if TYPE_CHECKING:
    from pathlib import Path

LATE = "    - {name: late, type: sqlite, path: late.db, table: orders, start: now}\n"


def lanes(directory: Path) -> set[str]:
    return {lane["name"] for lane in ask(directory / "pipeline", "status")["snapshot"]["lanes"]}


def test_a_plan_before_the_first_run_says_that_it_is_the_first(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(DOCUMENT)
    planned = holdfast("plan", "--output", "json", directory=tmp_path)
    assert (planned.code, planned.json["first"]) == (0, True)
    assert not (tmp_path / "pipeline").exists()


def test_a_sink_is_planned_and_then_added_while_the_pipeline_runs(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        (tmp_path / "pipeline.yaml").write_text(DOCUMENT + LATE)
        planned = run.ask("plan")
        assert (planned.code, planned.json["effect"]) == (0, "live")
        assert [change["what"] for change in planned.json["changes"]] == ["sinks.late"]
        assert lanes(tmp_path) == {"archive", "table"}, "a plan touches nothing"
        added = run.ask("sinks", "add", "pipeline.yaml", "late")
        assert added.code == 0, added.out
        assert lanes(tmp_path) == {"archive", "table", "late"}
        ask(tmp_path / "pipeline", "remove_sink", name="late", document=DOCUMENT, patience=30)
        assert lanes(tmp_path) == {"archive", "table"}
        assert (tmp_path / "pipeline" / "document.yaml").read_text() == DOCUMENT, "what runs is what is kept"


def test_a_pipeline_is_the_same_from_whichever_directory_it_is_run_asked_and_changed(tmp_path: Path) -> None:
    home, elsewhere, third = (tmp_path / name for name in ("home", "elsewhere", "third"))
    for directory in (home, elsewhere, third):
        directory.mkdir()
    with running(home, working_directory=elsewhere) as run:
        wait_until(lambda: ask(home / "pipeline", "status")["snapshot"]["outbox"]["committed"] > 0)
        asked = holdfast("status", "../home/pipeline.yaml", "--output", "json", directory=third)
        assert asked.json["snapshot"]["pid"] == run.process.pid
        (home / "pipeline.yaml").write_text(DOCUMENT + LATE)
        assert holdfast("sinks", "add", home / "pipeline.yaml", "late", directory=third).code == 0
        wait_until(lambda: (home / "late.db").exists())
        run.terminate()
        assert run.end()[0] == 0
    listed = holdfast("rollback", home / "pipeline", "--sink", "table", "--list", "--output", "json", directory=third)
    assert listed.code == 0, listed.err
    planned = holdfast("plan", home / "pipeline.yaml", "--output", "json", directory=third)
    assert planned.json["changes"] == []
    assert {path.name for path in home.iterdir()} == {"pipeline.yaml", "pipeline", "files", "sink.db", "late.db"}
    assert list(elsewhere.iterdir()) == list(third.iterdir()) == []


def test_state_that_lies_in_the_working_directory_is_told_and_not_begun_anew(tmp_path: Path) -> None:
    home, former = tmp_path / "home", tmp_path / "former"
    home.mkdir()
    (former / "pipeline").mkdir(parents=True)
    (former / "pipeline" / "owner.lock").touch()
    (home / "pipeline.yaml").write_text(DOCUMENT)
    for command in ("run", "status"):
        refused = holdfast(command, home / "pipeline.yaml", directory=former)
        assert refused.code != 0
        assert "HF-903" in refused.err
        assert str(former / "pipeline") in refused.err
    assert [path.name for path in home.iterdir()] == ["pipeline.yaml"]


def test_a_document_that_changes_more_than_the_sink_is_refused_and_stops_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        (tmp_path / "pipeline.yaml").write_text((DOCUMENT + LATE).replace("max_events: 100", "max_events: 50"))
        refused = run.ask("sinks", "add", "pipeline.yaml", "late")
        assert refused.code == 1
        assert refused.json["error"]["code"] == "HF-954"
        assert "batch.max_events" in refused.json["error"]["what"]
        assert lanes(tmp_path) == {"archive", "table"}


def test_the_document_that_is_kept_holds_references_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = DOCUMENT.replace("path: sink.db", 'path: "${HOLDFAST_TEST_SINK}"')
    monkeypatch.setenv("HOLDFAST_TEST_SINK", "secret-sink.db")
    with running(tmp_path, text=text):
        wait_until(lambda: (tmp_path / "secret-sink.db").exists())
        kept = tmp_path / "pipeline" / "document.yaml"
        assert "secret-sink" not in kept.read_text()
        assert kept.stat().st_mode & 0o777 == 0o600
