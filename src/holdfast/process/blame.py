"""Whether an error is about the row at hand, or about the machine that the step runs on. Pure.

What is not known is the row's: it is given up with its reason, neither tried for ever nor dropped. But no memory, no
disk and no network are never a row's fault, and a step that knows better says so by raising `Transient` or `Fatal`.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

from holdfast.model.errors import HoldfastError, ModelError, Poison, Rejected

_OF_A_ROW = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ERANGE})
"""What the system may say about a name or a number that stood in a row."""


def is_of_the_machine(error: BaseException) -> bool:
    """Whether the error, or one that it came of, is no row's fault."""
    return any(_is_of_the_machine(each) for each in chain_of(error))


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """The error, and those that it came of."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def is_a_rows_number(number: int | None) -> bool:
    """Whether a row may be to blame for an `OSError` of this number."""
    return number in _OF_A_ROW


def _is_of_the_machine(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return not is_a_rows_number(error.errno)
    if isinstance(error, HoldfastError):
        return not isinstance(error, ModelError | Poison | Rejected)
    return isinstance(error, MemoryError | ImportError) or not isinstance(error, Exception)
