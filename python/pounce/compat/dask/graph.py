"""Dask's scheduler function over a client: the tasks of a graph as calls, each with its dependencies as futures."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from ...errors import BadRequest
from ..on_worker import run_node
from .future import Future


def compute(submit: Callable[..., Future], cancel: Callable[[list[Future]], None], dsk: Any, keys: Any) -> Any:
    """The values of `keys`, nested as `keys` is. Blocks; an interrupt ends the calls."""
    futures: dict[Any, Future] = {}
    try:
        _submit(submit, dsk, keys, futures)
        return _nested(keys, {key: futures[key].result() for key in set(_flat(keys))}, tuple)
    except BaseException:
        cancel(list(futures.values()))
        raise


def submitted(submit: Callable[..., Future], dsk: Any, keys: Any) -> Any:
    """The futures of `keys`, nested as `keys` is. Returns at once."""
    futures: dict[Any, Future] = {}
    _submit(submit, dsk, keys, futures)
    return _nested(keys, futures, list)


def _submit(submit: Callable[..., Future], dsk: Any, keys: Any, futures: dict[Any, Future]) -> None:
    """Leaves in `futures` those of `keys`, and of what others still need."""
    wanted = set(_flat(keys))
    nodes = _nodes(dsk, list(wanted))
    order = _in_order(nodes)
    last_user = {name: key for key in order for name in nodes[key].dependencies}
    run = uuid.uuid4().hex
    for key in order:
        needed = {name: futures[name] for name in nodes[key].dependencies}
        futures[key] = submit(run_node, nodes[key], needed, key=f"{key}-{run}")
        for name in needed.keys() - wanted:
            if last_user[name] == key:  # the last call keeps the value until it starts; nothing else needs it
                del futures[name]


def _nodes(dsk: Any, keys: list[Any]) -> dict[Any, Any]:
    """Tasks in Dask's form since 2024.12. A chain becomes one task, so its inner values stay on the worker."""
    try:
        from dask._task_spec import convert_legacy_graph, fuse_linear_task_spec
    except ImportError:
        raise BadRequest("this Dask is older than 2024.12", "Install a newer one: pip install -U dask.") from None
    graph = dict(dsk.__dask_graph__()) if hasattr(dsk, "__dask_graph__") else dict(dsk)
    nodes: dict[Any, Any] = fuse_linear_task_spec(convert_legacy_graph(graph), keys)
    return nodes


def _in_order(nodes: dict[Any, Any]) -> list[Any]:
    """Dependencies first, in an order that uses each value soon after it is computed."""
    from dask.order import order

    place = order(nodes)
    return sorted(nodes, key=place.__getitem__)


def _flat(keys: Any) -> Any:
    if isinstance(keys, list):
        for one in keys:
            yield from _flat(one)
    else:
        yield keys


def _nested(keys: Any, values: dict[Any, Any], kind: Callable[[Any], Any]) -> Any:
    if isinstance(keys, list):
        return kind([_nested(one, values, kind) for one in keys])
    return values[keys]
