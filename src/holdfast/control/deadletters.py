"""What operators do with the dead letters of a pipeline: look, see to them, let them go their way again, export them.

It works on the open logs of the owner (see `Belongings`): of a pipeline that runs, while it runs, and of one that does
not. Every operation is about entries that nobody has seen to, unless its filter names states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from holdfast.checkpoint import DryRun
from holdfast.control.export import Exported, PayloadForm, row_of, write_entries
from holdfast.control.reprocessing import Rate, Reprocessing
from holdfast.log import DeadLetterFilter, EntryState
from holdfast.log.dead_values import ANY, DONE, NEW
from holdfast.model.errors import HoldfastError, UnknownEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from holdfast.control.belongings import Belongings
    from holdfast.control.reprocessing import Preview, Reprocessed
    from holdfast.log import DeadLetterEntry, DeadLetterStatus, Fate, Gone, Listed, Where
    from holdfast.log.dead_store import Survey
    from holdfast.log.dead_values import Review


@dataclass(frozen=True, slots=True)
class Shown:
    """All there is about an entry."""

    listed: Listed
    entry: DeadLetterEntry
    row: Mapping[str, object] | None
    """What the payload holds; None when it holds no row."""


class DeadLetters:
    """The dead letters of one pipeline, as an operator sees them."""

    def __init__(self, of: Belongings) -> None:
        self._of = of
        self._log = of.dead_letters
        self._reprocessing = Reprocessing(of)

    # Looking

    def list(self, chosen: DeadLetterFilter = ANY, *, after: int = 0, limit: int = 100) -> Sequence[Listed]:
        """The entries that are meant, behind number `after`, in the order in which they were put."""
        return self._log.select(chosen.about(NEW), after=after, limit=limit)

    def show(self, entry_id: str) -> Shown:
        """One entry with its row; `UnknownEntry` when there is none, and what is wrong with it when it is damaged."""
        found = self._log.read(self._log.select(DeadLetterFilter(ids={entry_id})))
        if not found:
            raise UnknownEntry(
                f"There is no dead letter {entry_id}.",
                remedy="Take an id from the list; entries that are gone are listed apart for a week.",
                entry_id=entry_id,
            )
        ((listed, entry),) = found
        if isinstance(entry, HoldfastError):
            raise entry
        return Shown(listed, entry, row_of(entry.payload))

    def count(self, chosen: DeadLetterFilter = ANY) -> dict[Where, int]:
        """How many entries are meant, by stage and kind."""
        return self._log.counts(chosen.about(NEW))

    def gone(self, *, limit: int = 1000) -> Sequence[Gone]:
        """The entries that went, or for which there was no room; those that went last come first."""
        return self._log.gone(limit=limit)

    def tallies(self, since: datetime | None = None) -> dict[tuple[Where, Fate], int]:
        """What became of rows from the minute of that time on, or ever, by stage and kind: what alarms compare."""
        return self._log.tallies(since)

    def status(self) -> DeadLetterStatus:
        """How many there are and may be, and what became of all that ever were."""
        return self._log.status()

    def review(self, *, dry_run: DryRun = DryRun.NO) -> Review:
        """What is new since the last review, which this one is from now on."""
        review = self._log.review()
        if dry_run is DryRun.NO:
            self._log.note_review(review)
        return review

    # Seeing to them

    def ack(self, chosen: DeadLetterFilter, *, dry_run: DryRun = DryRun.NO) -> int:
        """Write down that somebody has seen to these entries; how many they are."""
        wanted = chosen.about(NEW)
        return self._counted(wanted) if dry_run is DryRun.YES else self._log.mark(wanted, EntryState.ACKED)

    def purge(self, chosen: DeadLetterFilter, *, dry_run: DryRun = DryRun.NO) -> int:
        """Remove entries that were seen to, or those in the states that are named; how many they are."""
        wanted = chosen.about(DONE)
        return self._counted(wanted) if dry_run is DryRun.YES else self._log.remove(wanted)

    def preview(self, chosen: DeadLetterFilter, *, into: Belongings | None = None) -> Preview:
        """What `reprocess` would do: entries that a newer event of their key has overtaken come first."""
        return self._way(into).preview(chosen)

    def reprocess(
        self, chosen: DeadLetterFilter, *, rate: Rate | None = None, into: Belongings | None = None
    ) -> Reprocessed:
        """Let the rows of these entries go their way again, each once however often it is asked for.

        :param into: another pipeline that takes them. The entries stay as they are: here nothing was done about them.
        """
        return self._way(into).run(chosen, rate or Rate())

    def migrate(self, *, dry_run: DryRun = DryRun.NO) -> Survey:
        """Write entries of older versions down as the present one. What cannot be read is named, and stays."""
        return self._log.survey() if dry_run is DryRun.YES else self._log.migrate()

    # Writing them out

    def export(
        self, out: IO[str], chosen: DeadLetterFilter = ANY, *, payload: PayloadForm = PayloadForm.TEXT
    ) -> Exported:
        """Write the entries as JSON, one a line, each verified; a few at a time."""
        parts = [write_entries(page, out, payload) for page in self._log.pages(chosen.about(NEW))]
        return Exported(
            sum(part.written for part in parts), [unreadable for part in parts for unreadable in part.unreadable]
        )

    def _way(self, into: Belongings | None) -> Reprocessing:
        return self._reprocessing if into is None else Reprocessing(self._of, into=into)

    def _counted(self, wanted: DeadLetterFilter) -> int:
        return sum(self._log.counts(wanted).values())
