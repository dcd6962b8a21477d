"""Who may import whom in python/pounce, as data, and what a module breaks of it.

LAYERS is read from the bottom: a module may import those of its own layer and of the layers named behind it, wherever the import
stands: at the top, inside a function, or for types alone. Inside a layer there are no circles. A name that begins with _ is its
module's own.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "python/pounce"

# layer: what its modules may import beside each other; a layer is a module or a folder of python/pounce
LAYERS: dict[str, list[str]] = {
    "_core": [],
    "errors": ["_core"],
    "_common": ["errors", "_core"],
    "_worker": ["_common", "errors", "_core"],
    "_record": ["_common", "errors"],
    "_engine": ["_record", "_worker.kernel_calls", "_worker.state.hash_seed", "_common", "errors", "_core"],
    "_tables": ["_engine", "_common", "errors", "_core"],
    "_map": ["_engine", "_common", "errors", "_core"],
    "_sweep": ["_engine", "_common", "errors", "_core"],
    "lease": ["_tables.utilisation", "_engine", "errors", "_core"],
    "future": ["lease", "_engine", "_common.ref", "errors", "_core"],
    "executor": ["future", "_map", "_engine", "_common.random_streams", "_common.submitted_functions", "errors"],
    "sweeps": ["future", "_sweep", "_tables.text_table", "_engine", "errors", "_core"],
    "gangs": ["future", "lease", "_engine", "_worker.rank_run", "_worker.rank_broadcast", "_common.random_streams", "_common.rank", "_common.ref", "errors", "_core"],
    "calls": ["executor", "sweeps", "gangs", "future", "_map", "_sweep", "_engine", "_common.local_modules", "_common.map_store", "_common.random_streams", "errors"],
    "client": ["_batch.job", "calls", "gangs", "future", "lease", "_tables", "_engine", "_common.ref", "errors"],
    "_batch": ["_record", "_engine", "_common", "errors", "_core"],
    "_batch.job": [],  # it is copied to where there is no pounce
    "batch_runs": ["_batch", "future", "lease", "errors"],
    "panels": ["serving", "command_line", "lease", "_engine", "_worker.serving", "errors"],
    "cell": ["serving", "panels", "_batch", "batch_runs", "client", "calls", "gangs", "lease", "future", "_tables.text_table", "_engine", "_worker.cell.look_answers", "_worker.cell.looks", "_worker.cell.parting", "_worker.cell.quiet", "_worker.cell.rank_cell", "_worker.cell.transfer_calls", "_worker.cell.runner", "_worker.state", "_common", "errors", "_core", "_worker.cell.comm_events", "kept"],
    "kept": ["cell.traceback", "command_line", "_tables.text_table", "_engine", "_common", "errors", "_core"],
    "mlflow_projects": ["client", "calls", "future", "_record", "compat.directives", "_batch", "_engine", "_common.here", "_common.mlflow_uri", "errors", "command_line", "_core"],
    "serving": ["command_line", "client", "calls", "future", "lease", "_tables.text_table", "_engine", "_worker.serving", "_common", "errors", "_core"],
    "insight": ["command_line", "serving.connection", "serving.listener", "_worker.serving", "_tables.text_table", "_engine.daemon", "_engine.durations", "_engine.resource_words", "errors", "_core"],
    "command_line": ["errors"],
    "run_command": ["command_line", "client", "calls", "future", "_engine", "_worker.command", "errors", "tracked_command"],  # what pouncectl run starts
    "on_worker": ["_batch.job", "_worker.interpreter", "_worker.checkpoints", "_worker.rank_run", "_worker.steps", "_common.rank", "_common.report", "_worker.reports"],
    "shared_client": ["client"],
    "remote_function": ["shared_client", "calls", "future", "_worker.interpreter", "_engine.options", "errors"],
    "": ["remote_function", "reruns", "serving", "panels", "batch_runs", "cell", "client", "on_worker", "sweeps", "gangs", "future", "lease", "executor", "_tables", "_engine", "_common.rank", "_common.ref", "_common.file", "_common.device_array", "_common.sharable_array", "errors", "kept"],  # __init__: the names of `import pounce`
    "tracked_command": ["_common.mlflow_uri", "errors"],
    "reruns": ["_record", "mlflow_projects", "command_line", "_batch", "batch_runs", "client", "calls", "future", "_tables.text_table", "_engine", "_common.mlflow_uri", "errors", "_core", "_common.settings"],
    "compat": ["", "shared_client", "calls", "client", "future", "_worker.nested_joblib", "_tables.classes", "_engine.durations", "_engine.options", "_engine.outcome", "_engine.seeds", "_map.collections", "_common.content_digest", "_common.here", "_common.random_streams", "_common.serialize", "_common.snapshot", "_common.ref", "errors"],
}


@dataclass(frozen=True)
class Import:
    module: str  # "cell.magic"; "" for the package itself
    line: int
    target: str  # a module likewise
    names: tuple[str, ...]  # what it takes out of it


def module_of(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def modules(root: Path) -> dict[str, ast.Module]:
    package = root / PACKAGE
    files = sorted(package.rglob("*.py"))
    return {module_of(file.relative_to(package)): ast.parse(file.read_text()) for file in files}


def imports(module: str, tree: ast.Module, known: set[str], is_package: bool = False) -> list[Import]:
    """Those of the package's own modules. `from . import a, b` is an import of a and one of b, where these are modules."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            ours = [alias.name for alias in node.names if alias.name.split(".")[0] == "pounce"]
            found += [Import(module, node.lineno, name.partition(".")[2], ()) for name in ours]
        if not isinstance(node, ast.ImportFrom):
            continue
        base = _base(module, node, is_package)
        if base is None:
            continue
        for alias in node.names:
            inside = f"{base}.{alias.name}".lstrip(".")
            found.append(Import(module, node.lineno, inside, ()) if inside in known or inside == "_core" else
                         Import(module, node.lineno, base, (alias.name,)))
    return found


