"""A loss of power under a pipeline that is pushed to over HTTP: each push that was answered with 200 is there once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.crash.zygote import ROOT
from tests.support.http_life import Life
from tests.support.http_senders import answers, reconcile, sending, wait_for_answers
from tests.support.keeper import free_port
from tests.support.powerloss import Disk, compiled

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.http_senders import Sender


@pytest.mark.req("X9", "X5", "D1")
@pytest.mark.parametrize("after", [0.0, 0.3, 1.0])
def test_what_was_answered_survives_a_loss_of_power(tmp_path: Path, after: float) -> None:
    disk, port = Disk.prepare(tmp_path / "disk"), free_port()
    with sending(4, port) as senders:
        _life_that_loses_its_power(disk, port, compiled(tmp_path), senders, after=after)
        disk.lose_power()
        last = Life(disk.root, port)
        wait_for_answers(senders, above=answers(senders))
    last.drain()
    reconcile(disk.root, senders)


def _life_that_loses_its_power(disk: Disk, port: int, shim: Path, senders: list[Sender], *, after: float) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(shim), "POWERLOSS_ROOT": str(disk.root)}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.http_life", str(disk.root), str(port)],
        env={**environment, "POWERLOSS_KEPT": str(disk.kept)},
        cwd=ROOT,
    ) as life:
        try:
            wait_for_answers(senders, above=20)
            time.sleep(after)
        finally:
            life.kill()
