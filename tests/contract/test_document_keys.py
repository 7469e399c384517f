"""Every key of a pipeline document, and every method of `Pipeline`, that the docs name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast import Pipeline
from holdfast.config.schema import Node, blocks, resolved
from holdfast.model.steps import RollbackStep, Step
from tests.contract.test_docs import PAGES, ROOT
from tests.support.document_page import NOT_BUILT
from tests.support.pages import BLOCK

STEPS = {step.value for step in (*Step, *RollbackStep)}
NOT_BUILT_NAMES = {".".join(map(str, path)) for path in NOT_BUILT}
_SPAN = re.compile(r"`([^`\n]+)`")
_ASSIGNED = re.compile(r"([a-z][a-z_]*): (\S+)")
_DOTTED = re.compile(r"[a-z][a-z_]*(\[\])?(\.[a-z_]+(\[\])?)+")
_SPARK = re.compile(r"spark\.(driver|executor|memory|sql)\..+")
"""A setting of Spark itself, which stands below `spark.conf`."""
_METHOD = re.compile(r"Pipeline\.(\w+)")


def known() -> dict[str, list[Node]]:
    """Every key by each way to write its path: `spec.batch.max_events`, `batch.max_events` and `max_events`."""
    found: dict[str, list[Node]] = {}
    for path, block in blocks():
        place = path.split(" ")[0].replace("[]", "").split(".") if path else []
        for key, node in block["properties"].items():
            names = [*place, key]
            for start in range(len(names)):
                found.setdefault(".".join(names[start:]), []).append(node)
    return found


KEYS = known()
BLOCKS = {part for path, _ in blocks() for part in path.split(" ")[0].replace("[]", "").split(".")} - {""}


def allows(node: Node, value: str) -> bool:
    """Whether a value may stand there, as far as the schema lists the values; other values are not looked at."""
    if value == "…":  # whatever an error puts in
        return True
    node = resolved(node)
    if "anyOf" in node:
        return any(allows(choice, value) for choice in node["anyOf"])
    words = node.get("enum", [node["const"]] if "const" in node else None)
    return words is None or value in map(str, words)


def wrong(name: str) -> str | None:
    """What is wrong with one name between back-ticks."""
    if assigned := _ASSIGNED.fullmatch(name):
        key, value = assigned.groups()
        if key not in KEYS:
            return f"there is no key `{key}`"
        if not any(allows(node, value) for node in KEYS[key]):
            return f"`{key}` cannot be `{value}`"
    elif _DOTTED.fullmatch(name) and not _SPARK.fullmatch(name) and name.split(".")[0].removesuffix("[]") in BLOCKS:
        if name not in STEPS | NOT_BUILT_NAMES and name.replace("[]", "") not in KEYS:
            return f"there is no key `{name}`"
    elif (method := _METHOD.match(name)) and not hasattr(Pipeline, method[1]):
        return f"a pipeline has no method `{method[1]}`"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_key_that_is_named_exists(page: Path) -> None:
    named = _SPAN.findall(BLOCK.sub("", page.read_text()))
    assert [problem for name in named if (problem := wrong(name))] == []


@pytest.mark.parametrize(
    "name",
    [
        "mode: upsert",
        "policy: most",
        "quotas.inbx",
        "spark.cnf",
        "spec.batch.max_evnts",
        "spec.sinks[].upserts",
        "Pipeline.keeps",
    ],
)
def test_a_name_that_does_not_exist_is_noticed(name: str) -> None:
    assert wrong(name) is not None


@pytest.mark.parametrize(
    "name",
    ["policy: quorum", "required: false", "quotas.inbox", "spec.sinks[].upsert", "Pipeline.points", "rollback.link",
     "spark.driver.memory", "store: …",      "edge.toml", "holdfast.flow", "ra_rad: Field required"],
)  # fmt: skip
def test_a_name_that_exists_or_is_no_key_is_let_be(name: str) -> None:
    assert wrong(name) is None
