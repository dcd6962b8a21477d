"""The global generators of random numbers of this process: Python's, numpy's and torch's.

What their state is, how they are seeded, and how a pickle names them. A generator that the user made is a value and is
pickled with its state. A global one is pickled by its name: a copy of its state would give each task the same numbers.
"""

from __future__ import annotations

import functools
import pickle
import struct
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

_TWISTER = "MT19937"  # what numpy calls the Mersenne twister, which is its usual one
KEY_BYTES = 16  # of a seed
_WATCHED_BYTES = 64  # of a Mersenne twister: its position and some words; a draw or a seed changes at least one
_STATE_WORDS = 624  # of a Mersenne twister
_WORDS = f"{_STATE_WORDS + 1}I"  # and its position
_KEY_WORDS = 64      # of a user's seed: a text's seed includes a digest
_STATES_BACK = 32    # 20,000 words: after more draws a seed is not recognized
_SEED_BITS = 44  # torch seeds itself with 64 random bits (53 in older versions): a smaller seed is the user's


class Generator(ABC):
    """One library's global generator. All but ``is_here`` need the library to be imported."""

    module: str
    name_there: str  # a name that the module has only when its import is complete
    tells_seed = False  # whether its state includes its seed

    @property
    def is_here(self) -> bool:
        return hasattr(sys.modules.get(self.module), self.name_there)

    @property
    def _library(self) -> Any:
        return sys.modules[self.module]

    @abstractmethod
    def itself(self) -> Any:
        """The generator."""

    @abstractmethod
    def state(self) -> bytes:
        """All that the next draws depend on. Equal bytes mean the same state."""

    @abstractmethod
    def restore(self, state: bytes) -> None: ...

    def take(self, state: bytes) -> str:
        """Restores a state of another process. One that this version of the library does not know gives a stream that
        depends on it; returns the reason then."""
        try:
            self.restore(state)
        except Exception as error:
            import hashlib

            self.seed(hashlib.sha256(state).digest()[:KEY_BYTES])
            return f"{type(error).__name__}: {error}"
        return ""

    @abstractmethod
    def seed(self, key: bytes) -> None:
        """Seeds with 16 bytes: different keys give different streams."""

    @abstractmethod
    def draw(self) -> bytes:
        """Draws 16 bytes."""

    @abstractmethod
    def is_fresh(self) -> bool:
        """Not seeded since the process began, as far as its state tells. This may take 50 ms."""

    @functools.cached_property
    @abstractmethod
    def watch(self) -> Callable[[], object]:
        """A function that takes a tenth of a microsecond. Its value changes when the generator is seeded, and at the
        first draw."""


class PythonsGenerator(Generator):
    module, name_there = "random", "random"

    def itself(self) -> Any:
        return self._library.random.__self__

    def state(self) -> bytes:
        version, words, gauss = self.itself().getstate()
        return pickle.dumps((version, struct.pack(_WORDS, *words), gauss), 5)

    def restore(self, state: bytes) -> None:
        version, words, gauss = pickle.loads(state)
        self.itself().setstate((version, struct.unpack(_WORDS, words), gauss))

    def seed(self, key: bytes) -> None:
        self.itself().seed(int.from_bytes(key, "little"))

    def draw(self) -> bytes:
        drawn: int = self.itself().getrandbits(8 * KEY_BYTES)
        return drawn.to_bytes(KEY_BYTES, "little")

    def is_fresh(self) -> bool:
        """True also after draws without a seed before pounce saw it."""
        _, (*words, _), _ = self.itself().getstate()
        return not _is_seeded(words)

    @functools.cached_property
    def watch(self) -> Callable[[], object]:
        """CPython stores the position and the words after the object's head (Modules/_randommodule.c)."""
        _, (*words, place), _ = self.itself().getstate()
        if sys.implementation.name != "cpython":
            return self.state
        return _memory(id(self.itself()) + object.__basicsize__, [place, *words]) or self.state


