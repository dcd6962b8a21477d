"""What MLflow keeps in its process: where it logs to, which autologging is on, and the runs that are active.

The runs are written as MLflow sends them to its server, so that another version of it reads them.
"""

from __future__ import annotations

import importlib
import pickle
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

FLUENT = "mlflow.tracking.fluent"
_TRACKING, _REGISTRY = "mlflow.tracking._tracking_service.utils", "mlflow.tracking._model_registry.utils"
# MLflow has no public names for these.
_TRACKING_URI, _REGISTRY_URI, _EXPERIMENT, _STACK = (
    "_tracking_uri", "_registry_uri", "_active_experiment_id", "_active_run_stack")
_AUTOLOG, _BY_ALL = "autolog ", "globally_configured"

USUAL: dict[str, Any] = {"tracking": None, "registry": None, "experiment": None}


def read(mlflow: Any) -> dict[str, Any]:
    """With the autologging that the person switched on, or off: what ``mlflow.autolog()`` made of it is not read."""
    if FLUENT not in sys.modules:  # a part of MLflow that only traces
        return dict(USUAL)
    integrations = sys.modules["mlflow.utils.autologging_utils"].AUTOLOGGING_INTEGRATIONS
    autologging = {_AUTOLOG + name: dict(options) for name, options in list(integrations.items())
                   if options and not options.get(_BY_ALL)}
    return {"tracking": _place(getattr(sys.modules[_TRACKING], _TRACKING_URI)),
            "registry": _place(getattr(sys.modules[_REGISTRY], _REGISTRY_URI)),
            "experiment": experiment(), **autologging}


def write(mlflow: Any, saved: dict[str, Any]) -> None:
    present = read(mlflow)
    for name, value in saved.items():
        if name in present and present[name] == value:  # a second autolog() would patch the libraries again
            continue
        if name == "tracking":
            mlflow.set_tracking_uri(value)
        elif name == "registry":
            mlflow.set_registry_uri(value)
        elif name == "experiment":
            setattr(sys.modules[FLUENT], _EXPERIMENT, value)
        else:
            flavour = name.removeprefix(_AUTOLOG)
            module = mlflow if flavour == "mlflow" else importlib.import_module(f"mlflow.{flavour}")
            module.autolog(**value)


def switch_on(options: Mapping[str, bytes]) -> bool:
    """Whether these, each pickled, switch autologging on: code that is logged so need not name MLflow."""
    return any(name.startswith(_AUTOLOG) and not pickle.loads(value).get("disable") for name, value in options.items())


def _place(uri: str | None) -> str | None:
    from .. import mlflow_uri

    return mlflow_uri.absolute(uri) if uri else uri


# ---- the active runs ----

def stack() -> list[Any]:
    """Of this thread, the innermost last: MLflow's own list."""
    runs: list[Any] = getattr(sys.modules[FLUENT], _STACK).get()
    return runs


def stack_of(thread: int) -> list[Any]:
    runs: list[Any] = getattr(sys.modules[FLUENT], _STACK).get_all_thread_values().get(thread, [])
    return runs


def as_bytes(runs: Sequence[Any]) -> list[bytes]:
    return [run.to_proto().SerializeToString() for run in list(runs)]


def runs(mlflow: Any) -> list[bytes]:
    return as_bytes(stack()) if FLUENT in sys.modules else []


def set_runs(mlflow: Any, saved: list[bytes]) -> None:
    make_active(saved)


def make_active(saved: list[bytes]) -> list[Any]:
    """Makes these the active runs of the main thread. Nothing is started or ended, and the server is not asked."""
    protos = importlib.import_module("mlflow.protos.service_pb2")
    entities, active = importlib.import_module("mlflow.entities"), sys.modules[FLUENT].ActiveRun
    stack_there = main_stack()
    present = {run.info.run_id: run for run in stack_there or []}
    runs = [protos.Run.FromString(data) for data in saved]
    made = [present.get(run.info.run_id) or active(entities.Run.from_proto(run)) for run in runs]
    if stack_there is None:
        _begin_main_stack_with(made)
    else:
        stack_there[:] = made
    return made


def main_stack() -> list[Any] | None:
    """Of the main thread. None, in another one: that one has not looked for its runs yet."""
    main = threading.main_thread()
    if threading.current_thread() is main:
        return stack()
    found: list[Any] | None = getattr(sys.modules[FLUENT], _STACK).get_all_thread_values().get(main.ident)
    return found


def _begin_main_stack_with(runs: list[Any]) -> None:
    """MLflow was imported by a thread of pounce's: the main thread finds these when it looks for its runs."""
    variable = getattr(sys.modules[FLUENT], _STACK)
    usual = variable.default_factory

    def first() -> list[Any]:
        if threading.current_thread() is not threading.main_thread():
            return list(usual())
        variable.default_factory = usual
        return runs

    variable.default_factory = first


def experiment() -> str | None:
    """The id of the experiment that was set here."""
    chosen: str | None = getattr(sys.modules[FLUENT], _EXPERIMENT)
    return chosen
