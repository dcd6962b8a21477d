"""What lives in a worker's namespace, as its own IPython knows it: completions, what is known of a name, variables.

Thread: a look's own.
"""

from __future__ import annotations

import contextlib
from typing import Any

from IPython.core.completer import IPCompleter, provisionalcompleter
from IPython.core.magics.namespace import NamespaceMagics

from ..._common.cell_protocol import CompletionRow, Look, LookAnswer
from .lease_use import lease_use


class LookAnswers:
    """Of one shell. The completer is no other thread's: IPython's keeps its state in itself."""

    def __init__(self, shell: Any):
        self._shell = shell
        self._completer = IPCompleter(shell=shell, namespace={}, global_namespace={}, parent=shell)
        self._completer.custom_completers = shell.Completer.custom_completers

    def of(self, look: Look, printed: list[str]) -> LookAnswer:
        """`printed`: what this thread prints."""
        if look.kind == "complete":
            return LookAnswer(completions=self._completions(look))
        if look.kind == "inspect":
            return LookAnswer(bundle=self._bundle(look))
        if look.kind == "use":
            return LookAnswer(use=lease_use())
        print_table(self._shell, look.text)
        return LookAnswer(table="".join(printed))

    def _completions(self, look: Look) -> list[CompletionRow]:
        completer = self._completer
        for name in look.options.keys() & set(completer.trait_names(config=True)):
            setattr(completer, name, look.options[name])
        completer.custom_matchers = list(self._shell.Completer.custom_matchers)
        completer.namespace = completer.global_namespace = dict(self._shell.user_ns)  # a cell may add names meanwhile
        try:
            with provisionalcompleter():
                return [CompletionRow(one.start, one.end, one.text, one.type, one.signature)
                        for one in completer.completions(look.text, look.offset)]
        finally:
            completer.namespace = completer.global_namespace = {}

    def _bundle(self, look: Look) -> dict[str, str] | None:
        shell = _Untouched(self._shell, self._shell.user_ns)
        with contextlib.suppress(KeyError):
            found = type(self._shell).object_inspect_mime(
                shell, look.text, detail_level=look.detail, omit_sections=tuple(look.omit))
            return dict(found)
        return None


def print_table(shell: Any, kinds: str) -> None:
    """As %whos: of variables of these types, all where none is named."""
    NamespaceMagics.whos(_Table(_Untouched(shell, dict(shell.user_ns))), kinds)


class _Untouched:
    """The shell, for what reads it beside a cell: the names of builtins stay as the cell has them."""

    def __init__(self, shell: Any, names: dict[str, Any]):
        self._shell, self.user_ns = shell, names
        self.builtin_trap = contextlib.nullcontext()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shell, name)


class _Table:
    """What IPython's %whos needs of its magics."""

    def __init__(self, shell: _Untouched):
        self.shell = shell

    def who_ls(self, kinds: str) -> list[str]:
        return NamespaceMagics.who_ls(self, kinds)
