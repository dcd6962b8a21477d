"""The real pounce-worker: objects and results in bulk, delivery, whose task is whose."""

from __future__ import annotations

import os
import pickle
import secrets
import sys
import time

import cloudpickle
import pytest
import zmq
from fake_daemon import LEASE, FakeClient, digest, pack, packed
from worker_world import MIB
from zmq.utils.monitor import recv_monitor_message

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as a notebook's functions: this file is not on the workers


# ---- bulk data ------------------------------------------------------------------------------------------------------


def send_object(client: FakeClient, value, pickle_follows: bool = False) -> str:
    buffers = []
    data = pickle.dumps(value, 5, buffer_callback=buffers.append)
    parts = [bytes(buffer.raw()) for buffer in buffers]
    if pickle_follows:
        parts, data = [data, *parts], b""
    identity = secrets.token_hex(16)
    client.say(pack("object", object=identity, buffers=[len(part) for part in parts], pickle_follows=pickle_follows), data)
    for number, part in enumerate(parts):
        for offset in range(0, len(part), MIB):
            client.say(pack("chunk", of=identity, buffer=number, offset=offset), part[offset : offset + MIB])
    client.wait_for("have", object=identity)
    return identity


# ((<the value of the object at place 0>,), {}) as the client's serialize.py writes a Ref.
REF_AS_ARGUMENT = b"(cpounce._common.ref\nheld\n(K\x00tRt}\x86."


def submit_with_object(client: FakeClient, function, identity: str) -> str:
    task, function = secrets.token_hex(16), client.send_function(function)
    client.say(pack("task", task=task, function=function, objects=[identity], attempt=0), REF_AS_ARGUMENT)
    return task


def received(client: FakeClient, task: str):
    """The value of an outcome whose buffers came as chunks."""
    header, frames = client.outcome(task)
    assert header["ok"], header["error"]
    sizes = header["buffers"]

    def chunks():
        return client.all("chunk", of=task)

    client.wait(lambda: sum(len(frames[0]) for _, frames in chunks()) >= sum(sizes), "all chunks")
    buffers = [bytearray(size) for size in sizes]
    for chunk, (data,) in chunks():
        assert len(data) <= MIB
        buffers[chunk["buffer"]][chunk["offset"] : chunk["offset"] + len(data)] = data
    if header["pickle_follows"]:
        return pickle.loads(buffers[0], buffers=buffers[1:])
    return pickle.loads(frames[0], buffers=[*frames[1:], *buffers])


def test_an_object_arrives_whole_and_is_kept_for_the_next_task(client):
    numpy = pytest.importorskip("numpy")
    data = numpy.arange(3 * MIB, dtype=numpy.uint8) ^ 0x5A
    identity = send_object(client, {"data": data, "name": "x"})
    for _ in range(2):
        task = submit_with_object(client, lambda value: (value["name"], int(value["data"].sum()), value["data"].nbytes), identity)
        assert client.result(task) == ("x", int(data.sum()), data.nbytes)


@pytest.mark.parametrize("size", [1000, 4 * MIB], ids=["small", "large"])
def test_a_task_may_write_to_an_object_and_no_other_task_sees_it(client, size):
    numpy = pytest.importorskip("numpy")
    identity = send_object(client, numpy.zeros(size, dtype=numpy.uint8))

    def spoil(array):
        before = int(array.sum())
        array[:] = 7
        return array.flags.writeable, before, int(array[-1])

    assert [client.result(submit_with_object(client, spoil, identity)) for _ in range(3)] == [(True, 0, 7)] * 3


def test_an_object_that_a_task_keeps_survives_its_drop_unchanged(client):
    numpy = pytest.importorskip("numpy")
    identity = send_object(client, numpy.full(2 * MIB, 3, dtype=numpy.uint8))

    def keep(array):
        import builtins

        builtins.kept = array

    client.outcome(submit_with_object(client, keep, identity))
    client.say(pack("drop", objects=[identity]))
    send_object(client, numpy.full(2 * MIB, 9, dtype=numpy.uint8))  # would land in the same memory were it given back

    def look():
        import builtins

        return {int(value) for value in set(builtins.kept.tolist())}

    assert client.result(client.submit(look)) == {3}


def test_a_pickle_with_its_data_in_band_may_follow_as_chunks_both_ways(client):
    words = ["word %d" % n for n in range(300_000)]
    identity = send_object(client, words, pickle_follows=True)
    task = submit_with_object(client, lambda value: value[::-1], identity)
    assert received(client, task) == words[::-1]


