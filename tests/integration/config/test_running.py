"""A pipeline that runs while its document is changed: what is wrong stops nothing, and planning touches nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.broken_documents import broken_documents
from tests.support.crash.orders import orders
from tests.support.documents import text_of, with_value
from tests.support.local_pipelines import check_exact

from holdfast.config import Effect, compare, find_problems, load
from holdfast.runtime.engine import Engine
from holdfast.runtime.lifecycle import State
from holdfast.testing import LocalProcessor

EVENTS = 3000


def document(directory: Path) -> dict[str, Any]:
    return {
        "apiVersion": "holdfast/v1",
        "kind": "Pipeline",
        "metadata": {"name": "orders"},
        "spec": {
            "directory": str(directory / "pipeline"),
            "source": {"type": "generator", "name": "orders", "events": EVENTS, "pace": {"rate": 1000}},
            "batch": {"max_events": 100, "max_ms": 0},
            "sinks": [
                {"name": "archive", "type": "files", "directory": str(directory / "files"), "max_inflight": 3},
                {"name": "table", "type": "sqlite", "path": str(directory / "sink.db"), "table": "orders"},
            ],
        },
    }


@pytest.mark.req("M23")
def test_a_wrong_change_stops_nothing_and_a_right_one_is_only_planned(tmp_path: Path) -> None:
    declared = document(tmp_path)
    running = load(text_of(declared))
    engine = Engine(running.plan(), lambda: LocalProcessor(orders))
    engine.start()
    try:
        for broken in broken_documents()[::10]:
            assert find_problems(broken.text)
            assert engine.state is State.RUNNING
        more = {"name": "more", "type": "sqlite", "path": str(tmp_path / "more.db"), "table": "orders"}
        changed = load(text_of(with_value(declared, ("spec", "sinks"), [*declared["spec"]["sinks"][:1], more])))
        changed.plan()
        change = compare(running, changed)
        assert [alteration.what for alteration in change.alterations] == ["sinks.table", "sinks.more"]
        assert change.effect is Effect.LIVE
        assert not (tmp_path / "more.db").exists()
        assert set(engine.status().delivery.lanes) == {"archive", "table"}
        assert engine.wait(caught_up=True, timeout=60)
        engine.drain(30)
    finally:
        if engine.is_open:
            engine.stop()
    check_exact(tmp_path, EVENTS)
