"""One process at a time runs an operation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.model.errors import PipelineBusy
from holdfast.runtime.owner import Ownership
from meridian.operation.home import Home


@contextmanager
def alone(home: Home) -> Iterator[None]:
    """Until the end nobody else runs this operation; `PipelineBusy` when somebody does."""
    try:
        ownership = Ownership.take(home.directory)
    except PipelineBusy as error:
        pid = error.context["pid"]
        raise PipelineBusy(
            f"Process {pid} runs the operation in {home.directory}.",
            remedy=f"Watch it with `meridian top`. To run it here, end that one first: `kill {pid}` lets it drain.",
            pid=pid,
        ) from error
    try:
        yield
    finally:
        ownership.release()
