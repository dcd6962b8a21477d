"""``pounce.compat.dask`` as Dask's users write it."""

from __future__ import annotations

import pytest


def test_the_founding_cells_run_with_another_import_alone(home):
    run = home.run("""
        # from dask_jobqueue import SLURMCluster
        # from dask.distributed import Client
        from pounce.compat.dask import SLURMCluster, Client
        cluster = SLURMCluster(memory="190g", processes=1, cores=20, job_extra_directives=["--gres=gpu:1"], nanny=False)
        cluster.scale(1)
        client = Client(cluster)
        def train(loader, test=False):
            return sum(loader) + 2.3033061027526855
        trainloader_future = client.scatter({"loader": [0.0]})["loader"]
        loss = client.submit(train, trainloader_future, test=True).result()
        report(loss=loss, script=cluster.job_script(), adapt=cluster.adapt(minimum=0, maximum=4), requested=cluster.requested)
        client.shutdown()
        report(closed=error_of(lambda: client.submit(abs, 1))["text"])
    """)

    assert run.reports["loss"] == 2.3033061027526855 and run.reports["requested"] == 4
    assert "#SBATCH --gres=gpu:1" in run.reports["script"] and "#SBATCH --mem=190g" in run.reports["script"]
    assert "the cluster was closed" in run.reports["closed"]


def test_a_future_is_what_dasks_users_expect_of_one(home):
    run = home.run("""
        from pounce.compat.dask import Client
        client = Client()
        def add(a, b, error=False):
            assert not error, "as asked"
            return a + b
        future = client.submit(add, 1, 2)
        report(result=future.result(timeout="60s"), status=future.status, done=future.done(), type=future.type.__name__)
        report(same=client.submit(add, 1, 2) is future, other=client.submit(add, 1, 3) is future, impure=client.submit(add, 1, 2, pure=False) is future)
        report(key=future.key.startswith("add-"), named=client.submit(add, 1, 2, key="mine").key)
        told = []
        future.add_done_callback(lambda f: told.append(f is future))
        report(told=told)
        failed = client.submit(add, 1, 2, error=True)
        report(raised=error_of(failed.result), exception=type(failed.exception()).__name__, failed=failed.status,
               line="in add" in "".join(__import__("traceback").format_tb(failed.traceback())))
        slow = client.submit(time.sleep, 1000)
        report(late=error_of(lambda: slow.result("0.05s"))["type"], pending=slow.status)
        slow.cancel()
        report(cancelled=error_of(slow.result)["type"], is_cancelled=slow.cancelled(), state=slow.status)
        late = client.submit(add, failed, 1)
        report(dependent=error_of(late.result)["type"])
        client.close()
    """)

    reports = run.reports
    assert (reports["result"], reports["status"], reports["done"], reports["type"]) == (3, "finished", True, "int")
    assert (reports["same"], reports["other"], reports["impure"]) == (True, False, False)
    assert reports["key"] and reports["named"] == "mine" and reports["told"] == [True]
    assert reports["raised"]["type"] == reports["exception"] == "AssertionError" and reports["failed"] == "error" and reports["line"]
    assert (reports["late"], reports["pending"]) == ("Timeout", "pending")
    assert (reports["cancelled"], reports["is_cancelled"], reports["state"]) == ("Cancelled", True, "cancelled")
    assert reports["dependent"] == "AssertionError"


