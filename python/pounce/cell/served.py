"""``%pounce serve``: the endpoints of this notebook, and stopping one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from .._engine.resource_words import did_you_mean
from ..errors import BadRequest, NoSuchName

_STOP = "stop"
_ENDPOINTS = "pounce.serving.endpoint"  # a notebook that serves nothing imports no server


def line(words: Sequence[str]) -> str:
    """What the words after ``%pounce serve`` do, in words."""
    if not words:
        return "\n".join(map(repr, _open())) or "this notebook serves nothing: pounce.serve(model, gpus=1) begins it"
    verb, *names = words
    if verb != _STOP:
        near = did_you_mean(verb, (_STOP,))
        raise BadRequest(f"there is no %pounce serve {verb}{near}", "pounce.serve() begins it, %pounce serve stop NAME "
                         "ends it, and %pounce serve alone lists.")
    if not names:
        raise BadRequest("%pounce serve stop takes a name", f"This notebook serves {_listed()}.")
    ends = [_named(name) for name in ",".join(names).split(",") if name]
    for endpoint in ends:
        endpoint.close()
    return "\n".join(map(repr, ends))


def names() -> list[str]:
    return sorted(endpoint.name for endpoint in _open())


def _open() -> list[Any]:
    return sys.modules[_ENDPOINTS].open_endpoints() if _ENDPOINTS in sys.modules else []


def _named(name: str) -> Any:
    found = next((endpoint for endpoint in _open() if endpoint.name == name), None)
    if found is None:
        raise NoSuchName(f"this notebook serves nothing under the name {name}{did_you_mean(name, names())}",
                         f"It serves {_listed()}.")
    return found


def _listed() -> str:
    return ", ".join(names()) or "nothing"
