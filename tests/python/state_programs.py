"""Random programs over lists, dicts, arrays, tensors, aliases, views, closures, classes and cycles; and what they leave behind,
by structure and by identity. A program is run as it is, and again with its namespace saved and restored between statements."""

from __future__ import annotations

import collections.abc
import random
import shutil
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pounce._worker.state.folder import Disk, Folder
from pounce._worker.state.restorer import Restorer
from pounce._worker.state.saver import Saver

NAMES = "abcdefgh"
LARGE = 20_000  # so many numbers lie beside the pickle

PRELUDE = """
import numpy as np, torch, collections
def pair(start):
    count = [start]
    number = start
    def add():
        nonlocal number
        number += 1
        count.append(number)
        return number
    def get(): return number, count
    return add, get
def put(thing): a_list.append(thing); return a_list
a_list = []
class Node:
    made = []
    def __init__(self, value): self._value = value; Node.made.append(1)
    def value(self): return self._value
class Child(Node):
    def __init__(self, value): super().__init__(value); self.more = [value]
"""

MAKE = ["[]", "{}", "3", "'text'", "np.arange(6.)", "np.arange(12).reshape(3, 4)", "np.array([1, None, []], object)", "np.asfortranarray(np.ones((2, 3)))",
        f"np.zeros({LARGE})", "torch.arange(4.)", f"torch.ones({LARGE})", "torch.nn.Parameter(torch.ones(3))", "bytearray(b'12345678')",
        "torch.nn.Linear(2, 2)", "collections.deque([1])", "set()"]
OF_ONE = ["{x}", "[{x}]", "{{'k': {x}}}", "({x}, 1)", "Node({x})", "Child({x})", "lambda: {x}", "lambda held={x}: held", "put({x})", "iter([{x}])"]


def statement(rng: random.Random, names: dict[str, Any]) -> str:
    """One that can be run now."""
    target, held = rng.choice(NAMES), [name for name in NAMES if name in names]
    if len(held) < 2 or rng.random() < 0.15:
        return f"{target} = {rng.choice(MAKE)}"
    x, y = rng.choice(held), rng.choice(held)
    choices = [f"{target} = {rng.choice(OF_ONE).format(x=x)}", f"{target} = [{x}, {y}]", f"del {x}", f"{target}, {rng.choice(NAMES)} = pair(1)"]
    choices += ["class Child(Node): pass", f"def put(thing): {x}; a_list.append((thing,)); return a_list"] if rng.random() < 0.2 else []
    return rng.choice(choices + 3 * _with(names[x], x, y, target))


def _with(value: Any, x: str, y: str, target: str) -> list[str]:
    if isinstance(value, list):
        return [f"{x}.append({y})", f"{target} = {x}[-1:]", f"{x}[:] = [{y}]"]
    if isinstance(value, dict):
        return [f"{x}['k'] = {y}", f"{x}[len({x})] = {y}", f"{target} = {x}.values()"]
    if isinstance(value, np.ndarray):
        return _with_array(value, x, y, target)
    if isinstance(value, torch.Tensor):
        return _with_tensor(value, x, target)
    if isinstance(value, torch.nn.Linear):
        return [f"{x}(torch.ones(2)).sum().backward()", f"{target} = torch.optim.SGD({x}.parameters(), 0.1, momentum=0.9)", f"{target} = {x}.weight",
                f"{target} = {x}.state_dict()"]
    if isinstance(value, torch.optim.Optimizer):
        return [f"{x}.step()", f"{target} = {x}.param_groups"]
    if isinstance(value, types.FunctionType):
        return [f"{x}()", f"{x}.note = {y}", f"{target} = {x}()"]
    if isinstance(value, bytearray):
        return [f"{x}[0] = {x}[0] // 2", f"{target} = np.frombuffer({x}, np.uint8)"]
    if hasattr(value, "_value"):
        return [f"{target} = {x}.value", f"{x}.other = {y}", f"{x}._value = {y}", f"type({x}).made.append({y})", f"{target} = type({x})"]
    return []


