"""Who may share what: several programs one daemon, threads and loops one client, children none of their parent's."""

from __future__ import annotations

import pytest


def test_two_kernels_and_a_script_share_one_daemon_at_once(home):
    work = """
        with pounce.Client() as client:
            pathlib.Path(NAME).touch()
            while not all(os.path.exists(name) for name in ("kernel1", "kernel2", "script")): time.sleep(0.01)
            report(right=client.gather([client.submit(pow, n, 2) for n in range(50)], timeout=60) == [n * n for n in range(50)])
            report(pid=pounced_pid())
    """

    scripts = [home.start(f"import pathlib\nNAME = {name!r}\n" + work.replace("\n        ", "\n"))
               for name in ("kernel1", "kernel2", "script")]

    reports = [script.ended().reports for script in scripts]
    assert [one["right"] for one in reports] == [True] * 3
    assert len({one["pid"] for one in reports}) == 1


def test_a_client_made_in_a_thread_outlives_it_and_serves_others_and_a_loop(home):
    run = home.run("""
        import asyncio, threading
        made = []
        thread = threading.Thread(target=lambda: made.append(pounce.Client()))
        thread.start(); thread.join()
        client = made[0]
        results = []
        threads = [threading.Thread(target=lambda n=n: results.append(client.submit(pow, n, 2).result(60))) for n in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        async def main(): return await asyncio.gather(*(client.submit(pow, 3, n) for n in range(3)))
        report(threads=sorted(results), loop=asyncio.run(main()))
        client.close()
    """)

    assert run.reports == {"threads": [n * n for n in range(8)], "loop": [1, 3, 9]}


def test_a_spawned_process_has_a_client_of_its_own(home):
    (home.folder / "child.py").write_text(
        "import pounce\ndef work(n):\n    with pounce.Client() as client:\n        return client.submit(pow, 2, n).result(60)\n"
    )

    run = home.run("""
        import multiprocessing
        import child
        if __name__ == "__main__":
            with pounce.Client() as client:
                before = client.submit(pow, 3, 2).result(60)
                with multiprocessing.get_context("spawn").Pool(2) as pool:
                    report(children=pool.map(child.work, [1, 2, 3]))
                report(before=before, after=client.submit(pow, 3, 3).result(60))
    """)

    assert run.reports == {"children": [2, 4, 8], "before": 9, "after": 27}


@pytest.mark.parametrize("home", [{"idle_release_s": 1}], indirect=True)
def test_what_the_notebook_keeps_in_variables_holds_no_lease(home):
    run = home.run("""
        import numpy as np
        client = pounce.Client()
        ref = client.scatter(np.ones(1_000_000))
        total = client.submit(np.sum, ref)
        future = client.submit(np.zeros, 500_000)
        kept = [total, future, future.result(60), client.map(abs, [-1])]
        report(mapped=list(kept[-1]), total=float(total.result()))
        deadline = time.monotonic() + 60
        while len(client.queue()) and time.monotonic() < deadline: time.sleep(0.05)
        report(jobs=len(client.queue()), again=float(client.submit(np.sum, ref).result(60)), kept=len(future.result()))
    """)

    assert run.reports == {"mapped": [1], "total": 1e6, "jobs": 0, "again": 1e6, "kept": 500_000}
