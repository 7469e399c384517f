"""`python -m meridian.cli` is the command `meridian`."""

from __future__ import annotations

from meridian.cli import main

main()
