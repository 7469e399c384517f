"""The docs: links lead somewhere, generated pages are up to date, and nothing names a machine or a registry."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from holdfast.cli.commands import holdfast
from holdfast.config import find_problems
from holdfast.control.health import Alarm
from holdfast.model.errors import error_types
from meridian.cli.commands import meridian
from tests.support.commands_page import COMMANDS, commands_page
from tests.support.document_page import DOCUMENT, document_page
from tests.support.errors_page import ERRORS, NOT_RAISED_BY_US, errors_page, told_remedies
from tests.support.metrics_page import PAGE as METRICS
from tests.support.metrics_page import metrics_page
from tests.support.pages import blocks, commands, mentions

PROGRAMS = {"holdfast": holdfast, "meridian": meridian}
ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "spec" / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if not target.startswith(("http:", "https:", "#")):
            file, _, part = target.partition("#")
            assert (page.parent / file).exists(), f"{page.name} links to {target}"
            assert not part or part in anchors(page.parent / file), f"{page.name} links to {target}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_is_shown_is_one(page: Path) -> None:
    text = page.read_text()
    for line in commands(text):
        if "[OPTIONS]" not in line:  # as the reference shows them
            refused = refusal(line)
            assert refused is None, f"{page.name} shows `{line}`: {refused}"
    for line in mentions(text):
        refused = refusal(line)
        assert refused is None or isinstance(refused, click.MissingParameter), f"{page.name} names `{line}`: {refused}"


def refusal(line: str) -> click.ClickException | None:
    """What the real command line says against a command; files that it names may be missing here."""
    try:
        parse(line)
    except click.ClickException as error:
        return None if error.message.endswith("does not exist.") else error
    return None


def parse(line: str) -> None:
    """Let the real command line read a command, without running it."""
    program, *arguments = shlex.split(line)
    command: click.Command = PROGRAMS[program]
    context = click.Context(command)
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        name, found, arguments = command.resolve_command(context, arguments)
        assert found is not None
        command, context = found, click.Context(found, info_name=name, parent=context)
    if not isinstance(command, click.Group):
        command.make_context(context.info_name, arguments, parent=context.parent)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_document_that_is_shown_is_valid(page: Path) -> None:
    for block in blocks(page.read_text()):
        if block.kind == "yaml":
            assert find_problems(block.text) == (), page.name


def test_the_page_of_error_codes_is_up_to_date() -> None:
    assert ERRORS.read_text() == errors_page(), "run `make docs`"


def test_the_page_of_the_pipeline_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text() == document_page(), "run `make docs`"


def test_the_page_of_the_commands_is_up_to_date() -> None:
    assert COMMANDS.read_text() == commands_page(), "run `make docs`"


def test_the_page_of_the_metrics_is_up_to_date() -> None:
    assert METRICS.read_text() == metrics_page(), "run `make docs`"


def test_every_alarm_has_a_section_of_the_runbook_that_says_what_to_do() -> None:
    text = (ROOT / "docs" / "operations" / "alarms.md").read_text()
    sections = dict(re.findall(r"^## `([\w-]+)`\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))
    assert sorted(sections) == sorted(alarm.value for alarm in Alarm)
    for name, section in sections.items():
        assert re.findall(r"^\*\*(What it means\.|Look at|Do\.)\*\*", section, re.MULTILINE) == [
            "What it means.", "Look at", "Do.",
        ], name  # fmt: skip


def test_every_code_says_what_to_do() -> None:
    with_code = {error.__name__ for error in error_types() if "code" in vars(error)}
    assert with_code <= {*told_remedies(), *NOT_RAISED_BY_US}
    assert not told_remedies().keys() & NOT_RAISED_BY_US.keys(), "what is raised tells it itself"


def test_the_lock_names_no_registry() -> None:
    assert "://" not in (ROOT / "requirements.txt").read_text()


def test_no_tracked_file_names_a_path_of_a_machine() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    paths = re.compile(r"(?<![\w./])/(?:work|home|root|Users)/\w")
    for name in tracked:
        path = ROOT / name
        if path.suffix not in {".png", ".gz"} and path.is_file():
            assert not paths.search(path.read_text()), name
