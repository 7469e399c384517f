"""Bugs as people write them, planted into the process that is crashed: the matrix must notice each of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.support.crash.bugs import BUGS, Bug
from tests.support.crash.matrix import played
from tests.support.crash.zygote import Zygote
from tests.support.powerloss import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    with Zygote(preload=compiled(tmp_path_factory.mktemp("shim"))) as started:
        yield started


@pytest.mark.req("D1", "X5")
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.plant.__name__)
def test_the_matrix_notices(zygote: Zygote, tmp_path: Path, bug: Bug) -> None:
    complaints = played(zygote, tmp_path, bug.cell, {}).complaints
    assert any(re.search(bug.complaint, complaint) for complaint in complaints), complaints
