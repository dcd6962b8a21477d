"""What a call leaves behind on its worker: nothing that the next one sees, and few bytes."""

from __future__ import annotations


def test_calls_and_items_do_not_see_what_others_changed_on_any_worker(home):
    run = home.run("""
        seen, count = [], 0
        def note(n):
            global count
            count += 1
            seen.append(n)
            return len(seen), count
        def pid(): return os.getpid()
        with pounce.Client(workers=3) as client:
            begun = set()
            while len(begun) < 3:  # a worker that is still starting gets none of the calls
                begun |= set(client.gather([client.submit(pid) for _ in range(60)], timeout=120))
            found = client.gather([client.submit(note, n) for n in range(60)], timeout=120)
            report(calls=sorted(set(found)), mapped=sorted(set(client.map(note, range(60), chunksize=20))))
            with client.get_executor() as executor:
                report(executor=sorted(set(executor.map(note, range(60), chunksize=20))))
            report(here=[count, seen])
    """)

    once = [[1, 1]]
    assert run.reports == {"calls": once, "mapped": once, "executor": once, "here": [0, []]}


def test_a_worker_does_not_keep_all_functions_for_ever_and_gets_those_again_that_it_let_go(home):
    run = home.run("""
        def resident_mb():
            import os
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        def with_a_megabyte(n):
            data = n.to_bytes(1, "big") * 1_000_000
            def f(): return data[0]
            return f
        functions = [with_a_megabyte(n) for n in range(150)]
        with pounce.Client() as client:
            client.submit(functions[0]).result()
            before = client.submit(resident_mb).result()
            report(right=[client.submit(f).result() for f in functions] == list(range(150)))
            report(grown_mb=client.submit(resident_mb).result() - before)
            report(again=client.submit(functions[0]).result(), last=client.submit(functions[-1]).result())
    """)

    assert run.reports["right"] and run.reports["again"] == 0 and run.reports["last"] == 149
    assert run.reports["grown_mb"] < 130
