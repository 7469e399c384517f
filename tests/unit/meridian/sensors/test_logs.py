"""The edge's own log: every line is one JSON object, also those of the graph that it runs."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from holdfast.flow.telling import tell
from meridian.sensors.logs import log_as_json


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """What is logged; afterwards the logging of the tests is as it was."""
    root, flow = logging.getLogger(), logging.getLogger("holdfast.flow")
    handlers, levels = root.handlers[:], (root.level, flow.level)
    root.handlers.clear()
    written = io.StringIO()
    log_as_json(written)
    yield written
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    flow.setLevel(levels[1])


@pytest.mark.req("CTL-03", "ORC-15")
def test_a_decision_of_the_supervisor_is_a_line_like_any_other(stream: io.StringIO) -> None:
    tell("restart", logging.WARNING, operator="radar-1", restarts=2)
    line = json.loads(stream.getvalue())
    del line["time"]
    assert line == {"level": "warning", "event": "restart", "operator": "radar-1", "restarts": 2}


@pytest.mark.req("CTL-03")
def test_that_the_graph_goes_well_is_not_told_twice(stream: io.StringIO) -> None:
    tell("spawn", operator="radar-1")
    logging.getLogger("meridian.sensors").info("source.started", extra={"source": "radar-1"})
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["event"] == "source.started"