def _base(module: str, node: ast.ImportFrom, is_package: bool) -> str | None:
    """The module that `from ... import` names; None: it is not one of ours."""
    named = node.module or ""
    if not node.level:
        return named.partition(".")[2] if named.split(".")[0] == "pounce" else None
    here = module.split(".") if module else []
    above = here[: len(here) - node.level + is_package]
    return ".".join([*above, *filter(None, [named])])


def layer_of(module: str) -> str | None:
    layers = [layer for layer in LAYERS if layer and (module == layer or module.startswith(layer + "."))]
    return max(layers, key=len) if layers else "" if module == "" else None


def trouble(found: Import) -> str | None:
    """What the table says against this import; None: nothing."""
    layer = layer_of(found.module)
    if layer is None:
        return f"{found.module}: lies in no layer of the table"
    private = [name for name in found.names if _is_private(name)]
    if private:
        return f"{found.module}:{found.line}: {private[0]} is {found.target}'s own"
    if layer_of(found.target) == layer or any(_is_in(found.target, allowed) for allowed in LAYERS[layer]):
        return None
    return f"{found.module}:{found.line}: {layer or 'pounce'} may import {', '.join(LAYERS[layer])}, not {found.target or 'pounce'}"


def _is_in(module: str, allowed: str) -> bool:
    return module == allowed or (allowed != "" and module.startswith(allowed + "."))


def circles(found: list[Import]) -> list[list[str]]:
    """Sets of modules each of which needs the others: none may be loaded, or understood, without all of them."""
    needs: dict[str, set[str]] = {}
    for one in found:
        needs.setdefault(one.module, set()).add(one.target)
    reached = {module: _reached(module, needs) for module in needs}
    knots = {frozenset(other for other in reached[module] if module in reached.get(other, ())) for module in needs if module in reached[module]}
    return sorted(sorted(knot) for knot in knots)


def _reached(module: str, needs: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = list(needs.get(module, ()))
    while ahead:
        one = ahead.pop()
        if one not in seen:
            seen.add(one)
            ahead.extend(needs.get(one, ()))
    return seen


# ---- private names -----------------------------------------------------------------------------------------------------

# Of os; of IPython, threading, abc, torch, accelerate and cloudpickle (the ids of classes), which have no public name for it; a NamedTuple's own,
# so spelled beside its fields' names.
FOREIGN = {"_get_or_create_tracker_id", "_lookup_class_or_track", "_DYNAMIC_CLASS_TRACKER_BY_ID", "_should_pickle_by_reference", "_get_dump",
           "_exit", "_get_default_store", "_filename_map", "_i", "_i00", "_ii", "_showtraceback", "_register_atexit", "_reset_state", "_fields", "_make", "_replace", "_asdict"}


def private_uses(module: str, tree: ast.Module) -> list[str]:
    """`x._y` where x is neither self nor cls nor declared to be of a class of this module."""
    own = _of_own_classes(tree)
    return [f"{module}:{node.lineno}: {ast.unparse(node)}" for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in FOREIGN
            and not _is_self(node.value) and not (isinstance(node.value, ast.Name) and node.value.id in own)]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("_") and name != "_core"


def _is_self(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def _of_own_classes(tree: ast.Module) -> set[str]:
    """Parameters and variables that are declared so: `future: Future`, `alive: Session | None = ...`."""
    classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    declared = [(node.arg, node.annotation) for node in ast.walk(tree) if isinstance(node, ast.arg)]
    declared += [(node.target.id, node.annotation) for node in ast.walk(tree)
                 if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
    return {name for name, kind in declared if kind is not None and ast.unparse(kind).removesuffix(" | None") in classes}
