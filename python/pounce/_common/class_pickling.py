"""Classes of a notebook, by value: one class is one object in each process, however often and by which path it arrives.

A class gets an id when it is first pickled, and keeps it in every process and saved state. It is cloudpickle's id, so a
pickle of cloudpickle's own finds the same class. A process that knows the id builds nothing: it uses the class that it
has, and replaces that class's attributes only if the pickle brings them.
"""

from __future__ import annotations

import abc
import contextlib
import copyreg
import enum
import types
from collections.abc import Callable
from typing import Any

from cloudpickle import cloudpickle as tracker

_HEAP_TYPE = 1 << 9  # of type.__flags__: made while Python runs
_MADE_BY_TYPE = types.MemberDescriptorType, types.GetSetDescriptorType  # for slots, __dict__ and __weakref__
_DERIVED = frozenset(("__slotnames__", "_abc_impl", "__annotate_func__", "__annotations_cache__"))
_DERIVED_OF_ENUM = frozenset(("_member_names_", "_member_map_", "_value2member_map_", "_hashable_values_",
                              "_unhashable_values_", "_unhashable_values_map_"))
_DERIVED_OF_MEMBER = frozenset(("_value_", "_name_", "__objclass__", "_sort_order_"))

_unfilled: set[str] = set()  # ids of classes that are built and have no attributes yet


def goes_by_value(cls: type) -> bool:
    return bool(cls.__flags__ & _HEAP_TYPE) and not tracker._should_pickle_by_reference(cls)


def reduced(cls: Any, brings: Any) -> tuple[Any, ...]:
    """For a pickler's reducer_override(). `brings`: whether a class known to the reader gets this one's attributes."""
    ident, birth = id_of(cls), _birth(cls)
    state = ident, brings, _attributes(cls), _registered(cls), _members(cls)
    if not _is_enum(cls):
        return make_class, (ident, type(cls), cls.__name__, cls.__bases__, birth), state, None, None, fill_class
    members = [(name, _new_arguments(cls, member), member.value) for name, member in cls.__members__.items()]
    boundary = getattr(cls, "_boundary_", None)
    arguments = ident, type(cls), cls.__name__, cls.__bases__, birth, cls._member_type_, members, boundary
    return make_enum, arguments, state, None, None, fill_class


# ---- ids: of classes, and of other objects that are unique in a process ----

def id_of(thing: Any) -> str:
    return str(tracker._get_or_create_tracker_id(thing))


def the_one(ident: str, made: Any) -> Any:
    """`made`, or the object that another thread has made meanwhile."""
    return tracker._lookup_class_or_track(ident, made)


# ---- the parts of a class ----

def _is_enum(cls: Any) -> bool:
    return isinstance(cls, enum.EnumMeta)


def _birth(cls: type) -> dict[str, Any]:
    """The attributes that cannot be set later."""
    own = vars(cls)
    birth: dict[str, Any] = {"__qualname__": cls.__qualname__}
    birth.update({name: own[name] for name in ("__module__", "__orig_bases__") if name in own})
    if "__slots__" in own:  # read from the descriptors: if it was an iterator, it is used up by now
        birth["__slots__"] = tuple(name for name, value in own.items() if _is_made_by_type(cls, value))
    return birth


def _attributes(cls: Any) -> dict[str, Any]:
    derived = _DERIVED
    if _is_enum(cls):
        derived = derived.union(_DERIVED_OF_ENUM, cls.__members__)
    own = {name: value for name, value in vars(cls).items() if name not in derived and not _is_made_by_type(cls, value)}
    if "__annotations_cache__" in vars(cls) or "__annotate_func__" in vars(cls):  # Python 3.14 evaluates them on read
        with contextlib.suppress(Exception):  # they may name what is not there
            own["__annotations__"] = cls.__annotations__
    return own


def _is_made_by_type(cls: type, value: Any) -> bool:
    return type(value) in _MADE_BY_TYPE and value.__objclass__ is cls


def _registered(cls: type) -> list[type]:
    if not isinstance(cls, abc.ABCMeta):
        return []
    classes = (reference() for reference in abc._get_dump(cls)[0])  # type: ignore[attr-defined]
    return sorted((one for one in classes if one is not None), key=lambda one: one.__qualname__)


