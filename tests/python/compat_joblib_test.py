"""The joblib backend "pounce"."""

from __future__ import annotations

import shutil

import exception_cases
import pounce
import pytest
from conftest import resources

pytest.importorskip("sklearn")
numpy = pytest.importorskip("numpy")

from pounce._engine.options import Options  # noqa: E402
from pounce._tables.classes import Amount, Class, Classes, Gpu  # noqa: E402
from pounce.compat.joblib import most_workers  # noqa: E402
from pounce.compat.sent_once import SentOnce  # noqa: E402  # it is of use with joblib alone


def test_calls_of_joblib_run_on_workers_in_batches_and_come_back_in_order(home):
    run = home.run("""
        import pounce.compat.joblib
        import joblib
        def elsewhere(n): return n, os.getpid()
        def inner(n):
            from joblib import Parallel, delayed
            return os.getpid(), Parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(2))
        with joblib.parallel_config("pounce", n_jobs=2, leases=2, cpus=1):
            got = joblib.Parallel()(joblib.delayed(elsewhere)(n) for n in range(500))
            report(order=[n for n, _ in got] == list(range(500)), pids=len({pid for _, pid in got}), elsewhere=os.getpid() not in {pid for _, pid in got})
            lazy = joblib.Parallel(return_as="generator")(joblib.delayed(abs)(-n) for n in range(5))
            report(lazy=list(lazy))
            pid, nested = joblib.Parallel()(joblib.delayed(inner)(n) for n in range(2))[0]
            report(nested=nested == [pid, pid])
        with joblib.parallel_config("pounce", workers=2):
            report(all=joblib.effective_n_jobs(-1), pid=joblib.Parallel(n_jobs=-1)(joblib.delayed(os.getpid)() for _ in range(2))[0] != os.getpid())
        with joblib.parallel_config("pounce", n_jobs=2, gpuz=1):
            report(bad=error_of(lambda: joblib.Parallel()(joblib.delayed(abs)(1) for _ in range(2)))["text"])
    """)

    reports = run.reports
    assert reports["order"] and reports["pids"] >= 1 and reports["elsewhere"] and reports["lazy"] == [0, 1, 2, 3, 4]
    assert reports["nested"] and reports["all"] == 2 and reports["pid"] and "gpuz=" in reports["bad"]


def test_all_jobs_are_all_workers_that_there_may_be(home):
    """It was refused, and scikit-learn's users write it everywhere."""
    run = home.run("""
        import joblib
        import pounce.compat.joblib
        from joblib import Parallel, delayed, effective_n_jobs, parallel_config
        from sklearn.datasets import make_classification
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.model_selection import GridSearchCV
        report(cpus=len(os.sched_getaffinity(0)), here=os.getpid())
        def all_of(**options):
            with parallel_config("pounce", **options):
                return [effective_n_jobs(n) for n in (-1, -2, 3)]
        with pounce.Client(workers=5) as of_five, pounce.Client(workers="0:7") as pool:
            report(client=all_of(client=of_five), pool=all_of(client=pool), said=all_of(client=of_five, workers=4, leases=2))
        report(free=all_of(), least=all_of(cpus=1000)[0])
        with parallel_config("pounce"):
            report(pids=Parallel(n_jobs=-1)(delayed(os.getpid)() for _ in range(4)), default=Parallel()(delayed(abs)(-n) for n in range(3)))
            data, target = make_classification(60, random_state=0)
            search = GridSearchCV(RandomForestClassifier(4, random_state=0, n_jobs=-1), {"max_depth": [1, 3]}, cv=2, n_jobs=-1)
            report(found=search.fit(data, target).cv_results_["mean_test_score"].tolist())
            report(forest=RandomForestClassifier(4, random_state=0, n_jobs=-1).fit(data, target).score(data, target))
        report(found_here=search.set_params(n_jobs=1).fit(data, target).cv_results_["mean_test_score"].tolist())
        report(forest_here=RandomForestClassifier(4, random_state=0).fit(data, target).score(data, target))
    """)

    reports = run.reports
    assert reports["client"] == [5, 4, 3] and reports["pool"] == [7, 6, 3] and reports["said"] == [8, 7, 3]
    assert reports["free"] == [max(2, reports["cpus"]), max(2, reports["cpus"] - 1), 3] and reports["least"] == 2
    assert reports["here"] not in reports["pids"] and reports["default"] == [0, 1, 2]
    assert reports["found"] == reports["found_here"] and reports["forest"] == reports["forest_here"]


