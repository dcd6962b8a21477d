"""What cells, calls and the notebook do with one class after the other has changed it. Prints `REPORT {what: what was seen}`."""

from __future__ import annotations

import json
import sys

from shell_cells import cell, names, on_worker

report: dict[str, object] = {}


def runs(*sources: str, there: bool = False, out: str = "") -> None:
    for source in sources:
        failed = on_worker(source, out) if there else cell(source)
        assert not failed, f"{source}: {failed}"


def seen(what: str, expression: str) -> None:
    runs(f"seen = {expression}")
    report[what] = names["seen"]


def seen_there(what: str, expression: str) -> None:
    runs(f"seen = {expression}", there=True, out="seen")
    report[what] = names["seen"]


def notebook() -> None:
    runs("import pounce\nclient = pounce.Client()")

    runs("class S:\n    count = 0\n    kept = []\n    def says(self): return 'old'\nkept = S.kept")
    runs("t = S()\nS.count += 1", there=True)
    runs("None", there=True, out="t")
    seen("an object that is brought leaves the notebook's class as it is", "(type(t) is S, S.count, S.kept is kept)")
    runs("None", there=True, out="S")
    seen("a class that is brought is the same class with the worker's attributes", "(type(t) is S, S.count)")

    runs("def old():\n    return S()\nearlier = client.submit(old)\nearlier.result()\nlate = client.submit(old)\nS.says = lambda self: 'new'\nS.mine = S.kept")
    seen("a result brings no old methods", "(late.result().says(), S.says(None), S.mine is S.kept)")

    runs("class Config:\n    rate = 1\n    extra = 5\ndef read(c): return c.rate, getattr(c, 'extra', None), getattr(c, 'left', None)\ndef write(c): c.left = c.rate = 7")
    runs("first = client.submit(read, Config).result()\nclient.submit(write, Config).result()\nConfig.rate = 2\ndel Config.extra")
    seen("a call sees the class as it was submitted", "(first, client.submit(read, Config).result(), client.submit(read, Config()).result())")

    runs("class Edited:\n    def says(self): return 'first'\ne = Edited()")
    runs("before = e.says()", there=True)
    runs("Edited.says = lambda self: 'second'")
    seen_there("a cell that reads an object sees its class as the notebook has it now", "(before, e.says())")

    runs("class Kept:\n    n = 0\nk = Kept()")
    runs("k; Kept.n = 5", there=True)
    runs("k = Kept()\nk2 = Kept()")
    seen_there("an object that is sent leaves the worker's class as it is", "(type(k).n, type(k2) is Kept)")
    runs("def changes(one): type(one).n = 9\nclient.submit(changes, k).result()")
    seen_there("a call leaves the class of cells as it is", "Kept.n")
    runs("%pounce release", "k = Kept()\nk3 = Kept()")
    seen_there("an object that is sent before its class is restored has the saved attributes", "(type(k3).n, type(k) is type(k3))")

    runs("class Ended(Exception): pass\ndef ends(): raise Ended('there')")
    runs("def fails(): ends()", there=True)
    runs("%pounce release")
    runs("try: fails()\nexcept Ended as error: caught = str(error)", there=True, out="caught")
    seen("what a restored function raises is caught there", "caught")
    runs("try: get_ipython().run_cell_magic('pounce', '--cpus 1', 'fails()')\nexcept Ended as error: found = type(error) is Ended")
    seen("what a restored function raises is caught here", "found")
    cell("try: client.submit(ends).result()\nexcept Ended as error: found = type(error) is Ended")
    seen("what a call raises is caught here", "found")

    runs("class Late: pass\nlate = Late()\nOld = Late\nclass Late: edition = 2")
    seen_there("a class that was made anew is a new one", "(type(late) is Late, type(late) is Old, Late.edition)")
    runs("%pounce release")
    seen_there("and so it is after a release", "(type(late) is Late, type(late) is Old, Late.edition)")

    runs("class There: pass\nthere = There()\nother = [There()]", there=True)
    runs("None", there=True, out="there")
    runs("%pounce release")
    runs("None", there=True, out="other")
    runs("None", there=True, out="There")
    seen("a worker's class is one class here", "type(there) is type(other[0]) is There")
    runs("class There:\n    edition = 2\nthere2 = There()", there=True, out="there2,There")
    seen("a worker's class that was made anew is a new one here", "(type(there2) is There, type(there2).edition, type(there) is There)")


def next_notebook() -> None:
    runs("import pounce", "%pounce restore")
    runs("None", there=True, out="there")
    runs("None", there=True, out="There,k")
    runs("None", there=True, out="Kept,k3")
    runs("None", there=True, out="other")
    runs("None", there=True, out="There")
    seen("a class is one class in the next kernel", "(type(k) is type(k3) is Kept, Kept.n, type(there) is type(other[0]), type(there) is There)")
    runs("class Kept: pass")
    seen("a class that the next kernel makes anew is a new one", "isinstance(k, Kept)")


{"notebook": notebook, "next": next_notebook}[sys.argv[-1]]()
print("REPORT " + json.dumps(report), flush=True)
cell("%pounce release")
