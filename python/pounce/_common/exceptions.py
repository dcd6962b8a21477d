"""How an exception travels: as itself, with all its state, also where a process pool would lose some of it or fail.

Each exception that it leads to (its cause and context, members of a group, others in its arguments and attributes) is
a record of its own. So one that cannot travel does not affect the others, and a long chain needs no recursion. A
record is made in the first of these ways that can be read again: by its class's `__reduce__`; from its state, without
calling its `__init__`; without the attributes that cannot be pickled; with texts for the arguments that cannot.
"""

from __future__ import annotations

import builtins
import contextlib
import copyreg
import io
import pickle
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from .. import errors
from .ref import meanwhile, pickling
from .traceback_lines import Line, lines_of, traceback_of

_HEAP_TYPE = 1 << 9   # Py_TPFLAGS_HEAPTYPE of Include/object.h: the class was not written in C as a constant
_SMALL_BYTES = 64 * 1024  # limit for AttributeError.obj, which only serves hints on misspelt names
_WORDS_CHARS = 2_000
_SOUGHT_IN: Any = AttributeError.obj
_MEMBERS = types.MemberDescriptorType, types.GetSetDescriptorType  # of `__slots__`, and of what C keeps beside args
_GROUPS: Any = getattr(builtins, "BaseExceptionGroup", ())  # Python 3.10 has none

MakePickler: TypeAlias = "Callable[[Any], pickle.Pickler]"  # takes the file; the pickler writes everything into it


class _Record(NamedTuple):
    pickle: bytes  # its constructor call and then its state; empty: it cannot travel
    words: str
    lines: list[Line]
    cause: int  # the number of its record; -1: none
    context: int
    is_context_hidden: bool
    notes: Any
    sought_in: bytes  # AttributeError.obj; empty: it has none, or one that does not travel
    lacks: str  # the parts that cannot be pickled


class _State(NamedTuple):
    """What an exception keeps beside its type."""

    reduced: Any = None  # from its own `__reduce__`
    setter: Any = None
    args: Any = None
    attributes: dict[str, Any] | None = None
    members: dict[str, Any] | None = None  # its classes' `__slots__`, and what C keeps beside args


_Way: TypeAlias = "tuple[tuple[Any, Any], _State, str]"  # constructor and its arguments, state, what is missing then


class _Shown:
    """Replaces an argument that cannot travel: it prints the same."""

    def __init__(self, text: str, representation: str):
        self._text, self._representation = text, representation

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._representation


def words_of(error: BaseException | None) -> str:
    """Its type and message, as a traceback ends."""
    text, name = _text_of(str, error), type(error).__name__
    return (f"{name}: {text}" if text else name)[:_WORDS_CHARS]


def _text_of(show: Callable[[Any], str], value: Any) -> str:
    try:
        return show(value)
    except Exception:
        return "its message cannot be shown"


def is_group(error: BaseException | None) -> bool:
    return isinstance(error, _GROUPS)


def leads_to_group(error: BaseException | None) -> bool:
    """The error is a group, or was raised while one was handled. IPython shows these differently."""
    seen: set[int] = set()
    while error is not None and not is_group(error) and id(error) not in seen:
        seen.add(id(error))
        error = error.__context__
    return is_group(error)


# ---- leaving ----


def dumps(error: BaseException, make_pickler: MakePickler | None = None) -> bytes:
    """Raises what pickling `error` raises if it cannot travel. Others that it leads to are replaced by texts then."""
    from .arrays import Pickler

    with meanwhile(pickling, to_host=True):
        return _Departure(error, make_pickler or (lambda file: Pickler(file, protocol=5))).records()


