"""The edge's own log: one JSON object a line, for each event of its life and none for an observation."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

_FLOW = "holdfast.flow"
"""What is logged there is JSON already."""


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, event, and what was given with it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        given = {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
        told = json.loads(record.getMessage()) if record.name == _FLOW else {"event": record.getMessage()}
        line = {"time": record.created, "level": record.levelname.lower(), **told, **given}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_as_json(stream: TextIO) -> None:
    """Let everything that is logged become lines of JSON on this stream.

    Of the graph only what somebody may have to look at: that it began and ended, the edge says in words of its own.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger(_FLOW).setLevel(logging.WARNING)
