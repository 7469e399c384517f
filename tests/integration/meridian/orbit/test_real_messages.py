"""Every real conjunction data message is read, and comes back equal when it is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.orbit_data import messages

from meridian.orbit.cdm import read_cdm, write_cdm


@pytest.mark.parametrize("path", messages(), ids=lambda path: path.stem)
@pytest.mark.req("ORB-04")
def test_a_real_message_is_read_and_written(path: Path) -> None:
    message = read_cdm(path.read_text())
    again = read_cdm(write_cdm(message))
    assert (again.relative, again.first, again.second) == (message.relative, message.first, message.second)
    apart = np.linalg.norm(message.second.position_m - message.first.position_m)
    assert apart == pytest.approx(message.miss_distance_m, abs=0.5), "messages round to a metre"