def _with_array(value: Any, x: str, y: str, target: str) -> list[str]:
    choices = [f"{target} = {x}[::-1]", f"{target} = {x}.T", f"{target} = {x}[1:]", f"{target} = {x}[...]", f"{target} = np.broadcast_to({x}, (2, *{x}.shape))"]
    if value.flags.writeable and value.size:
        choices += [f"{x}.flat[0] = {'5' if value.dtype != object else y}", f"{x}.flags.writeable = False"]
        if value.dtype != object and min(value.strides, default=0) >= 0:
            choices += [f"{target} = torch.from_numpy({x})", f"np.add({x}, 1, out={x})"]
    return choices


def _with_tensor(value: Any, x: str, target: str) -> list[str]:
    choices = [f"{target} = {x}.detach()", f"{target} = {x}.detach()[1:]", f"{target} = {x}.detach().numpy()", f"{target} = {x}.data", f"{target} = {x}.untyped_storage()"]
    if value.requires_grad and value.is_floating_point():
        choices += [f"({x} * 2).sum().backward()", f"{target} = {x}.grad"]
    elif value.is_floating_point():
        choices += [f"{target} = torch.nn.Parameter({x})", f"{x}.mul_(3)", f"{x}.note = [1]"]
    return choices


# ---- what is left behind ----


class Picture:
    """A namespace as nested tuples: what is one object, or one memory, has one number, by where it is met first."""

    def __init__(self, namespace: dict[str, Any]):
        self._namespace, self._numbers, self._keep = namespace, {}, []
        self._regions: list[tuple[int, int]] = []
        self._memories: dict[int, int] = {}
        names = sorted(name for name in namespace if not name.startswith("__"))
        for name in names:  # first where memory lies, then what is there
            self._of(namespace[name])
        self._merged = _merged(self._regions)
        self._numbers = {}
        self.lines = {name: self._of(namespace[name]) for name in names}

    def _of(self, value: Any) -> Any:
        if value is None or isinstance(value, (int, float, str, bytes, types.ModuleType, types.BuiltinFunctionType, torch.dtype, np.generic)):
            return repr(value)
        if type(value) is tuple and all(type(item) in (int, str, bool) for item in value):
            return value  # cannot change: like a number it may come back as another
        if id(value) in self._numbers:
            return ("again", self._numbers[id(value)])
        self._numbers[id(value)] = len(self._numbers)
        self._keep.append(value)
        return (type(value).__name__, self._numbers[id(value)], *self._inside(value))

    def _inside(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, torch.UntypedStorage):
            return (value.nbytes(), self._place(value.data_ptr(), value.data_ptr(), value.nbytes()))
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return (self._of(value.__self__), value.__func__.__name__)
        if isinstance(value, type):
            if value.__module__ != "__main__":
                return (value.__qualname__,)
            return (value.__qualname__, [self._of(base) for base in value.__bases__], self._of(value.__dict__.get("made")))
        if isinstance(value, bytearray):
            start = np.frombuffer(value, np.uint8).__array_interface__["data"][0]
            return (bytes(value), self._place(start, start, len(value)))
        if isinstance(value, dict):
            return tuple((self._of(key), self._of(held)) for key, held in value.items())
        if isinstance(value, set):
            return tuple(sorted(map(repr, value)))
        if isinstance(value, types.CellType):
            return (self._of(value.cell_contents),)
        if type(value).__name__ == "list_iterator":
            return (self._of(list(value.__reduce__()[1])),)
        if isinstance(value, torch.optim.Optimizer):  # the rest its own __setstate__ makes anew
            return (self._of(value.param_groups), self._of(dict(value.state)))
        if isinstance(value, collections.abc.ValuesView) or hasattr(value, "append"):
            return tuple(map(self._of, value))
        if isinstance(value, tuple):
            return tuple(map(self._of, value))
        return (self._of(type(value)), self._of(value.__dict__))

    def _array(self, array: Any) -> tuple[Any, ...]:
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        start, size = root.__array_interface__["data"][0], root.nbytes
        if isinstance(root.base, torch.Tensor):
            start, size = root.base.untyped_storage().data_ptr(), root.base.untyped_storage().nbytes()
        place = self._place(array.__array_interface__["data"][0], start, max(size, 1))
        values = [self._of(item) for item in array.flat] if array.dtype == object else array.tobytes() if array.size < LARGE else hash(array.tobytes())
        return (str(array.dtype), array.shape, array.strides, array.flags.writeable, array.flags.owndata, place, values)

    def _tensor(self, tensor: Any) -> tuple[Any, ...]:
        storage = tensor.untyped_storage()
        place = self._place(tensor.data_ptr(), storage.data_ptr(), max(storage.nbytes(), 1)) if tensor.numel() else None
        numbers = hash(tensor.detach().contiguous().numpy().tobytes())
        return (str(tensor.dtype), tuple(tensor.shape), tensor.stride(), tensor.requires_grad, place, numbers, self._of(tensor.grad),
                self._of(tensor.__dict__))

    def _function(self, function: Any) -> tuple[Any, ...]:
        cells = [self._of(cell) for cell in function.__closure__ or ()]
        return (function.__name__, function.__code__.co_code, function.__globals__ is self._namespace, cells, self._of(function.__defaults__),
                self._of(function.__dict__))

    def _place(self, address: int, start: int, size: int) -> Any:
        self._regions.append((start, start + size))
        for low, high in getattr(self, "_merged", ()):
            if low <= start < high:
                return (self._memories.setdefault(low, len(self._memories)), address - low)
        return None