def _members(cls: Any) -> dict[str, dict[str, Any]]:
    if not _is_enum(cls):
        return {}
    all_of_them = {member.name: vars(member) for member in cls.__members__.values()}
    own = {name: {key: value for key, value in each.items() if key not in _DERIVED_OF_MEMBER}
           for name, each in all_of_them.items()}
    return {name: each for name, each in own.items() if each}


def _new_arguments(cls: Any, member: Any) -> tuple[Any, ...]:
    """The arguments for __new__ of the members' type."""
    if cls._member_type_ is object:
        return ()
    reduced_member: Any = object.__reduce_ex__(member, 2)
    make, arguments = reduced_member[:2]
    return tuple(arguments[1:]) if make is copyreg.__newobj__ else tuple(arguments)  # type: ignore[attr-defined]


# ---- functions that a pickle calls: their names are part of the format ----

def make_class(ident: str, meta: Any, name: str, bases: tuple[type, ...], birth: dict[str, Any]) -> Any:
    """The class with this id; a new one has no attributes yet."""
    return _known_or(ident, lambda: _built(meta, name, bases, birth))


def make_enum(ident: str, meta: Any, name: str, bases: tuple[type, ...], birth: dict[str, Any], data: Any,
              members: list[tuple[str, tuple[Any, ...], Any]], boundary: Any) -> Any:
    """The same, with its members."""
    return _known_or(ident, lambda: _built_enum(meta, name, bases, birth, data, members, boundary))


def fill_class(cls: Any, state: tuple[str, bool, dict[str, Any], list[type], dict[str, dict[str, Any]]]) -> None:
    """Gives the class exactly the pickled attributes; a class known before changes only if the pickle `brings` them."""
    ident, brings, attributes, registered, members = state
    if ident in _unfilled:
        _unfilled.discard(ident)
    elif not brings:
        return
    python = _of_python(type(cls))  # the notebook has run its own metaclass's __setattr__ already
    for name in _attributes(cls).keys() - attributes.keys():
        python.__delattr__(cls, name)
    for name, value in attributes.items():
        python.__setattr__(cls, name, value)
    if "__firstlineno__" in attributes:  # setting __module__ has removed it
        python.__setattr__(cls, "__firstlineno__", attributes["__firstlineno__"])
    for one in registered:
        cls.register(one)
    for name, own in members.items():
        vars(cls.__members__[name]).update(own)


# ---- how a class is built ----

def _known_or(ident: str, build: Callable[[], Any]) -> Any:
    there = tracker._DYNAMIC_CLASS_TRACKER_BY_ID.get(ident)
    if there is not None:
        return there
    made = build()
    _unfilled.add(ident)
    return the_one(ident, made)


def _built(meta: Any, name: str, bases: tuple[type, ...], birth: dict[str, Any]) -> Any:
    """As its class statement built it. A metaclass or base that wants arguments of that statement is not called."""
    try:
        return types.new_class(name, bases, {"metaclass": meta}, lambda space: space.update(birth))
    except Exception:
        new = (abc.ABCMeta if issubclass(meta, abc.ABCMeta) else _of_python(meta)).__new__
        with contextlib.suppress(Exception):
            return new(meta, name, bases, dict(birth))
        with contextlib.suppress(Exception):
            made: Any = new(meta, name, (_Silent, *bases), dict(birth))
            made.__bases__ = bases
            return made
        raise


class _Silent:
    """A first base that keeps ``__init_subclass__`` of the others from running."""

    def __init_subclass__(cls) -> None:
        pass


def _of_python(meta: Any) -> Any:
    """The first metaclass in the MRO that is not made by Python code: usually type."""
    return next(kind for kind in meta.__mro__ if not kind.__flags__ & _HEAP_TYPE)


def _built_enum(meta: Any, name: str, bases: tuple[type, ...], birth: dict[str, Any], data: Any,
                members: list[tuple[str, tuple[Any, ...], Any]], boundary: Any) -> Any:
    """Each member's value is its number at first; the two functions that replace it go when the class is filled."""

    def new(cls: Any, number: Any) -> Any:
        _, arguments, value = members[number if type(number) is int else number[0]]  # a tuple if members are tuples
        member = data.__new__(cls, *arguments)
        member._value_ = value
        return member

    space = meta.__prepare__(name, bases)
    for key, value in {**birth, "__new__": new, "__init__": lambda self, number: None}.items():
        space[key] = value
    for number, (key, _, _) in enumerate(members):
        space[key] = number
    options = {} if boundary is None else {"boundary": boundary}
    return meta.__new__(meta, name, bases, space, **options)
