"""What is served, and by how many workers: the arguments of ``pounce.serve``, checked before anything is begun."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .._common import serialize
from .._engine.durations import seconds_of
from .._engine.options import name_of_task
from .._engine.resource_words import did_you_mean
from .._engine.submission import not_picklable
from .._worker.serving import Source
from ..errors import BadRequest

MOST_WORKERS = 64
_RANGE = re.compile(r"\s*(\d{1,4})\s*:\s*(\d{1,4})\s*")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):/", re.IGNORECASE)
_SCHEMES = ("models", "runs", "mlflow-artifacts", "file", "s3", "gs", "wasbs", "abfss", "azureml", "hdfs", "dbfs",
            "r2", "b2", "http", "https", "ftp", "sftp", "oss", "uc")
_FOR_EXAMPLE = "For example models:/digits/3, models:/digits@champion, runs:/RUN/model, /path/of/a/model, a function."


def source_of(model: Any) -> Source:
    """The function is pickled now: workers that start later have it as it is now."""
    if callable(model):
        return Source(str(getattr(model, "__name__", type(model).__name__)), function=_pickled(model))
    if not isinstance(model, str) or not model.strip():
        raise BadRequest(f"serve takes the address of a model of MLflow's or a function, not {model!r}", _FOR_EXAMPLE)
    match = _SCHEME.match(model)
    if match is None and not model.startswith(("/", "./", "../", "~")):
        raise BadRequest(f"{model!r} is no address of a model", _FOR_EXAMPLE)
    if match is not None and match[1].lower() not in _SCHEMES:
        raise BadRequest(f"MLflow has no address that begins with {match[1]}:{did_you_mean(match[1], _SCHEMES)}",
                         _FOR_EXAMPLE)
    if match is not None and not model[match.end():].strip("/"):
        raise BadRequest(f"{model!r} names no model", _FOR_EXAMPLE)
    return Source(_short(model), uri=model)


def workers_of(value: Any) -> tuple[int, int]:
    """From how many to how many: "0:4", or a number for both."""
    if isinstance(value, str) and (match := _RANGE.fullmatch(value)):
        least, most = int(match[1]), int(match[2])
    elif isinstance(value, int) and not isinstance(value, bool):
        least = most = value
    else:
        least, most = 0, 0
    if not (least <= most and 1 <= most <= MOST_WORKERS):
        raise BadRequest(f"workers= takes from how many to how many, '0:4', or a number, 1 to {MOST_WORKERS}, "
                         f"not {value!r}")
    return least, most


def idle_of(value: Any) -> float:
    seconds = seconds_of(value)
    if seconds is None or not seconds >= 0:
        raise BadRequest(f"idle= takes seconds, a timedelta or '10min', at least 0, not {value!r}")
    return seconds


def name_of(name: Any) -> str:
    try:
        return name_of_task(name)
    except BadRequest:
        raise BadRequest("the name of an endpoint is up to 64 letters, digits and . _ - with no sign in front, "
                         f"not {name!r}") from None


def _pickled(function: Callable[..., Any]) -> bytes:
    name = getattr(function, "__name__", type(function).__name__)
    try:
        pickled, _, objects = serialize.dumps(function, most_buffers=0)
    except Exception as error:
        raise not_picklable(function, name, error) from error
    if objects:
        raise BadRequest(f"{name} captured a pounce.Ref or a future", "Have it capture the value itself.")
    return pickled


def _short(uri: str) -> str:
    """A name for its endpoint: models:/digits/3 is digits."""
    parts = [part for part in re.split(r"[/@:]+", uri) if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}", part)]
    is_registered = uri.startswith("models:") and len(parts) > 1
    return parts[1] if is_registered else parts[-1] if parts else "model"
