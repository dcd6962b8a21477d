"""What joblib's users do with a backend: generators, time limits, nesting, initializers, managers, forks."""

from __future__ import annotations

import pytest

pytest.importorskip("joblib")


def test_generators_give_results_while_others_run_and_end_what_is_not_taken(home):
    run = home.run("""
        import gc, warnings
        import pounce.compat.joblib
        from joblib import Parallel, delayed, parallel_config
        warnings.simplefilter("ignore")
        def square(n, path=None):
            while path and not os.path.exists(path): time.sleep(0.01)
            return n * n
        with parallel_config("pounce", n_jobs=2):
            slow = Parallel(return_as="generator_unordered")(delayed(square)(n, "never" if n == 1 else None) for n in range(6))
            report(first=sorted(next(slow) for _ in range(5)))
            busy = Parallel(return_as="generator")
            taken = busy(delayed(square)(n) for n in range(3))
            report(twice=error_of(lambda: busy(delayed(square)(n) for n in range(3)))["text"].partition(" !")[0])
            other = Parallel(return_as="generator")(delayed(square)(n) for n in range(10, 13))
            report(both=[list(taken), list(other)])
            del slow
            gc.collect()
            report(after=Parallel()(delayed(square)(n) for n in range(3)))
    """)

    assert run.reports == {"first": [0, 4, 9, 16, 25], "twice": "This Parallel instance is already running",
                           "both": [[0, 1, 4], [100, 121, 144]], "after": [0, 1, 4]}


def test_a_time_limit_and_a_failure_end_the_others_and_leave_the_backend_usable(home):
    run = home.run("""
        import pounce.compat.joblib
        from joblib import Parallel, delayed, parallel_config
        def fail(): raise LookupError("as asked")
        with parallel_config("pounce", n_jobs=2):
            report(late=error_of(lambda: Parallel(timeout=0.5)(delayed(time.sleep)(1000) for _ in range(4)))["type"])
            lazy = Parallel(return_as="generator", timeout=0.5)(delayed(time.sleep)(1000) for _ in range(4))
            report(lazy=error_of(lambda: list(lazy))["type"], then=Parallel(timeout=60)(delayed(abs)(-n) for n in range(3)))
            with Parallel() as parallel:
                report(failed=error_of(lambda: parallel([delayed(fail)(), *(delayed(time.sleep)(1000) for _ in range(20))]))["type"])
                report(at_last=parallel(delayed(abs)(-n) for n in range(3)))
    """)

    assert run.reports == {"late": "TimeoutError", "lazy": "TimeoutError", "then": [0, 1, 2], "failed": "LookupError", "at_last": [0, 1, 2]}


def test_an_initializer_runs_once_in_each_worker(home):
    """It was ignored in Parallel(), and an unknown option in parallel_config()."""
    run = home.run("""
        import pounce.compat.joblib
        from joblib import Parallel, delayed, parallel_config
        def prepare(path, *words):
            with open(path, "a") as file: file.write(f"{os.getpid()}\\n")
            os.environ["PREPARED"] = "-".join(words)
        def prepared(): return os.environ.get("PREPARED"), os.getpid()
        def refuse(): raise LookupError("no licence")
        path = os.path.abspath("started")
        with parallel_config("pounce", n_jobs=2, initializer=prepare, initargs=(path, "a", "b")):
            got = [pair for _ in range(2) for pair in Parallel()(delayed(prepared)() for _ in range(50))]
        started = open(path).read().split()
        report(words=sorted({word for word, _ in got}), once=len(started) == len(set(started)), all={pid for _, pid in got} <= set(map(int, started)))
        with parallel_config("pounce", n_jobs=2):
            report(own=Parallel(initializer=prepare, initargs=(path, "c"))(delayed(prepared)() for _ in range(4))[0][0])
            report(failed=error_of(lambda: Parallel(initializer=refuse)(delayed(prepared)() for _ in range(4)))["type"])
    """)

    assert run.reports == {"words": ["a-b"], "once": True, "all": True, "own": "c", "failed": "LookupError"}


