"""What a worker serves for ``pounce.serve``: a model of MLflow's or a function, loaded once and kept until this process
ends. The worker's lease is held meanwhile, busy or not; the kernel gives it back.

A fault of the model or of a request is an answer, and no exception: the kernel would have to import its type's module.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._common import exceptions, serialize
from .cell import held
from .cell.own_folders import OwnFolders

JSON = "application/json"
_TEXT_CHARS = 2_000


class Answer(NamedTuple):
    """One answer, as HTTP has it."""

    status: int
    kind: str  # of the content
    body: bytes


class Source(NamedTuple):
    """What is served: a model's address, or a function."""

    name: str
    uri: str = ""
    function: bytes = b""  # pickled

    def __str__(self) -> str:
        return self.uri or f"{self.name}()"


class Loaded(NamedTuple):
    """What came of loading it."""

    version: str = ""  # of MLflow; empty: it is a function
    problem: str = ""  # why it cannot be served; empty: it can
    type: str = ""  # of the exception that said so


_kept: dict[str, Callable[[bytes, str], Answer]] = {}  # by the id of its endpoint
_folders = OwnFolders()


def failed(status: int, code: str, text: str, kind: str = "") -> Answer:
    """An error as MLflow's scoring server words one, with the exception's type beside it."""
    facts = {"error_code": code, "message": text[:_TEXT_CHARS], **({"type": kind} if kind else {})}
    return Answer(status, JSON, json.dumps(facts).encode())


def load(id: str, source: Source) -> Loaded:
    """Blocks until it is here; what is here already is taken as it is."""
    version = ""
    try:
        if id not in _kept:
            if source.uri:
                _kept[id], version = _model(source.uri)
            else:
                _kept[id] = _function(source.name, serialize.loads(source.function, []))
    except Exception as error:
        missing = _missing(error)
        if missing:
            text = (f"{source} needs the package {missing}, which the worker's Python lacks "
                    f"({sys.executable}). Install it there, or name another environment: env=.")
            return Loaded("", text, "ModuleNotFoundError")
        return Loaded("", f"{source} cannot be loaded: {exceptions.words_of(error)}", type(error).__name__)
    held.hold(True)
    return Loaded(version)


def answer(id: str, body: bytes, kind: str) -> Answer | None:
    """None: this Python has not loaded it."""
    served = _kept.get(id)
    if served is None:
        return None
    with held.cell():
        return served(body, kind)


def _missing(error: BaseException | None) -> str:
    """The package without which it cannot be loaded; libraries wrap that error in their own. Empty: none is missing."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            return error.name.partition(".")[0]
        error = error.__cause__ or error.__context__
    return ""


# ---- a function ----

def _function(name: str, function: Callable[[Any], Any]) -> Callable[[bytes, str], Answer]:
    def served(body: bytes, _: str) -> Answer:
        try:
            value = json.loads(body)
        except (ValueError, RecursionError) as error:
            return no_json(error)
        try:
            result = function(value)
        except (Exception, SystemExit) as error:
            is_input = isinstance(error, ValueError)
            return failed(400 if is_input else 500, "BAD_REQUEST" if is_input else "INTERNAL_ERROR",
                          f"{name} raised {exceptions.words_of(error)}", type(error).__name__)
        try:
            text = json.dumps(result, default=_plain, allow_nan=False)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            text = f"{name} returned a {type(result).__name__}, which JSON cannot hold: {exceptions.words_of(error)}"
            return failed(500, "INTERNAL_ERROR", text, type(error).__name__)
        return Answer(200, JSON, text.encode())

    return served


def no_json(error: BaseException) -> Answer:
    return failed(400, "BAD_REQUEST", f"the body is no JSON: {exceptions.words_of(error)}", type(error).__name__)


def _plain(value: Any) -> Any:
    """An array, a tensor or one of their numbers, as lists and numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is in it")


# ---- a model ----

def _model(uri: str) -> tuple[Callable[[bytes, str], Answer], str]:
    """MLflow's own code reads the request and writes the answer; the second is its version."""
    import mlflow.pyfunc
    from mlflow.exceptions import MlflowException
    from mlflow.pyfunc import scoring_server

    with downloads_that_end_with_this_process():
        model = mlflow.pyfunc.load_model(uri)
    schema = model.metadata.get_input_schema()

    def served(body: bytes, kind: str) -> Answer:
        try:
            given = scoring_server.invocations(body, kind, model, schema)
        except MlflowException as error:
            inner = error.__context__  # MLflow says that something was raised, and not what
            text = error.message if inner is None else f"{error.message} {exceptions.words_of(inner)}"
            return failed(error.get_http_status_code(), error.error_code, text, type(inner or error).__name__)
        except Exception as error:
            return failed(500, "INTERNAL_ERROR", exceptions.words_of(error), type(error).__name__)
        if given.status != 200:  # it does not take this type of content
            return failed(given.status, "BAD_REQUEST", given.response)
        return Answer(200, given.mimetype, given.response.encode())

    return served, mlflow.__version__


@contextlib.contextmanager
def downloads_that_end_with_this_process() -> Iterator[None]:
    """MLflow downloads a model into a new temporary folder, needs that as long as the model, and never removes it."""
    folder, before = _folders.folder("models"), tempfile.tempdir
    atexit.register(_folders.remove)
    tempfile.tempdir = folder
    try:
        yield
    finally:
        tempfile.tempdir = before
