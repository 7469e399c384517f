"""The command line: a face of the control service and of the pipeline document. It has no logic of its own."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
"""In place of `typing`'s own: loading `typing` takes longer than everything else that is loaded here."""

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from holdfast.runtime.processor import Processor


_ONLY_LOOKS = frozenset({"status", "top", "tap", "graph"})
_GIVES_WAY = 10
"""How much less important than others such a command is: of a processor that others want it gets a tenth."""


def main(processor: Callable[[], Processor] | None = None) -> NoReturn:
    """Run the command that the arguments of this process name, and exit with its code.

    :param processor: what runs the steps instead of Spark, for tests.
    """
    from holdfast.cli import interrupts

    interrupts.install()
    if _ONLY_LOOKS & set(sys.argv[1:2]):  # before anything is loaded: what is looked at must not be held up by it
        os.nice(_GIVES_WAY)
    from holdfast.cli.commands import holdfast

    holdfast(obj=processor, prog_name="holdfast")
    raise AssertionError
