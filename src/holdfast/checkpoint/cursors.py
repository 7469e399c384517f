"""Where the ledger's cursors stand in a checkpoint store."""

from __future__ import annotations

from holdfast.checkpoint.contract import TypedKey
from holdfast.ledger.cursors import Cursors, CursorsCodec

CURSORS: TypedKey[Cursors] = TypedKey("cursors", CursorsCodec())
"""Every lane's `delivered` and the pipeline's `committed`: one value, so one atomic write."""