def test_a_class_bounds_what_all_jobs_are():
    def classes(jobs, gpus=None):
        row = Class("day", True, 60, Amount(jobs, 0), Amount(None, 0), Amount(gpus, 0), None)
        return Classes([row, row._replace(name="night", default=False, running_jobs=Amount(40, 0))], [Gpu("a100", 6, 0)], "slurm")

    assert most_workers(Options(), classes(3)) == 3 and most_workers(resources(class_="night"), classes(3)) == 40
    assert most_workers(Options(), classes(None)) == 16 and most_workers(resources(gpus=2), classes(None)) == 3
    assert most_workers(resources(gpus=1), classes(50, gpus=4)) == 4


def test_on_a_worker_the_backend_is_what_joblib_would_do_there(home):
    """It was "Invalid backend: pounce"."""
    run = home.run("""
        import joblib
        import pounce.compat.joblib
        from joblib import Parallel, delayed, parallel_config
        def inside(**words):
            from joblib import Parallel, delayed, parallel_config
            from joblib.parallel import get_active_backend
            import os
            with parallel_config("pounce", **words):
                kind = type(get_active_backend()[0]).__name__
                return os.getpid(), kind, sorted(Parallel(n_jobs=2)(delayed(abs)(-n) for n in range(3)))
        def by_argument():
            from joblib import Parallel, delayed
            return Parallel(n_jobs=2, backend="pounce")(delayed(abs)(-n) for n in range(3))
        def imports_it():
            import pounce.compat.joblib
            return inside()[1]
        with pounce.Client() as client:
            report(call=client.submit(inside, cpus=2).result(60)[1:], argument=client.submit(by_argument).result(60))
            report(imported=client.submit(imports_it).result(60))
        with parallel_config("pounce", n_jobs=2):
            (pid, *nested), _ = Parallel()(delayed(inside)(workers="0:4") for _ in range(2))
            report(nested=nested, elsewhere=pid != os.getpid())
    """)

    assert run.reports == {"call": ["LokyBackend", [0, 1, 2]], "argument": [0, 1, 2], "imported": "LokyBackend",
                           "nested": ["ThreadingBackend", [0, 1, 2]], "elsewhere": True}


def test_workers_of_a_pool_are_so_many_leases_at_most(home):
    """It was a ValueError of int("0:2")."""
    run = home.run("""
        import pounce.compat.joblib
        from joblib import Parallel, delayed, effective_n_jobs, parallel_config
        from pounce.shared_client import shared_client
        def meets(n):  # each call on a worker of its own: it waits for the other
            open(f"{here}.{n}", "w").close()
            while not os.path.exists(f"{here}.{1 - n}"): time.sleep(0.02)
            return os.getpid()
        here = os.path.abspath("met")
        with parallel_config("pounce", workers="0:2"):
            report(most=effective_n_jobs(-1), met=len(set(Parallel(n_jobs=-1, batch_size=1)(delayed(meets)(n) for n in range(2)))))
            report(leases=len(shared_client().leases()))
        report(both=error_of(lambda: parallel_config("pounce", workers="0:2", leases=3)), none=error_of(lambda: parallel_config("pounce", workers="2:0")))
    """)

    reports = run.reports
    assert (reports["most"], reports["met"], reports["leases"]) == (2, 2, 2)
    assert "leases=3 and workers='0:2' both say" in reports["both"]["text"] and reports["none"]["type"] == "BadRequest"


def test_a_failing_call_ends_the_others_and_what_cannot_travel_is_named(home):
    run = home.run("""
        import threading
        import pounce.compat.joblib
        from pounce.shared_client import shared_client
        from joblib import Parallel, delayed, parallel_config
        def fail(n):
            if n: time.sleep(1000)
            raise ValueError("as asked")
        def hold(lock): pass
        with parallel_config("pounce", n_jobs=2):
            start = time.monotonic()
            report(error=error_of(lambda: Parallel()(delayed(fail)(n) for n in range(2))))
            report(again=Parallel()(delayed(abs)(-n) for n in range(3)), soon=time.monotonic() - start < 60)
            report(lock=error_of(lambda: Parallel()(delayed(hold)(lock=threading.Lock()) for _ in range(2))))
    """)

    reports = run.reports
    assert reports["error"]["type"] == "ValueError" and reports["again"] == [0, 1, 2] and reports["soon"]
    assert reports["lock"]["type"] == "NotPicklable" and "argument lock= of hold is a lock" in reports["lock"]["text"]


