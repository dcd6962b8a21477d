"""Which names a cell reads from its namespace, and which it assigns: from its source, before it runs.

In doubt a name counts as read: one variable too many costs time, one too few fails the cell.
"""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Collection, Iterable
from typing import Any

from .._common.fingerprint import importable

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, getattr(ast, "TryStar", ast.Try), ast.Match)
_IPYTHONS = frozenset(("In", "Out", "display", "exit", "get_ipython", "open", "quit"))
_PYTHON_MAGICS = frozenset(("time", "timeit", "prun", "memit", "mprun", "lprun"))
_IN_SHELL_TEXT = re.compile(r"(?<!\$)\$\{?([A-Za-z_]\w*)|\{([A-Za-z_]\w*)")


def reads(tree: ast.Module) -> set[str]:
    """Names that the code may look up before it has assigned them."""
    found: set[str] = set()
    later: set[str] = set()
    given = _walk(tree.body, set(), found, later)
    return found | (later - given)


def assigned(source: str) -> set[str]:
    """Names that Python code assigns in its own scope."""
    return set().union(*map(_stores, ast.parse(source).body))


def imported(tree: ast.Module) -> list[str]:
    """Modules that the code's import statements name."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
    return found


def is_ipythons(name: str, hidden: Collection[str]) -> bool:
    """Whether it is one of IPython's own among the names that it hides: it also hides what startup files made."""
    return name in hidden and (name.startswith("_") or name in _IPYTHONS)


def is_import(value: Any) -> bool:
    """A module, or a function or class of one: it is sent as its name."""
    return isinstance(value, types.ModuleType) or importable(value)


def _walk(body: Iterable[ast.stmt], given: set[str], found: set[str], later: set[str]) -> set[str]:
    """Returns the names that are certainly assigned after `body`. Adds the names that it reads at once to `found`, and
    those that its functions read to `later`."""
    for statement in body:
        if isinstance(statement, _BLOCKS):
            given = given | _block(statement, given, found, later)
            continue
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                _loads(item, given, found, later)
                given = given | _stores(item)
            given = _walk(statement.body, given, found, later)
            continue
        _loads(statement, given, found, later)
        if isinstance(statement, ast.Delete):
            given = given - {target.id for target in statement.targets if isinstance(target, ast.Name)}
        else:
            given = given | _stores(statement)
    return given


def _block(statement: ast.stmt, given: set[str], found: set[str], later: set[str]) -> set[str]:
    """The same for a statement with branches: only what every branch assigns is certainly assigned."""
    inside = set(given)
    branches = []
    for _, value in ast.iter_fields(statement):
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if isinstance(part, (ast.ExceptHandler, ast.match_case)):
                bound = inside | _stores_of_head(part)
                for head in (getattr(part, "type", None), getattr(part, "guard", None), getattr(part, "pattern", None)):
                    if head is not None:
                        _loads(head, bound, found, later)
                branches.append(_walk(part.body, bound, found, later))
            elif isinstance(part, ast.expr):
                _loads(part, inside, found, later)
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        _walk(statement.body, inside | _stores(statement.target), found, later)
        _walk(statement.orelse, inside, found, later)
        return set()
    if isinstance(statement, ast.While):
        _walk(statement.body, inside, found, later)
        _walk(statement.orelse, inside, found, later)
        return set()
    if isinstance(statement, ast.Match):
        return set()
    if isinstance(statement, ast.If):
        return _walk(statement.body, inside, found, later) & _walk(statement.orelse, inside, found, later)
    tried = _walk(statement.body, inside, found, later)  # type: ignore[attr-defined]
    tried = _walk(statement.orelse, tried, found, later)  # type: ignore[attr-defined]
    ended = _walk(statement.finalbody, inside, found, later)  # type: ignore[attr-defined]
    return set.intersection(tried, *branches) | ended


def _stores_of_head(part: ast.ExceptHandler | ast.match_case) -> set[str]:
    if isinstance(part, ast.ExceptHandler):
        return {part.name} if part.name else set()
    return _stores(part.pattern)


def _loads(node: ast.AST, given: set[str], found: set[str], later: set[str]) -> None:
    """Adds the names that evaluating `node` reads: to `found` unless `given`; those in functions' bodies to `later`."""
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Store) and node.id not in given:
            found.add(node.id)
        return
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id not in given:
        found.add(node.target.id)
    if isinstance(node, _SCOPES):
        _function(node, given, found, later)
        return
    if isinstance(node, ast.ClassDef):
        for part in [*node.decorator_list, *node.bases, *node.keywords]:
            _loads(part, given, found, later)
        _walk(node.body, set(given), found, later)
        return
    if isinstance(node, _COMPREHENSIONS):
        given = given.union(*(_stores(generator.target) for generator in node.generators))
    if isinstance(node, ast.Call):
        found.update(name for name in _names_in_magic(node) if name not in given)
    for child in ast.iter_child_nodes(node):
        _loads(child, given, found, later)


def _function(node: ast.AST, given: set[str], found: set[str], later: set[str]) -> None:
    arguments = node.args  # type: ignore[attr-defined]
    heads = [*getattr(node, "decorator_list", ()), *arguments.defaults, *filter(None, arguments.kw_defaults)]
    for head in heads:
        _loads(head, given, found, later)
    own = {a.arg for a in ast.walk(arguments) if isinstance(a, ast.arg)}
    body = node.body if isinstance(node.body, list) else [node.body]  # type: ignore[attr-defined]
    shared: set[str] = set()
    for part in body:
        own |= _stores(part)
        shared |= {name for n in ast.walk(part) if isinstance(n, ast.Global) for name in n.names}
    inner: set[str] = set()
    for part in body:
        _loads(part, own - shared, inner, inner)
    later |= inner - (own - shared)


def _stores(node: ast.AST) -> set[str]:
    """Names that `node` assigns in its own scope."""
    names: set[str] = set()
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, ast.Lambda):
        return names
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Store) else names
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and node.name:
        names.add(node.name)
    if isinstance(node, ast.MatchMapping) and node.rest:
        names.add(node.rest)
    comprehension = isinstance(node, _COMPREHENSIONS)  # only := leaves it
    for child in ast.iter_child_nodes(node):
        if not (comprehension and isinstance(child, ast.comprehension)):
            names |= _stores(child)
    return names


def _names_in_magic(call: ast.Call) -> set[str]:
    """IPython has turned ``%time f(x)`` and ``!ls {folder}`` into calls of get_ipython() with text."""
    if not (isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call)
            and getattr(call.func.value.func, "id", "") == "get_ipython"):
        return set()
    arguments = (argument.value for argument in call.args if isinstance(argument, ast.Constant))
    texts = [value for value in arguments if isinstance(value, str)]
    names = {name for text in texts for pair in _IN_SHELL_TEXT.findall(text) for name in pair if name}
    if call.func.attr.startswith("run_") and texts[0] in _PYTHON_MAGICS:
        for text in texts[1:]:
            names |= _reads_of_text(text)
    return names


def _reads_of_text(text: str) -> set[str]:
    """The text is Python behind a magic's own options (``-n 10 f(x)``): takes its longest end that parses."""
    words = text.split(" ")
    for start in range(len(words)):
        try:
            return reads(ast.parse(" ".join(words[start:])))
        except SyntaxError:
            continue
    return set()