def test_futures_are_arguments_and_results_keep_the_shape_of_the_question(home):
    run = home.run("""
        from pounce.compat.dask import Client, as_completed, wait, progress
        with Client() as client:
            numbers = client.scatter([1, 2, 3])
            report(scattered=[client.gather(numbers), client.gather(client.scatter({"a": 1})), client.scatter("text").result()])
            report(sum=client.submit(sum, numbers).result(), nested=client.submit(lambda d: d["k"][0] + 1, {"k": [client.submit(abs, -1)]}).result())
            chain = client.submit(abs, -1)
            for _ in range(20): chain = client.submit(lambda n: n + 1, chain)
            report(chain=chain.result())
            futures = client.map(pow, [2, 3, 4], [3, 2, 1])
            report(gathered=client.gather({"all": futures, "first": futures[0]}), mapped=len(wait(futures).done))
            report(completed=sorted(value for _, value in as_completed(futures, with_results=True)))
            wrong = client.submit(int, "x")
            report(skipped=client.gather([*futures, wrong], errors="skip"), raised=error_of(lambda: client.gather([wrong]))["type"])
            later = as_completed([futures[0]])
            later.add(futures[1])
            report(count=later.count(), batches=sum(map(len, later.batches())), empty=later.is_empty())
            progress(futures)
            slow = client.submit(time.sleep, 1000)
            report(timeout=error_of(lambda: wait([slow, *futures], timeout=0.05))["type"], first=len(wait([slow, futures[0]], return_when="FIRST_COMPLETED").done))
            client.cancel(slow)
    """)

    reports = run.reports
    assert reports["scattered"] == [[1, 2, 3], {"a": 1}, "text"] and reports["sum"] == 6 and reports["nested"] == 2
    assert reports["chain"] == 21 and reports["gathered"] == {"all": [8, 9, 4], "first": 8} and reports["mapped"] == 3
    assert reports["completed"] == [4, 8, 9] and reports["skipped"] == [8, 9, 4] and reports["raised"] == "ValueError"
    assert (reports["count"], reports["batches"], reports["empty"]) == (2, 2, True)
    assert "] 3 of 3" in run.stderr and (reports["timeout"], reports["first"]) == ("Timeout", 1)


def test_what_dask_has_and_pounce_has_not_is_refused_by_its_name(home):
    run = home.run("""
        import threading
        from pounce.compat.dask import Client, SLURMCluster, default_client, get_client
        client = Client(SLURMCluster(cores=1))
        report(current=default_client() is client and get_client() is client and Client.current() is client)
        for name, call in {
            "workers": lambda: client.submit(abs, 1, workers=["g1"]),
            "resources": lambda: client.submit(abs, 1, resources={"GPU": 1}),
            "actor": lambda: client.submit(abs, 1, actor=True),
            "compute": lambda: client.compute,
            "dashboard_link": lambda: client.dashboard_link,
            "tcp": lambda: Client("tcp://10.0.0.1:8786"),
            "n_workers": lambda: Client(n_workers=4),
            "minimum": lambda: client.cluster.adapt(minimum=1, maximum=4),
            "retry": lambda: client.submit(abs, 1).retry,
            "lock": lambda: client.submit(lambda lock: 1, threading.Lock()),
        }.items():
            report(**{name: error_of(call)["text"]})
        report(has=hasattr(client, "compute"), quiet=client.submit(abs, -1, priority=10, fifo_timeout="1s").result())
        client.shutdown()
    """)

    reports = run.reports
    assert reports.pop("current") and not reports.pop("has") and reports.pop("quiet") == 1
    says = {"workers": "--exclude=node", "resources": "SLURMCluster", "actor": "%%pounce", "compute": "scheduler=client.get",
            "dashboard_link": "pouncectl top", "tcp": "SLURMCluster", "n_workers": "processes=", "minimum": "as soon as there is work",
            "retry": "Submit it again", "lock": "argument 0 of <lambda> is a lock"}
    assert {name: says[name] in text for name, text in reports.items()} == dict.fromkeys(says, True)


def test_scaled_work_is_spread_over_leases(home):
    run = home.run("""
        from pounce.compat.dask import Client, SLURMCluster
        cluster = SLURMCluster(cores=1, memory="200MB")
        cluster.scale(3)
        client = Client(cluster)
        here = os.getcwd()
        def meet(n):
            import pathlib
            pathlib.Path(here, f"came{n}").touch()
            while not all(pathlib.Path(here, f"came{k}").exists() for k in range(3)): time.sleep(0.01)
            return os.getpid()
        report(processes=len(set(client.gather(client.map(meet, range(3))))), leases=len(cluster.pounce.leases()))
        report(many=sum(client.gather(client.map(lambda n: n, range(100)))))
        cluster.scale(1)
        report(one=len({client.submit(os.getpid, pure=False).result() for _ in range(5)}), ncores=client.ncores())
        client.wait_for_workers(1, timeout=60)
        report(too_many=error_of(lambda: client.wait_for_workers(5))["text"])
        client.shutdown()
    """)

    assert run.reports["processes"] == run.reports["leases"] == 3 and run.reports["many"] == 4950
    assert run.reports["one"] == 1 and run.reports["ncores"] == {"lease0": 1} and "scale(5)" in run.reports["too_many"]


