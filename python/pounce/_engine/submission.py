"""``Submitter``: turns calls into tasks of one session: functions and arguments to bytes, large ones to objects."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .. import _core, errors
from .._common import device_pickle, here, serialize, sharable_array
from .._common.file_regions import have_to_travel_as_files
from .._common.local_modules import Modules
from .._common.mlflow_work import CallRuns
from .._common.random_streams import Streams
from .._common.ref import Awaited, Ref
from .._worker.kernel_calls import CELLS, SERVED, apply, is_of
from ..errors import BadRequest
from . import detached
from .dependencies import Dependencies, arguments_by_path, place_of, with_note
from .file_objects import FileObject, FileObjects
from .function_cache import FunctionCache, Pickled
from .mutations import Watched, is_checked
from .options import Options
from .passed_on import PassedOn
from .session import Session
from .task import Task

INLINE_BYTES = 1024 * 1024  # larger arguments become objects automatically (src/protocol/message_limits.h)
_INLINE_BUFFERS = 1000  # per call: each is a frame of its message, which has 1,024 at most
_MESSAGE_BYTES = 32 * 1024 * 1024  # a frame has at most 64 MiB
_SMALL_BYTES = 4096  # a smaller argument never becomes an object
_LOOKED_INTO = 16  # waiting calls at most, with which a call's modules are still looked up
_MLFLOW, _MLFLOWS = "mlflow", "MLFLOW_"  # the module, and how its variables begin
_NO_ARGUMENTS = [serialize.NO_ARGUMENTS]


class _Call(NamedTuple):
    """What a resubmission needs; `keeps` holds its objects."""

    function: Pickled
    payload: list[Any]
    objects: list[str]
    retries: int
    submitted_ns: int
    keeps: list[Any]
    settings: str  # an object, "" for none


_open: weakref.WeakSet[Submitter] = weakref.WeakSet()


def open_sessions() -> list[Session]:
    """All open sessions of this process, for questions to pounced about the whole process. Does not block."""
    return [submitter.session for submitter in _open]


class Submitter:
    """Submits to the workers of one environment, with a session of its own. Any thread."""

    def __init__(self, launcher: str | None, config: str | None, cancel_grace: float, env: str | None,
                 imports: str = "ahead"):
        self.session = Session(launcher, config, cancel_grace, env, imports=imports)
        self._modules: Modules | None = None
        self._functions = FunctionCache()
        # The results of futures, as objects.
        self._results: weakref.WeakKeyDictionary[Any, weakref.ref[Ref]] = weakref.WeakKeyDictionary()
        self._scattered: sharable_array.Known = weakref.WeakKeyDictionary()
        self._files = FileObjects(self.session.core.hold_object)
        # By object, where changes of data are checked: equal data is sent from the memory that was handed over first.
        self._watched: weakref.WeakValueDictionary[str, Watched] | None = (
            weakref.WeakValueDictionary() if is_checked() else None)
        self._call_settings: Any = None
        self._like_us = (launcher, config, cancel_grace)
        self._imports = imports
        self._others: dict[str, Submitter] = {}  # by the prefix of their environment
        self._others_lock = threading.Lock()
        _open.add(self)

    def in_environment(self, env: str | os.PathLike[str]) -> Submitter:
        """The submitter for workers in another environment. It is closed with this one."""
        prefix = prefix_of(env)
        with self._others_lock:
            if prefix not in self._others:
                self._others[prefix] = Submitter(*self._like_us, prefix, self._imports)
                self._others[prefix].follow(self._modules)
            return self._others[prefix]

    def follow(self, modules: Modules | None) -> None:
        """From now on its workers get the user's modules as `modules` says; None: as their files are."""
        self._modules, self._functions = modules, FunctionCache(modules)

    def sessions(self) -> Iterator[Session]:
        """Its own session, and those of the other environments."""
        yield self.session
        for other in self._others.values():
            yield from other.sessions()

    def close(self) -> None:
        for other in self._others.values():
            other.close()
        self.session.close()
        _open.discard(self)

    def submit(self, task: Task, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
               retries: int, streams: Streams | None = None, is_recorded: bool = False) -> None:
        """Sends a call. `task` has its options, and its future too, since its end may come at once. `is_recorded`: a
        run of MLflow that it logs into can be repeated."""
        submitted_ns = time.monotonic_ns()
        task.function, task.args = function, args
        if kwargs:
            task.kwargs = kwargs
        holds: list[Any] = []  # keep implicit objects here until the engine holds them for the task
        modules, others = self.session.modules, len(self.session.under_way)
        if modules is not None and others <= _LOOKED_INTO:
            modules.before_call(function, (*args, *kwargs.values()), first=not others)
        pickled = self._pickled(function, task.name)
        if pickled.buffers or pickled.objects or len(pickled.pickle) > INLINE_BYTES:
            # A function that captured much data is an object: sent once, however often its small parts change.
            self._object(function, f"what {task.name} captured", holds)
            pickled = self._pickled(apply, task.name)
        is_cell = is_of(function, CELLS)  # cells get settings and MLflow's runs in a way of their own
        has_runs = _MLFLOW in sys.modules and not is_of(function, (CELLS, SERVED))
        runs = self._runs(task, is_recorded) if has_runs else None
        if args or kwargs or holds or streams or runs:
            payload, objects = self._arguments(args, kwargs, task.name, holds, streams, runs)
        else:
            payload, objects = _NO_ARGUMENTS, []
        settings = None if is_cell else (self._call_settings or self._settings()).object()
        if not objects and task.may_end is None:  # it is sent once, as it is
            assert task.asks is not None
            self.session.submit(task, pickled, payload, [settings.id] if settings is not None else [],
                                task.asks.resources, retries, submitted_ns, "", settings is not None)
            return self._plan(task)
        call = _Call(pickled, payload, objects, retries, submitted_ns, [*holds, args, kwargs, settings],
                     settings.id if settings is not None else "")
        if any(type(each) is Awaited for each in objects):
            self._send_when_ready(task, call, args, kwargs)
        else:
            self._send(task, call)

    def _send_when_ready(self, task: Task, call: _Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Sends a call when the futures among its arguments have ended. Copies what the user may change meanwhile."""
        task.id = _core.new_task()
        buffers = [bytearray(buffer) for buffer in call.payload[1:]]
        places = [each for each in call.objects if type(each) is Awaited]
        passed = {each.future: self._passed_on(each.task) for each in places}

        def ready() -> None:
            try:
                self._send(task, self._with_results(task, call, buffers, args, kwargs, passed))
            except Exception as error:
                self.session.end_unsent(task, error)
            else:
                self.session.sent(task)
                if (passed_on := task.passed_on) is not None:
                    passed_on.expect(task.id)

        def failed(future: Any) -> None:
            self.session.end_unsent(task, _as_that_one(future, place_of(future, args, kwargs, task.name)))

        task.awaits = Dependencies({each.future: each.task for each in places}, ready, failed)
        self.session.awaiting.add(task)
        task.awaits.begin()

    def _passed_on(self, task: Task) -> PassedOn | None:
        """The result of a task that others take; None: it has come, is another session's, or may come twice."""
        waits = task in self.session.awaiting
        if task.may_end is not None or (not waits and self.session.under_way.get(task.id) is not task):
            return None
        if task.passed_on is None:
            task.passed_on = PassedOn(self.session.core)
            if not waits:
                task.passed_on.expect(task.id)
        return task.passed_on

    def _with_results(self, task: Task, call: _Call, buffers: list[bytearray], args: tuple[Any, ...],
                      kwargs: dict[str, Any], passed: dict[Any, PassedOn | None]) -> _Call:
        """The call once the futures among its arguments have ended: small results are in it, large ones are objects."""
        task.keeps = holds = list(task.keeps)
        values, bytes_left = [], INLINE_BYTES
        for each in call.objects:
            if type(each) is not Awaited:
                values.append(Ref(each, 0, None))
                continue
            path = place_of(each.future, args, kwargs, task.name)
            value, nbytes = self._result(each.future, path, holds, bytes_left, passed[each.future])
            values.append(value)
            bytes_left -= nbytes
        late = serialize.LateArguments(call.payload[0], buffers, values)
        data, out, objects = serialize.dumps(late, by_file=True, most_buffers=_INLINE_BUFFERS)
        _check_size(data, task.name)
        return call._replace(payload=[data, *out], objects=objects, submitted_ns=time.monotonic_ns(),
                             keeps=[*call.keeps, *holds])

    def _result(self, future: Any, path: str, holds: list[Any], bytes_left: int,
                passed: PassedOn | None) -> tuple[Any, int]:
        """The future's result, or a Ref where it is large or exceeds `bytes_left`; and its size in the call."""
        known = self._results.get(future)
        ref = known() if known is not None else None
        if ref is not None:
            holds.append(ref)
            return ref, 0
        handle = passed.handle if passed is not None else None
        if handle is not None:
            ref = Ref(handle.id, handle.nbytes, handle)
            self._results[future] = weakref.ref(ref)
            holds.append(ref)
            return ref, 0
        value = future.result(0)
        try:
            data, buffers, objects = serialize.dumps(value, by_file=True)
        except Exception as error:
            raise not_picklable(value, path, error) from error
        if objects:
            text = f"{path} is a result with a future or a pounce.Ref in it, which cannot be sent on"
            raise errors.NotPicklable(text)
        nbytes = len(data) + sum(buffer.raw().nbytes for buffer in buffers)
        if not _is_large(data, buffers, max(_SMALL_BYTES, bytes_left)):
            return value, nbytes
        ref = self._hold(data, buffers, path, holds)
        self._results[future] = weakref.ref(ref)
        return ref, 0

    def _send(self, task: Task, call: _Call) -> None:
        objects = call.objects
        if self._files or task.may_end is not None:
            objects = self._in_reach(task, call)
            if task.may_end is not None:
                task.submit_copy = lambda copy: self._submit_copy(copy, call)
        self._watch(task, objects)
        self._submit(task, call, objects, task.id)
        self._plan(task)

    def _plan(self, task: Task) -> None:
        """What it does instead of waiting."""
        if task.asks is not None and task.asks.wait_policy:
            self.session.planner.add(self.session, task, task.asks.wait_policy)

    def _in_reach(self, task: Task, call: _Call) -> list[str]:
        """The objects to send it with. It may have to be sent again, with more of them as data."""
        used, reached = self._files.used_by(call.objects), self._files.in_reach(call.objects)
        if used:
            task.objects, task.sends_again = reached, lambda path: self._send_again(task, call, used, path)
        return reached

    def _send_again(self, task: Task, call: _Call, used: list[FileObject], path: str) -> bool:
        """Sends it again if its worker does not see the file at `path`. False: it had all that it needs."""
        self._files.not_shared(used, path)
        objects = self._files.in_reach(call.objects)
        if objects == task.objects or task.asks is None:
            return False
        task.objects = objects
        self._submit(task, call, objects)
        if task.given_up:
            self.session.cancel(task)
        return True

    def _submit_copy(self, copy: Task, call: _Call) -> None:
        """Submits the same bytes again: the arguments may have changed since."""
        objects = self._files.in_reach(call.objects)
        self._watch(copy, objects)
        self._submit(copy, call._replace(retries=0, submitted_ns=time.monotonic_ns()), objects)

    def _submit(self, task: Task, call: _Call, objects: list[str], again: str = "") -> None:
        assert task.asks is not None
        if call.settings:
            objects = [*objects, call.settings]
        self.session.submit(task, call.function, call.payload, objects, task.asks.resources, call.retries,
                            call.submitted_ns, again, bool(call.settings))

    def _settings(self) -> Any:
        """Imported when there is a session: ``import pounce`` is to take no time."""
        if self._call_settings is None:
            from .call_settings import CallSettings

            self._call_settings = CallSettings(self.session.core.hold_object, self.session.start)
        return self._call_settings

    def _runs(self, task: Task, is_recorded: bool) -> CallRuns | None:
        from . import mlflow_runs

        return mlflow_runs.of_call(task, self.session.launcher, self.session.prefix, is_recorded)

    def _watch(self, task: Task, objects: list[str]) -> None:
        if self._watched is not None:
            task.watched = [watched for each in objects if (watched := self._watched.get(each)) is not None]

    def submit_detached(self, options: Options, function: Callable[..., Any], args: tuple[Any, ...],
                        kwargs: dict[str, Any], retries: int, streams: Streams | None = None) -> detached.DetachedTask:
        if options.wait_policy:
            raise BadRequest("a task with a name waits without this kernel, so wait_policy= is not for it",
                             "Leave out one of the two.")
        name = name_of(function)
        try:
            runs = self._runs_of_detached(options, function, args, kwargs)
            parts = detached.parts_of(function, args, kwargs, streams, self._settings().for_disk(), runs, retries)
        except errors.PounceError:
            raise
        except Exception as error:
            if serialize.path_of_unpicklable(function, name) is not None:
                raise not_picklable(function, name, error) from error
            raise _not_picklable_arguments(args, kwargs, name, error) from error
        return detached.submit(self.session, options.name, parts, options.resources, retries)

    def _runs_of_detached(self, options: Options, function: Callable[..., Any], args: tuple[Any, ...],
                          kwargs: dict[str, Any]) -> CallRuns | None:
        """None: MLflow is in use neither here nor, as far as the environment says, there."""
        if _MLFLOW not in sys.modules and not any(name.startswith(_MLFLOWS) for name in os.environ):
            return None
        from . import mlflow_detached

        return mlflow_detached.of_task(function, args, kwargs, options, self.session)

    def scatter(self, value: Any, device: str | None = None) -> Ref:
        """`value` as an object, sent at once to the present workers; with `device` its arrays go to a device there."""
        if isinstance(value, Ref):
            return value if device is None else value.on_device(device)
        if device is not None:
            return self._hold_scattered(value, *parts_for_device(value, device), device=device)
        shared = sharable_array.scattered(value, self._scattered)
        if shared is not None and shared.ref is not None:
            return shared.ref
        try:
            data, buffers, objects = serialize.dumps(value, by_file=True)
        except Exception as error:
            raise not_picklable(value, "the value", error) from error
        _no_refs_in_it(objects)
        ref = self._hold_scattered(value, data, buffers, by_content=shared is None)
        return ref if shared is None else shared.keep(ref)

    def _hold_scattered(self, value: Any, data: bytes, buffers: list[Any], by_content: bool = True,
                        device: str = "") -> Ref:
        again = functools.partial(self.scatter, value) if buffers else None
        ref = self._hold(data, buffers, "what was scattered", [], True, by_content, again, device)
        if self.session.modules is not None:
            self.session.modules.scattered(ref, value)
        return ref

    def _pickled(self, function: Callable[..., Any], name: str) -> Pickled:
        try:
            return self._functions.pickled(function, surely=not self.session.under_way)
        except Exception as error:
            raise not_picklable(function, name, error) from error

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str, holds: list[Any],
                   streams: Streams | None, runs: CallRuns | None) -> tuple[list[Any], list[str]]:
        """The pickled arguments: after the function, where it is in `holds`, and before the random streams and MLflow's
        runs, if any."""
        ahead, behind = tuple(holds), (streams, runs) if runs else (streams,) if streams else ()
        try:
            data, buffers, objects = serialize.dumps(((*ahead, *args), kwargs, *behind), by_file=True)
            if _is_large(data, buffers):
                args, kwargs = self._with_objects(args, kwargs, name, holds, INLINE_BYTES)
                data, buffers, objects = serialize.dumps(((*ahead, *args), kwargs, *behind), by_file=True)
            if len(buffers) > _INLINE_BUFFERS or len(data) > _MESSAGE_BYTES:  # many small ones
                args, kwargs = self._with_objects(args, kwargs, name, holds, _SMALL_BYTES)
                data, buffers, objects = serialize.dumps(((*ahead, *args), kwargs, *behind), by_file=True,
                                                         most_buffers=_INLINE_BUFFERS)
            _check_size(data, name)
        except errors.PounceError:
            raise
        except Exception as error:
            raise _not_picklable_arguments(args, kwargs, name, error) from error
        return [data, *buffers], objects

    def _with_objects(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str, holds: list[Any],
                      least: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        values = [self._large(arg, path, holds, least) for path, arg in arguments_by_path(args, kwargs, name)]
        return tuple(values[: len(args)]), dict(zip(kwargs, values[len(args) :], strict=True))

    def _large(self, arg: Any, path: str, holds: list[Any], least: int) -> Any:
        if isinstance(arg, (int, float, bool, type(None), Ref)):
            return arg
        data, buffers, objects = serialize.dumps(arg, by_file=True)
        # An argument with Refs inside stays inline: an object's pickle has no list of objects that they could point to.
        if objects or not _is_large(data, buffers, least):
            return arg
        return self._hold(data, buffers, path, holds)

    def _object(self, value: Any, path: str, holds: list[Any]) -> None:
        data, buffers, objects = serialize.dumps(value, by_file=True)
        if objects:
            what = "a future" if type(objects[0]) is Awaited else "a pounce.Ref"
            raise errors.NotPicklable(f"{what} is captured by the function itself",
                                      "Pass it as an argument of the function instead.")
        self._hold(data, buffers, path, holds)

    def _hold(self, data: bytes, buffers: list[Any], path: str, holds: list[Any], send_now: bool = False,
              by_content: bool = True, on_device: Callable[[str], Ref] | None = None, device: str = "") -> Ref:
        """`path`: the user's name for it, for messages. Data for a device is sent as data, even from a file."""
        in_files = self._files.held(data, buffers, send_now) if buffers and not device else None
        watched = Watched(path, buffers) if self._watched is not None and in_files is None else None
        core = self.session.core
        handle = in_files.handle if in_files else core.hold_object(data, buffers, send_now, by_content, device)
        if self._watched is not None and watched is not None:
            watched = self._watched.setdefault(handle.id, watched)
        nbytes = len(data) + sum(buffer.raw().nbytes for buffer in buffers)
        ref = Ref(handle.id, nbytes, (in_files or handle, watched), device, on_device)
        holds.append(ref)
        return ref


def parts_for_device(value: Any, device: str) -> tuple[bytes, list[Any]]:
    """The value's pickle, and the memory of its arrays. Raises what scattering it raises."""
    try:
        data, buffers, objects = device_pickle.dumps(value, device_pickle.check_name(device))
    except errors.PounceError:
        raise
    except Exception as error:
        raise not_picklable(value, "the value", error) from error
    _no_refs_in_it(objects)
    return data, buffers


def _no_refs_in_it(objects: list[str]) -> None:
    if objects:
        raise BadRequest("a value that contains a pounce.Ref or a future cannot be scattered",
                         "Pass these as arguments.")


def _check_size(data: bytes, name: str) -> None:
    if len(data) > 2 * _MESSAGE_BYTES:
        raise errors.TooLarge(f"what stands beside Refs in the arguments of {name} has {len(data):,} bytes",
                              "Scatter it, and pass its Ref.")


def _as_that_one(future: Any, place: str) -> BaseException:
    """The error of a call whose argument `future` failed or was cancelled."""
    if future.cancelled():
        return errors.Cancelled(f"{place} is the result of a call that was cancelled")
    return with_note(future.exception(0), f"{place} is the result of the call that raised this")


def _is_large(data: bytes, buffers: list[Any], least: int = INLINE_BYTES) -> bool:
    """Whether it becomes an object."""
    if not buffers:
        return len(data) > least
    nbytes = len(data) + sum(buffer.raw().nbytes for buffer in buffers)
    return nbytes > least or len(buffers) > _INLINE_BUFFERS or have_to_travel_as_files(buffers)


def name_of(function: Any) -> str:
    """The function's name, for messages."""
    if not callable(function):
        raise BadRequest(f"submit takes a function and its arguments, not {function!r}")
    return str(getattr(function, "__name__", type(function).__name__))


def prefix_of(env: str | os.PathLike[str]) -> str:
    return here.absolute(os.path.expanduser(os.fspath(env)))


def not_picklable(value: Any, path: str, error: Exception) -> errors.PounceError:
    """An error that names the part that cannot travel."""
    culprit = serialize.path_of_unpicklable(value, path)
    where, part, why = culprit if culprit is not None else (path, value, error)
    return errors.NotPicklable(f"{where} is a {type(part).__name__}, which cannot be pickled: {why}",
                               context={"path": where})


def _not_picklable_arguments(args: tuple[Any, ...], kwargs: dict[str, Any], name: str,
                             error: Exception) -> errors.PounceError:
    for path, arg in arguments_by_path(args, kwargs, name):
        if serialize.path_of_unpicklable(arg, path) is not None:
            return not_picklable(arg, path, error)
    return errors.NotPicklable(f"the arguments of {name} cannot be pickled: {error}")


@atexit.register
def _close_all() -> None:
    """Runs before the interpreter is torn down: gives leases back, and leaves no thread that needs the GIL."""
    for submitter in list(_open):
        submitter.close()
