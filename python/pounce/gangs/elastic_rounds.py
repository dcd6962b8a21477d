"""When an elastic gang begins a round of its program: with which members, and when it waits for more. Pure."""

from __future__ import annotations

SETTLE_S = 2.0  # the wait after a member has come, for others that come with it: a restart would cost more


class Members:
    """The members, and which of them are ready for the next round. The caller passes the time, in seconds."""

    def __init__(self, least: int, most: int):
        self.least, self.most = least, most
        self.here: set[int] = set()      # ready
        self._expected: set[int] = set()  # members of the last round, which were there a moment ago
        self._refused: set[int] = set()   # will never come
        self._last_came = 0.0

    @property
    def are_too_few(self) -> bool:
        """Whether there can never be enough of them."""
        return self.most - len(self._refused) < self.least

    def come(self, member: int, now: float) -> None:
        self.here.add(member)
        self._last_came = now

    def leave(self, member: int, for_good: bool = False) -> None:
        """The member's lease ended; `for_good`: it gets no other."""
        self.here.discard(member)
        self._expected.discard(member)
        if for_good:
            self._refused.add(member)

    def begin(self) -> list[int]:
        """Begins a round. Returns its members in the order of their ranks; each must come again for the next round."""
        begun = sorted(self.here)
        self._expected, self.here = self.here, set()
        return begun

    def begins_in(self, now: float) -> float | None:
        """The seconds until the round begins; None: another member must come first."""
        if len(self.here) < self.least or self._expected - self.here:
            return None
        return 0.0 if len(self.here) + len(self._refused) == self.most else max(0.0, self._last_came + SETTLE_S - now)
