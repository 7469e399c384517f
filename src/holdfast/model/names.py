"""What pipelines, sources and sinks may be called."""

from __future__ import annotations

NAME = r"[a-z0-9][a-z0-9_-]{0,62}"
"""Fit for the name of a directory, a label of a metric and a word of a command."""
