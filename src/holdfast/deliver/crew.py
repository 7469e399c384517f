"""The threads of a delivery: none dies unnoticed, and all have ended when the delivery is closed."""

from __future__ import annotations

from threading import Thread, current_thread
from typing import TYPE_CHECKING

from holdfast.deliver.core import Halted

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.deliver.core import Core


class Crew:
    """Starts threads in teams and knows which of them still run."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._teams: dict[Thread, str] = {}

    def start(self, team: str, work: Callable[[], None]) -> None:
        """Run the work in a thread of its own until it returns or is halted."""
        thread = Thread(target=self._run, args=(work,), name=f"holdfast-{team}", daemon=True)
        with self._core.lock:
            self._teams[thread] = team
        thread.start()

    def running(self, team: str | None = None) -> list[str]:
        """The team of each thread that has not ended; of one team, or of all."""
        with self._core.lock:
            return sorted(of for of in self._teams.values() if team in (None, of))

    def wait_until_ended(self, seconds: float, team: str | None = None) -> bool:
        """Wait for threads to end; False when some have not by then."""
        return self._core.wait_for(lambda: not self.running(team), seconds)

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Halted:
            pass
        except Exception as defect:
            self._core.fail(defect)
        except BaseException as end:
            self._core.crash(end)
        finally:
            with self._core.lock:
                del self._teams[current_thread()]
                self._core.news.notify_all()
