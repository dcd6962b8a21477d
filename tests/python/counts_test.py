"""What a call costs, counted and not timed: the gate against a slow regression, on either road between client and worker.

Calls are counted in five rounds and the least of each count is taken: on a busy machine a side that has to wait for a processor reads
and writes more often. Each bound leaves a third to a half over what was counted on a busy machine, which stands beside it; starved is
one whose processors all had more urgent work.
"""

from __future__ import annotations

import json
import os
import platform
import shutil

import pytest

from pounce_bench import bridge

CALLS = 500
AT_ONCE = 10_000
ROUNDS = 5
MIB = 2**20
KERNEL = tuple(int(number) for number in platform.release().split("-")[0].split(".")[:2])

needs_root = pytest.mark.skipif(not bridge.possible(), reason=f"needs {bridge.NEEDS}")
needs_strace = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("strace") is None, reason="needs root and the program strace")
ROADS = {"memory": "pounce.Client", "network": "across"}

PRELUDE = f"""
    import contextlib, subprocess
    from pounce_bench.bridge import bridge, home_across
    from pounce_bench.counts import Usage, bytes_sent, shared_bytes, usage
    from pounce_bench.work import faults_of_look, look, make, noop

    @contextlib.contextmanager
    def across():
        with bridge() as over, home_across(over), pounce.Client() as client:
            yield client

    def after_calls(client, act):
        there, here = client.submit(usage).result(), usage()
        act()
        here, there = usage().since(here), Usage(*client.submit(usage).result()).since(there)
        return dict(here=here._asdict(), there=there._asdict())

    def least_of_rounds(client, act):
        rounds = [after_calls(client, act) for _ in range({ROUNDS})]
        return {{side: {{name: min(one[side][name] for one in rounds) for name in counts}} for side, counts in rounds[0].items()}}

    def system_calls(names, pid, act):
        words = ["strace", "-f", "-c", "-U", "name,calls", "-e", f"trace={{names}}", "-p", str(pid)]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as tracer:
            assert "attached" in tracer.stderr.readline()
            act()
            tracer.send_signal(signal.SIGINT)
            rows = [line.split() for line in tracer.stderr]
        return {{row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}}

    def one_by_one(client):
        for _ in range({CALLS}):
            client.submit(noop).result()

    def at_once(client):
        for future in [client.submit(noop) for _ in range({AT_ONCE})]:
            future.result()
"""


@pytest.fixture(scope="module", params=["memory", pytest.param("network", marks=needs_root)])
def counted(request, module_home):
    pytest.importorskip("numpy")
    run = module_home.run(PRELUDE + f"""
    with {ROADS[request.param]}() as client:
        for _ in range(300):
            client.submit(noop).result()
        report(one_by_one=least_of_rounds(client, lambda: one_by_one(client)))
        report(at_once=least_of_rounds(client, lambda: at_once(client)))
        import numpy
        data = numpy.ones({64 * MIB}, dtype=numpy.uint8)
        def scatter():
            client.submit(look, client.scatter(data)).result()
        def shared_and_sent():
            return client.submit(shared_bytes).result(), bytes_sent()
        report(before=shared_and_sent())
        report(first=after_calls(client, scatter), after_first=shared_and_sent())
        report(again=after_calls(client, scatter), after_again=shared_and_sent())
        data[0] = 2
        report(another=after_calls(client, scatter), faults_of_another=client.submit(faults_of_look, client.scatter(data)).result()[0])
        data[0] = 1
        handle = client.scatter(data)
        report(looks=[client.submit(faults_of_look, handle).result() for _ in range(4)])
        report(back=after_calls(client, lambda: client.submit(make, {64 * MIB}).result()))
        def kept_after(results):
            for _ in range(results):
                client.submit(make, {64 * MIB}).result()
            return client.submit(shared_bytes).result()
        report(kept=[kept_after(2), kept_after(4)])
    """, seconds=270)
    return {"road": request.param, **run.reports}


@pytest.fixture
def at_most(request):
    """Compares a count with its bound, and keeps both for `pounce-bench check`."""
    road = f", {request.getfixturevalue('counted')['road']}" if "counted" in request.fixturenames else ""

    def compare(what: str, counted: float, most: float) -> None:
        request.node.user_properties.append(("count", json.dumps([what + road, counted, most])))
        assert counted <= most, f"{what}: {counted:.4g}, at most {most:.4g}"

    return compare