def test_a_task_whose_object_is_not_here_fails_at_once(client):
    assert client.error(submit_with_object(client, lambda value: value, secrets.token_hex(16)))["code"] == "protocol"


def test_chunks_out_of_order_are_refused_and_the_object_can_be_sent_again(client):
    identity = secrets.token_hex(16)
    for offsets in ((0, MIB), (MIB,)):
        client.say(pack("object", object=identity, buffers=[2 * MIB], pickle_follows=True), b"")
        for offset in offsets[:1]:
            client.say(pack("chunk", of=identity, buffer=0, offset=offset), b"x" * MIB)
    refused, _ = client.wait_for("refused")
    assert refused["error"]["code"] == "protocol" and refused["error"]["context"]["object"] == identity
    assert client.all("have", object=identity) == []


# It was kept, and ran for everybody who named the function of that id.
def test_a_function_under_an_id_that_is_not_its_contents_is_refused(client):
    mine, theirs = digest(cloudpickle.dumps(max)), cloudpickle.dumps(min)
    client.say(pack("function", function=mine), theirs)

    def refused():
        return [header["error"]["code"] for header, _ in client.all("refused") if "digest" in header["error"]["text"]]

    assert client.wait(refused, "the refusal") == ["protocol"]
    assert client.result(client.submit(max, 3, 4)) == 4


@pytest.mark.parametrize("count", [10, 3 * MIB, 40 * MIB], ids=["inline", "chunked", "many chunks"])
def test_an_array_as_result_arrives_as_it_was(client, count):
    numpy = pytest.importorskip("numpy")

    def make(count):
        import numpy

        return {"first": numpy.arange(5), "large": numpy.arange(count, dtype=numpy.uint8), "last": numpy.arange(3)}

    value = received(client, client.submit(make, count))
    expected = make(count)
    assert all(numpy.array_equal(value[name], expected[name]) for name in expected)


def test_a_result_does_not_change_when_the_next_task_writes_to_what_it_was_made_of(client):
    numpy = pytest.importorskip("numpy")

    def step(view):
        import builtins

        import numpy

        if not hasattr(builtins, "state"):
            builtins.state = numpy.zeros(16 << 20, dtype=numpy.uint8)
        builtins.state += 1
        return builtins.state[10:] if view else builtins.state

    function = client.send_function(step)
    tasks = [client.submit_known(function, n % 2 == 1) for n in range(6)]
    values = [received(client, task) for task in tasks]
    assert [(int(value.min()), int(value.max())) for value in values] == [(n, n) for n in range(1, 7)]
    assert numpy.all(values[0] == 1)


def test_a_result_that_is_nobody_elses_is_not_copied(client):
    pytest.importorskip("numpy")

    def peak_after_making(count):
        import resource

        import numpy

        array = numpy.ones(count, dtype=numpy.uint8)
        return array, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def peak():
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    count = 200 * MIB
    _, while_made = received(client, client.submit(peak_after_making, count))
    after = client.result(client.submit(peak))
    assert (after - while_made) * 1024 < count / 2


def test_a_result_is_released_once_it_is_acknowledged(client):
    pytest.importorskip("numpy")

    def rss():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    before = client.result(client.submit(rss))
    task = client.submit(lambda: __import__("numpy").ones(100 << 20, dtype="u1"))
    received(client, task)
    client.say(pack("ack", tasks=[task]))
    assert client.result(client.submit(rss)) - before < 50 * MIB


def test_a_gigabyte_on_its_way_does_not_delay_an_answer(client):
    pytest.importorskip("numpy")
    task = client.submit(lambda: __import__("numpy").ones(300 << 20, dtype="u1"))
    client.outcome(task)
    client.say(pack("beat", answer=False, sent_ns=991, clock_ns=0))
    client.wait_for("beat", sent_ns=991)
    arrived = sum(len(frames[0]) for _, frames in client.all("chunk", of=task))
    assert arrived < 290 * MIB
    assert int(received(client, task)[-1]) == 1


# ---- delivery -------------------------------------------------------------------------------------------------------


def test_a_task_sent_twice_runs_once_and_its_outcome_is_sent_again(client, tmp_path):
    count = tmp_path / "count"

    def once(path):
        with open(path, "a") as file:
            file.write("x")

    function, task = client.send_function(once), secrets.token_hex(16)
    client.submit_known(function, str(count), task=task)
    client.outcome(task)
    client.submit_known(function, str(count), task=task)
    client.wait(lambda: len(client.all("outcome", task=task)) == 2, "the outcome again")
    client.say(pack("ack", tasks=[task]))
    client.submit_known(function, str(count), task=task)
    client.outcome(client.submit(lambda: None))
    assert count.read_text() == "x"


