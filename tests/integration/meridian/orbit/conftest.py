"""Collects the tests over real data where there is real data."""

from __future__ import annotations

from tests.support.orbit_data import DATA

collect_ignore_glob = [] if DATA.exists() else ["test_real_*.py"]
