"""Reads format 0: all checkpoints as one JSON object in one file, without versions. No I/O."""

from __future__ import annotations

import json

from holdfast.checkpoint.keys import check_key
from holdfast.model.errors import CheckpointDamaged, ForeignFile

LEGACY_NAME = "checkpoints.json"


def read_legacy(data: bytes, *, where: str) -> dict[str, bytes]:
    """The payloads by key, each as compact JSON."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CheckpointDamaged(
            f"The checkpoints of format 0 in {where} cannot be read: {error}.",
            kept="The file was left as it is, and no store was started in its place.",
            remedy="Restore the file from a backup, or move it away to start without checkpoints.",
            where=where,
        ) from error
    if not isinstance(content, dict):
        raise ForeignFile(
            f"{where} is not a file of checkpoints: it holds no JSON object.",
            remedy="Give the store a place of its own.",
            where=where,
        )
    return {check_key(key): json.dumps(value, separators=(",", ":")).encode() for key, value in content.items()}