def tasks_together(client: FakeClient, function, count: int) -> tuple[list[str], list[bytes]]:
    known = client.send_function(function)
    data = pickle.dumps(((), {}), 5)
    tasks = [secrets.token_hex(16) for _ in range(count)]
    return tasks, packed([[pack("task", task=task, function=known, objects=[], attempt=0), data] for task in tasks])


def test_tasks_that_come_in_one_message_run_in_their_order_and_their_outcomes_share_messages(world):
    client = FakeClient(world.daemon).connect(*world.data_socket, several=True)
    client.result(client.submit(int))
    before = client.messages

    tasks, message = tasks_together(client, int, 64)
    client.say(*message)

    assert [client.result(task) for task in tasks] == [0] * 64
    assert [header["task"] for header, _ in client.all("outcome")][1:] == tasks
    assert client.messages - before < 48


def test_an_outcome_does_not_wait_for_a_long_task_behind_it(world, tmp_path):
    client = FakeClient(world.daemon).connect(*world.data_socket, several=True)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    data = pickle.dumps(((), {}), 5)
    quick, slow = client.send_function(int), client.send_function(lambda: open(gate).read())
    tasks = [secrets.token_hex(16) for _ in range(3)]

    client.say(*packed([[pack("task", task=task, function=function, objects=[], attempt=0), data]
                        for task, function in zip(tasks, (quick, quick, slow), strict=True)]))

    assert [client.result(task) for task in tasks[:2]] == [0, 0]
    gate.write_text("done")
    assert client.result(tasks[2]) == "done"


def test_a_task_that_came_with_others_is_cancelled_alone(world, tmp_path):
    client = FakeClient(world.daemon).connect(*world.data_socket, several=True)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    holding = client.submit(lambda: open(gate).read())
    tasks, message = tasks_together(client, int, 3)

    client.say(*message)
    client.say(pack("cancel_task", task=tasks[1], grace_ms=5000))

    assert client.error(tasks[1])["code"] == "cancelled"
    gate.write_text("done")
    assert client.result(holding) == "done"
    assert [client.result(tasks[0]), client.result(tasks[2])] == [0, 0]


def test_what_is_not_so_many_messages_as_it_says_is_refused_and_nothing_of_it_runs(client):
    tasks, (header, payload) = tasks_together(client, int, 3)
    earlier = len(client.all("refused"))

    for wrong in ([pack("several", messages=4), payload], [header, payload[:-1]], [header, payload + b"x"], [header],
                  [pack("several", messages=0), b""], [pack("several", messages=65), payload],
                  [header, b"x" * (64 * 1024 + 1)], packed([[header, payload]])):
        before = len(client.all("refused"))
        client.say(*wrong)
        client.wait(lambda before=before: len(client.all("refused")) > before, "a refusal")

    assert {refused["error"]["code"] for refused, _ in client.all("refused")[earlier:]} == {"protocol"}
    client.say(pack("query", tasks=tasks, no_others=False))
    assert client.wait_for("query_is", tasks=tasks)[0]["states"] == ["unknown"] * 3


def test_outcomes_are_kept_for_a_client_that_lost_its_connection(world, tmp_path):
    gate, up = tmp_path / "gate", world.daemon.ready()

    def wait_for(path):

        while not os.path.exists(path):
            time.sleep(0.005)
        return "kept"

    lost = world.client
    running = lost.submit(wait_for, str(gate))
    lost.wait_for("started", task=running)
    queued = lost.submit(lambda: "queued")
    done_before = secrets.token_hex(16)
    lost.say(pack("query", tasks=[queued]))
    lost.wait_for("query_is")  # so the worker has it: a socket drops on closing what it has not sent
    lost.socket.close()
    gate.touch()

    again = FakeClient(world.daemon, lost.session, lost.key)
    again.connect(up["endpoint"], up["key"])
    again.say(pack("query", tasks=[running, queued, done_before]))
    answer, _ = again.wait_for("query_is")
    assert answer["states"][2] == "unknown" and "unknown" not in answer["states"][:2]
    assert again.result(running) == "kept"
    assert again.result(queued) == "queued"


