"""The edge as a process: `python -m meridian.sensors edge.toml`.

It ends with 0 when everything that was taken is durable, with 1 when something was not in time, and with 2 when it
could not start. SIGTERM and SIGINT let it drain.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
from pathlib import Path

from holdfast.model.errors import HoldfastError
from meridian.sensors.config import EdgeDocument, host_and_port, load
from meridian.sensors.control import Control
from meridian.sensors.edge import Edge
from meridian.sensors.logs import log_as_json
from meridian.sensors.radar_frame import decode

logger = logging.getLogger("meridian.sensors")


async def run(document: EdgeDocument) -> int:
    """Until a signal comes; the exit code."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    decode(b"", 0)  # what Arrow loads at its first use is loaded before the first frame
    edge = Edge(document)
    control = Control(edge, host_and_port(document.control_plane.bind_addr))
    await edge.start()
    try:
        await control.start()
        logger.info("edge.started", extra={"control": control.address})
        _settle_collector()
        await stop.wait()
    finally:
        left = await edge.stop()
        await control.stop()
    return 1 if left else 0


def main(arguments: list[str]) -> int:
    """Run the edge of the document that is named."""
    if len(arguments) != 1:
        print("usage: python -m meridian.sensors EDGE.toml", file=sys.stderr)
        return 2
    log_as_json(sys.stderr)
    try:
        return asyncio.run(run(load(Path(arguments[0]))))
    except HoldfastError as error:
        logger.error("edge.refused", extra={"code": error.code, "why": str(error)})
        return 2


def _settle_collector() -> None:
    """What is there now stays; young objects are looked at less often than by default."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
