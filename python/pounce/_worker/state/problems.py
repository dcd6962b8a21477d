"""Errors of a saved state. The text of each is a sentence of cause and a sentence of remedy."""

from __future__ import annotations

from typing import Any


class StateError(Exception):
    """Saving or restoring as a whole failed; the state saved before is unchanged."""


class Damaged(StateError):
    """A file of the state is truncated, edited or gone; nothing of it was loaded."""


class Foreign(StateError):
    """A file or folder belongs to another user, or others may write to it; nothing of it was read."""


class TooLarge(StateError):
    """The state is larger than it may be; nothing was written."""


class TooMany(TooLarge):
    """The manifest would be longer than it may be; the state saved before is whole."""


class NoSpace(StateError):
    """The disk, or the quota, is full; the state saved before is whole."""


class TakenOver(StateError):
    """Another worker now saves there; nothing was written."""


class NotParkable(Exception):
    """One object cannot be saved. `thing` is the object, the text says why."""

    def __init__(self, thing: Any, why: str):
        super().__init__(why)
        self.thing = thing


class TooSlow(BaseException):
    """Raised in the pickling thread when its time is over. It is not an Exception, so that few programs catch it."""


class Interrupted(BaseException):
    """A task waits for the processor."""
