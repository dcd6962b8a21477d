"""pounce-bench measures each of its cases, says what it could not measure, and judges its goals."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import socket
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from conftest import BENCH

from pounce_bench import bridge, cases, check, round_trips, transports
from pounce_bench.contenders import Curve
from pounce_bench.server import TcpPeer, curve_socket

SMALL = ["--rounds", "2", "--calls", "40", "--mib", "8", "--most", "4", "--seconds", "1", "--leases", "1"]
long_run = pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"), reason="half a minute for a benchmark alone: tests/run --long runs it")
needs_root = pytest.mark.skipif(not bridge.possible(), reason=f"needs {bridge.NEEDS}")


def bench(*words: str) -> str:
    return subprocess.run([sys.executable, f"{BENCH}/pounce-bench", *words], check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.parametrize(
    "case, titles",
    [
        ("rtt", ["one call after another, median", "counted for each call"]),
        pytest.param("rtt-bridge", ["one call after another, median, to another network namespace", "counted for each call"], marks=needs_root),
        ("rtt-paused", ["a call every millisecond, median"]),
        ("throughput", ["200 calls submitted at once", "map over 2,000 items"]),
        ("scatter", ["8 MiB from here to its use on a worker", "the same array once more", "8 MiB that nobody has to copy", "8 MiB that nobody has to copy, read once"]),
        ("gather", ["8 MiB back, until they are here; made there before"]),
        pytest.param("bridge", ["8 MiB to another network namespace, encrypted, to its use there", "8 MiB back, until they are here; made there before",
                                "a call on 8 MiB that are there"],
                     marks=needs_root),
        pytest.param("scaling", [f"8 MiB to several workers at once, {road}: all that arrived" for road in ("memory, one machine", "bulk lane, TLS 1.3")],
                     marks=[needs_root, long_run]),
        ("curve", ["1 MiB", "4 MiB"]),
        ("lease", ["no lease yet: from submit to the function's first line"]),
        pytest.param("park", [*(f"leaving, {mib} MiB, {changed} changed" if changed else f"coming back, {mib} MiB, not in the page cache"
                    for mib in (1, 8) for changed in ("nothing", "10 %", "100 %", "")),
                  "a task waits, until save() has returned", "after each cell"], marks=long_run),
        ("idle", ["1 idle leases, 1 s: share of one core", "1 idle leases, 1 s: wake-ups", "1 idle leases, 1 s: memory"]),
    ],
)
def test_each_case_measures_pounce(case, titles):
    report = json.loads(bench(case, "--json", *SMALL))

    assert report["bench"] == case
    assert [table["title"] for table in report["tables"]] == titles
    for table in report["tables"]:
        assert all(row["least"] <= row["median"] <= row["most"] for row in table["rows"])


def rows(report: dict) -> dict[str, dict]:
    return {row["name"]: row for table in report["tables"] for row in table["rows"]}


def test_check_shows_each_count_beside_its_bound():
    report = json.loads(bench("check", "--json", "--only", "a_rank_starts"))

    assert [(count["what"], count["most"], count["holds"]) for count in report["counts"]] == [("modules of pounce that a rank starts with", 70, True)]
    assert report["passed"] and report["counts"][0]["counted"] > 0


def test_check_fails_where_a_count_has_grown_and_says_what_was_not_counted():
    report = xml.fromstring('''<testsuites><testsuite>
        <testcase name="test_reads"><properties><property name="count" value='["a call: reads", 7.5, 6]' /></properties>
          <failure message="a call: reads: 7.5, at most 6&#10;more" /></testcase>
        <testcase name="test_network"><skipped message="needs root" /></testcase></testsuite></testsuites>''')

    counts, trouble = check.counts_of(report)

    assert [check.line(count) for count in counts] == ["FAILED          7.5  at most            6  a call: reads"]
    assert trouble == ["test_reads: a call: reads: 7.5, at most 6", "test_network: needs root"]


def test_idle_notebooks_stand_beside_as_many_bare_processes():
    tables = json.loads(bench("idle", "--notebooks", "2", "--json", *SMALL))["tables"]

    assert [table["title"].partition(": ")[0] for table in tables] == ["1 idle leases, 2 idle notebooks, 1 s"] * 3
    for table in tables:
        assert {row["name"] for row in table["rows"]} >= {"pounced", "workers", "2 notebooks", "2 bare Python processes"}
    memory = rows({"tables": tables[2:]})
    assert memory["2 notebooks"]["median"] > memory["2 bare Python processes"]["median"] > 0


@needs_root
def test_an_object_for_many_workers_is_sent_to_few_of_them():
    report = json.loads(bench("scaling", "--json", *SMALL))

    notes = [row["note"] for row in report["tables"][1]["rows"]]
    sent = [float(re.fullmatch(r"the object was sent (\d+\.\d) times", note)[1]) for note in notes]
    assert all(1 <= times <= workers.bit_length() for times, workers in zip(sent, (1, 2, 4, 8), strict=True))


@needs_root
def test_the_curve_has_each_road_there_and_back_and_leaves_no_network_behind():
    found = rows(json.loads(bench("curve", "--json", *SMALL)))

    assert set(found) == {f"{road}: {way}" for road in ("memory, one machine", "bulk lane, TLS 1.3", "ZeroMQ, CURVE") for way in ("there", "back")}
    left = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
    assert [pid for pid in re.findall(r"pounce-bench-(\d+)", left) if not Path("/proc", pid).exists()] == []


@pytest.mark.parametrize("case", [transports.across, round_trips.rtt_bridge])
def test_what_needs_root_says_so_in_a_sentence(monkeypatch, case):
    monkeypatch.setattr(bridge.os, "geteuid", lambda: 1000)

    with pytest.raises(SystemExit, match="this case needs root and the program ip, for another network namespace"):
        case(cases.Settings())


def test_a_table_names_the_floors_the_goals_and_who_is_not_installed():
    shown = bench("rtt", "--peers", *SMALL)

    assert "bare pyzmq, CURVE" in shown and "ProcessPoolExecutor" in shown
    assert "goal: at most 1.3 x a bare ZeroMQ round trip with CURVE: " in shown
    pytest.importorskip("zmq")
    for module, name in (("distributed", "dask.distributed"), ("ipyparallel", "ipyparallel"), ("submitit", "submitit")):
        try:
            __import__(module)
        except ImportError:
            assert name in shown.split("not installed: ")[1]


def test_a_floors_server_listens_to_nobody_but_the_bench_that_started_it():
    """It unpickled what any user of the machine sent to its port."""
    server = subprocess.Popen([sys.executable, "-m", "pounce_bench.server", "tcp"], cwd=BENCH, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    server.stdin.write("the words\n")
    server.stdin.flush()
    port = json.loads(server.stdout.readline())["port"]

    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(b"any words" + pickle.dumps("anything"))
        stranger.settimeout(10)
        with contextlib.suppress(ConnectionResetError):
            assert stranger.recv(1) == b""
    with socket.create_connection(("127.0.0.1", port)) as ours:
        ours.sendall(b"the words")
        peer = TcpPeer(ours)
        peer.send((pow, (2, 5)))
        assert peer.receive() == 32

    server.stdin.close()
    server.wait(10)
    server.stdout.close()


def test_a_floors_curve_server_refuses_every_key_but_one():
    zmq = pytest.importorskip("zmq")
    contender = Curve()
    assert contender.call(pow, 2, 5) == 32
    stranger, _ = curve_socket(zmq, zmq.DEALER)
    stranger.curve_serverkey = contender.server_key
    events = stranger.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_AUTH)
    stranger.connect(contender.endpoint)
    assert events.poll(10_000)
    stranger.disable_monitor()
    events.close()
    stranger.close()
    contender.close()


def test_a_floors_curve_server_drops_nothing_of_an_answer_that_its_queue_does_not_hold():
    """A ROUTER drops what is too much for its queue: the bench waited without end for the rest of a GiB in frames of 1 MiB."""
    pytest.importorskip("zmq")
    numpy = pytest.importorskip("numpy")
    contender = Curve()
    contender._socket.rcvtimeo = 20_000

    parts = contender.call(numpy.array_split, numpy.zeros(40_000 * 4096, dtype=numpy.uint8), 40_000)

    assert len(parts) == 40_000
    contender.close()
