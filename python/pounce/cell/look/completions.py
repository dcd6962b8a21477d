"""The tab key on what lives on a worker: its own IPython's completions, before the notebook's, each once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..._common.cell_protocol import CompletionRow, Look
from .channel import LookChannel, Pending
from .places import Place, Places

_MOST_CHARS = 256 * 1024  # of a text that is sent
_UNKNOWN = "<unknown>"  # as IPython calls a type that it does not know
_NOT_SENT = ("profile_completions", "profiler_output_dir", "debug")


class Completions:
    """In front of the completer of a shell, in the same form."""

    def __init__(self, completer: Any, channel: LookChannel, places: Places):
        self._completer, self._channel, self._places = completer, channel, places
        self._local = completer.completions
        self._is_used = False

    def completions(self, text: str, offset: int) -> Iterator[Any]:
        place, self._is_used = self._places.of(text, offset), True
        pending = self._asked(place, text, offset) if place is not None else None
        if place is None or pending is None:
            self._channel.warm_up()
            names = self._named(place, text, offset)
            return merged(text, [*self._local(text, offset), *names]) if names else iter(self._local(text, offset))
        here: list[Any] = []
        if place.of_notebook:  # meanwhile the worker looks too
            here = [*self._local(text, offset), *self._named(place, text, offset)]
        answer = pending.answer()
        if answer is None or not answer.completions:
            return merged(text, here or list(self._local(text, offset)))
        return merged(text, _of_worker(answer.completions, place.start) + here)

    def cell_ended(self, _: Any) -> None:
        if self._is_used:
            self._channel.warm_up()

    def _asked(self, place: Place, text: str, offset: int) -> Pending | None:
        if place.state is None or len(text) > _MOST_CHARS:
            return None
        look = Look("complete", text[place.start:], offset - place.start, self._options())
        return self._channel.ask(place.state, look)

    def _options(self) -> dict[str, bool | int | str | list[str]]:
        """What the user has set of the notebook's completer."""
        values = {name: getattr(self._completer, name) for name in self._completer.trait_names(config=True)}
        return {name: value for name, value in values.items()
                if name not in _NOT_SENT and isinstance(value, (bool, int, str, list))}

    def _named(self, place: Place | None, text: str, offset: int) -> list[Any]:
        """The names of variables on workers that may stand there."""
        start = offset
        while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        return [_completion(start, offset, name, _UNKNOWN, "") for name in place.names] if place is not None else []


def _of_worker(rows: Iterable[CompletionRow], moved: int) -> list[Any]:
    return [_completion(row.start + moved, row.end + moved, row.text, row.type, row.signature) for row in rows]


def _completion(start: int, end: int, text: str, kind: str | None, signature: str) -> Any:
    from IPython.core.completer import Completion

    return Completion(start, end, text, type=kind, _origin="pounce", signature=signature)


def merged(text: str, found: list[Any]) -> Iterator[Any]:
    """Each once: of those with the same effect on the text the first."""
    if not found:
        return
    start, end = min(one.start for one in found), max(one.end for one in found)
    seen = set()
    for one in found:
        effect = text[start:one.start] + one.text + text[one.end:end]
        if effect not in seen:
            seen.add(effect)
            yield one