class _Departure:
    def __init__(self, error: BaseException, make_pickler: MakePickler):
        self._errors: list[BaseException] = []  # by number, in the order of discovery
        self._numbers: dict[int, int] = {}
        self._make_pickler = make_pickler
        self._number(error)

    def records(self) -> bytes:
        records = []
        for error in self._errors:  # grows meanwhile
            try:
                records.append(self._record(error))
            except Exception:
                if not records:
                    raise
                records.append(self._around(error, b"", ""))
        return pickle.dumps(records, 5)

    def _number(self, error: BaseException | None) -> int:
        if error is None:
            return -1
        number = self._numbers.setdefault(id(error), len(self._errors))
        if number == len(self._errors):
            self._errors.append(error)
        return number

    def _record(self, error: BaseException) -> _Record:
        problem: Exception | None = None
        for made, state, lacks in self._ways(error):
            try:
                data = self._pickled(made, state)
                _read(data, self._errors.__getitem__)  # else it would fail only on arrival
                return self._around(error, data, lacks)
            except Exception as failure:
                problem = problem or failure
        assert problem is not None
        raise problem

    def _around(self, error: BaseException, data: bytes, lacks: str) -> _Record:
        notes = getattr(error, "__notes__", None)
        cause, context = self._number(error.__cause__), self._number(error.__context__)
        return _Record(data, words_of(error), lines_of(error.__traceback__), cause, context, error.__suppress_context__,
                       notes if _are_notes(notes) else None, self._sought_in(error), lacks)

    def _ways(self, error: BaseException) -> Iterator[_Way]:
        kind = type(error)
        if _reduces_itself(kind):
            yield from _reduced(error)
        args, state = _made_with(error), _State(args=error.args, attributes=_attributes(error), members=_values(error))
        yield (_made, (kind, args)), state, ""
        state, lacks = self._that_travels(state)
        yield (_made, (kind, args)), state, ", ".join(lacks)
        shown = tuple(map(self._shown, args))
        state = state._replace(args=tuple(map(self._shown, error.args)))
        yield (_made, (kind, shown)), state, ", ".join([*lacks, "some of its arguments (they are here in words)"])
        if not _reduces_itself(kind):
            yield from _reduced(error)  # a class of C that only its own `__reduce__` can make

    def _that_travels(self, state: _State) -> tuple[_State, list[str]]:
        """The state that can be pickled, and the names of the rest."""
        values = {**(state.attributes or {}), **(state.members or {})}
        lacks = sorted(name for name, value in values.items() if not self._travels(value))
        attributes, members = ({name: value for name, value in (of or {}).items() if name not in lacks}
                               for of in (state.attributes, state.members))
        return state._replace(attributes=attributes, members=members), lacks

    def _shown(self, value: Any) -> Any:
        return value if self._travels(value) else _Shown(_text_of(str, value), _text_of(repr, value))

    def _travels(self, value: Any) -> bool:
        try:
            _read(self._pickled((tuple, ((value,),)), _State()), self._errors.__getitem__)
        except Exception:
            return False
        return True

    def _pickled(self, made: tuple[Any, Any], state: _State) -> bytes:
        """Two pickles with one memo: exceptions that lead to each other are all made before any gets its state."""
        file = io.BytesIO()
        pickler = self._make_pickler(file)
        pickler.persistent_id = self._persistent_id  # type: ignore[method-assign]
        pickler.dump(made)
        pickler.dump(tuple(state))
        return file.getvalue()

    def _persistent_id(self, value: Any) -> Any:
        return self._number(value) if isinstance(value, BaseException) else None

    def _sought_in(self, error: BaseException) -> bytes:
        value = _SOUGHT_IN.__get__(error) if isinstance(error, AttributeError) else None
        if value is None:
            return b""
        if isinstance(value, types.ModuleType):
            return pickle.dumps(value.__name__)
        file = _SmallFile()
        pickler = self._make_pickler(file)
        pickler.persistent_id = self._small_persistent_id  # type: ignore[method-assign]
        try:
            pickler.dump((value,))
        except Exception:
            return b""
        return file.getvalue()

    def _small_persistent_id(self, value: Any) -> Any:
        if hasattr(type(value), "nbytes") and value.nbytes > _SMALL_BYTES:
            raise _TooLarge  # before the memory of a device is copied
        return self._persistent_id(value)