def test_dask_computes_on_leases(home):
    pytest.importorskip("dask")
    run = home.run("""
        import dask, os
        from pounce.compat.dask import Client
        client = Client()
        @dask.delayed
        def add(a, b): return a + b, os.getpid()
        @dask.delayed
        def first(pair): return pair[0]
        total, (pid,) = dask.compute(add(first(add(1, 2)), first(add(3, 4))), [first(add(5, 6))], scheduler=client.get)
        report(total=total[0], other=pid, elsewhere=total[1] != os.getpid())
        @dask.delayed
        def fail(n): return 1 // n
        report(error=error_of(lambda: dask.compute(fail(0), scheduler=client.get))["type"])
        with dask.config.set(scheduler=client.get): report(config=first(add(1, 1)).compute())
        report(old=client.get({"a": 1, "b": (abs, -7), "c": (sum, ["a", "b"])}, [["c"], "b"]))
        client.close()
    """)

    reports = run.reports
    assert (reports["total"], reports["other"], reports["elsewhere"]) == (10, 11, True)
    assert reports["error"] == "ZeroDivisionError" and reports["config"] == 2 and reports["old"] == [[8], 7]


def test_calls_that_wait_can_be_cancelled_and_one_that_cannot_travel_is_refused_at_once(home):
    run = home.run("""
        import threading
        from pounce.compat.dask import Client, SLURMCluster
        client = Client(SLURMCluster(cores=1))
        client.cluster.scale(2)
        def wait_for(path):
            while not os.path.exists(path): time.sleep(0.01)
            return "came"
        go = os.path.abspath("go")
        runs = client.map(wait_for, [go] * 2, pure=False)
        waits = client.map(wait_for, ["never"] * 10, pure=False)
        stuck = error_of(lambda: client.submit(lambda lock: 1, threading.Lock()))["type"]
        client.cancel(waits)
        open(go, "w").close()
        report(ran=client.gather(runs), cancelled=[future.status for future in waits] == ["cancelled"] * 10, stuck=stuck)
        first = client.submit(time.sleep, 1000)
        second = client.submit(abs, first)
        first.cancel()
        report(second=error_of(lambda: second.result(60))["type"], then=client.submit(abs, -1).result())
        client.shutdown()
    """)

    assert run.reports == {"ran": ["came"] * 2, "cancelled": True, "stuck": "NotPicklable", "second": "Cancelled", "then": 1}


def test_a_long_line_of_calls_ends_with_its_cluster(home):
    run = home.run("""
        from pounce.compat.dask import Client, SLURMCluster, wait
        cluster = SLURMCluster(cores=1)
        cluster.scale(2)
        client = Client(cluster)
        futures = client.map(time.sleep, [1000] * 2000, pure=False)
        cluster.close()
        report(ended=len(wait(futures, timeout=60).done), last=error_of(futures[-1].result)["type"])
    """)

    assert run.reports == {"ended": 2000, "last": "ClientClosed"}


def test_a_long_chain_of_calls_fails_and_is_cancelled_as_its_first_one_is(home):
    run = home.run("""
        from pounce.compat.dask import Client, wait
        client = Client()
        def inc(n): return n + 1
        def chain_of(first):
            chain = [first]
            for _ in range(1500): chain.append(client.submit(inc, chain[-1]))
            return chain
        def fail(path):
            while not os.path.exists(path): time.sleep(0.01)
            raise ValueError("as asked")
        chain = chain_of(client.submit(fail, os.path.abspath("go")))
        open("go", "w").close()
        report(failed=len(wait(chain, timeout=60).done), last=error_of(chain[-1].result)["type"])
        chain = chain_of(client.submit(time.sleep, 1000))
        chain[0].cancel()
        report(cancelled=len(wait(chain, timeout=60).done), status=chain[-1].status)
        client.shutdown()
    """)

    assert run.reports == {"failed": 1501, "last": "ValueError", "cancelled": 1501, "status": "cancelled"}
