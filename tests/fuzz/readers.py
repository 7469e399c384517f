"""Every reader of outside bytes, by name. `tests/contract/test_fuzzed_readers.py` checks that none is missing."""

from __future__ import annotations

from tests.fuzz.received import RECEIVED
from tests.fuzz.stored import STORED

GROUPS = {"received": RECEIVED, "stored": STORED}
READERS = RECEIVED | STORED
