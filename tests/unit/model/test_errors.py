"""The error tree: every error has a stable code, says when it is raised, and is drawn in the module's docstring."""

from __future__ import annotations

import re

from holdfast.model import errors
from holdfast.model.errors import Fenced, HoldfastError, error_types

OURS = [error for error in error_types() if error.__module__ == errors.__name__]
LEAVES = [error for error in OURS if not any(child in OURS for child in error.__subclasses__())]


def test_codes_are_unique() -> None:
    codes = [error.code for error in LEAVES]
    assert len(codes) == len(set(codes))
    assert all(re.fullmatch(r"HF-\d{3}", code) and code != HoldfastError.code for code in codes)


def test_each_says_when_it_is_raised() -> None:
    for error in LEAVES:
        assert (error.__doc__ or "").startswith("Raised when "), error


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = dict(re.findall(r"(\w+) +(HF-\d{3})", errors.__doc__ or ""))
    assert drawn == {error.__name__: error.code for error in LEAVES}


def test_a_message_says_what_happened_what_was_kept_and_what_to_do() -> None:
    error = Fenced("Another owner has epoch 4.", remedy="Stop this process.", epoch=3)
    assert str(error) == "[HF-301] Another owner has epoch 4. Nothing was changed. Stop this process."
    assert error.context == {"epoch": 3}
