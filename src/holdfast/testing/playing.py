"""Runs a pipeline of scripts to its end, through every crash that stands in them.

A crash is played within this process. From the moment of a `Crash` every durable step of the pipeline fails as if
another owner had taken over, so nothing is written any more, not even how it ended; then it is started again. How far
the rows before the crash have come by then is left to the threads, unless a `Delivered` stands there too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.runtime.pipeline import Pipeline, Until
from holdfast.testing.driver import LocalProcessor
from holdfast.testing.recording import RecordingSink, Vault
from holdfast.testing.script import Script, died, rows_of

if TYPE_CHECKING:
    from holdfast.testing.driver import Transform


class NotPlayed(AssertionError):
    """Raised when a pipeline did not come to its end in time, or came there without dying at every crash on the way."""


def play(pipeline: Pipeline, *, transform: Transform = rows_of, patience: float = 30.0) -> dict[str, Vault]:
    """Run the pipeline until its sinks have everything, starting it again after every crash of its scripts.

    Returns what each recording sink holds, by the name of its lane. Raises what ended the pipeline if that was no
    crash. No JVM is needed: the steps of the pipeline are not taken, `transform` is in their place.

        script = Script([{"n": 1}, {"n": 2}, Delivered(), Crash(), Tx([{"n": 3}, Crash(), {"n": 4}])])
        sinks = play(Pipeline("numbers", directory=tmp_path).read(script).write(RecordingSink()))
        assert sinks["recording"].values("n") == [1, 2, 3, 4]

    :param patience: seconds that one life of the process may take.
    """
    player = _Player(pipeline, transform, patience)
    while player.lives_until_a_crash():
        pass
    player.check_that_all_was_played()
    return {spec.name: spec.sink.vault for spec in pipeline.plan().sinks if isinstance(spec.sink, RecordingSink)}


class _Player:
    """One pipeline and the lives of its process."""

    def __init__(self, pipeline: Pipeline, transform: Transform, patience: float) -> None:
        self._pipeline = pipeline
        self._transform = transform
        self._patience = patience
        self._scripts = [source for source in pipeline.plan().sources if isinstance(source, Script)]
        self._processor: LocalProcessor | None = None

    def lives_until_a_crash(self) -> bool:
        """One life of the process; False when it came to its end by itself."""
        for script in self._scripts:
            script.rest()
        self._pipeline.start(processor=self._new_processor, hook=self._fail_after_death)
        for script in self._scripts:
            script.begin()
        if not self._pipeline.wait(until=Until.CAUGHT_UP, timeout=self._patience):
            self._pipeline.stop()
            failure = self._processor.failure() if self._processor else None
            raise NotPlayed(f"The pipeline has not come to an end within {self._patience} s.") from failure
        if not self._is_dead:
            self._pipeline.drain(within=self._patience)
            return False
        self._pipeline.stop()
        if any(script.is_read_on for script in self._scripts):
            raise NotPlayed("A crash was swallowed: the pipeline went on reading after it.")
        return True

    def check_that_all_was_played(self) -> None:
        """Every crash has happened, or `NotPlayed`."""
        if left := sum(script.crashes for script in self._scripts):
            raise NotPlayed(f"The pipeline has come to its end, and {left} crashes of its scripts were not reached.")

    @property
    def _is_dead(self) -> bool:
        return any(script.is_dead for script in self._scripts)

    def _fail_after_death(self, step: str, /) -> None:
        if self._is_dead:
            raise died(step)

    def _new_processor(self) -> LocalProcessor:
        self._processor = LocalProcessor(self._transform, hook=self._fail_after_death)
        return self._processor
