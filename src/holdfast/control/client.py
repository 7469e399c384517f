"""The other end of the control socket: asks the process that runs a pipeline."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from holdfast.control.socket import FILE, address, receive, send
from holdfast.control.values import raised
from holdfast.model.errors import ControlUnavailable, NotRunning

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


def ask(directory: Path, what: str, /, *, patience: float = 10.0, **given: object) -> Any:  # noqa: ANN401 (JSON)
    """What the process answers. `NotRunning` when there is none; its own error when it refuses.

    :param patience: seconds until it must have answered.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(patience)
        try:
            with address(directory) as where:
                connection.connect(where)
            send(connection, {"ask": what, "with": given})
            message = receive(connection)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError) as error:
            raise NotRunning(
                f"No process answers at {directory / FILE}.", remedy="Start the pipeline with `holdfast run`."
            ) from error
        except TimeoutError as error:
            raise ControlUnavailable(
                f"The process that runs the pipeline has not answered within {patience:.0f} s.",
                kept="Whether it does what it was asked for is not known.",
                remedy="Ask for its status.",
            ) from error
        except OSError as error:
            raise ControlUnavailable(
                f"{directory / FILE} cannot be used: {error.strerror}.", remedy="Ask as the user who runs the pipeline."
            ) from error
    if "error" in message:
        raise raised(message["error"])  # type: ignore[arg-type]
    return message["answer"]
