"""When an elastic gang begins a round of its program: with which members, and when it waits for more. Pure."""

from __future__ import annotations

SETTLE_S = 2.0  # after a member has come, for others that come at the same time: to begin again costs more


class Members:
    """Which of them are ready for the next round. The clock is in seconds and whoever calls has it."""

    def __init__(self, least: int, most: int):
        self.least, self.most = least, most
        self.here: set[int] = set()      # ready
        self._expected: set[int] = set()  # of the last round: they were there a moment ago
        self._refused: set[int] = set()   # for good
        self._last_came = 0.0

    @property
    def are_too_few(self) -> bool:
        """Whoever else comes."""
        return self.most - len(self._refused) < self.least

    def come(self, member: int, now: float) -> None:
        self.here.add(member)
        self._last_came = now

    def leave(self, member: int, for_good: bool = False) -> None:
        """Its lease ended; `for_good`: there will be none."""
        self.here.discard(member)
        self._expected.discard(member)
        if for_good:
            self._refused.add(member)

    def begin(self) -> list[int]:
        """Who the ranks of the round are, in their order. Whoever stays must come again for the next one."""
        begun = sorted(self.here)
        self._expected, self.here = self.here, set()
        return begun

    def begins_in(self, now: float) -> float | None:
        """Seconds; None: not before another one has come."""
        if len(self.here) < self.least or self._expected - self.here:
            return None
        return 0.0 if len(self.here) + len(self._refused) == self.most else max(0.0, self._last_came + SETTLE_S - now)
