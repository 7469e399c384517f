"""Broken documents: never a traceback, always the place and the remedy."""

from __future__ import annotations

import pytest
import yaml
from tests.support.broken_documents import Broken, broken_documents, torn_documents
from tests.support.documents import FULL, Path, text_of

from holdfast.config import Problem, find_problems, load
from holdfast.model.errors import InvalidDocument

BROKEN = broken_documents()


def place_of(text: str, path: Path) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where PyYAML itself sees the key of a value (or the value, for an item), and where the value ends."""
    node = yaml.compose(text, yaml.CSafeLoader)
    start = node.start_mark
    for part in path:
        if isinstance(part, int):
            node = node.value[part]
            start = node.start_mark
        else:
            key, node = next((key, value) for key, value in node.value if key.value == part)
            start = key.start_mark
    return (start.line + 1, start.column + 1), (node.end_mark.line + 1, node.end_mark.column + 1)


def check_told(problem: Problem, text: str) -> None:
    lines = text.split("\n")
    assert 1 <= problem.place.line <= max(1, len(lines))
    assert 1 <= problem.place.column <= len(lines[problem.place.line - 1]) + 1
    assert problem.what.rstrip().endswith((".", "?"))
    assert problem.remedy.rstrip().endswith((".", "?"))


def test_there_are_enough_of_them() -> None:
    assert len({broken.text for broken in BROKEN}) >= 200


def test_what_they_are_made_of_is_valid() -> None:
    assert find_problems(text_of(FULL)) == ()


@pytest.mark.req("X16")
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_document_is_told_with_place_and_remedy(broken: Broken) -> None:
    with pytest.raises(InvalidDocument) as raised:
        load(broken.text)
    problems = raised.value.context["problems"]
    assert isinstance(problems, tuple)
    assert problems
    for problem in problems:
        check_told(problem, broken.text)
    assert "Traceback" not in str(raised.value)
    assert raised.value.__cause__ is None
    if broken.path is not None:
        start, end = place_of(broken.text, broken.path)
        told = [problem for problem in problems if broken.says in str(problem)]
        places = [(problem.place.line, problem.place.column) for problem in told]
        assert any(start == place if broken.at_key else start <= place <= end for place in places), str(raised.value)


def test_a_torn_document_is_valid_or_told() -> None:
    told = 0
    for broken in torn_documents(seed=1, count=600):
        problems = find_problems(broken.text, environment={})
        for problem in problems:
            check_told(problem, broken.text)
        told += bool(problems)
    assert told > 300
