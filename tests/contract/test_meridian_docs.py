"""The pages about Meridian: every key of its documents is explained, and every part of its screen has a runbook."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from rich.console import Console

from meridian.operation.home import MeridianDocument
from meridian.screen import Size, drawn
from meridian.sensors import EdgeDocument
from meridian.service.alarms import REMEDIES
from meridian.service.metrics import METRICS
from tests.support import seen
from tests.support.pages import ROOT, blocks

GUIDE = ROOT / "docs" / "guides" / "meridian.md"
RUNBOOKS = ROOT / "docs" / "operations"
WATERMARKS, BACK_PRESSURE, INDEX = (RUNBOOKS / name for name in ("watermarks.md", "back-pressure.md", "README.md"))
ROW = re.compile(r"^\| `([\w.]+)` \| `(\w+)` \| (\S+) \| (.+) \|$", re.MULTILINE)
NAMED = {"sites": "sites.NAME"}
"""Tables to which the document gives a name itself."""


def keys_of(document: type[BaseModel]) -> Iterator[tuple[str, str, str]]:
    """Table, key and default of everything that a document may say."""
    for table, field in document.model_fields.items():
        (section,) = (
            each for each in within(field.annotation) if isinstance(each, type) and issubclass(each, BaseModel)
        )
        for key, value in section.model_fields.items():
            yield NAMED.get(table, table), key, default_of(value)


def within(annotation: object) -> Iterator[object]:
    yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from within(inner)


def default_of(field: FieldInfo) -> str:
    """As a page has it."""
    if field.is_required():
        return "**needed**"
    default = field.get_default(call_default_factory=True)
    if default in (None, [], math.inf):
        return "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


@pytest.mark.req("ING-16")
@pytest.mark.parametrize(("heading", "document"), [("meridian.toml", MeridianDocument), ("edge.toml", EdgeDocument)])
def test_the_guide_has_every_key_of_a_document_with_its_default(heading: str, document: type[BaseModel]) -> None:
    section = GUIDE.read_text().partition(f"### `{heading}`\n")[2].partition("\n##")[0]
    assert [row[:3] for row in ROW.findall(section)] == list(keys_of(document))


def screen_lines() -> list[str]:
    """A screen that has all parts, in plain text."""
    size = Size(80, 60)
    console = Console(width=size.width, height=size.height, file=StringIO(), highlight=False, color_system=None)
    with console.capture() as captured:
        console.print(drawn(seen.FULL, size))
    return captured.get().splitlines()


def titles() -> set[str]:
    """The names of the parts of the screen."""
    found = (title for line in screen_lines() for title in re.findall(r"── (\w[^─]*?) ─", line))
    return {title.partition(":")[0] for title in found}


@pytest.mark.req("OBS-03")
def test_the_index_of_the_runbooks_leads_to_each_and_explains_every_part_of_the_screen() -> None:
    text = INDEX.read_text()
    assert titles() >= {"Watermarks and lag", "Resilience and losses", "Alarms"}
    assert {title for title in titles() if title not in text} == set()
    assert {page.name for page in RUNBOOKS.glob("*.md")} - {INDEX.name} <= set(re.findall(r"\]\(([\w-]+\.md)\)", text))


@pytest.mark.req("OBS-03")
def test_the_runbook_on_watermarks_explains_every_column_and_shows_both_kinds_of_stall() -> None:
    text = WATERMARKS.read_text()
    (head,) = (line.rstrip() for line in screen_lines() if line.startswith("source "))
    columns = re.split(r"\s{2,}", head)
    assert {column for column in columns if f"\n| `{column}` |" not in text} == set()
    shown = [line for block in blocks(text) for line in block.text.splitlines() if line.startswith("source ")]
    assert {re.sub(r"\s{2,}", "  ", line) for line in shown} == {"  ".join(columns)}
    for side in ("source-side", "pipeline-side"):
        example = text.partition(f"### Worked example: {side}\n")[2].partition("\n##")[0]
        assert f": {side}. " in example.replace("\n   ", " "), side
        assert re.findall(r"^\*\*(Read|Do)\.\*\*", example, re.MULTILINE) == ["Read", "Do"], side


@pytest.mark.req("OBS-03")
def test_the_runbook_on_back_pressure_works_an_example_through() -> None:
    text = BACK_PRESSURE.read_text()
    assert text.count("## Worked example: ") == 2
    assert set(re.findall(r"meridian\.md#([\w-]+)", text)) >= {"watermark-stalled", "consumer-behind", "drops"}


@pytest.mark.req("OBS-03")
@pytest.mark.parametrize("page", [WATERMARKS, BACK_PRESSURE], ids=lambda page: str(page.name))
def test_a_runbook_names_only_alarms_and_metrics_that_there_are(page: Path) -> None:
    text = page.read_text()
    assert set(re.findall(r"meridian\.md#([\w-]+)", text)) <= set(REMEDIES)
    named = set(re.findall(r"`(\w+_(?:total|seconds|windows|bytes))", text))
    assert named <= {metric.name for metric in METRICS}
    assert named
