"""The docs: links lead somewhere, generated pages are up to date, and nothing names a machine or a registry."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.commands_page import COMMANDS, commands_page
from tests.support.document_page import DOCUMENT, document_page
from tests.support.errors_page import ERRORS, errors_page

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "spec" / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if not target.startswith(("http:", "https:", "#")):
            assert (page.parent / target.split("#")[0]).exists(), f"{page.name} links to {target}"


def test_the_page_of_error_codes_is_up_to_date() -> None:
    assert ERRORS.read_text() == errors_page(), "run `make docs`"


def test_the_page_of_the_pipeline_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text() == document_page(), "run `make docs`"


def test_the_page_of_the_commands_is_up_to_date() -> None:
    assert COMMANDS.read_text() == commands_page(), "run `make docs`"


def test_the_lock_names_no_registry() -> None:
    assert "://" not in (ROOT / "requirements.txt").read_text()


def test_no_tracked_file_names_a_path_of_a_machine() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    paths = re.compile(r"(?<![\w./])/(?:work|home|root|Users)/\w")
    for name in tracked:
        path = ROOT / name
        if path.suffix not in {".png", ".gz"} and path.is_file():
            assert not paths.search(path.read_text()), name
