"""Dead letters on the command line: of a process that runs, and of files when none does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.command_line import DOCUMENT, holdfast, running, wait_until
from tests.support.crash.orders import prepare

from holdfast.control.client import ask

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Ended

FINITE = DOCUMENT.replace("pace: {rate: 500}", "events: 220")


def dlq(directory: Path, *arguments: object) -> Ended:
    return holdfast("dlq", *arguments, "--output", "json", directory=directory)


def test_a_running_pipeline_is_asked_and_a_stopped_one_read(tmp_path: Path) -> None:
    prepare(tmp_path)
    place = tmp_path / "pipeline"
    with running(tmp_path, text=FINITE) as run:
        wait_until(lambda: ask(place, "status")["snapshot"]["dead_letters"]["new"] == 2)
        listed = dlq(tmp_path, "list", "pipeline", "--sink", "table").json
        assert [entry["state"] for entry in listed] == ["new", "new"]
        shown = dlq(tmp_path, "show", "pipeline", listed[0]["entry_id"]).json
        assert shown["row"]["n"] == 97
        assert dlq(tmp_path, "ack", "pipeline", "--id", listed[0]["entry_id"]).json == {"acked": 1}
        assert ask(place, "status")["snapshot"]["dead_letters"]["new"] == 1
        run.terminate()
        assert run.end()[0] == 0
    assert sum(each["count"] for each in dlq(tmp_path, "count", "pipeline").json) == 1
    assert dlq(tmp_path, "export", "pipeline", "dead.jsonl").json["written"] == 1
    assert dlq(tmp_path, "purge", "pipeline", "--dry-run").json == {"purged": 1}
    assert dlq(tmp_path, "list", "pipeline", "--state", "wrong").json["error"]["code"] == "HF-954"
    status = holdfast("status", "pipeline", "--output", "json", directory=tmp_path)
    assert status.json["snapshot"]["dead_letters"]["new"] == 1
