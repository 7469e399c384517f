"""The errors of the orbit tools: stable codes, each says when it is raised, and the drawn tree is the tree."""

from __future__ import annotations

import re

from holdfast.model.errors import error_types
from meridian.orbit import errors
from meridian.orbit.errors import OrbitError

LEAVES = list(error_types(OrbitError))


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = dict(re.findall(r"(\w+) +(MD-\d{3})", errors.__doc__ or ""))
    assert drawn == {error.__name__: error.code for error in LEAVES}


def test_each_says_when_it_is_raised() -> None:
    assert all((error.__doc__ or "").startswith("Raised when ") for error in LEAVES)
