"""Kills fusion in Spark, with all it started, and its subscriber at random moments; a witness looks from outside.

What sensors see comes in rounds, each of other objects and into a directory of its own. A round is over when the tables
and the subscriber have everything that came of it; kills that are left then go into the next.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from random import Random

from tests.crash.killing import ROOT, wait_for_group_to_end
from tests.support.crash.alert_witness import Findings, looked_at, reconciled, rows_in
from tests.support.fusion_pipeline import Pairs, Watching, batch_answer, recorded
from tests.support.subscribers import Subscriber

PATIENCE = 300.0
_STARTING = 8.0
"""Seconds that fusion takes to its first batch, about."""
_LOADED = 4.0


class End(Enum):
    """How a life of fusion ended."""

    UNDER_LOAD = "killed after batches of this life had reached the tables"
    BEFORE = "killed before anything flowed"
    THROUGH = "everything was through before the moment of the kill"


@dataclass
class Tally:
    """What was done and found."""

    under_load: int = 0
    before: int = 0
    of_subscriber: int = 0
    rounds: int = 0
    words: int = 0
    retractions: int = 0
    alerts: int = 0

    @property
    def kills(self) -> int:
        """Of fusion."""
        return self.under_load + self.before

    def count(self, found: Findings) -> None:
        """A round is through, and this was found."""
        self.rounds += 1
        self.words += len(found.words)
        self.retractions += found.retractions
        self.alerts += len({alert for alert, _, _ in found.words})

    def __str__(self) -> str:
        return (
            f"{self.kills} kills of fusion with its whole process group at random moments, {self.under_load} of them "
            f"under load and {self.before} before anything flowed, and {self.of_subscriber} of the subscriber. "
            f"{self.rounds} {'round' if self.rounds == 1 else 'rounds'} with {self.words:,} words on {self.alerts:,} "
            f"alerts, {self.retractions:,} of them "
            "retractions: in the table and in the subscriber's book every one is there once and in order, the "
            "subscriber acted on each under one number, and the last words are those of one batch over everything."
        )


class Round:
    """Fusion of what is seen of some pairs, its lives, and its subscriber, which lives on unless it is killed."""

    def __init__(self, directory: Path, watching: Watching, random: Random, tally: Tally) -> None:
        directory.mkdir(parents=True)
        recorded(directory, watching)
        self._directory, self._watching, self._random, self._tally = directory, watching, random, tally
        self.subscriber = Subscriber(directory / "book.db")
        self.subscriber.start()

    def life(self, *, of_subscriber: int) -> End:
        """One life of fusion, which ends at a random moment, or when all is through.

        :param of_subscriber: so often the subscriber is killed under load, and started again.
        """
        before, process = self.batches(), self._begun()
        try:
            if self._random.random() < 1 / 5:
                is_over = _ends_within(process, self._random.uniform(0, _STARTING))
            else:
                is_over = self._flows(process, before) or self._loaded(process, of_subscriber)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            wait_for_group_to_end(process.pid)
        if is_over:
            return End.THROUGH
        found = looked_at(self._directory, self.subscriber.book)
        assert not found.complaints, found.complaints
        return End.UNDER_LOAD if self.batches() > before else End.BEFORE

    def through(self) -> Findings:
        """Let it run to its end; what the witness finds then. Raises when it has complaints."""
        assert self._begun().wait(6 * PATIENCE) == 0
        return self.looked_at()

    def looked_at(self) -> Findings:
        """What the witness finds when all is through."""
        self.subscriber.signal(signal.SIGTERM)
        book, expected = self.subscriber.book, batch_answer(self._watching)
        found = reconciled(self._directory, book, self.subscriber.printed, expected)
        assert not found.complaints, found.complaints
        assert found.retractions, "something was told early and corrected"
        return found

    def batches(self) -> int:
        """The newest batch of which the tables know."""
        rows = rows_in(self._directory / "progress.db", "progress", "batch")
        return int(str(rows[-1]["batch"])) if rows else -1

    def _begun(self) -> subprocess.Popen[bytes]:
        with (self._directory / "fusion.log").open("ab") as said:
            command = [sys.executable, "-m", "tests.support.fusion_pipeline", str(self._directory), self.subscriber.url]
            return subprocess.Popen(command, cwd=ROOT, start_new_session=True, stdout=said, stderr=said)

    def _flows(self, process: subprocess.Popen[bytes], before: int) -> bool:
        """Wait for a batch; True when all was through already."""
        deadline = time.monotonic() + PATIENCE
        while self.batches() <= before:
            if _ends_within(process, 0.05):
                return True
            assert time.monotonic() < deadline, "no batch came"
        return False

    def _loaded(self, process: subprocess.Popen[bytes], of_subscriber: int) -> bool:
        for _ in range(of_subscriber):
            time.sleep(self._random.uniform(0, _LOADED / 4))
            self.subscriber.signal(signal.SIGKILL)
            self._tally.of_subscriber += 1
            self.subscriber.start()
        return _ends_within(process, self._random.uniform(0, _LOADED))


class FusionCampaign:
    """As many lives as it takes, in as many rounds.

    :param watching: what there is to see in a round; its pairs are others in each.
    """

    def __init__(self, directory: Path, *, seed: int, watching: Watching | None = None) -> None:
        self._directory, self._random, self._seed = directory, Random(seed), seed
        self._watching = watching or Watching(Pairs(6), seconds=1200, each=500)
        self.tally = Tally()

    def run(self, kills: int) -> Tally:
        """Kill fusion so many times, and the subscriber in every third life, and let everything come through."""
        while True:
            life = self._begun()
            try:
                if self._killed(life, kills):
                    self.tally.count(life.through())
                    return self.tally
                self.tally.count(life.looked_at())
            finally:
                life.subscriber.end()

    def _begun(self) -> Round:
        number = self.tally.rounds
        pairs = Pairs(self._watching.pairs.count, self._seed + 1000 * number)
        watching = Watching(pairs, self._watching.seconds, self._watching.each)
        return Round(self._directory / f"round-{number}", watching, self._random, self.tally)

    def _killed(self, life: Round, kills: int) -> bool:
        """Kill in this round until so many kills were made; False when it was through before."""
        while self.tally.kills < kills:
            end = life.life(of_subscriber=int(self.tally.of_subscriber * 3 <= self.tally.kills))
            if end is End.THROUGH:
                return False
            self.tally.under_load += end is End.UNDER_LOAD
            self.tally.before += end is End.BEFORE
            self._tell(life, kills)
        return True

    def _tell(self, life: Round, kills: int) -> None:
        print(
            f"crash: kill {self.tally.kills} of {kills} ({self.tally.under_load} under load, "
            f"{self.tally.of_subscriber} of the subscriber), round {self.tally.rounds}, batch {life.batches()}",
            flush=True,
        )


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether it ends by itself; it must have done everything then."""
    try:
        assert process.wait(seconds) == 0, f"fusion ended by itself with {process.returncode}"
    except subprocess.TimeoutExpired:
        return False
    return True