class _TooLarge(Exception):
    pass


class _SmallFile(io.BytesIO):
    def write(self, data: Any) -> int:
        if self.tell() + memoryview(data).nbytes > _SMALL_BYTES:
            raise _TooLarge
        return super().write(data)


def _reduces_itself(kind: type) -> bool:
    base = _builtin(kind)
    return (_registered(kind) is not None or kind.__reduce_ex__ is not base.__reduce_ex__
            or kind.__reduce__ is not base.__reduce__)


def _registered(kind: type) -> Any:
    """The registered reducer, but not tblib's, which libraries such as distributed register for every exception: that
    one leaves out what C keeps beside args."""
    reducer = copyreg.dispatch_table.get(kind)
    return None if str(getattr(reducer, "__module__", "")).startswith("tblib.") else reducer


def _reduced(error: BaseException) -> Iterator[_Way]:
    """As pickle does it, if that works."""
    registered = _registered(type(error))
    try:
        reduced = registered(error) if registered is not None else error.__reduce_ex__(5)
    except Exception:
        return
    if isinstance(reduced, tuple):
        make, args, state, _, _, setter = (*reduced, None, None, None, None)[:6]
        yield (make, args), _State(reduced=state, setter=setter), ""


def _builtin(kind: type) -> type:
    """The builtin base class, which decides what C keeps of the exception."""
    while not _is_builtin(kind):
        assert kind.__base__ is not None
        kind = kind.__base__
    return kind


def _is_builtin(kind: type) -> bool:
    return not kind.__flags__ & _HEAP_TYPE and kind.__module__ == "builtins"


def _made_with(error: BaseException) -> tuple[Any, ...]:
    if isinstance(error, _GROUPS):
        return error.message, list(error.exceptions)  # its args are those of its own __init__
    return error.args


def _attributes(error: BaseException) -> dict[str, Any]:
    return {name: value for name, value in vars(error).items() if name != "__notes__" or not _are_notes(value)}


def _values(error: BaseException) -> dict[str, Any]:
    """The values of its classes' members. For `obj` see `_sought_in`."""
    values = {}
    for name, member in _members(type(error)).items():
        if name != "obj" or not isinstance(error, AttributeError):
            with contextlib.suppress(AttributeError, TypeError):  # no value is set
                values[name] = member.__get__(error)
    return values


def _members(kind: type) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for base in kind.__mro__:
        if base not in (BaseException, object):
            own = {name: member for name, member in vars(base).items() if type(member) in _MEMBERS}
            members = {name: member for name, member in own.items() if not name.startswith("__")} | members
    return members


def _are_notes(notes: Any) -> bool:
    return isinstance(notes, list) and all(type(note) is str for note in notes)


# ---- arriving ----


def loads(data: Any) -> BaseException:
    """Raises what unpickling the exception itself raises. Others that cannot be unpickled arrive as texts."""
    return _Arrival([_Record(*record) for record in pickle.loads(data)]).error()


class _Arrival:
    def __init__(self, records: list[_Record]):
        self._records = records
        self._errors: dict[int, Any] = {}
        self._states: dict[int, pickle.Unpickler] = {}

    def error(self) -> BaseException:
        for number in range(len(self._records)):
            self._error(number)
        for number, error in self._errors.items():
            self._complete(number, error)
        first: BaseException = self._errors[0]
        return first

    def _error(self, number: int) -> Any:
        if number not in self._errors:
            self._errors[number] = None  # in case its arguments lead to itself
            record = self._records[number]
            try:
                reader = _Unpickler(record.pickle, self._error)
                make, args = reader.load()
                self._errors[number], self._states[number] = make(*args), reader
            except Exception:
                if number == 0:
                    raise
                self._errors[number] = errors.TaskRaised(record.words)
        return self._errors[number]

    def _complete(self, number: int, error: BaseException) -> None:
        record = self._records[number]
        problem = record.lacks and f"{record.lacks} cannot be pickled"
        if number in self._states:
            try:
                _give(error, _State(*self._states.pop(number).load()))  # popped: the unpickler refers to this object
            except Exception as failure:
                problem = f"what it keeps cannot be unpickled here: {words_of(failure)}"
        if record.sought_in:
            with contextlib.suppress(Exception):
                error.obj = _sought(record.sought_in, self._error)  # type: ignore[attr-defined]
        cause, context = (None if at < 0 else self._errors[at] for at in (record.cause, record.context))
        _set(error, __cause__=cause, __context__=context, __suppress_context__=record.is_context_hidden,
             __traceback__=traceback_of(record.lines))
        if record.notes is not None:
            _set(error, __notes__=record.notes)
        if problem:
            add_note(error, f"pounce: {problem}")


