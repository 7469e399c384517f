"""A pipeline without a JVM as a process of its own, to be stopped, continued, terminated and killed.

    python -m tests.support.local_process DIRECTORY EVENTS[+] [TAKEOVER] [CHECKPOINT]

Says `started` when it runs, and how it ended. With a `+` it goes on waiting for more events than these. CHECKPOINT is
the block `spec.checkpoint` of a document, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from holdfast import Generator, HoldfastError, Pace, Takeover, Until
from holdfast.config.checkpoint import CheckpointBlock
from holdfast.testing import LocalProcessor
from tests.support.crash.orders import orders
from tests.support.local_pipelines import pipeline


class Lasting(Generator):
    """Orders of which more might come at any time, though none do."""

    @property
    def finished(self) -> bool:
        return False


def main(directory: str, events: str, takeover: str = "refuse", checkpoint: str = "{}") -> None:
    """Run until the orders are delivered, SIGTERM comes, or somebody else takes over."""
    kind = Lasting if events.endswith("+") else Generator
    source = kind(events=int(events.rstrip("+")), transactions=(3, 7, 1), chunk=20, pace=Pace(rate=2000))
    how = CheckpointBlock.model_validate(json.loads(checkpoint)).checkpointing()
    whole = pipeline(Path(directory), source).checkpoint(how)
    try:
        whole.run(
            until=Until.CAUGHT_UP,
            drain_within=10,
            takeover=Takeover(takeover),
            processor=lambda: LocalProcessor(orders),
            started=lambda: print("started", flush=True),
        )
        print(f"ended {whole.engine.state.value}", flush=True)
    except HoldfastError as error:
        print(f"ended {error.code} {error}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
