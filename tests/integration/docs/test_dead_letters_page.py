"""The playbook for dead letters runs as it stands, over an operation whose sensors have sent some nonsense."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.fusion_pipeline import Pairs
from tests.support.letters_home import ISL, RADAR, LettersHome, frame
from tests.support.pages import ROOT, blocks, programs, run_text

from meridian.operation.letters import LetterKind
from meridian.orbit import format_tle

PAGE = ROOT / "docs" / "operations" / "dead-letters-of-meridian.md"


def test_every_command_of_the_page_does_what_the_page_shows(tmp_path: Path) -> None:
    place = tmp_path / "place"
    letters = LettersHome(place / "data" / "meridian")
    letters.came(RADAR, frame(1))
    letters.came(RADAR, frame(2, range_m=float("nan")), second=2)
    letters.came(RADAR, frame(3, range_rate_m_s=16_000.0), second=3)
    letters.came(ISL, b"\x07 from the future", second=4)
    letters.came(RADAR, frame(5, target_track_id=90_006))
    letters.fuse(Pairs(3))
    (place / "new.tle").write_text("\n".join(format_tle(Pairs(4).elements[6])) + "\n")
    environment = {**os.environ, "PATH": programs(tmp_path / "bin"), "NO_COLOR": "1"}
    run_text(PAGE.read_text(), place, environment=environment, timeout=120)


@pytest.mark.req("OBS-03")
def test_the_page_has_a_play_for_each_kind() -> None:
    text = PAGE.read_text()
    sections = {section.partition("\n")[0]: section for section in text.split("\n### ")[1:]}
    assert set(sections) == set(LetterKind)
    for kind, section in sections.items():
        said = [word for word in ("**Entry.**", "**Check.**", "**Fix.**", "**Reprocess**") if word in section]
        assert len(said) == 4, kind
    assert {block.kind for block in blocks(text)} == {"sh", "text"}
