"""Variables of the environment that a task with a name brings for MLflow, for as long as it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping

_before: dict[str, str | None] = {}  # as they were


def set_for_call(values: Mapping[str, str]) -> None:
    _before.update({name: os.environ.get(name) for name in values})
    os.environ.update(values)


def put_back() -> None:
    for name, value in _before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _before.clear()
