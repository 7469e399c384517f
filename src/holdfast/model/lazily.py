"""Public names of a package that are loaded when they are first used, so importing a part loads no more than that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def loaded(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """The `__getattr__` of a package.

    :param homes: the names that each module is the home of.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home_of[name]), name)

    return load
