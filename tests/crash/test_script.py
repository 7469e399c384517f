"""Scripts with crashes in them: whatever stands where, the sinks hold every row once and in order, or it is noticed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from itertools import groupby
from random import Random
from typing import TYPE_CHECKING

import pytest

from holdfast import BatchLimits, Pipeline, Sqlite
from holdfast.capture import Capture
from holdfast.log import Inbox
from holdfast.model.errors import InvalidSource, PipelineFailed, SourceGap
from holdfast.model.positions import Seq
from holdfast.testing import Crash, Delivered, NotPlayed, RecordingSink, Script, Tx, play

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from holdfast.capture import Captured
    from holdfast.model.positions import Position
    from holdfast.testing import Vault

Elements = list["dict[str, object] | Tx | Crash | Delivered"]


def n(number: int) -> dict[str, object]:
    """A row."""
    return {"n": number, "parity": number % 2}


def pipeline(directory: Path, *scripts: Script) -> Pipeline:
    """Batches are admitted as soon as there is something."""
    return (
        Pipeline("numbers", directory=directory)
        .read(*scripts)
        .write(RecordingSink())
        .batch(BatchLimits(max_wait=timedelta(0)))
    )


def played(directory: Path, elements: Elements, *, patience: float = 30.0) -> Vault:
    return play(pipeline(directory, Script(elements)), patience=patience)["recording"]


TABLE: dict[str, tuple[Elements, list[int]]] = {
    "no crash": ([n(1), n(2)], [1, 2]),
    "before the first row": ([Crash(), n(1)], [1]),
    "between two rows": ([n(1), Crash(), n(2)], [1, 2]),
    "behind the last row": ([n(1), n(2), Crash()], [1, 2]),
    "twice at one place": ([n(1), Crash(), Crash(), n(2)], [1, 2]),
    "after all before it was delivered": ([n(1), n(2), Delivered(), Crash(), n(3)], [1, 2, 3]),
    "inside a transaction": ([n(1), Tx([n(2), n(3), Crash(), n(4)]), n(5)], [1, 2, 3, 4, 5]),
    "at every place": (
        [n(1), Crash(), Tx([n(2), Crash(), n(3)]), Delivered(), Crash(), n(4), Crash(), n(5), Crash()],
        [1, 2, 3, 4, 5],
    ),
}


@pytest.mark.req("D1", "X5")
@pytest.mark.parametrize("case", TABLE)
def test_every_row_is_delivered_once_and_in_order(tmp_path: Path, case: str) -> None:
    elements, expected = TABLE[case]
    assert played(tmp_path, elements).values("n") == expected


@pytest.mark.parametrize("case", TABLE)
def test_the_process_lives_once_more_than_it_dies(tmp_path: Path, case: str) -> None:
    script = Script(TABLE[case][0])
    crashes = script.crashes
    assert play(pipeline(tmp_path, script))["recording"].epoch == crashes + 1
    assert script.crashes == 0


def test_the_example_of_the_documentation_holds(tmp_path: Path) -> None:
    example = [line.strip() for line in (play.__doc__ or "").splitlines() if line.startswith(" " * 8)]
    assert len(example) == 3
    exec("\n".join(example), {**globals(), "tmp_path": tmp_path})


@pytest.mark.req("D5")
def test_a_transaction_with_a_crash_in_it_is_one_batch(tmp_path: Path) -> None:
    vault = played(tmp_path, [n(1), Delivered(), Tx([n(2), n(3), Crash(), n(4)]), Delivered(), n(5)])
    assert [[row["n"] for *_, row in rows] for _, rows in groupby(vault.rows, lambda row: row[0])] == [
        [1],
        [2, 3, 4],
        [5],
    ]


@pytest.mark.req("D1", "X5")
@pytest.mark.parametrize("seed", range(6))
def test_two_scripts_with_crashes_anywhere_into_a_table(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    scripts = [Script(drawn(random), name=name, key="parity") for name in ("one", "two")]
    table = Sqlite(tmp_path / "sink.db", table="numbers")
    play(Pipeline("numbers", directory=tmp_path / "pipeline").read(*scripts).write(table))
    with closing(sqlite3.connect(tmp_path / "sink.db")) as db:
        found = db.execute("SELECT source, n FROM numbers ORDER BY rowid").fetchall()
    assert {name: [n for source, n in found if source == name] for name in ("one", "two")} == {
        name: list(range(1, 13)) for name in ("one", "two")
    }


def drawn(random: Random) -> Elements:
    """Twelve rows, alone and in transactions of three, with a crash or two."""
    elements: Elements = []
    for first in (1, 4, 7, 10):
        rows = [n(number) for number in range(first, first + 3)]
        elements += [Tx(rows)] if random.random() < 0.5 else rows
    for _ in range(random.randint(1, 2)):
        place = random.randrange(len(elements))
        elements.insert(place, Crash())
        if random.random() < 0.5:
            elements.insert(place, Delivered())
    return elements


@pytest.mark.req("X1")
def test_a_row_that_is_read_again_is_the_same(tmp_path: Path) -> None:
    script = Script([n(1), Tx([n(2), n(3)])], key="parity")
    assert from_position(script, None)[1:] == from_position(script, Seq(1))


def from_position(script: Script, after: Position | None) -> list[pa.RecordBatch]:
    script.open(after)
    found = []
    while not script.finished:
        captured = script.read(1)
        assert captured is not None
        found.append(captured.events)
    return found


def test_a_script_without_rows_is_refused() -> None:
    with pytest.raises(InvalidSource):
        Script([Crash()])


def test_what_ends_the_pipeline_but_is_no_crash_is_raised(tmp_path: Path) -> None:
    class Broken(Script):
        def read(self, wait: float) -> Captured | None:
            if self._at == 0:
                return super().read(wait)
            raise SourceGap("The script is torn.", remedy="Mend it.")

    with pytest.raises(PipelineFailed, match="The script is torn"):
        play(pipeline(tmp_path, Broken([n(1), n(2)])))


def test_a_transform_that_fails_is_named(tmp_path: Path) -> None:
    def transform(events: pa.Table) -> pa.Table:
        raise ZeroDivisionError

    with pytest.raises(NotPlayed) as raised:
        play(pipeline(tmp_path, Script([n(1)])), transform=transform, patience=1)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


SMALL: Elements = [n(1), n(2), Crash(), n(3)]


class TestPlanted:
    """Bugs in a capture, each of which the smallest script notices."""

    def test_a_crash_that_is_swallowed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The thread goes on with the next row, as if the append that failed had not mattered."""
        take = Capture._take

        def forgiving(self: Capture, captured: Captured | None) -> None:
            try:
                take(self, captured)
            except BaseException:
                self.source.close()

        monkeypatch.setattr(Capture, "_take", forgiving)
        with pytest.raises(NotPlayed):
            played(tmp_path, SMALL, patience=3)

    def test_a_row_that_is_repeated(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The position kept is that before the last row."""
        position = Inbox.position

        def stale(self: Inbox) -> Position | None:
            found = position(self)
            return Seq(found.value - 1) if isinstance(found, Seq) else None

        monkeypatch.setattr(Inbox, "position", stale)
        assert played(tmp_path, SMALL).values("n") == [1, 2, 2, 3]

    def test_a_row_that_is_lost(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The position is kept when a row is read, and not when it is appended."""
        read_up_to: dict[str, Position] = {}
        take = Capture._take

        def hasty(self: Capture, read: list[Captured]) -> None:
            if read:
                read_up_to[self.source.name] = read[-1].position
            take(self, read)

        monkeypatch.setattr(Capture, "_take", hasty)
        monkeypatch.setattr(Inbox, "position", lambda self: read_up_to.get(self.name))
        assert played(tmp_path, SMALL).values("n") == [1, 2]

    def test_a_script_that_skips_its_crash(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Script, "finished", property(lambda self: self._at == 2))
        with pytest.raises(NotPlayed, match="1 crashes"):
            played(tmp_path, SMALL)
