"""Looks at alerts from outside: whether every word is there once and in order, and was acted on once.

It reads the tables of fusion, the subscriber's book and what the subscriber printed with their own readers, and shares
no code with the product. What every alert must say in the end is told to it.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

Word = tuple[str, int, str]
"""Alert, sequence and kind."""
Figures = tuple[float, float, int]
"""Miss, probability and the time of the closest approach."""
Row = dict[str, object]

_KINDS = ("insert", "retract")
_ACTED = ("raised", "updated", "withdrawn")


@dataclass
class Findings:
    """What was found; no complaints mean that all is well."""

    words: list[Word] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def retractions(self) -> int:
        """How many of the words take something back."""
        return sum(kind == "retract" for _, _, kind in self.words)


def looked_at(directory: Path, book: Path | None = None) -> Findings:
    """What can be said at any moment, also right after a kill: no word doubled, left out or out of order."""
    found = Findings(words_in(directory / "words.db", "rowid"))
    found.complaints += in_order("words", found.words)
    if book is not None:
        found.complaints += in_order("book", words_in(book, "number"))
    return found


def reconciled(directory: Path, book: Path, printed: Path, expected: Mapping[str, Figures]) -> Findings:
    """What can be said when everything is through: also that nothing is missing, and that the last words are right."""
    found = looked_at(directory, book)
    said, entered = rows_in(directory / "words.db", "words", "rowid"), rows_in(book, "words", "number")
    found.complaints += drained(directory, book)
    found.complaints += [f"book: {word(row)} was {row['verdict']}" for row in entered if row["verdict"] not in _ACTED]
    for told, row in zip(entered, said, strict=False):
        if not _agree(json.loads(str(told["content"])), row):
            found.complaints.append(f"book: {word(told)} says something else than the table")
    found.complaints += _printed(printed, entered)
    table = rows_in(directory / "alerts.db", "alerts", "alert_id")
    holding = {str(row["alert_id"]): figures(row) for row in table if row["kind"] == "insert"}
    if holding != expected:
        found.complaints.append(f"alerts: {len(holding)} hold, which are not the {len(expected)} that should")
    return found


def drained(directory: Path, book: Path) -> list[str]:
    """Complaints when the book has other words than the table of all, or the table of last words has other ones."""
    said = rows_in(directory / "words.db", "words", "rowid")
    return [*_compared("book", words_in(book, "number"), [word(row) for row in said]), *_standing(directory, said)]


def in_order(where: str, words: list[Word]) -> list[str]:
    """Complaints about words that are not, for each alert, the first ones of: told, taken back, told anew, ..."""
    of_alert = defaultdict(list)
    for alert, sequence, kind in words:
        of_alert[alert].append((sequence, kind))
    complaints = [f"{where}: {each} is there {times} times" for each, times in Counter(words).items() if times > 1]
    for alert, told in of_alert.items():
        if told != [(at // 2, _KINDS[at % 2]) for at in range(len(told))]:
            complaints.append(f"{where}: {alert} was told as {told}")
    return complaints


def words_in(path: Path, order: str) -> list[Word]:
    """The words of a table, in the order in which they came; none if there is no table yet."""
    return [word(row) for row in rows_in(path, "words", order)]


def word(row: Row) -> Word:
    """The word that a row holds."""
    return str(row["alert_id"]), int(str(row["sequence"])), str(row["kind"])


def rows_in(path: Path, table: str, order: str) -> list[Row]:
    """The rows of a table; none if there is no table yet."""
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            return []
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(f"SELECT * FROM {table} ORDER BY {order}")]


def _printed(path: Path, entered: list[Row]) -> list[str]:
    """Complaints about what the subscriber did: after a kill it may do an entry again, under the same number."""
    done: dict[int, Word] = {}
    complaints = []
    for line in path.read_text().splitlines():
        told = json.loads(line)
        if done.setdefault(told["number"], word(told["word"])) != word(told["word"]):
            complaints.append(f"printed: {told['number']} is two words")
    expected = {int(str(row["number"])): word(row) for row in entered}
    if list(done.items()) != list(expected.items()):
        complaints.append(f"printed: {len(done)} entries are not the {len(expected)} of the book, in order")
    return complaints


def _standing(directory: Path, said: list[Row]) -> list[str]:
    last = {str(row["alert_id"]): row for row in said}
    table = {str(row["alert_id"]): row for row in rows_in(directory / "alerts.db", "alerts", "alert_id")}
    if table.keys() != last.keys():
        return [f"alerts: {len(table)} alerts, which are not the {len(last)} that were told of"]
    return [f"alerts: {alert} is not the last word on it" for alert in last if not _agree(table[alert], last[alert])]


def _agree(one: Row, other: Row) -> bool:
    """Whether two rows say the same wherever both say something."""
    return all(one[name] == other[name] for name in one.keys() & other.keys())


def figures(row: Row) -> Figures:
    """What a row says of the passage."""
    return float(str(row["miss_m"])), float(str(row["probability"])), int(str(row["closest_ns"]))


def _compared(where: str, found: list[Word], expected: list[Word]) -> list[str]:
    missing, foreign = set(expected) - set(found), set(found) - set(expected)
    told = [f"{where}: {len(some)} {what}" for what, some in (("missing", missing), ("foreign", foreign)) if some]
    return told or ([] if found == expected else [f"{where}: out of order"])