def test_a_grid_search_sends_its_data_once(home):
    run = home.run("""
        import numpy
        import pounce.compat.joblib
        from joblib import parallel_config
        from sklearn.linear_model import Ridge
        from sklearn.model_selection import GridSearchCV
        random = numpy.random.default_rng(0)
        data = random.normal(size=(4000, 50))  # 1.6 MB
        target = data @ random.normal(size=50)
        sent = []
        client = pounce.Client()
        scatter = client.scatter
        client.scatter = lambda value: sent.append(value.nbytes) or scatter(value)
        search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0, 100.0]}, cv=3)
        with parallel_config("pounce", n_jobs=2, client=client):
            search.fit(data, target)
        report(best=search.best_params_["alpha"], sent=sorted(sent), calls=12)
        here = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0, 100.0]}, cv=3).fit(data, target)
        report(same=bool(numpy.allclose(here.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])))
        client.close()
    """)

    assert run.reports["best"] == 0.1 and run.reports["same"]
    assert max(run.reports["sent"]) == 1_600_000 and run.reports["sent"].count(1_600_000) == 1
    assert sum(run.reports["sent"]) < 2_000_000  # its parts travel by their numbers


def test_an_array_that_is_filled_anew_is_for_each_call_what_it_was_when_joblib_sent_it(home):
    run = home.run("""
        import numpy
        import pounce.compat.joblib
        from joblib import Parallel, delayed, parallel_config
        buffer = numpy.zeros(20_000)
        def filled():
            for n in range(10):
                buffer[:] = n
                yield delayed(means)(buffer, table=numpy.asfortranarray(numpy.full((200, 100), n)))
        def means(array, table): return float(array.mean()), float(table.mean()), bool(table.flags.f_contiguous)
        with parallel_config("pounce", n_jobs=2):
            report(means=Parallel(pre_dispatch="all", batch_size=1)(filled()))
    """)

    # joblib itself takes as many items from the generator at a time as it has processes.
    assert run.reports["means"] == [[n | 1, n, True] for n in range(10)]


def test_what_lies_in_a_file_or_is_shared_memory_is_not_copied(tmp_path):
    in_file = numpy.memmap(tmp_path / "numbers", "f8", "w+", shape=(100, 100))
    shared = pounce.empty((300, 300))
    scattered = []
    sent = SentOnce(lambda value: scattered.append(value) or object())

    refs = [sent.by_ref(value) for value in (in_file, in_file[1:], shared, in_file)]

    assert scattered[0] is in_file and scattered[2] is shared and len(scattered) == 3 and refs[0] is refs[3]


def test_only_the_last_contents_are_kept():
    sent = SentOnce(lambda value: object())
    always = numpy.full(20_000, -1.0)

    refs = [(sent.by_ref(always), sent.by_ref(numpy.full(20_000, n))) for n in range(100)]

    assert len({id(ref) for ref, _ in refs}) == 1 and len(sent._sent) == 32


def test_an_exception_of_any_type_comes_through_joblib_with_its_lines(home):
    """joblib takes a GeneratorExit for the end of who reads its results, and gave those that had come by then."""
    shutil.copy(exception_cases.__file__, home.folder)
    run = home.run("""
        import pounce.compat.joblib
        import traceback
        from joblib import Parallel, delayed, parallel_config
        sys.path.insert(0, os.getcwd())
        from exception_cases import BUILTIN, OF_A_CANCEL, fails_at_two, raised
        with parallel_config("pounce", n_jobs=2):
            for name in [*BUILTIN, *OF_A_CANCEL]:
                error = raised(Parallel(), [delayed(fails_at_two)(name, n) for n in range(4)])
                kinds = [type(one).__name__ for one in (error, error.__cause__) if one is not None]
                report(**{name: kinds, "lines": "in fails_at_two" in "".join(traceback.format_exception(error))})
    """)

    carried = {name: ["RuntimeError", name] for name in ("StopIteration", "GeneratorExit")}
    names = [*exception_cases.BUILTIN, *exception_cases.OF_A_CANCEL]
    assert run.reports == {"lines": True, **{name: carried.get(name, [name.rpartition(".")[2]]) for name in names}}
