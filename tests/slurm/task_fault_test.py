"""What a user's own function may do to its worker: each is told by its type, and the next call is served."""

from __future__ import annotations

import platform

import pytest
from faults import AGAIN, assert_told, submit_script

# name: what it does, the error's type and a word of it, or the result
FAULTS = {
    "sys.exit": ("""
        def fault():
            sys.exit(3)
        """, "SystemExit", "3"),
    "a module that is missing there": ("""
        def fault():
            import no_such_module_there
        """, "ModuleNotFoundError", "no_such_module_there"),
    "an argument's module that is missing there": ("""
        import types
        here_only = types.ModuleType("here_only")
        exec("class Thing:\\n    pass", here_only.__dict__)
        here_only.Thing.__module__ = "here_only"
        sys.modules["here_only"] = here_only
        def fault(thing=here_only.Thing()):
            return thing
        """, "ModuleNotFoundError", "here_only"),
    "a result that cannot be unpickled here": ("""
        def refuse(here):
            import os
            if os.getpid() == here:
                raise ValueError("not here")
            return 1
        class OnlyThere:
            def __init__(self, here):
                self.here = here
            def __reduce__(self):
                return refuse, (self.here,)
        here = os.getpid()
        def fault():
            return OnlyThere(here)
        """, "TaskRaised", "unpickled"),
    "fork": ("""
        def fault():
            if os.fork() == 0:
                os._exit(0)
            os.wait()
            return "forked"
        """, None, "forked"),
    "a forked child that returns": ("""
        def fault():
            if os.fork() == 0:
                return "child"
            os.wait()
            return "parent"
        """, None, "parent"),
    "daemonise": ("""
        def fault():
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(600)
                os._exit(0)
            os.wait()
            return "daemonised"
        """, None, "daemonised"),
    "close the standard streams": ("""
        def fault():
            for descriptor in (0, 1, 2):
                os.close(descriptor)
            return "closed"
        """, None, "closed"),
    "close everything": ("""
        def fault():
            os.closerange(0, 4096)
            return "closed"
        """, "WorkerCrashed", ""),
}


def test_a_worker_with_another_minor_version_of_python_is_refused_by_name(make_user):
    pretend = "from pounce import _core; core = _core.Client; _core.Client = lambda **facts: core(**{**facts, 'python': '3.99'})"

    error = make_user(idle_release_s=2).python(submit_script("pow, 2, 3", pretend)).ended(120).reported("error")

    assert_told(error, "VersionMismatch", "3.99", ".".join(platform.python_version_tuple()[:2]))


@pytest.mark.parametrize("how", FAULTS)
def test_a_function_that_does_its_worst_is_told_and_the_next_call_is_served(make_user, how):
    functions, type_name, word = FAULTS[how]

    run = make_user(idle_release_s=2).python(submit_script("fault", functions, after=AGAIN)).ended(120)

    if type_name is None:
        assert run.reported("result") == repr(word)
    else:
        error = run.reported("error")
        assert error["type"] == type_name and word in error["text"], error
    assert run.reported("again") == 32
