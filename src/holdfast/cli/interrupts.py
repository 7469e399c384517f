"""Ctrl-C while a command loads, works or exits: one line and an exit code, never a traceback.

From the first moment on, Ctrl-C ends the process at once. That is safe whatever it is doing: what a pipeline keeps
survives `kill -9`. A command that has something to tidy up asks for `KeyboardInterrupt` instead while it works, and a
pipeline that runs takes the signal itself.
"""

from __future__ import annotations

import atexit
import os
import signal

TYPE_CHECKING = False
"""In place of `typing`'s own: this is loaded before anything else, and loading `typing` takes longer."""

if TYPE_CHECKING:
    from types import TracebackType

INTERRUPTED = 130
"""What a shell tells of a command that Ctrl-C ended."""


class LeaveAtOnce:
    """The handler of SIGINT that ends the process with a line of text.

    Nothing is unwound, because an exception in the middle of an import, or of the interpreter's own end, would print
    its stack.
    """

    def __init__(self) -> None:
        self.code = INTERRUPTED
        self.text = "Interrupted."
        self.gives_back = ""
        """What is written first when a screen has taken the terminal, so that the text can be read."""

    def __call__(self, *_: object) -> None:
        """End the process."""
        try:
            if self.text:
                before = "\n" if os.isatty(2) else ""  # behind the ^C that the terminal shows
                os.write(2, f"{self.gives_back}{before}{self.text}\n".encode())
        finally:
            os._exit(self.code)


def leave_at_once() -> LeaveAtOnce:
    """The handler of this process, or one that is not installed where somebody else takes the signal."""
    found = signal.getsignal(signal.SIGINT)
    return found if isinstance(found, LeaveAtOnce) else LeaveAtOnce()


def install() -> None:
    """Let Ctrl-C end the process from now on, unless it is to be ignored, as in a background job of a script."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, LeaveAtOnce())
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # runs last: Python gives its handlers up next


class KeyboardInterrupts:
    """While a command works that tidies up, or for which Ctrl-C is the usual end: Ctrl-C is `KeyboardInterrupt`."""

    def __enter__(self) -> None:
        self._before = signal.getsignal(signal.SIGINT)
        if isinstance(self._before, LeaveAtOnce):
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(self._before, LeaveAtOnce):
            signal.signal(signal.SIGINT, self._before)
