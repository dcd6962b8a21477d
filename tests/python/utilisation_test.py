"""What leases used of what they asked for, as objects and as a table."""

from __future__ import annotations

from pounce._tables.utilisation import reports_of

ASKED = {"job": 44, "class": "lion", "gpus": 1, "gpu_type": "", "cpus": 2, "memory_mib": 4096, "time_min": 60, "workers": 1}
USED = {"busy_ms": 7042, "idle_ms": 1_500_000, "cpu_ms": 3440, "memory_peak_mib": 321, "suggestion": "asked <much>: ask for 1 GiB"}
STATUS = {"ended": [{"lease": "3f2a000000000001", **ASKED, **USED, "end_s": 1800, "reason": "idle"}],
          "leases": [{"lease": "9000000000000002", **ASKED, "class": "cheetah", "used": USED},
                     {"lease": "9100000000000003", **ASKED, "used": None}]}


def test_those_that_ended_come_first_and_those_that_have_not_worked_are_left_out():
    reports = reports_of(STATUS)

    assert [(one.lease[:4], one.ended, one.class_) for one in reports] == [("3f2a", True, "lion"), ("9000", False, "cheetah")]
    assert reports[0].asked == (1, "", 2, 4096, 60) and (reports[0].busy, reports[0].memory) == (7.042, 321)
    assert reports.of("90") is reports[1] and reports.of("91") is None


def test_one_is_a_sentence():
    assert str(reports_of(STATUS)[0]) == ("lease 3f2a0000: busy 7 s, idle 25 min, 3 s of CPU time, 321 MiB of memory; "
                                          "asked <much>: ask for 1 GiB")


def test_what_the_gpus_did_is_told_where_their_driver_tells():
    told = {**USED, "gpu_percent": 71, "gpu_memory_peak_mib": 3072, "gpu_memory_total_mib": 81920}
    gpu, none, of_a_slice = (reports_of({"ended": [{"lease": "3f2a000000000001", **ASKED, **used}]})[0]
                             for used in (told, {**USED, "gpu_percent": -1, "gpu_memory_total_mib": 0}, {**told, "gpu_percent": -1}))

    assert (gpu.gpu, gpu.gpu_memory, gpu.gpu_memory_total) == (0.71, 3072, 81920)
    assert "321 MiB of memory, GPU 71 %, 3072 of 81920 MiB; asked" in str(gpu)
    assert "<td>GPU</td><td>1</td><td>71 %, 3072 of 81920 MiB</td>" in gpu._repr_html_()
    assert (none.gpu, none.gpu_memory, none.gpu_memory_total) == (None, None, None) and "GPU" not in str(none)
    assert "<td>the driver does not tell</td>" in none._repr_html_()
    assert of_a_slice.gpu is None and of_a_slice._gpu_words() == "3072 of 81920 MiB"


def test_on_a_page_one_is_a_table_of_asked_and_used_with_the_suggestion():
    page = reports_of(STATUS)[0]._repr_html_()

    assert "<td>CPUs</td><td>2</td><td>0.5 while busy</td>" in page and "<td>4096 MiB</td><td>321 MiB</td>" in page
    assert page.endswith("<p>asked &lt;much&gt;: ask for 1 GiB</p>")


def test_all_are_a_table():
    lines = repr(reports_of(STATUS)).splitlines()

    assert lines[1].split()[:4] == ["3f2a0000", "lion", "44", "ended"] and len(lines) == 3
    assert "&lt;much&gt;" in reports_of(STATUS)._repr_html_()
    assert repr(reports_of({})) == "no lease has worked yet"


def test_a_worker_tells_what_it_used(home):
    run = home.run("""
        client = pounce.Client(memory="8GB")
        def work():
            much = bytearray(120 << 20)
            until = time.monotonic() + 1.5
            while time.monotonic() < until:
                pass
            return len(much)
        client.submit(work).result()
        deadline = time.monotonic() + 20
        (lease,) = client.leases()
        while (not len(client.reports()) or lease.report().busy < 1) and time.monotonic() < deadline:  # a beat may fall into the work
            time.sleep(0.1)
        one = lease.report()
        report(busy=one.busy, cpu=one.cpu, memory=one.memory, suggestion=one.suggestion, ended=one.ended)
        client.close()
    """).reports

    assert 1 <= run["busy"] < 15 and run["cpu"] > 0.2 and 120 <= run["memory"] < 2000 and not run["ended"]
    assert run["suggestion"].startswith("asked 8 GiB of memory, used ")


def test_the_gpus_and_the_last_tasks_on_them_are_told_and_what_is_not_known_is_none():
    gpu = {"uuid": "MIG-1", "model": "A100 MIG 3g.20gb", "slice": "3g.20gb", "driver": "580.1", "memory_mib": 20096, "numa_node": -1,
           "uncorrected_errors": -1}
    tasks = [{"task": "ab", "gpu_percent": 71, "gpu_memory_peak_mib": 3072}, {"task": "cd", "gpu_percent": -1, "gpu_memory_peak_mib": 5}]
    used = {**USED, "gpu_facts": [gpu], "gpu_tasks": tasks}
    live, ended = (reports_of(status)[0] for status in ({"leases": [{"lease": "9000000000000002", **ASKED, "used": used}]},
                                                        {"ended": [{"lease": "3f2a000000000001", **ASKED, **used}]}))

    assert live.gpus == ended.gpus == (("MIG-1", "A100 MIG 3g.20gb", "3g.20gb", 20096, "580.1", None, (), None, ""),)
    assert live.tasks == ended.tasks == (("ab", 0.71, 3072), ("cd", None, 5))
    assert reports_of(STATUS)[0].gpus == () and reports_of(STATUS)[0].tasks == ()
