"""Kinds of values that a notebook makes: each with what is true of it in a plain kernel. A kind more is one entry more."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """`defines`: a cell of the notebook. `makes`: an expression. `holds`: what is true of it, as `v`, wherever it is; it may call
    what was defined. Names that a kind defines are its own."""

    says: str
    defines: str
    makes: str
    holds: str


KINDS = [
    # ---- Python's own values ----
    Kind("a whole number", "", "2 ** 200", "v == 2 ** 200 and type(v) is int"),
    Kind("a float that is no number", "", "float('nan')", "v != v"),
    Kind("text with lone surrogates", "", "'a\\ud800b'", "v == 'a\\ud800b'"),
    Kind("bytes and a bytearray", "", "(b'ab', bytearray(b'cd'))", "v == (b'ab', b'cd') and type(v[1]) is bytearray"),
    Kind("Ellipsis and NotImplemented", "", "[..., NotImplemented, None]", "v[0] is ... and v[1] is NotImplemented and v[2] is None"),
    Kind("a list twice in a tuple", "", "(lambda a: (a, a))([1])", "v[0] is v[1]"),
    Kind("a list in itself", "ring = [1]\nring.append(ring)", "ring", "v[1] is v"),
    Kind("a dict with keys of many types", "", "{1: 'a', (1, 2): 'b', None: 'c', frozenset([1]): 'd'}", "v[(1, 2)] == 'b' and v[frozenset([1])] == 'd'"),
    Kind("sets", "", "({1, 2}, frozenset('ab'))", "v == ({1, 2}, frozenset('ab'))"),
    Kind("a range and a slice", "", "(range(3, 9, 2), slice(1, None, 2))", "list(v[0]) == [3, 5, 7] and v[1] == slice(1, None, 2)"),
    Kind("a deque, an ordered dict, a counter, a defaultdict", "import collections",
         "(collections.deque([1], maxlen=3), collections.OrderedDict(a=1), collections.Counter('aab'), collections.defaultdict(list, x=[1]))",
         "v[0].maxlen == 3 and type(v[1]) is collections.OrderedDict and v[2]['a'] == 2 and v[3].default_factory is list"),
    Kind("dates with a time zone", "import datetime, zoneinfo", "datetime.datetime(2024, 3, 1, tzinfo=zoneinfo.ZoneInfo('UTC'))",
         "v == datetime.datetime(2024, 3, 1, tzinfo=zoneinfo.ZoneInfo('UTC')) and v.tzinfo is zoneinfo.ZoneInfo('UTC')"),
    Kind("decimals, fractions, a path, a UUID", "import decimal, fractions, pathlib, uuid",
         "(decimal.Decimal('1.10'), fractions.Fraction(1, 3), pathlib.Path('/a/b'), uuid.UUID(int=5))",
         "str(v[0]) == '1.10' and v[1] * 3 == 1 and v[2].name == 'b' and v[3].int == 5"),
    Kind("a compiled pattern", "import re", "re.compile('a+', re.I)", "v.match('AA').end() == 2"),
    Kind("a simple namespace", "import types", "types.SimpleNamespace(a=[1])", "v.a == [1] and type(v) is types.SimpleNamespace"),
    Kind("a module and classes by name", "import json, collections", "(json, collections.OrderedDict, dict, len)", "v == (json, collections.OrderedDict, dict, len)"),
    Kind("types of annotations", "import typing", "(list[int], typing.Optional[str], int | None, typing.Callable[[int], str])",
         "v == (list[int], typing.Optional[str], int | None, typing.Callable[[int], str])"),
    # ---- functions ----
    Kind("a function with defaults and attributes", "def scaled(x, by=2, *, plus=1): return x * by + plus\nscaled.unit = 'm'", "scaled", "v(3) == 7 and v.unit == 'm'"),
    Kind("closures on one variable", "def counters():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n        return n\n    return up, lambda: n",
         "counters()", "v[0]() == v[1]()"),
    Kind("a partial of a lambda", "import functools", "functools.partial(lambda a, b: a - b, 5)", "v(3) == 2"),
    Kind("a recursive function", "def fact(n): return 1 if n < 2 else n * fact(n - 1)", "fact", "v(5) == 120"),
    Kind("a bound method", "class Hit:\n    n = 3\n    def hit(self): return self.n", "Hit().hit", "v() == 3 and isinstance(v.__self__, Hit)"),
    Kind("a class method and a static method", "class Made:\n    @classmethod\n    def one(cls): return cls()\n    @staticmethod\n    def two(): return 2",
         "(Made.one, Made.two)", "type(v[0]()) is Made and v[1]() == 2"),
    # ---- classes of the notebook ----
    Kind("an object of a plain class", "class Plain:\n    def __init__(self, x): self.x = x", "Plain([1])", "type(v) is Plain and isinstance(v, Plain) and v.x == [1]"),
    Kind("a class itself", "class Itself:\n    kept = 5", "Itself", "v is Itself"),
    Kind("a class twice, and an object of it", "class Twice: pass", "[Twice, {'c': Twice}, Twice()]", "v[0] is v[1]['c'] is type(v[2]) is Twice"),
    Kind("a subclass of a class of the notebook", "class Upper:\n    def says(self): return 'upper'\nclass Lower(Upper):\n    def says(self): return 'lower ' + super().says()",
         "Lower()", "isinstance(v, Upper) and type(v) is Lower and v.says() == 'lower upper' and Lower.__mro__[1] is Upper"),
    Kind("a class with two bases", "class Left: pass\nclass Right: pass\nclass Both(Left, Right): pass", "Both()", "isinstance(v, Left) and isinstance(v, Right) and type(v) is Both"),
    Kind("a nested class", "class Outer:\n    class Inner:\n        class Core: pass", "Outer.Inner.Core()", "type(v) is Outer.Inner.Core"),
    Kind("a class made in a function", "def making():\n    class Local:\n        def me(self): return __class__\n    return Local\nLocal = making()", "Local()", "type(v) is Local and v.me() is Local"),
    Kind("a class under another name", "Renamed = type('Original', (), {'a': 1})", "Renamed()", "type(v) is Renamed and v.a == 1"),
    Kind("an object of a class that was made anew", "class Anew:\n    edition = 1\nolder, Older = Anew(), Anew\nclass Anew:\n    edition = 2", "(older, Anew())",
         "type(v[0]) is Older and type(v[1]) is Anew and not isinstance(v[0], Anew) and (v[0].edition, v[1].edition) == (1, 2)"),
    Kind("a class with properties and descriptors", "class Half:\n    def __set_name__(self, owner, name): self.name = name\n    def __get__(self, obj, kind=None): return self if obj is None else obj.n / 2\nclass Described:\n    half = Half()\n    n = 3\n    @property\n    def double(self): return self.n * 2",
         "Described()", "(v.half, v.double) == (1.5, 6) and type(Described.half) is Half and Described.half.name == 'half' and type(v) is Described"),
    Kind("an object that pickles itself", "class Own:\n    def __init__(self, a): self.a = a\n    def __reduce__(self): return Own, (self.a,)", "Own(2)", "type(v) is Own and v.a == 2"),
    Kind("an object with a state of its own", "class Stated:\n    def __getstate__(self): return {'a': 1}\n    def __setstate__(self, state): self.b = state['a'] + 1", "Stated()",
         "type(v) is Stated and getattr(v, 'b', 2) >= 2"),
    Kind("an object that equals by its class", "class Equal:\n    def __init__(self, x): self.x = x\n    def __eq__(self, other): return isinstance(other, Equal) and other.x == self.x\n    def __hash__(self): return hash(self.x)",
         "{Equal(1): 'a'}", "v[Equal(1)] == 'a'"),
    Kind("a singleton", "class Single:\n    one = None\n    def __new__(cls):\n        if cls.one is None: cls.one = super().__new__(cls)\n        return cls.one\nsingle = Single()", "single", "type(v) is Single"),
    Kind("subclasses of Python's types", "class Names(list): pass\nclass Table(dict):\n    def __missing__(self, key): return key * 2\nclass Metres(float): pass\nclass Word(str): pass",
         "(Names([1]), Table(a=1), Metres(2.5), Word('w'))", "[type(each) for each in v] == [Names, Table, Metres, Word] and v[1][4] == 8 and v[2] == 2.5"),
    Kind("objects in circles", "class Node:\n    def __init__(self): self.next = self\n    def __repr__(self): return 'node'", "Node()", "v.next is v and type(v) is Node"),
    Kind("objects of one class that share a list", "class Sharing:\n    def __init__(self, items): self.items = items", "(lambda items: [Sharing(items), Sharing(items)])([])",
         "v[0].items is v[1].items and type(v[0]) is type(v[1]) is Sharing"),
    # ---- slots ----
    Kind("slots", "class Slotted:\n    __slots__ = ('a', 'b')\n    def __init__(self): self.a = [1]", "Slotted()",
         "type(v) is Slotted and v.a == [1] and not hasattr(v, 'b') and not hasattr(v, '__dict__')"),
    Kind("one slot as text", "class OneSlot:\n    __slots__ = 'a'\n    def __init__(self): self.a = 1", "OneSlot()", "type(v) is OneSlot and v.a == 1 and not hasattr(v, '__dict__')"),
    Kind("slots with names that are private", "class Private:\n    __slots__ = ('__a', '_b')\n    def __init__(self): self.__a, self._b = 1, 2\n    def both(self): return self.__a, self._b", "Private()",
         "type(v) is Private and v.both() == (1, 2)"),
    Kind("slots, inherited", "class Base1:\n    __slots__ = ('a',)\nclass More(Base1):\n    __slots__ = ('b',)\n    def __init__(self): self.a, self.b = 1, 2", "More()",
         "type(v) is More and isinstance(v, Base1) and (v.a, v.b) == (1, 2) and not hasattr(v, '__dict__')"),
    Kind("slots with a dict, and without slots beneath", "class Open:\n    __slots__ = ('a', '__dict__', '__weakref__')\nclass Wide(Open): pass\ndef wide():\n    w = Wide(); w.a, w.z = 1, 2\n    return w", "wide()",
         "type(v) is Wide and (v.a, vars(v)) == (1, {'z': 2})"),
    Kind("slots that can be weakly referenced", "import weakref\nclass Weak:\n    __slots__ = ('a', '__weakref__')\n    def __init__(self): self.a = 1", "Weak()", "weakref.ref(v)() is v and v.a == 1 and type(v) is Weak"),
    Kind("a dataclass with slots", "import dataclasses\n@dataclasses.dataclass(slots=True)\nclass SlotPoint:\n    x: int\n    y: list = dataclasses.field(default_factory=list)", "SlotPoint(1)",
         "v == SlotPoint(1) and type(v) is SlotPoint and not hasattr(v, '__dict__') and dataclasses.replace(v, x=2).x == 2"),
    Kind("a frozen dataclass with slots, inherited", "import dataclasses\n@dataclasses.dataclass(frozen=True, slots=True)\nclass FS:\n    x: int\n@dataclasses.dataclass(frozen=True, slots=True)\nclass FSMore(FS):\n    y: int = 2", "FSMore(1)",
         "v == FSMore(1) and {v: 1}[FSMore(1)] == 1 and isinstance(v, FS) and v.__slots__ == ('y',)"),
    # ---- dataclasses, named tuples, generic and abstract classes ----
    Kind("a dataclass", "import dataclasses\n@dataclasses.dataclass(order=True)\nclass Point:\n    x: int\n    y: int = 2\n    both: list = dataclasses.field(default_factory=list, compare=False)", "Point(1)",
         "v == Point(1) and v < Point(2) and dataclasses.fields(Point)[0].default is dataclasses.MISSING and dataclasses.asdict(v) == {'x': 1, 'y': 2, 'both': []}"),
    Kind("a frozen dataclass", "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass Frozen:\n    x: int", "{Frozen(1): 'one'}", "v[Frozen(1)] == 'one' and type(next(iter(v))) is Frozen"),
    Kind("a dataclass that is subclassed there", "import dataclasses\n@dataclasses.dataclass\nclass First:\n    x: int\ndef second():\n    @dataclasses.dataclass\n    class Second(First):\n        y: int\n    return Second(1, 2)", "First(3)",
         "isinstance(second(), First) and second().y == 2 and v == First(3)"),
    Kind("a named tuple", "import collections, typing\nPair = collections.namedtuple('Pair', 'a b', defaults=[2])\nclass Trio(typing.NamedTuple):\n    a: int\n    b: str = 'x'", "(Pair(1), Trio(1))",
         "v == (Pair(1, 2), Trio(1, 'x')) and type(v[0]) is Pair and type(v[1]) is Trio and v[1]._replace(a=3).a == 3"),
    Kind("a TypedDict", "import typing\nclass Movie(typing.TypedDict, total=False):\n    name: str\n    year: int", "(Movie, Movie(name='a'))", "v[0] is Movie and v[1] == {'name': 'a'} and Movie.__optional_keys__ == {'name', 'year'}"),
    Kind("a Protocol", "import typing\n@typing.runtime_checkable\nclass Quacks(typing.Protocol):\n    def quack(self): ...\nclass Duck:\n    def quack(self): return 1", "(Quacks, Duck())", "v[0] is Quacks and isinstance(v[1], Quacks) and not isinstance(1, Quacks) and type(v[1]) is Duck"),
    Kind("a generic class", "import typing\nT = typing.TypeVar('T')\nclass Box(typing.Generic[T]):\n    def __init__(self, item): self.item = item\nclass IntBox(Box[int]): pass", "(Box[int](3), IntBox(4), Box[int])",
         "type(v[0]) is Box and isinstance(v[1], Box) and v[2] == Box[int] and v[2].__origin__ is Box and Box.__parameters__ == (T,)"),
    Kind("a new type of typing", "import typing\nUserId = typing.NewType('UserId', int)", "{'kind': UserId, 'one': UserId(5)}", "v['kind'] is UserId and v['one'] == 5"),
    Kind("an abstract class", "import abc\nclass Shape(abc.ABC):\n    @abc.abstractmethod\n    def area(self): ...\n    @property\n    @abc.abstractmethod\n    def name(self): ...\nclass Square(Shape):\n    name = 'square'\n    def area(self): return 4\ndef abstract():\n    try: Shape()\n    except TypeError: return True", "Square()",
         "isinstance(v, Shape) and v.area() == 4 and abstract() and Shape.__abstractmethods__ == {'area', 'name'}"),
    Kind("a class registered with an abstract one", "import abc\nclass Sized2(abc.ABC): pass\nclass Registered: pass\nSized2.register(Registered)", "Registered()", "isinstance(v, Sized2) and type(v) is Registered"),
    Kind("an object of a class of collections.abc", "import collections.abc\nclass Rows(collections.abc.Sequence):\n    def __len__(self): return 2\n    def __getitem__(self, i): return [10, 20][i]", "Rows()", "list(v) == [10, 20] and isinstance(v, collections.abc.Sequence) and type(v) is Rows"),
    # ---- enums ----
    Kind("a member of an enum", "import enum\nclass Colour(enum.Enum):\n    RED = 1\n    GREEN = 2", "Colour.RED", "v is Colour.RED and Colour(1) is v and Colour['RED'] is v and isinstance(v, Colour)"),
    Kind("an enum and a dict of its members", "import enum\nclass Mode(enum.Enum):\n    TRAIN = 'train'\n    TEST = 'test'\n    LEARN = 'train'", "(Mode, {Mode.TEST: [Mode.TRAIN]})",
         "v[0] is Mode and v[1][Mode.TEST][0] is Mode.TRAIN and Mode.LEARN is Mode.TRAIN and list(Mode.__members__) == ['TRAIN', 'TEST', 'LEARN']"),
    Kind("flags", "import enum\nclass Perm(enum.Flag):\n    R = enum.auto()\n    W = enum.auto()\n    X = enum.auto()\n    RW = R | W", "[Perm.R | Perm.X, Perm.RW, ~Perm.R]", "v[0] is (Perm.R | Perm.X) and v[1] is Perm.RW and Perm.W in v[2] and v[0] & Perm.R is Perm.R"),
    Kind("enums of numbers and of text", "import enum\nclass Level(enum.IntEnum):\n    LOW = 1\n    HIGH = 5\nclass Name(str, enum.Enum):\n    A = 'a'", "(Level.HIGH, Name.A)", "v[0] is Level.HIGH and v[0] + 1 == 6 and v[1] is Name.A and v[1].upper() == 'A'"),
    Kind("flags and enums with a base of their own", "import enum\nclass Named(enum.Enum):\n    @property\n    def lower(self): return self.name.lower()\nclass Bits(enum.IntFlag):\n    A = 1\n    B = 2\nclass Size(Named):\n    BIG = enum.auto()\n    SMALL = enum.auto()\nclass Spot(tuple, enum.Enum):\n    HERE = (1, 2)\n    THERE = (3, 4)",
         "(Bits.A | Bits.B, Size.SMALL, Spot.THERE)", "v[0] is Bits.A | Bits.B and int(v[0]) == 3 and v[1] is Size.SMALL and v[1].lower == 'small' and v[2] is Spot.THERE and v[2][1] == 4 and Spot((1, 2)) is Spot.HERE"),
    Kind("an enum with attributes and methods", "import enum\nclass Planet(enum.Enum):\n    EARTH = (5.97, 6.37)\n    MARS = (0.64, 3.39)\n    def __init__(self, mass, radius): self.mass, self.radius = mass, radius\n    def weight(self): return self.mass / self.radius", "Planet.MARS",
         "v is Planet.MARS and v.mass == 0.64 and v.weight() == 0.64 / 3.39 and Planet((0.64, 3.39)) is v"),
    Kind("an enum with a __new__ of its own", "import enum\nclass Coord(bytes, enum.Enum):\n    def __new__(cls, value, label):\n        made = bytes.__new__(cls, [value])\n        made._value_, made.label = value, label\n        return made\n    PX = (0, 'P.X')\n    PY = (1, 'P.Y')", "Coord.PY",
         "v is Coord.PY and v.label == 'P.Y' and v[0] == 1 and Coord(1) is v"),
    # ---- exceptions ----
    Kind("an exception of the notebook", "class Failed(ValueError):\n    def __init__(self, code, why='no reason'):\n        super().__init__(code, why)\n        self.code = code\ndef caught(error):\n    try: raise error\n    except Failed as found: return found is error", "Failed(3)", "type(v) is Failed and v.code == 3 and caught(v)"),
    Kind("exceptions of a family", "class Family(Exception): pass\nclass Child(Family): pass\ndef belongs(error):\n    try: raise error\n    except Family: return True", "Child('x')", "belongs(v) and type(v) is Child and v.args == ('x',)"),
    # ---- metaclasses and hooks ----
    Kind("a metaclass", "class Meta(type):\n    made = []\n    def __new__(meta, name, bases, space, **more):\n        cls = super().__new__(meta, name, bases, space)\n        cls.short = name.lower()\n        return cls\n    def __len__(cls): return 7\nclass Metal(metaclass=Meta): pass", "Metal()",
         "type(v) is Metal and type(Metal) is Meta and len(Metal) == 7 and Metal.short == 'metal'"),
    Kind("a metaclass by which a class is empty and cannot be changed", "class Empty(type):\n    def __len__(cls): return 0\n    def __setattr__(cls, name, value): raise AttributeError(name)\nclass Void(metaclass=Empty):\n    a = 1\nclass Nil(metaclass=Empty): pass", "[Void(), Void, Nil]",
         "type(v[0]) is v[1] is Void and v[2] is Nil and v[0].a == 1 and not Void"),
    Kind("a metaclass that wants an argument", "class Tagging(type):\n    def __new__(meta, name, bases, space, *, tag): return super().__new__(meta, name, bases, space)\n    def __init__(cls, name, bases, space, *, tag): cls.tag = tag\nclass Tagged(metaclass=Tagging, tag='t'): pass", "Tagged()",
         "type(v) is Tagged and Tagged.tag == 't' and type(Tagged) is Tagging"),
    Kind("subclasses that a base keeps", "class Plugin:\n    known = {}\n    def __init_subclass__(cls, key, **more):\n        super().__init_subclass__(**more)\n        Plugin.known[key] = cls\nclass Json(Plugin, key='json'): pass", "Json()",
         "type(v) is Json and Plugin.known == {'json': Json}"),
    Kind("a base that wants an argument of each subclass", "class Keyed:\n    def __init_subclass__(cls, key, **more):\n        super().__init_subclass__(**more)\n        cls.key = key\nclass Yaml(Keyed, key='yaml'): pass", "Yaml()",
         "type(v) is Yaml and Yaml.key == 'yaml' and Yaml.__mro__ == (Yaml, Keyed, object)"),
    Kind("a class's registry and its counter", "class Counted:\n    all = []\n    n = 0\n    def __init__(self):\n        Counted.all.append(self)\n        Counted.n += 1\ncounted = Counted()", "counted", "type(v) is Counted and Counted.n == len(Counted.all) and isinstance(Counted.all[0], Counted)"),
    # ---- frameworks ----
    Kind("an array and its view", "import numpy as np", "(lambda a: (a, a[1:]))(np.arange(4.))", "np.array_equal(v[0], [0, 1, 2, 3]) and np.array_equal(v[1], [1, 2, 3])"),
    Kind("an array of a class of the notebook", "import numpy as np\nclass Unit(np.ndarray): pass", "np.arange(3).view(Unit)", "type(v) is Unit and v.sum() == 3"),
    Kind("an array of objects of the notebook", "import numpy as np\nclass Cell0: pass", "np.array([Cell0(), None], dtype=object)", "type(v[0]) is Cell0 and v[1] is None"),
    Kind("a module of torch", "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.one = torch.nn.Linear(2, 2)\n        self.two = torch.nn.Linear(2, 2)\n        self.two.weight = self.one.weight\n    def forward(self, x): return self.two(self.one(x))", "Net()",
         "type(v) is Net and v.one.weight is v.two.weight and tuple(v(torch.ones(1, 2)).shape) == (1, 2)"),
    Kind("an autograd function of the notebook", "import torch\nclass Twice2(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x * 2\n    @staticmethod\n    def backward(ctx, grad): return grad * 2", "Twice2",
         "v is Twice2 and v.apply(torch.ones(1)).item() == 2"),
]
