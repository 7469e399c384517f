"""When an optional sink is detached: it alone has kept the outbox full for longer than the quota is patient.

Pure: how much is used, who holds it back and the time are passed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Relief:
    """Remembers since when a full outbox waits for each sink.

    :param quota: the bytes at which the outbox is full.
    :param patience: how many seconds a full outbox waits for an optional sink.
    """

    def __init__(self, quota: int, patience: float) -> None:
        self._quota = quota
        self._patience = patience
        self._since: dict[str, float] = {}

    def due(self, used: int, holding_back: Sequence[str], now: float) -> str | None:
        """The sink that is to be detached now; None when there is none.

        An outbox that is emptied a little and filled again has not ceased to wait: a sink that is slow without end is
        detached too. The waiting is over when the sink holds nothing back, or half of the outbox is empty.
        """
        if used < self._quota // 2:
            self._since.clear()
        self._since = {name: since for name, since in self._since.items() if name in holding_back}
        if used < self._quota:
            return None
        for name in holding_back:
            if now - self._since.setdefault(name, now) >= self._patience:
                del self._since[name]
                return name
        return None
