"""An interrupt in the middle of an import must not spoil the module for the tasks that follow."""

from __future__ import annotations

import sys
import types

from pounce._worker import half_imports

INIT = """
import os
from .part import *
if not os.path.exists({again!r}):
    open({again!r}, "w").close()
    raise KeyboardInterrupt
__all__ = part.__all__
"""


def package(folder, name: str) -> None:
    (folder / name).mkdir()
    (folder / name / "part.py").write_text("__all__ = ('value',)\nvalue = 7\n")
    (folder / name / "__init__.py").write_text(INIT.format(again=str(folder / "again")))


def test_the_next_task_imports_what_an_interrupt_left_half_imported(home):
    package(home.folder, "halved")
    run = home.run("""
        def use():
            import halved
            return halved.value
        with pounce.Client() as client:
            try:
                client.submit(use).result(60)
            except BaseException as error:
                report(first=type(error).__name__)
            report(second=client.submit(use).result(60))
    """)
    assert run.reports["second"] == 7 and "first" in run.reports


def test_a_module_that_somebody_put_there_stays(monkeypatch):
    monkeypatch.setitem(sys.modules, "no_such_package.stand_in", types.ModuleType("no_such_package.stand_in"))
    before = set(sys.modules)

    half_imports.forget()

    assert set(sys.modules) == before
