"""A server that cannot start is a failure in CI and a skip with the reason elsewhere."""

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


def test_elsewhere_the_test_is_skipped_with_the_reason(broken: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no such program"):
        broken.postgres()


def test_in_ci_the_test_fails_with_the_reason(broken: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no such program"):
        broken.postgres()
