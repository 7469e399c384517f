"""Files of a pipeline go missing or are replaced by older copies: it is noticed at start and explained."""

from __future__ import annotations

import shutil
import sqlite3
from itertools import groupby
from typing import TYPE_CHECKING

import pytest
from tests.support.local_pipelines import check_exact, pipeline, run

from holdfast import Accept, Generator
from holdfast.model.errors import CursorAhead, HoldfastError, LogMissing, PipelineDiverged

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVENTS = 500


def orders(events: int = EVENTS) -> Generator:
    return Generator("orders", events=events, transactions=(3, 7, 1), chunk=60)


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        for part in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            part.unlink(missing_ok=True)


def newest_segment(root: Path) -> Path:
    return max((root / "inbox" / "orders" / "segments").iterdir())


@pytest.mark.parametrize(
    ("lost", "error", "why"),
    [
        pytest.param(lambda root: root / "spark", PipelineDiverged, "checkpoint is gone", id="Spark's checkpoint"),
        pytest.param(lambda root: root / "inbox" / "orders" / "index.db", LogMissing, "index", id="inbox index"),
        pytest.param(lambda root: root / "inbox" / "orders", LogMissing, "is gone", id="inbox"),
        pytest.param(lambda root: root / "outbox" / "index.db", LogMissing, "outbox is not the one", id="outbox index"),
        pytest.param(lambda root: root / "outbox", LogMissing, "outbox is not the one", id="outbox"),
        pytest.param(newest_segment, LogMissing, "seg-", id="a segment"),
    ],
)
def test_what_is_missing_is_explained_and_putting_it_back_loses_and_doubles_nothing(
    tmp_path: Path, lost: Callable[[Path], Path], error: type[HoldfastError], why: str
) -> None:
    root = tmp_path / "pipeline"
    run(pipeline(tmp_path, orders()).keep_delivered(0))
    shutil.copytree(root, tmp_path / "copy")
    remove(lost(root))
    with pytest.raises(error, match=why):
        pipeline(tmp_path, orders(2 * EVENTS)).start()
    check_exact(tmp_path, EVENTS)
    shutil.rmtree(root)
    (tmp_path / "copy").rename(root)
    run(pipeline(tmp_path, orders(2 * EVENTS)))
    check_exact(tmp_path, 2 * EVENTS)


def test_a_new_generation_continues_behind_the_newest_batch(tmp_path: Path) -> None:
    run(pipeline(tmp_path, orders()))
    shutil.rmtree(tmp_path / "pipeline" / "spark")
    run(pipeline(tmp_path, orders(2 * EVENTS)), accept=Accept.NEW_GENERATION)
    check_exact(tmp_path, 2 * EVENTS)
    run(pipeline(tmp_path, orders(3 * EVENTS)))
    check_exact(tmp_path, 3 * EVENTS)


def test_an_older_copy_of_sparks_checkpoint_is_bridged(tmp_path: Path) -> None:
    run(pipeline(tmp_path, orders()))
    spark = tmp_path / "pipeline" / "spark"
    shutil.copytree(spark, tmp_path / "older")
    run(pipeline(tmp_path, orders(2 * EVENTS)))
    shutil.rmtree(spark)
    (tmp_path / "older").rename(spark)
    run(pipeline(tmp_path, orders(3 * EVENTS)))
    check_exact(tmp_path, 3 * EVENTS)


def test_an_older_copy_of_the_outbox_is_refused(tmp_path: Path) -> None:
    run(pipeline(tmp_path, orders()))
    outbox = tmp_path / "pipeline" / "outbox"
    shutil.copytree(outbox, tmp_path / "older")
    run(pipeline(tmp_path, orders(2 * EVENTS)))
    shutil.rmtree(outbox)
    (tmp_path / "older").rename(outbox)
    with pytest.raises((PipelineDiverged, CursorAhead)):
        pipeline(tmp_path, orders(3 * EVENTS)).start()
    check_exact(tmp_path, 2 * EVENTS)


def test_an_older_copy_of_an_inbox_is_refused(tmp_path: Path) -> None:
    run(pipeline(tmp_path, orders()))
    inbox = tmp_path / "pipeline" / "inbox" / "orders"
    shutil.copytree(inbox, tmp_path / "older")
    run(pipeline(tmp_path, orders(2 * EVENTS)))
    shutil.rmtree(inbox)
    (tmp_path / "older").rename(inbox)
    with pytest.raises(PipelineDiverged, match="holds 1 to 500"):
        pipeline(tmp_path, orders(3 * EVENTS)).start()
    check_exact(tmp_path, 2 * EVENTS)


class TestSources:
    """Two sources: swapped in the declaration, one added, one removed and put back."""

    @staticmethod
    def numbers(tmp_path: Path) -> dict[str, list[int]]:
        with sqlite3.connect(tmp_path / "sink.db") as db:
            rows = db.execute("SELECT source, n FROM orders ORDER BY rowid").fetchall()
        return {name: [n for source, n in rows if source == name] for name in {source for source, _ in rows}}

    def test_swapped_in_the_declaration(self, tmp_path: Path) -> None:
        run(pipeline(tmp_path, Generator("one", events=95), Generator("two", events=205)))
        run(pipeline(tmp_path, Generator("two", events=405), Generator("one", events=195)))
        expected = {"one": list(range(1, 196)), "two": list(range(1, 406))}
        assert self.numbers(tmp_path) == {name: [n for n in ns if n % 10] for name, ns in expected.items()}

    def test_one_added_and_one_removed_and_put_back(self, tmp_path: Path) -> None:
        run(pipeline(tmp_path, Generator("one", events=95)))
        run(pipeline(tmp_path, Generator("one", events=195), Generator("two", events=55)))
        run(pipeline(tmp_path, Generator("two", events=155)))
        run(pipeline(tmp_path, Generator("one", events=295), Generator("two", events=155)))
        expected = {"one": list(range(1, 296)), "two": list(range(1, 156))}
        assert self.numbers(tmp_path) == {name: [n for n in ns if n % 10] for name, ns in expected.items()}

    @pytest.mark.req("D5")
    def test_the_rows_of_a_transaction_are_neighbours_in_every_sink(self, tmp_path: Path) -> None:
        one = Generator("one", events=300, transactions=(7, 12))
        two = Generator("two", events=300, transactions=(5,))
        run(pipeline(tmp_path, one, two))
        with sqlite3.connect(tmp_path / "sink.db") as db:
            rows = db.execute("SELECT source, tx_id FROM orders ORDER BY rowid").fetchall()
        runs = [key for key, _ in groupby(rows)]
        assert len(runs) == len(set(runs))
        assert {source for source, _ in runs} == {"one", "two"}
