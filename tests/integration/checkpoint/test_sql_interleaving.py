"""A takeover before any one of the statements of a commit never lets the old owner write behind the new one.

The contract suite lets the other handle act where a store reads its clock. Here it acts before each statement in turn,
so there is no place left for a check of the epoch that is not part of the transaction that writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from holdfast.checkpoint.contract import Commit, Put
from holdfast.checkpoint.sql.connection import SqlConnection
from holdfast.model.errors import Fenced
from tests.support.backends import BACKENDS
from tests.support.stores import StoreFactory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from holdfast.checkpoint.sql.schema import Database, Rows, Value
    from tests.support.servers import Servers

PATIENCE = 0.3


@dataclass
class Interrupted:
    """A connection that lets somebody act before its statement number `at`."""

    inner: Database
    at: int
    act: Callable[[], object]
    statements: list[str] = field(default_factory=list)
    thread: Thread | None = None

    def execute(self, sql: str, parameters: Sequence[Value] = ()) -> Rows:
        self._before(sql)
        return self.inner.execute(sql, parameters)

    def executemany(self, sql: str, rows: Iterable[Sequence[Value]]) -> object:
        self._before(sql)
        return self.inner.executemany(sql, rows)

    def close(self) -> None:
        self.inner.close()

    def _before(self, sql: str) -> None:
        if len(self.statements) == self.at:
            self.thread = Thread(target=self.act)
            self.thread.start()
            self.thread.join(PATIENCE)
        self.statements.append(sql)


@pytest.fixture(params=["sqlite", "postgres"])
def factory(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Iterator[StoreFactory]:
    factory = StoreFactory(BACKENDS[request.param](tmp_path, servers))
    with factory.handles:
        yield factory


@pytest.mark.req("D3", "X11")
@pytest.mark.parametrize("at", range(7))
def test_no_takeover_between_two_statements_lets_the_old_owner_write_last(factory: StoreFactory, at: int) -> None:
    old, new = factory.open(), factory.open()
    assert isinstance(old, SqlConnection)
    old_epoch = old.take_over()
    assert old._connection is not None
    old._connection = watch = Interrupted(old._connection, at, lambda: new.put_raw("a", b"new", epoch=new.take_over()))
    try:
        old.commit(Commit(old_epoch, [Put("a", b"late"), Put("b", b"late")]))
        was_fenced = False
    except Fenced:
        was_fenced = True
    assert watch.thread is not None, f"a commit has only the statements {watch.statements}"
    watch.thread.join()
    epochs = [version.epoch for version in new.versions("a")]
    assert epochs == ([old_epoch + 1] if was_fenced else [old_epoch, old_epoch + 1])
    assert new.keys() == (["a"] if was_fenced else ["a", "b"])