# Its client had asked what had come, had its outcome, and was served again: the task ran twice.
def test_a_late_message_of_an_earlier_connection_is_not_acted_on(world, tmp_path):
    up, ran = world.daemon.ready(), tmp_path / "ran"
    earlier = world.client
    function = earlier.send_function(lambda path: open(path, "x").close())
    later = FakeClient(world.daemon, earlier.session, earlier.key).connect(up["endpoint"], up["key"])

    late = earlier.submit_known(function, str(ran))

    assert later.result(later.submit(lambda: "in order")) == "in order"
    assert later.all("outcome", task=late) == [] and not ran.exists()


# A client that gives back its bulk lane asks for new keys so.
def test_a_client_that_attaches_again_on_its_connection_keeps_its_objects_and_its_task(world, tmp_path):
    client, gate = world.client, tmp_path / "gate"
    os.mkfifo(gate)
    identity = send_object(client, b"kept" * MIB)
    running = client.submit(lambda path: open(path).read(), str(gate))
    client.wait_for("started", task=running)

    client.attach()

    client.wait(lambda: len(client.all("attached")) == 2, "the second answer")
    gate.write_text("went on")
    assert client.result(running) == "went on"
    assert client.result(submit_with_object(client, len, identity)) == 4 * MIB


def test_a_session_sees_and_cancels_only_its_own_tasks(world):
    up, first = world.daemon.ready(), world.client
    second = FakeClient(world.daemon).connect(up["endpoint"], up["key"])
    task = first.submit(lambda: print("mine") or __import__("time").sleep(600))
    first.wait_for("started", task=task)
    first.wait(lambda: first.printed(task), "its output")
    second.say(pack("cancel_task", task=task))
    second.say(pack("query", tasks=[task]))
    answer, _ = second.wait_for("query_is")
    assert answer["states"] == ["unknown"]
    assert second.all("output") == [] and first.all("outcome", task=task) == []


def test_a_dismissed_session_loses_its_tasks_and_its_admission(world):
    up, first = world.daemon.ready(), world.client
    second = FakeClient(world.daemon).connect(up["endpoint"], up["key"])
    running = first.submit(lambda: __import__("time").sleep(600))
    first.wait_for("started", task=running)
    world.daemon.say(pack("dismiss", lease=LEASE, session=first.session, cause={"code": "session_closed"}))
    assert second.result(second.submit(lambda: "next")) == "next"
    first.say(pack("query", tasks=[running]))
    second.say(pack("beat", answer=False, sent_ns=5, clock_ns=0))
    second.wait_for("beat", sent_ns=5)
    first.turn()
    assert first.all("query_is") == [] and first.all("outcome") == []


def test_a_dismissed_session_that_is_admitted_again_attaches_anew(world):
    """Its connection stood, and the worker took nothing on it: the client waited for ever."""
    up, client = world.daemon.ready(), world.client
    running = client.submit(lambda: __import__("time").sleep(600))
    client.wait_for("started", task=running)
    world.daemon.say(pack("dismiss", lease=LEASE, session=client.session, cause={"code": "session_closed"}))
    world.daemon.say(pack("admit", lease=LEASE, session=client.session, key=client.key.text))
    client.wait_until_cut()
    client.heard.clear()
    client.connect(up["endpoint"], up["key"])
    assert client.result(client.submit(lambda: "again")) == "again"


def test_a_key_that_was_not_admitted_gets_nowhere(world):
    up = world.daemon.ready()
    stranger = FakeClient(world.daemon)
    admitted = stranger.key
    stranger.key = type(admitted)()  # another one
    stranger.open(up["endpoint"], up["key"])
    stranger.attach()

    def refused():
        return stranger.events.poll(0) and recv_monitor_message(stranger.events)["event"] == zmq.EVENT_HANDSHAKE_FAILED_AUTH

    stranger.wait(refused, "the refusal of the handshake")
    assert stranger.heard == []
    assert world.client.result(world.client.submit(lambda: 1)) == 1


@pytest.mark.parametrize(("version", "named"), [({"python": "3.2"}, "Python 3.2"), ({"pounce": "9.9.9"}, "9.9.9")])
def test_other_versions_are_refused_by_name(world, version, named):
    up = world.daemon.ready()
    other = FakeClient(world.daemon).connect(up["endpoint"], up["key"], until="refused", **version)
    refused, _ = other.all("refused")[0]
    assert refused["error"]["code"] == "version_mismatch" and named in refused["error"]["text"]