class NumpysGenerator(Generator):
    module, name_there = "numpy.random", "get_state"

    def itself(self) -> Any:
        return self._library.get_state.__self__

    def state(self) -> bytes:
        kind = self._kind()
        if kind != _TWISTER:
            return pickle.dumps((kind, self._library.get_state(legacy=False)), 5)
        _, words, *rest = self._library.get_state()
        return pickle.dumps((kind, (words.tobytes(), *rest)), 5)

    def restore(self, state: bytes) -> None:
        import numpy

        kind, content = pickle.loads(state)
        if self._kind() != kind:
            self._library.set_bit_generator(getattr(self._library, kind)())
        if kind == _TWISTER:
            words, *rest = content
            content = kind, numpy.frombuffer(words, numpy.uint32), *rest
        self._library.set_state(content)

    def _kind(self) -> str:
        bits = self.bits()
        return _TWISTER if bits is None else type(bits).__name__

    def seed(self, key: bytes) -> None:
        import numpy

        try:
            self.itself().seed(numpy.frombuffer(key, numpy.uint32))
        except TypeError:  # the user has installed another kind of generator
            self._library.set_bit_generator(self._library.MT19937(int.from_bytes(key, "little")))

    def draw(self) -> bytes:
        bits = self.bits()
        if bits is None:
            return bytes(self._library.bytes(KEY_BYTES))
        return b"".join((bits.random_raw() % 2**32).to_bytes(4, "little") for _ in range(KEY_BYTES // 4))

    def is_fresh(self) -> bool:
        """The position is 624 after a seed, and 623 before the first draw without one."""
        return self._kind() == _TWISTER and self._library.get_state()[2:4] == (_STATE_WORDS - 1, 0)

    @functools.cached_property
    def watch(self) -> Callable[[], object]:
        """The last of its words, and its position after them (numpy/random/src/mt19937/mt19937.h)."""
        bits = self.bits()
        if bits is None or self._kind() != _TWISTER:
            return self.state
        _, words, place, *_ = self._library.get_state()
        here = bits.ctypes.state_address + 4 * (_STATE_WORDS + 1) - _WATCHED_BYTES
        look = _memory(here, [*words[1 - _WATCHED_BYTES // 4 :].tolist(), place])
        now = self._library.get_bit_generator
        # `bits` keeps the memory alive.
        return self.state if look is None else lambda: look() if now() is bits else None

    def bits(self) -> Any:
        """The bit generator; None: this version of numpy does not tell."""
        get = getattr(self._library, "get_bit_generator", None)
        return None if get is None else get()


class TorchsGenerator(Generator):
    """The CPU's generator; those of GPUs follow its seeds, as they do after ``torch.manual_seed``."""

    module, name_there = "torch", "default_generator"
    tells_seed = True
    _WORDS_AT = 24  # offset in its state, after four numbers, of which the seed is the first (CPUGeneratorImpl.cpp)

    def __init__(self) -> None:
        self._seeded: bytearray | None = None  # a template: the state after a seed

    def itself(self) -> Any:
        return self._library.default_generator

    def state(self) -> bytes:
        return self._bytes(self.itself())

    def restore(self, state: bytes) -> None:
        before, seed = self.itself().initial_seed(), self._set(state)
        if seed != before or state == self._bytes(self._library.Generator().manual_seed(seed)):
            self._seed_devices(seed)  # as the seed did

    def seed(self, key: bytes) -> None:
        seed = int.from_bytes(key[:8], "little") >> 1
        state = self._state_of_seed()
        if state is None:
            self.itself().manual_seed(seed)
        else:  # manual_seed() takes 32 bits of a seed for the CPU (gotchas P34)
            import hashlib

            state[:8] = seed.to_bytes(8, "little")
            drawn, first = hashlib.shake_128(key).digest(4 * _STATE_WORDS), self._WORDS_AT // 4
            with memoryview(state).cast("I") as words:
                words[first : first + 2 * _STATE_WORDS : 2] = memoryview(drawn).cast("I")
            self._set(bytes(state))
        self._seed_devices(seed)

    def draw(self) -> bytes:
        tensor = self._library.empty(2, dtype=self._library.int64, device="cpu")
        return b"".join(each.to_bytes(8, "little") for each in tensor.random_(generator=self.itself()).tolist())

    def is_fresh(self) -> bool:
        """True also after draws without a seed: no later run draws the same numbers."""
        return bool(self.itself().initial_seed() >> _SEED_BITS)

    @functools.cached_property
    def watch(self) -> Callable[[], object]:
        seed: Callable[[], object] = self.itself().initial_seed
        return seed

    def devices(self) -> list[Any]:
        """The states of the GPUs' generators; empty if torch has not used any GPU."""
        cuda = self._library.cuda
        return list(cuda.get_rng_state_all()) if cuda.is_initialized() else []

    def restore_devices(self, states: list[Any]) -> None:
        if states:
            self._library.cuda.set_rng_state_all(states)

    def _seed_devices(self, seed: int) -> None:
        """If torch has not used the GPUs yet, it remembers the seed."""
        if self._library.backends.cuda.is_built():
            self._library.cuda.manual_seed_all(seed)

    @staticmethod
    def _bytes(generator: Any) -> bytes:
        import ctypes

        state = generator.get_state()
        return ctypes.string_at(state.data_ptr(), state.numel())

    def _set(self, state: bytes) -> int:
        """Returns its seed."""
        generator = self.itself()
        generator.set_state(self._library.frombuffer(bytearray(state), dtype=self._library.uint8))
        return int(generator.initial_seed())

    def _state_of_seed(self) -> bytearray | None:
        """The template; None: this version of torch has another layout."""
        if self._seeded is None:
            state, first = bytearray(self._bytes(self._library.Generator().manual_seed(5))), 5
            second = (1812433253 * (first ^ (first >> 30)) + 1) % 2**32  # as the Mersenne twister is seeded
            words = first.to_bytes(8, "little") + second.to_bytes(8, "little")
            known = state[self._WORDS_AT : self._WORDS_AT + 16] == words and not len(state) % 4
            self._seeded = state if known and len(state) >= self._WORDS_AT + 8 * _STATE_WORDS else bytearray()
        return self._seeded or None


def _memory(address: int, words: list[int]) -> Callable[[], bytes] | None:
    """A function that reads the bytes there; None: they are not these words, so this version keeps them elsewhere."""
    import ctypes  # not at the top: a worker's start takes time on a leased GPU

    there = memoryview((ctypes.c_ubyte * _WATCHED_BYTES).from_address(address)).cast("B")
    return there.tobytes if there.cast("I").tolist() == words[: _WATCHED_BYTES // 4] else None


_ALL = PythonsGenerator(), NumpysGenerator(), TorchsGenerator()
GENERATORS: dict[str, Generator] = {each.module: each for each in _ALL}


def _is_seeded(words: list[int]) -> bool:
    """Whether a user's seed has made this state of Python's generator, with few draws since.

    The operating system's seed is a key as long as the state. A kernel draws from it for its ports (gotchas P35).
    """
    now = list(words)
    for _ in range(_STATES_BACK):
        if _has_short_key(now):
            return True
        _untwist(now)
    return False


def _has_short_key(words: list[int]) -> bool:
    """``init_by_array`` (M. Matsumoto, T. Nishimura: mt19937ar.c) adds the words of the key in turn, and starts again
    at the first. Both of its loops can be undone, and the added words then repeat.
    """
    def mixed(word: int, factor: int) -> int:
        return (word ^ (word >> 30)) * factor

    begun, added = 19650218, []
    for place in range(1, 2 * _KEY_WORDS):
        begun = (mixed(begun, 1812433253) + place) % 2**32
        if place > 3:
            first, before = (((words[n] + n) ^ mixed(words[n - 1], 1566083941)) % 2**32 for n in (place, place - 1))
            added.append((first - (begun ^ mixed(before, 1664525))) % 2**32)
    return any(added[:-length] == added[length:] for length in range(1, _KEY_WORDS))


def _untwist(words: list[int]) -> None:
    """Steps back to the state before this one. Only the highest bit of its first word is restored."""
    for place in range(_STATE_WORDS - 1, -1, -1):
        high = words[place] ^ words[place - _STATE_WORDS + 397]
        low = words[place - 1] ^ words[place - _STATE_WORDS + 396]
        if low & 0x80000000:
            low = low ^ 0x9908B0DF
            words[place] = (low << 1 & 0x7FFFFFFF) | 1
        else:
            words[place] = low << 1 & 0x7FFFFFFF
        words[place] |= ((high ^ 0x9908B0DF) if high & 0x80000000 else high) << 1 & 0x80000000


# ---- in pickles ----

_BITS = "numpy.random: bits"
reducers: dict[type, Callable[[Any], Any]] = {}  # for a pickler's dispatch table


def know_imported() -> None:
    """Fills in ``reducers`` for what this process has imported by now."""
    python, numpy, torch = (sys.modules.get(module) for module in GENERATORS)
    if python is not None and hasattr(python, "Random"):
        reducers.setdefault(python.Random, reduced)
    if numpy is not None and hasattr(numpy, "MT19937"):
        reducers.setdefault(numpy.RandomState, reduced)
        reducers.setdefault(numpy.MT19937, reduced)
    if torch is not None and hasattr(torch, "Generator"):
        reducers.setdefault(torch.Generator, reduced)


def reduced(generator: Any) -> Any:
    name = _name_of(generator)
    return generator.__reduce_ex__(5) if name is None else (named, (name,))


def is_global(generator: Any) -> bool:
    return _name_of(generator) is not None


def named(name: str) -> Any:
    """The generator of this process. A pickle calls this function: its name is part of the format."""
    import importlib

    module = name.partition(":")[0]
    importlib.import_module(module)
    generator = GENERATORS[module]
    return generator.bits() if name == _BITS and isinstance(generator, NumpysGenerator) else generator.itself()


def _name_of(generator: Any) -> str | None:
    for name, each in GENERATORS.items():
        if each.is_here and each.itself() is generator:
            return name
        if isinstance(each, NumpysGenerator) and each.is_here and each.bits() is generator:
            return _BITS
    return None