def own_switches(usage: dict) -> int:
    return usage["switches"] - usage["zeromq_switches"]


def test_a_call_wakes_each_side_once(counted, at_most):
    """With no processor to spare more often: threads that stand by are woken too."""
    usage, most = counted["one_by_one"], {"memory": 2, "network": 4}[counted["road"]]  # 1.04, starved 1.39; 1.18, starved 3.20

    at_most("a call: wake-ups of the client", own_switches(usage["here"]) / CALLS, most)
    at_most("a call: wake-ups of the worker", own_switches(usage["there"]) / CALLS, most)


def test_a_call_wakes_zeromqs_thread_twice_or_not_at_all(counted, at_most):
    usage, most = counted["one_by_one"], {"memory": 0.1, "network": 3}[counted["road"]]  # 0; 1.93, starved 2.02

    at_most("a call: wake-ups of the client's ZeroMQ thread", usage["here"]["zeromq_switches"] / CALLS, most)
    at_most("a call: wake-ups of the worker's ZeroMQ thread", usage["there"]["zeromq_switches"] / CALLS, most)


def test_a_call_makes_few_reads_and_writes(counted, at_most):
    usage, (here, there) = counted["one_by_one"], {"memory": (0.2, 6), "network": (6, 13)}[counted["road"]]  # 0.04, 4.19; 4.31, 9.13

    at_most("a call: reads and writes of the client", usage["here"]["reads_writes"] / CALLS, here)
    at_most("a call: reads and writes of the worker", usage["there"]["reads_writes"] / CALLS, there)


def test_many_calls_at_once_share_their_wake_ups(counted, at_most):
    usage, (here, there) = counted["at_once"], {"memory": (0.3, 0.2), "network": (1, 1)}[counted["road"]]  # 0.17, 0.09

    at_most("one of many calls: wake-ups of the client", own_switches(usage["here"]) / AT_ONCE, here)
    at_most("one of many calls: wake-ups of the worker", own_switches(usage["there"]) / AT_ONCE, there)
    zeromq = {side: usage[side]["zeromq_switches"] / AT_ONCE for side in usage}
    at_most("one of many calls: wake-ups of the client's ZeroMQ thread", zeromq["here"], 0.4)   # 0.13, starved 0.27
    at_most("one of many calls: wake-ups of the worker's ZeroMQ thread", zeromq["there"], 0.4)  # 0.10


def test_many_calls_at_once_share_their_reads_and_writes(counted, at_most):
    usage, (here, there) = counted["at_once"], {"memory": (1, 3.2), "network": (1, 3.6)}[counted["road"]]  # 0.14, 2.32; 0.34, 2.51; here starved 0.42

    at_most("one of many calls: reads and writes of the client", usage["here"]["reads_writes"] / AT_ONCE, here)
    at_most("one of many calls: reads and writes of the worker", usage["there"]["reads_writes"] / AT_ONCE, there)


def test_an_array_is_there_once_and_goes_once_or_not_at_all(counted):
    shared, sent = zip(counted["before"], counted["after_first"], counted["after_again"], strict=True)
    least, most = {"memory": (0, 0.1), "network": (64, 64.5)}[counted["road"]]  # 0; 64.09

    assert [shared[1] - shared[0], shared[2] - shared[1]] == [64 * MIB, 0]
    assert least * MIB <= sent[1] - sent[0] <= most * MIB
    assert sent[2] - sent[1] <= 0.1 * MIB


