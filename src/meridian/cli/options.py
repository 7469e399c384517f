"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

directory_option = click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("data/meridian"),
    show_default=True,
    help="The home of the operation.",
)
