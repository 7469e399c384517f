"""The commands by name."""

from __future__ import annotations

import click

from holdfast.cli.loading import CONTEXT, Commands

_ABOUT: dict[str, tuple[str, str]] = {
    "run": ("running", "Run an operation in the foreground: the edge, fusion, and a screen."),
    "catalog": ("catalogs", "Take elements into the catalog, and list them."),
    "cdm": ("conjunction_messages", "Compute the probabilities of collision of received conjunction messages."),
    "alerts": ("looking", "Tell which conjunctions stand."),
    "lineage": ("looking", "Tell from which observations an alert was made."),
    "top": ("top", "Watch it live: conjunctions, watermarks, lags, queues, alarms."),
    "plot": ("plotting", "Draw ground tracks, distances, encounters and watermarks."),
    "letters": ("reprocessing", "Show dead letters: what could not be taken in, fused or delivered."),
    "subscribe": ("subscribing", "Take alerts, and tell of each that is raised, updated or withdrawn."),
    "reprocess": ("reprocessing", "Give dead letters another chance, each once."),
}
"""Where each command is defined, and its help in one line."""


@click.group(cls=Commands, about=_ABOUT, package="meridian.cli", context_settings=CONTEXT)
@click.version_option(package_name="holdfast", prog_name="meridian")
def meridian() -> None:
    """Space domain awareness: sensors in, conjunction alerts out, exactly once.

    An operation is named by its directory (`data/meridian` when none is given).
    """
