"""Values from outside a document: `${NAME}` is a variable of the environment, `${file:/path}` what a file holds.

`$${` stands for `${` itself. What a reference gives is never looked through for references again, and it is not shown
anywhere: whoever shows a value shows how it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from holdfast.config.problems import nearest

_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<inner>[^{}]*)\}|\$\{")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FILE = "file:"
_MOST_BYTES = 64 * 1024


class Expanded(str):
    """Text that came, wholly or in part, from outside. Its repr is redacted."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


class Unresolved(Exception):
    """A reference that leads nowhere; only ever seen by who reads a document."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def expand(text: str, environment: Mapping[str, str]) -> str:
    """The text with its references resolved; `Unresolved` when one cannot be."""
    parts = list(_parts(text, environment))
    came_from_outside = any(outside for _, outside in parts)
    whole = "".join(part for part, _ in parts)
    return Expanded(whole) if came_from_outside else whole


def is_reference(text: str) -> bool:
    """Whether the text is made of references alone, and so may be shown as it is written."""
    return bool(re.fullmatch(r"(?:\$\{[^{}]+\})+", text))


def _parts(text: str, environment: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Pieces of the result, and whether each came from outside."""
    end = 0
    for found in _REFERENCE.finditer(text):
        yield text[end : found.start()], False
        end = found.end()
        if found[0] == "$${":
            yield "${", False
        else:
            yield _resolved(found["inner"], environment), True
    yield text[end:], False


def _resolved(inner: str | None, environment: Mapping[str, str]) -> str:
    if inner is not None and inner.startswith(_FILE):
        return _content(Path(inner.removeprefix(_FILE)))
    if inner is None or not _VARIABLE.fullmatch(inner):
        raise Unresolved(
            "A `${` here begins no reference.",
            "Write `${NAME}` for a variable, `${file:/path}` for a file, or `$${` for the characters themselves.",
        )
    if inner not in environment:
        meant = nearest(inner, environment)
        hint = f"; did you mean `{meant}`?" if meant else "."
        raise Unresolved(f"The variable `{inner}` is not set.", f"Set it before the pipeline is started{hint}")
    return environment[inner]


def _content(path: Path) -> str:
    """What a file holds, without the line end that editors put behind it."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        text = content.decode()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Unresolved(f"The file `{path}` cannot be read: {reason}.", "Correct the path, or the file.") from None
    if len(content) > _MOST_BYTES:
        raise Unresolved(f"The file `{path}` is larger than {_MOST_BYTES} bytes.", "Name a file with the value alone.")
    return text.removesuffix("\n").removesuffix("\r")