def _merged(regions: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for low, high in sorted(regions):
        if found and low < found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


# ---- running ----


class NoSync(Disk):
    """Nothing is tested here that outlives the machine."""

    def sync(self, file: int) -> None:
        pass


def new_namespace() -> dict[str, Any]:
    return {"__name__": "__main__", "__builtins__": __builtins__}


def run(code: str, namespace: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "<cell>", "exec", dont_inherit=True), namespace)


def random_program(rng: random.Random, length: int = 12) -> tuple[list[str], dict[str, Any]]:
    """Its statements, and the namespace that they leave."""
    torch.manual_seed(0)
    namespace = new_namespace()
    statements = [PRELUDE]
    run(PRELUDE, namespace)
    while len(statements) <= length:
        line = statement(rng, namespace)
        try:
            run(line, namespace)
        except Exception:  # a sum of objects, say: what it did until then counts
            line = f"try: {line}\nexcept Exception: pass"
        statements.append(line)
    return statements, namespace


def run_saved(statements: list[str], rng: random.Random, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Saves after each statement or some; now and then goes on in a new namespace with what was saved. Also a protocol of it."""
    torch.manual_seed(0)
    shutil.rmtree(folder, ignore_errors=True)
    place = Folder.made(folder, NoSync())
    namespace, unloaded = new_namespace(), set
    saver = Saver(place, namespace)
    protocol: list[str] = []
    touched: set[str] | None = set()
    for number, line in enumerate(statements):
        protocol.append(line)
        more = saver.touched_by(line)
        touched = None if touched is None or more is None else touched | more
        run(line, namespace)
        if rng.random() < 0.3:
            continue
        report = saver.save(number, touched)
        touched = set()
        assert report.whole and not report.unparkable, (report.unparkable, protocol)
        protocol.append(f"# saved {report.saved}")
        if rng.random() < 0.4:
            state = torch.get_rng_state()
            namespace = new_namespace()
            restorer = Restorer(place, namespace)
            loaded = restorer.load(restorer.names())
            restorer.close()
            assert not loaded.failed, (loaded.failed, protocol)
            saver = Saver(place, namespace, unloaded=unloaded)
            torch.set_rng_state(state)
            protocol.append("# restored")
    place.close()
    return namespace, protocol


def difference(seed: int, folder: Path) -> str:
    """Empty: saved and restored is equal to never saved."""
    rng = random.Random(seed)
    statements, plain = random_program(rng)
    try:
        saved, protocol = run_saved(statements, rng, folder)
        one, other = Picture(plain).lines, Picture(saved).lines
    except Exception as error:
        return f"seed {seed}: {type(error).__name__}: {error}"
    wrong = [f"{name}: {one.get(name)} is now {other.get(name)}" for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]
    return "\n".join([f"seed {seed}", *protocol, *wrong]) if wrong else ""


def first_difference(seeds: range, folder: Path, differs: Callable[[int, Path], str] = difference) -> str:
    return next((found for seed in seeds if (found := differs(seed, folder))), "")