def add_note(error: BaseException, note: str) -> None:
    """As its `add_note`, also if its class forbids setting attributes. Python 3.10 does not show it."""
    notes = getattr(error, "__notes__", None)
    _set(error, __notes__=[*notes, note] if isinstance(notes, list) else [note])


def _set(error: BaseException, **attributes: Any) -> None:
    for name, value in attributes.items():
        object.__setattr__(error, name, value)


def _read(data: bytes, error_of: Callable[[int], BaseException]) -> Any:
    reader = _Unpickler(data, error_of)
    make, args = reader.load()
    error = make(*args)
    _give(error, _State(*reader.load()))
    return error


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, error_of: Callable[[int], Any]):
        super().__init__(io.BytesIO(data))
        self.persistent_load = error_of  # type: ignore[method-assign]


class _QuietUnpickler(_Unpickler):
    """Imports no module: what is not imported yet is an error."""

    def find_class(self, module: str, name: str) -> Any:
        if module not in sys.modules:
            raise ImportError(f"{module} is not imported here")
        return super().find_class(module, name)


def _sought(data: bytes, error_of: Callable[[int], Any]) -> Any:
    value = _QuietUnpickler(data, error_of).load()
    return sys.modules[value] if isinstance(value, str) else value[0]


def _made(kind: type, args: tuple[Any, ...]) -> Any:
    """Without its class's own `__init__`, which may want other arguments. The builtin one runs: C relies on it."""
    made_by: Any = _builtin(kind)
    filled_by: Any = next(base for base in kind.__mro__ if _is_builtin(base))
    error = made_by.__new__(kind, *args)
    try:
        filled_by.__init__(error, *args)
    except Exception:
        BaseException.__init__(error, *args)
    if isinstance(error, StopIteration) and error.value is None:
        error.value = None  # C reads it without checking that it was ever set
    return error


def _give(error: Any, state: _State) -> None:
    if state.setter is not None:
        state.setter(error, state.reduced)
    elif state.reduced is not None:
        error.__setstate__(state.reduced)
    if state.args is not None:
        _set(error, args=state.args)
    if state.attributes:
        vars(error).update(state.attributes)
    members = _members(type(error)) if state.members else {}
    for name, value in (state.members or {}).items():
        if _value(members[name], error) is not value:  # C may not expect None for an unset field
            with contextlib.suppress(AttributeError, TypeError):  # it is read-only
                members[name].__set__(error, value)


def _value(member: Any, error: BaseException) -> Any:
    try:
        return member.__get__(error)
    except (AttributeError, TypeError):
        return _Shown  # never the value of a member


# ---- inside a value ----


class Travelling:
    """An exception inside a value that is pickled: arrives as itself, or as its text."""

    def __init__(self, error: BaseException):
        self._error = error

    def __reduce__(self) -> Any:
        words = words_of(self._error)
        try:
            return _arrived, (dumps(self._error), words)
        except Exception:
            return _arrived, (b"", words)


def _arrived(data: bytes, words: str) -> BaseException:
    try:
        return loads(data)
    except Exception:
        return errors.TaskRaised(words)