def test_threads_inside_calls_are_limited_where_that_is_wished(home):
    pytest.importorskip("threadpoolctl")
    run = home.run("""
        import numpy, pounce.compat.joblib
        from joblib import Parallel, delayed, parallel_config
        def most(n):
            import threadpoolctl
            numpy.ones((n, n)) @ numpy.ones((n, n))
            return max(library["num_threads"] for library in threadpoolctl.threadpool_info())
        with parallel_config("pounce", n_jobs=2, inner_max_num_threads=1):
            limited = Parallel()(delayed(most)(n) for n in (2, 3))
        with parallel_config("pounce", n_jobs=2):
            others = Parallel()(delayed(most)(n) for n in (2, 3))
        report(limited=limited, others=others, cpus=len(os.sched_getaffinity(0)))
    """)

    assert run.reports["limited"] == [1, 1]
    assert run.reports["others"] == [run.reports["cpus"]] * 2


def test_a_managers_proxies_work_in_calls(home):
    """They did not connect: "digest sent was rejected"."""
    run = home.run("""
        import multiprocessing
        import pounce.compat.joblib
        from joblib import Parallel, delayed
        def put(queue, facts, n):
            queue.put(n)
            facts[n] = os.getpid()
        if __name__ == "__main__":
            with multiprocessing.Manager() as manager:
                queue, facts = manager.Queue(), manager.dict()
                Parallel(n_jobs=2, backend="pounce")(delayed(put)(queue, facts, n) for n in range(4))
                report(queue=sorted(queue.get() for _ in range(4)), elsewhere=os.getpid() not in facts.values())
    """)

    assert run.reports == {"queue": [0, 1, 2, 3], "elsewhere": True}


def test_a_module_that_makes_the_backend_joblibs_default_may_be_used_on_workers(home):
    """There it was a RecursionError."""
    (home.folder / "defaults.py").write_text("""
import joblib
import pounce.compat.joblib
from joblib import Parallel, delayed
joblib.register_parallel_backend("pounce", joblib.parallel.BACKENDS["pounce"], make_default=True)
def inner(n):
    return type(Parallel(n_jobs=2)._backend).__name__, Parallel(n_jobs=2)(delayed(abs)(-k) for k in range(n))
def direct():
    return type(joblib.parallel.get_active_backend()[0]).__name__
""")
    run = home.run("""
        sys.path.insert(0, os.getcwd())
        import defaults
        from joblib import Parallel, delayed
        report(nested=Parallel(n_jobs=2)(delayed(defaults.inner)(n) for n in range(3))[2])
        with pounce.Client() as client:
            report(call=client.submit(defaults.direct).result(60))
    """)

    assert run.reports == {"nested": ["ThreadingBackend", [0, 1]], "call": "LokyBackend"}


@pytest.mark.parametrize("outer", ["multiprocessing", "loky", "threading"])
def test_the_backend_works_inside_other_backends(home, outer):
    """In a forked process it took its parent's client: Forked."""
    (home.folder / "nested.py").write_text("""
import os
import pounce.compat.joblib
from joblib import Parallel, delayed
def inner(n):
    return os.getpid(), Parallel(n_jobs=2, backend="pounce")(delayed(pow)(n, k) for k in range(3))
""")
    run = home.run(f"""
        sys.path.insert(0, os.getcwd())
        import nested
        from joblib import Parallel, delayed
        if __name__ == "__main__":
            nested.inner(2)  # this process has a client
            got = Parallel(n_jobs=2, backend="{outer}")(delayed(nested.inner)(n) for n in (2, 3))
            report(values=[values for _, values in got], elsewhere=os.getpid() not in [pid for pid, _ in got])
    """)

    assert run.reports == {"values": [[1, 2, 4], [1, 3, 9]], "elsewhere": outer != "threading"}


def test_one_job_is_run_by_this_process_without_a_client(home):
    """It made one, and leases with the first options."""
    run = home.run("""
        import pounce.compat.joblib
        from joblib import Parallel, delayed, parallel_config
        from pounce import shared_client as clients
        with parallel_config("pounce", n_jobs=1):
            report(pids=set(Parallel()(delayed(os.getpid)() for _ in range(3))) == {os.getpid()}, clients=len(clients._clients))
    """)

    assert run.reports == {"pids": True, "clients": 0}
