"""A standard input to read from: pytest takes the real one away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def standard_input(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        yield
