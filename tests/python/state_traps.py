"""What a notebook does that a saved state can get wrong. Each: cells, saved one by one; then what the next cell sees.

Run as `state_traps.py save|restore FOLDER`: prints a JSON object of what each saw, in the process that built it or in a fresh one.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import NamedTuple


class Trap(NamedTuple):
    says: str
    cells: list[str]
    act: str  # assigns `seen`
    unparkable: dict[str, str] = {}  # name: what the reason says  # noqa: RUF012


TRAINED = """
import torch
torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
plan = torch.optim.lr_scheduler.StepLR(opt, 2, 0.5)
x, y = torch.randn(16, 4), torch.randn(16, 1)
def step():
    opt.zero_grad(); loss = ((model(x) - y) ** 2).mean(); loss.backward(); opt.step(); plan.step()
    return loss.item()
history = [step() for _ in range(3)]
"""

TRAPS = [
    Trap("an alias of a list", ["a = [1]; b = a"], "a.append(2); seen = (b, a is b)"),
    Trap("an alias under a string key", ["a = [1]; d = {'k': a}"], "d['k'].append(2); seen = a"),
    Trap("an object shared by attributes with underscores", ["class C: pass\nc, d = C(), C(); c._x = d._x = []"], "c._x.append(1); seen = d._x"),
    Trap("names that overlap in pairs", ["a, b = [1], [2]; x = [a]; y = [a, b]; z = [b]"], "x[0].append(3); z[0].append(4); seen = y"),
    Trap("a group that splits", ["a = [1]; b = a", "b = list(b)", "a.append(2)"], "seen = (a, b, a is b)"),
    Trap("a group that merges", ["a = [1]; c = [2]", "c.append(a)"], "a.append(3); seen = c"),
    Trap("a group that loses a name", ["a = [1]; b = a", "del a"], "seen = (b, 'a' in globals())"),
    Trap("a name bound to another value", ["a = [1]; b = a", "a = 5"], "b.append(2); seen = (a, b)"),
    Trap("a list in itself, a dict in its value, a tuple in a circle", ["l = [1]; l.append(l); d = {}; d['d'] = d; t = ([],); t[0].append(t)"],
         "seen = (l[1] is l, d['d'] is d, t[0][0] is t)"),
    Trap("an array and its views", ["import numpy as np\na = np.arange(24.).reshape(4, 6); v = a[1:3]; w = v[::-1, ::2]; t = a.T; z = a[0, 0, ...]; e = a[:0]"],
         "v[0, 0] = -1; w[0, 0] = -2; t[0, 0] = -3; seen = (a.tolist(), float(z), e.shape, w.strides)"),
    Trap("equal arrays that are two", ["import numpy as np\na = np.zeros(20000); b = np.zeros(20000)"], "a[0] = 1; seen = b[0]"),
    Trap("a broadcast array", ["import numpy as np\na = np.arange(1000.); b = np.broadcast_to(a, (1000, 1000))"], "a[1] = 7; seen = (b[5, 1], b.flags.writeable, b.strides)"),
    Trap("numpy and torch on one memory",
         ["import numpy as np, torch\na = np.arange(4.); t = torch.from_numpy(a); u = torch.ones(3); n = u.numpy(); m = bytearray(b'1234'); f = np.frombuffer(m, np.uint8)"],
         "t[0] = 9; u[0] = 8; m[0] = 65; seen = (a.tolist(), n.tolist(), f.tolist())"),
    Trap("an array's own memory", ["import numpy as np\na = np.arange(5); r = np.arange(3); r.flags.writeable = False"],
         "a.resize(7, refcheck=False); seen = (a.tolist(), a.flags.owndata, r.flags.writeable)"),
    Trap("training that goes on", [TRAINED], "seen = ([step() for _ in range(3)], opt.param_groups[0]['params'][0] is next(model.parameters()), history)"),
    Trap("a parameter, its data, its gradient and a state_dict", [TRAINED, "w = model[0].weight; d = w.data; s = model.state_dict(); det = w.detach(); g = w.grad"],
         "d[0, 0] = 5; g[0, 0] = 6; seen = (s['0.weight'][0, 0].item(), det[0, 0].item(), w.grad[0, 0].item(), opt.state[w]['momentum_buffer'].shape == w.shape)"),
    Trap("tied weights, a module in two parents, a copy that stays apart",
         ["import torch, copy\na = torch.nn.Linear(3, 3); b = torch.nn.Linear(3, 3); b.weight = a.weight; p = torch.nn.Sequential(a); q = torch.nn.Sequential(a, b); ema = copy.deepcopy(p)"],
         "a.weight.data.fill_(2); seen = (b.weight is a.weight, q[0] is p[0], ema[0].weight.eq(2).any().item(), q[1].weight[0, 0].item())"),
    Trap("a loss with its graph", ["import torch\nw = torch.ones(2, requires_grad=True); loss = (w * 2).sum(); fine = loss.item()"], "seen = (fine, w.tolist())",
         {"loss": "graph of its gradient"}),
    Trap("a small view of a large storage", ["import torch\nbig = torch.zeros(100000); small = big[7:9]"], "small[0] = 1; seen = (big[7].item(), big.sum().item())"),
    Trap("frames", ["import pandas as pd\ndf = pd.DataFrame({'a': [1, 2], 'b': [1., 2.], 'c': pd.Categorical(['x', 'y'])}); df.attrs['k'] = 1; s = df['a']; other = pd.DataFrame({'z': [3, 4]}, index=df.index)"],
         "s[0] = 99; df.loc[1, 'a'] = 50; seen = (s.tolist(), df['a'].tolist(), other.index is df.index, df.attrs, df['c'].tolist(), df.to_numpy().shape)"),
    Trap("a frame within a group-by", ["import pandas as pd\ndf = pd.DataFrame({'a': [1, 1, 2], 'b': [1., 2., 3.]}); g = df.groupby('a')"], "seen = (g.b.sum().tolist(), g.obj is df)"),
    Trap("a function reads a name that is bound anew", ["x = 1\ndef f(): return x"], "x = 99; seen = f()"),
    Trap("a function assigns a global", ["x = 1\ndef f():\n    global x\n    x += 1"], "f(); seen = x"),
    Trap("functions that call each other", ["def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)\nodd.pair = even; even.pair = odd"],
         "seen = (even(10), odd.pair is even, even.pair is odd)"),
    Trap("a function whose global is gone", ["x = 1\ndef f(): return x", "del x"], "try:\n    f()\nexcept NameError as error:\n    seen = str(error)"),
    Trap("closures on one variable", ["def pair():\n    n = 0\n    def inc():\n        nonlocal n\n        n += 1\n    def get(): return n\n    return inc, get\ninc, get = pair()", "inc()"],
         "inc(); seen = get()"),
    Trap("a default argument that remembers", ["def f(x, seen=[]):\n    seen.append(x)\n    return list(seen)\nf.calls = 0", "f(1); f.calls += 1"], "seen = (f(2), f.calls)"),
    Trap("bound methods and partials", ["import functools\nclass C:\n    def __init__(self): self.n = 0\n    def hit(self): self.n += 1; return self.n\nc = C(); m = c.hit; calls = [c.hit]; l = []; p = functools.partial(l.append, 4)"],
         "m(); calls[0](); p(); seen = (c.n, l, m.__self__ is c)"),
    Trap("a class's registry and counter", ["class C:\n    all = []\n    n = 0\n    def __init__(self): C.all.append(self); C.n += 1\na = C(); reg = C.all", "b = C()"],
         "C(); seen = (C.n, C.all[0] is a, C.all[1] is b, reg is C.all, len(reg))"),
    Trap("a class made anew while its old instances live", ["class C:\n    v = 1\na = C()", "class C:\n    v = 2\nb = C()"], "seen = (a.v, b.v, isinstance(a, C), isinstance(b, C), type(a) is type(b))"),
    Trap("a subclass of another cell", ["class A:\n    def __init__(self): self.x = 1", "class B(A):\n    def __init__(self): super().__init__(); self.y = 2\nb = B()"],
         "class D(B): pass\nseen = (isinstance(b, A), D().y, B.__mro__[1] is A)"),
    Trap("sentinels and enums", ["import enum\nclass E(enum.Enum):\n    A = 1\n    B = 2\nSENT = object()\ndef f(v=SENT): return v is SENT\ne = E.A; d = {E.B: 1}"],
         "seen = (f(), f(SENT), e is E.A, d[E.B], E(2) is E.B)"),
    Trap("a singleton", ["class S:\n    one = None\n    def __new__(cls):\n        if cls.one is None: cls.one = super().__new__(cls)\n        return cls.one\ns = S()"], "seen = S() is s"),
    Trap("dicts and sets keyed by identity", ["class K: pass\nk = K(); d = {k: 1}; s = {k}; other = k"], "seen = (d[other], other in s, K() in s)"),
    Trap("iterators half way", ["l = [1, 2, 3]; i = iter(l); next(i); d = {'a': 1}; keys = d.keys(); z = zip(l, l)"],
         "l.append(4); d['b'] = 2; seen = (list(i), list(keys), next(z))"),
    Trap("generators of random numbers", ["import numpy as np, random\ng = np.random.default_rng(1); h = np.random.Generator(g.bit_generator); r = random.Random(2); g.random(), r.random()"],
         "seen = ([g.random(), h.random(), g.random()], r.random())"),
    Trap("names of the shell", ["Out = {3: [1]}; _ = Out[3]"], "_.append(2); seen = Out[3]"),
    Trap("changes that assign nothing", ["import numpy as np\na = np.zeros(3); l = []; d = {}\ndef touch(): l.append(1); exec('d[1] = 2')", "np.add(a, 1, out=a); touch()", "globals()['n'] = 5", "[m := 3]\nfor k in range(3): pass"],
         "seen = (a.tolist(), l, d, n, m, k)"),
    Trap("a function that deletes", ["x = [1]; y = 2\ndef f():\n    global x\n    del x", "f()"], "seen = ('x' in globals(), y)"),
    Trap("a cell that fails half way", ["a, b = [1], [2]", "a.append(3); b.append(4)\nraise ValueError"], "seen = (a, b)"),
    Trap("a guilty member in a large group", ["import threading\nok = [1]; bad = {'conn': [threading.Lock()], 'ok': ok}; far = [2]"], "ok.append(2); seen = (ok, far)", {"bad": "bad['conn'][0] is a lock"}),
    Trap("what pickles wrong in silence",
         ["import tempfile, sys\nfile = open('/etc/hostname'); folder = tempfile.TemporaryDirectory(); window = memoryview(b'12'); gen = (n for n in [1])\ntry: 1/0\nexcept ZeroDivisionError as e: error = e\nclean = ValueError(3)"],
         "seen = clean.args", {"file": "open file", "folder": "deleted with its process", "window": "window", "gen": "begun to run", "error": "traceback"}),
    Trap("connections, threads and children",
         ["import sqlite3, socket, threading, subprocess, weakref\nconn = sqlite3.connect(':memory:'); sock = socket.socket(); thread = threading.Thread(target=print)\nchild = subprocess.Popen(['true']); child.wait()\nclass C: pass\nc = C(); ref = weakref.ref(c)"],
         "seen = type(c).__name__", {"conn": "database", "sock": "network", "thread": "threads", "child": "child process", "ref": "weak reference"}),
    Trap("who needs what cannot be saved", ["import threading\nclass C:\n    lock = threading.Lock()\nc = C(); n = 3"], "seen = n", {"C": "lock", "c": "c needs C"}),
    Trap("deep nests and large numbers",
         ["deep = []\nfor _ in range(10_000): deep = [deep]\nclass N: pass\nhead = None\nfor _ in range(5_000):\n    n = N(); n.next = head; head = n\nhuge = 7 ** 100_000; many = {k: k for k in range(100_000)}; del n"],
         "k = 0\nwhile deep: deep = deep[0]; k += 1\nj = 0\nwhile head: head = head.next; j += 1\nseen = (k, j, huge % 1000003, len(many))"),
    Trap("a cache of functools", ["import functools\ncalls = []\n@functools.lru_cache\ndef f(n): calls.append(n); return n * 2", "f(1)"], "seen = (f(2), f.cache_parameters())"),
    Trap("dataclasses and named tuples", ["import dataclasses, typing\n@dataclasses.dataclass(frozen=True, slots=True)\nclass P:\n    x: int = 1\nclass T(typing.NamedTuple):\n    a: int\np = P(3); t = T(4)"],
         "seen = (p == P(3), t.a, isinstance(t, T), dataclasses.replace(p, x=5).x)"),
    Trap("numpy's other kinds of array", ["import numpy as np\nm = np.ma.array([1., 2.], mask=[0, 1]); x = np.matrix([[1, 2], [3, 4]]); s = np.array([(1, 2.)], [('a', int), ('b', float)]); d = np.array(['2020-01-01'], 'M8[D]'); o = np.array([[], None], object); f = np.asfortranarray(np.ones((3, 2)))"],
         "o[0].append(1); seen = (m.sum(), (x * x).tolist(), s['b'].tolist(), str(d[0]), o.tolist(), f.flags.f_contiguous, f.flags.owndata)"),
    Trap("modules, classes and functions by name", ["import numpy as np, os.path as path\nfrom math import sqrt\nfrom collections import OrderedDict as OD"], "seen = (np.__name__, path.basename('/a/b'), sqrt(9), OD().__class__.__name__)"),
    Trap("a figure", ["import matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\nfig, ax = plt.subplots(); line, = ax.plot([1, 2]); lines = [line]"],
         "seen = (ax.figure is fig, ax.lines[0] is line, lines[0] is line, line.get_ydata().tolist())"),
    Trap("an estimator and a sparse matrix", ["import numpy as np, scipy.sparse as sp\nfrom sklearn.linear_model import LinearRegression\nX = np.arange(8.).reshape(4, 2); est = LinearRegression().fit(X, [1, 2, 3, 4]); mat = sp.csr_matrix(X)"],
         "seen = (est.predict(X).round(6).tolist(), mat.sum())"),
    Trap("sets, deques, ordered dicts and counters", ["from collections import *\nd = deque([1, 2], maxlen=2); o = OrderedDict(a=1); v = o.values(); c = Counter('aab'); e = defaultdict(list); e['x'] = d"],
         "e['x'].append(3); o['b'] = 2; seen = (list(d), list(v), c['a'], e['y'], d.maxlen)"),
]


def main(what: str, folder: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    from state_programs import NoSync

    from pounce._worker.state.folder import Folder
    from pounce._worker.state.restorer import Restorer
    from pounce._worker.state.saver import Saver

    warnings.simplefilter("ignore")
    results = {}
    for number, trap in enumerate(TRAPS):
        namespace = {"__name__": "__main__", "__builtins__": __builtins__}
        place = Folder.made(folder / str(number), NoSync())
        unparkable: dict[str, str] = {}
        if what == "save":
            saver = Saver(place, namespace)
            for count, cell in enumerate(trap.cells):
                touched = saver.touched_by(cell)
                try:
                    exec(compile(cell, "<cell>", "exec", dont_inherit=True), namespace)
                except ValueError:
                    pass
                unparkable = saver.save(count, touched).unparkable
        else:
            restorer = Restorer(place, namespace)
            failed = restorer.load(restorer.names()).failed
            unparkable = {**restorer.saved.unparkable, **failed}
        try:
            exec(trap.act, namespace)
            seen = repr(namespace["seen"])
        except Exception as error:
            seen = f"{type(error).__name__}: {error}"
        results[trap.says] = (seen, unparkable)
    print(json.dumps(results), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
