"""What the tab key offers behind ``%%pounce`` and ``%pounce``. It leases nothing, and never makes the user wait."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable
from typing import Any

from .. import errors
from .._engine import daemon
from ..client import Client
from . import served
from .options_line import FLAGS, OPTIONS, VERBS

_PATIENCE_S = 0.4
INSTEAD = ("cpu", "cancel")


class Completion:
    def __init__(self, of_notebook: Callable[[], Iterable[str]], of_workers: Callable[[], Iterable[str]]):
        self._of_notebook, self._of_workers = of_notebook, of_workers
        self._classes, self._gpus = Known("classes", _class_names), Known("gpus", _gpu_types)

    def register(self, shell: Any) -> None:
        """Adds a matcher. Matchers silence the others, which take such a line for Python and offer its names too."""
        matchers = getattr(shell.Completer, "custom_matchers", None)
        if matchers is None:  # IPython before 8.6
            return
        from IPython.core.completer import SimpleCompletion

        def pounce_matcher(context: Any) -> dict[str, Any]:
            found = self.of(context.text_until_cursor, context.token)
            return {"completions": [SimpleCompletion(text) for text in found], "suppress": True}

        pounce_matcher.matcher_api_version = 2  # type: ignore[attr-defined]
        matchers.append(pounce_matcher)

    def of(self, line: str, token: str) -> list[str]:
        """What `token`, the end of `line`, may become."""
        words = line.replace("=", " ").split()
        if not words or words[0] not in ("%%pounce", "%pounce") or token == words[0]:
            return []
        is_written = token or words[-1].endswith(",")  # the last word is not complete
        return [text for text in self._behind(words[:-1] if is_written else words) if text.startswith(token)]

    def _behind(self, words: list[str]) -> list[str]:
        last, verb = words[-1], words[1] if len(words) > 1 and not any(word.startswith("-") for word in words) else ""
        if last == "--out" or verb == "pull":
            return sorted(self._of_workers())
        if last == "--in" or verb == "push":
            return sorted(name for name in self._of_notebook() if not name.startswith("_"))
        if last == "--class" or words[-2:] == ["--or", "class"]:
            return self._classes.names()
        if last in ("--gpu", "--gpu-type"):
            return self._gpus.names()
        if last == "--or":
            return [*(f"class={name}" for name in self._classes.names()), *self._gpus.names(), *INSTEAD]
        if verb == "serve":
            return served.names() if last == "stop" else ["stop"]
        if last in OPTIONS and last not in FLAGS:
            return []  # a value that only the user knows
        return [*VERBS, *OPTIONS] if words == ["%pounce"] else [*OPTIONS]


class Known:
    """Names of this cluster, fetched once and in the background."""

    def __init__(self, what: str, ask: Callable[[], list[str]]) -> None:
        self._what, self._ask_for = what, ask
        self._names: list[str] | None = None
        self._asking: threading.Thread | None = None

    def names(self) -> list[str]:
        """Empty while the answer is on its way: the next tab has it."""
        if self._names is None and (self._asking is None or not self._asking.is_alive()):
            self._asking = threading.Thread(target=self._ask, name=f"pounce-{self._what}", daemon=True)
            self._asking.start()
        if self._asking is not None:
            self._asking.join(_PATIENCE_S)
        return self._names or []

    def _ask(self) -> None:
        with contextlib.suppress(errors.PounceError):  # the cell itself will say what is wrong
            self._names = self._ask_for()


def _class_names() -> list[str]:
    """The names that pounced knows. Starts pounced if it does not run."""
    return list(json.loads(daemon.ensure(None, None)).get("classes", ()))


def _gpu_types() -> list[str]:
    with Client() as client:
        return sorted(gpu.type for gpu in client.classes().gpus if gpu.type)
