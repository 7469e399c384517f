"""The command line of Meridian: a face of the operation and of its service. It has no logic of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command that the arguments of this process name, and exit with its code."""
    from holdfast.cli import interrupts

    interrupts.install()
    from meridian.cli.commands import meridian

    meridian(prog_name="meridian")
    raise AssertionError
