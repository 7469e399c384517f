"""A server that cannot start gives the reason; `tests/contract/test_ci.py` holds that this is a failure in CI."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.servers import Servers

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def broken(tmp_path: Path) -> Servers:
    (tmp_path / "postgres.json").write_text(json.dumps({"error": "no such program"}))
    return Servers(tmp_path)


def test_a_test_that_needs_it_is_skipped_with_the_reason(broken: Servers) -> None:
    with pytest.raises(pytest.skip.Exception, match="no such program"):
        broken.postgres()
