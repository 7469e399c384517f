"""The command line: a face of the control service and of the pipeline document. It has no logic of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from holdfast.runtime.processor import Processor


def main(processor: Callable[[], Processor] | None = None) -> NoReturn:
    """Run the command that the arguments of this process name, and exit with its code.

    :param processor: what runs the steps instead of Spark, for tests.
    """
    from holdfast.cli.commands import holdfast

    holdfast(obj=processor, prog_name="holdfast")
    raise AssertionError
