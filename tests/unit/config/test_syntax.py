"""YAML's traps: each is a problem with its place, or means what it looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config import Place, load
from holdfast.config.problems import Problem
from holdfast.config.syntax import parse
from holdfast.model.errors import DocumentUnreadable, InvalidDocument


def only_problem(text: str) -> Problem:
    (problem,) = parse(text, "a.yaml", {}).problems
    return problem


BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("", 1, 1, "There is nothing in it."),
        ("# only a remark\n", 1, 1, "There is nothing in it."),
        ("a: 1\nb: 2\na: 3\n", 3, 1, "`a` is there twice, first in line 1."),
        ("a:\n  b: 1\n  b: 2\n", 3, 3, "`a.b` is there twice, first in line 2."),
        ("a:\n\tb: 1\n", 2, 1, "Indent with spaces instead of tabs."),
        ("a: 1\n---\nb: 2\n", 2, 1, "Put each pipeline into a file of its own."),
        ("a: 1\nb: [1, 2\n", 2, 4, "expected ',' or ']'"),
        ("a: 1\nb: 'open\n", 2, 4, "unexpected end of stream"),
        ("a: b: c\n", 1, 5, "mapping values are not allowed here"),
        ("a: *b\n", 1, 4, "undefined alias 'b'"),
        ("a: &a [*a]\n", 1, 4, "an alias stands for something that it is a part of"),
        (BOMB, 1, 35, "more than 10000 values"),
        ("a: " + "[" * 3000, 1, 35, "more than 32 levels"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, 4, "tags mean nothing here"),
        ("a: !!str 5\n", 1, 4, "tags mean nothing here"),
        ("? [a, b]\n: 1\n", 1, 3, "A list or a block cannot be a key."),
        ("a: 1\nb: \x07\n", 2, 4, "U+0007"),
        ("%YAML 3.0\n---\na: 1\n", 1, 1, "incompatible YAML"),
    ],
)
def test_a_trap_is_a_problem_with_its_place(text: str, line: int, column: int, says: str) -> None:
    problem = only_problem(text)
    assert (problem.place.line, problem.place.column) == (line, column)
    assert says in str(problem)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("5", 5),
        ("-5", -5),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("'5'", "5"),
        ("010", "010"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        (".inf", ".inf"),
        ("9" * 30, "9" * 30),
    ],
)
def test_a_word_means_what_it_looks_like(word: str, value: object) -> None:
    tree = parse(f"a: {word}\n", "a.yaml", {})
    assert tree.problems == []
    assert tree.root == {"a": value}
    assert type(tree.root["a"]) is type(value)  # type: ignore[index, call-overload]


def test_an_anchor_may_be_used_again() -> None:
    tree = parse("a: &x {n: 1}\nb: *x\nc: [*x]\n", "a.yaml", {})
    assert tree.root == {"a": {"n": 1}, "b": {"n": 1}, "c": [{"n": 1}]}
    assert tree.spots[("c", 0, "n")].place == Place("a.yaml", 1, 11)


def test_what_is_not_utf8_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("a: 1\nb: größe\n".encode("latin-1"))
    with pytest.raises(InvalidDocument, match=r"latin.yaml:2:6: It is not UTF-8 here. Save the file as UTF-8."):
        load(path)


def test_a_byte_order_mark_is_no_part_of_the_document(tmp_path: Path) -> None:
    path = tmp_path / "marked.yaml"
    path.write_bytes("\ufeffapiVersion: holdfast/v0\n".encode())
    with pytest.raises(InvalidDocument, match=r"marked.yaml:1:13: `apiVersion` must be `holdfast/v1`"):
        load(path)


def test_a_file_that_is_too_large_is_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_text("# " + "x" * (1 << 20))
    with pytest.raises(InvalidDocument, match="It is larger than 1 MiB"):
        load(path)


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(DocumentUnreadable, match="cannot be read"):
        load(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a: 1\nb: "\\UFFFFFFFF"\n', 2),
        (f"%YAML 1.{'9' * 5_000}\n---\na: 1\n", 1),
    ],
)
def test_a_number_that_pyyaml_cannot_convert_is_a_problem_with_its_line(text: str, line: int) -> None:
    (problem,) = parse(text, "a.yaml", {}).problems
    assert (problem.place.file, problem.place.line) == ("a.yaml", line)
    assert "an escape names no character, or the version of YAML is no number" in problem.what