def test_a_handle_that_a_call_has_read_costs_the_next_one_few_page_faults(counted, at_most):
    (first, *more), totals = zip(*counted["looks"], strict=True)

    assert set(totals) == {64 * MIB // 512}  # what the calls wrote is gone
    at_most("64 MiB read by a call: page faults", first, 1100)  # 33; 1029 where the kernel makes no huge pages
    at_most("64 MiB read by the next calls: page faults", max(more), 256)  # 132, once for what was written; 4
    at_most("64 MiB read by the last call: page faults", more[-1], 32)  # 8


def test_a_new_array_takes_no_page_fault_for_each_of_its_pages(counted, at_most):
    at_most("64 MiB to a worker: page faults of the client", counted["another"]["here"]["page_faults"], 2048)  # 16384 pages
    at_most("64 MiB to a worker: page faults of the worker", counted["another"]["there"]["page_faults"], 2048)


@pytest.mark.skipif(KERNEL < (6, 1), reason="needs a kernel that makes huge pages on request, Linux 6.1")
def test_an_array_is_copied_or_received_into_the_memory_where_it_stays(counted, at_most):
    """Not through a buffer that is then written there. Where huge pages are dearer than small ones, what follows the first 32 MiB is
    written, once."""
    most = 2 * MIB if counted["faults_of_another"] <= 64 else 66 * MIB  # of 32 huge pages; of 16384 small ones
    at_most("64 MiB to a worker: bytes written by the client", counted["another"]["here"]["bytes_written"], most)
    at_most("64 MiB to a worker: bytes written by the worker", counted["another"]["there"]["bytes_written"], most)


def test_the_memory_of_a_result_that_is_gone_carries_the_next_one(counted):
    assert counted["kept"][0] == counted["kept"][1]


def test_what_is_scattered_is_not_copied_here(counted, at_most):
    at_most("64 MiB to a worker: memory of the client", counted["first"]["here"]["peak_bytes"],
            40 * MIB)  # of the worker's memory 32 MiB are mapped while huge pages are made, then 4 MiB by each of up to four threads


def test_a_result_is_memory_of_the_workers_or_received_where_it_stays(counted, at_most):
    most = {"memory": 8, "network": 72}[counted["road"]]  # 0; 64.5

    at_most("64 MiB back: memory of the client", counted["back"]["here"]["peak_bytes"], most * MIB)


# ---- system calls ------------------------------------------------------------------------------------------------------


@needs_strace
@pytest.mark.parametrize("road", ["memory", pytest.param("network", marks=needs_root)])
def test_a_call_is_one_message_there_and_one_back(home, road):
    """How often a side looks whether something has come depends on the time that it looks for: only messages are counted."""
    traced = home.run(PRELUDE + f"""
    def messages(client, pid):
        calls = system_calls("sendto,sendmsg,recvfrom,recvmsg", pid, lambda: one_by_one(client))
        return [calls.get(to, 0) + calls.get("sendmsg" if to == "sendto" else "recvmsg", 0) for to in ("sendto", "recvfrom")]
    with {ROADS[road]}() as client:
        pid = client.submit(os.getpid).result()
        report(here=messages(client, os.getpid()), there=messages(client, pid))
    """).reports

    (sent, received), (sent_there, received_there) = traced["here"], traced["there"]
    assert CALLS <= sent <= 1.8 * CALLS and CALLS <= received <= 1.8 * CALLS  # 1.21, 1.09
    assert CALLS <= sent_there <= 1.8 * CALLS  # 1.20
    assert CALLS <= received_there <= 3.5 * CALLS  # 2.39: it also looks whether its supervisor has said something


def test_a_rank_starts_without_modules_that_it_does_not_need(module_home, at_most):
    run = module_home.run("""
    with pounce.Client() as client, client.gang(workers=2) as gang:
        report(ranks=gang.run(lambda: list(__import__("sys").modules)))
""")
    most = max(len([name for name in modules if name.startswith("pounce.")]) for modules in run.reports["ranks"])
    at_most("modules of pounce that a rank starts with", most, 70)  # 50 to 59 with Python 3.11
    for modules in run.reports["ranks"]:
        assert not {"importlib.abc", "importlib.resources", "pathlib", "random", "shutil", "subprocess", "tempfile", "urllib.parse"}.intersection(modules)
        assert {"pounce._worker.rank_run", "pounce._worker.call_settings"} <= {*modules}


@needs_strace
def test_many_calls_at_once_share_their_looks_for_what_has_come(home, at_most):
    """At most one such look, or sleep, for five calls on either side. The last 32 calls go one by one, so that a second worker could
    have them: each of these is looked for many times."""
    polls = home.run(PRELUDE + f"""
    with pounce.Client() as client:
        at_once(client)
        pid = client.submit(os.getpid).result()
        for side, process in dict(here=os.getpid(), there=pid).items():
            report(**{{side: system_calls("ppoll", process, lambda: at_once(client))["ppoll"]}})
    """, seconds=270).reports

    at_most("one of many calls: looks of the client for what has come", polls["here"] / AT_ONCE, 0.2)  # 0.13
    at_most("one of many calls: looks of the worker for what has come", polls["there"] / AT_ONCE, 0.2)  # 0.08
