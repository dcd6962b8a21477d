"""A gang: the workers of one lease as the ranks of one program."""

from __future__ import annotations

import concurrent.futures
import os
import socket
import threading
import types

import pytest
from conftest import made_home
from pounce import errors, gangs
from pounce._common.rank import Offer, PeerFailed
from pounce._engine.gang_numbers import GangNumbers
from pounce._engine.options import Options
from pounce._worker import interpreter, rank_run
from pounce.gangs import gang_plan, rank_tasks
from pounce.gangs.gang_plan import Failure, Kind
from pounce.gangs.gang_shape import Shape, shape_of

RUN = Kind("run")


def offer(number: int, node: str, visible: str = "") -> Offer:
    return Offer(f"p{number}", node, f"10.0.0.{number}", "eth0", 4000 + number, 5000 + number, visible)


# ---- who is which rank ----


def test_ranks_are_the_workers_in_their_order_and_local_ranks_count_on_each_node():
    made = gang_plan.places([offer(0, "g1"), offer(1, "g1"), offer(2, "g2"), offer(3, "g2")], RUN)

    ranks = [(place.rank.rank, place.rank.local_rank, place.rank.local_world_size) for place in made]
    assert ranks == [(0, 0, 2), (1, 1, 2), (2, 0, 2), (3, 1, 2)]
    assert [place.environment["GROUP_RANK"] for place in made] == ["0", "0", "1", "1"]
    assert [place.is_leader for place in made] == [True, False, True, False]
    assert made[3].rank.addresses == (("10.0.0.0", 4000), ("10.0.0.1", 4001), ("10.0.0.2", 4002), ("10.0.0.3", 4003))


def test_all_find_the_store_of_rank_0_by_its_address():
    made = gang_plan.places([offer(0, "g1"), offer(1, "g2")], RUN)
    assert {(place.environment["MASTER_ADDR"], place.environment["MASTER_PORT"]) for place in made} == {("10.0.0.0", "5000")}


def test_the_devices_of_a_nodes_ranks_are_seen_by_each_of_them_in_the_order_of_their_local_ranks():
    made = gang_plan.places([offer(0, "g1", "3"), offer(1, "g1", "GPU-7"), offer(2, "g2", "1")], RUN)
    assert [place.environment["CUDA_VISIBLE_DEVICES"] for place in made] == ["3,GPU-7", "3,GPU-7", "1"]


@pytest.mark.parametrize("visible, why", [
    (("0,1", "2,3"), "LOCAL_RANK is the number of another rank's device where ranks have several"),
    (("0", "1,2"), "the same"),
    (("MIG-7", "MIG-8"), "a process sees the first MIG instance only"),
    (("3", "MIG-8"), "the same"),
    (("0", "0"), "two jobs on the node, each of which sees its own as 0"),
    (("", ""), "there are none"),
    (("0", ""), "one has none"),
])
def test_a_rank_is_left_its_own_devices_where_local_rank_would_not_be_the_number_of_its_own(visible, why):
    made = gang_plan.places([offer(number, "g1", own) for number, own in enumerate(visible)], RUN)
    assert all("CUDA_VISIBLE_DEVICES" not in place.environment for place in made), why


def test_a_program_of_a_node_sees_the_devices_of_all_its_ranks():
    """torchrun, which starts the ranks of the node itself."""
    made = gang_plan.places([offer(0, "g1", "0,1"), offer(1, "g1", "2,3"), offer(2, "g2", "0,1"), offer(3, "g2", "2,3")], RUN)
    assert [gang_plan.torchrun_environment(place)["CUDA_VISIBLE_DEVICES"] for place in made if place.is_leader] == ["0,1,2,3"] * 2


def test_torchrun_starts_the_ranks_of_its_node_itself():
    given = gang_plan.torchrun_environment(gang_plan.places([offer(0, "g1"), offer(1, "g1"), offer(2, "g2"), offer(3, "g2")], Kind("run-7"))[2])
    assert given["PET_NNODES"] == "2" and given["PET_NPROC_PER_NODE"] == "2" and given["PET_RDZV_ENDPOINT"] == "10.0.0.0:5000"
    assert given["PET_RDZV_ID"] == "run-7" and given["PET_LOCAL_ADDR"] == "10.0.0.2"


@pytest.mark.parametrize("total, parts, lengths", [(8, 2, [4, 4]), (7, 3, [3, 2, 2]), (1, 3, [1, 0, 0]), (0, 2, [0, 0])])
def test_shards_follow_each_other_and_differ_by_one_at_most(total, parts, lengths):
    pieces = gang_plan.sharing(total, parts)
    assert [len(range(total)[piece]) for piece in pieces] == lengths
    assert [item for piece in pieces for item in range(total)[piece]] == list(range(total))


# ---- which failure is the cause ----


def test_the_first_failure_is_the_cause():
    assert gang_plan.cause([Failure(2, ValueError("its own")), Failure(0, RuntimeError("connection closed"))]).rank == 2


@pytest.mark.parametrize("lost", [errors.WorkerCrashed, errors.OutOfMemory, errors.NodeFailed, errors.Preempted, errors.WalltimeReached])
def test_a_rank_that_was_lost_is_the_cause_also_when_its_peers_noticed_before(lost):
    failures = [Failure(0, RuntimeError("connection closed by peer")), Failure(1, lost("it died"))]
    assert gang_plan.cause(failures).rank == 1


def test_a_rank_that_failed_after_another_one_is_not_the_cause_although_its_failure_came_first():
    assert gang_plan.cause([Failure(0, peer_failed(1)), Failure(1, ValueError("its own"))]).rank == 1


def test_where_the_failure_of_the_first_rank_never_comes_what_its_peer_raised_is_told():
    cause = gang_plan.cause([Failure(0, peer_failed(1))])
    assert cause.rank == 0 and str(cause.error) == "connection closed by peer"


def peer_failed(first: int) -> PeerFailed:
    """As a worker raises it."""
    error = PeerFailed(first)
    error.__cause__ = RuntimeError("connection closed by peer")
    return error


class Stopped:
    """In the place of a gang's tasks: futures that the test ends, and which of them were to be stopped."""

    def __init__(self):
        self.started, self.stopped = [], threading.Event()

    def start(self, *_):
        self.started.append(concurrent.futures.Future())
        return self.started[-1]

    def stop(self, futures):
        self.stopped.set()


def run_of_two():
    tasks = Stopped()
    places = gang_plan.places([offer(0, "g1"), offer(1, "g2")], RUN)
    return tasks, rank_tasks.Run(tasks, "train", [None, None], places, lambda place: (len, ()))


def test_a_peer_that_notices_a_death_before_pounce_does_leaves_time_to_hear_of_it(monkeypatch):
    """It was stopped at once, and of a rank that is stopped nobody hears that it died: its peer's failure was told."""
    monkeypatch.setattr(rank_tasks, "NOTICE_S", 1000)
    tasks, run = run_of_two()

    tasks.started[0].set_exception(of_torch())
    assert not tasks.stopped.is_set()
    tasks.started[1].set_exception(errors.WorkerCrashed("it died"))

    assert tasks.stopped.is_set() and gang_plan.cause(run.failures).rank == 1


def test_a_failure_in_a_collective_stops_the_others_a_little_later(monkeypatch):
    monkeypatch.setattr(rank_tasks, "NOTICE_S", 0.01)
    tasks, _ = run_of_two()
    tasks.started[0].set_exception(of_torch())
    assert tasks.stopped.wait(30)


# ---- what is said of a failure ----


def of_torch() -> RuntimeError:
    """As a collective raises it."""
    try:
        exec(compile("raise RuntimeError('connection closed')", "/env/torch/distributed/distributed_c10d.py", "exec"))
    except RuntimeError as error:
        return error


def test_of_a_collective_that_not_all_ranks_called_it_is_said_who_had_returned():
    notes = gang_plan.notes(Failure(0, of_torch()), "rank 0 of 3, on g1", [], returned=[2, 1], is_checked=False)
    assert notes[0] == "rank 0 of 3, on g1; the others were stopped"
    assert "ranks 1, 2 returned: " in notes[1] and "check=True" in notes[2]


def test_where_the_collectives_are_checked_that_is_not_advised_again():
    assert len(gang_plan.notes(Failure(0, of_torch()), "rank 0 of 2", [], returned=[], is_checked=True)) == 1


def test_a_rank_that_its_library_ended_may_have_disagreed_with_the_others():
    aborted, killed = (errors.WorkerCrashed("it died", signal=number) for number in (6, 9))
    assert "check=True" in gang_plan.notes(Failure(1, aborted), "rank 1 of 2", [], [], False)[-1]
    assert len(gang_plan.notes(Failure(1, killed), "rank 1 of 2", [], [], False)) == 1


def test_of_any_other_failure_nothing_is_guessed():
    assert len(gang_plan.notes(Failure(0, ValueError("its own")), "rank 0 of 2", [], returned=[1], is_checked=False)) == 1


# ---- which rank it was ----


@pytest.mark.parametrize("ranks, size, nodes, words", [
    ([3], 16, ["g2"], "rank 3 of 16, on g2"),
    ([0], 1, ["g1"], "rank 0 of 1, on g1"),
    ([2, 3], 4, ["g2", "g2"], "ranks 2, 3 of 4, on g2"),
    ([0, 1], 2, ["g1", "g2"], "all 2 ranks, on g1, g2"),
    (range(8), 8, [f"g{number}" for number in range(8)], "all 8 ranks, on 8 nodes"),
    ([1], 2, [""], "rank 1 of 2"),
])
def test_a_failure_is_of_a_rank_among_so_many_on_a_node(ranks, size, nodes, words):
    assert gang_plan.in_words(ranks, size, nodes) == words


@pytest.mark.parametrize("error, ranks", [
    (ValueError("its own"), [2]), (errors.WorkerCrashed("died"), [2]), (errors.OutOfMemory("too much"), [2]), (errors.LostError("gone"), [2]),
    (errors.NodeFailed("down"), [2, 3]), (errors.WalltimeReached("over"), [2, 3]), (errors.Preempted("taken"), [2, 3]),
    (errors.JobCancelled("scancel"), [2, 3]), (errors.LeaseEnded("over"), [2, 3]),
])
def test_what_ends_a_lease_befalls_all_of_its_ranks(error, ranks):
    assert gang_plan.ranks_of(Failure(2, error), ["one", "one", "other", "other"]) == ranks


def test_a_rank_that_failed_is_the_cause_also_where_a_peer_lost_its_connection_to_it_before():
    failures = [Failure(0, ConnectionResetError("by peer")), Failure(3, EOFError()), Failure(1, ValueError("its own"))]
    assert gang_plan.cause(failures).rank == 1


def test_a_rank_that_was_killed_is_the_cause_also_where_a_peers_library_had_ended_its_process_before():
    aborted, killed = (errors.WorkerCrashed("it died", signal=number) for number in (6, 9))
    assert gang_plan.cause([Failure(0, aborted), Failure(3, killed)]).rank == 3
    assert gang_plan.cause([Failure(0, of_torch()), Failure(3, aborted)]).rank == 3


# ---- what can be asked for ----


@pytest.mark.parametrize("words, workers, nodes", [({"workers": 4}, 4, 1), ({"nodes": 3}, 3, 3), ({"workers": 4, "nodes": 2}, 4, 2),
                                                   ({"workers": 3, "spread": True}, 3, 3), ({"workers": 3, "pack": True}, 3, 1)])
def test_its_shape_is_so_many_ranks_on_so_many_nodes(words, workers, nodes):
    options = Options().changed(**shape_of(words).words)
    assert (options.resources.workers, options.resources.nodes) == (workers, nodes)


@pytest.mark.parametrize("words, says", [
    ({"workers": 3, "nodes": 2}, "as many on each"),
    ({"nodes": 0}, "nodes= takes the number of nodes"),
    ({"nodes": True}, "nodes= takes the number of nodes"),
    ({"nodes": 257}, "1 to 256"),
    ({"workers": 2, "spread": True, "pack": True}, "Leave all but one"),
    ({"workers": 2, "nodes": 2, "pack": True}, "Leave all but one"),
    ({"workers": "0:4"}, "the least and the most as in '1:4', not '0:4'"),
    ({"nodes": "3:2"}, "the least and the most"),
    ({"nodes": "1:2", "workers": 2}, "Give both as a range"),
    ({"nodes": "1:2", "workers": "2:5"}, "the same multiple"),
    ({"nodes": "1:2", "pack": True}, "Leave"),
    ({"workers": 2, "name": "x"}, "Leave out name="),
])
def test_what_is_no_shape_is_refused_with_a_remedy(words, says):
    with pytest.raises(errors.BadRequest, match=says):
        Options().changed(**shape_of(words).words)


@pytest.mark.parametrize("words, shape", [({"nodes": "1:2"}, Shape({"workers": 1}, 1, 2)), ({"workers": "2:4"}, Shape({"workers": 1}, 2, 4)),
                                          ({"nodes": "1:3", "workers": "4:12", "gpus": 1}, Shape({"workers": 4, "gpus": 1}, 1, 3))])
def test_an_elastic_one_is_a_lease_for_each_node_or_for_each_of_its_workers(words, shape):
    assert shape_of(words) == shape


def test_a_pool_has_no_nodes():
    with pytest.raises(errors.BadRequest, match="Leave out nodes="):
        Options().changed(workers="0:4", nodes=2)


def test_ranks_that_do_not_come_are_named(monkeypatch):
    """One of three never does."""
    gang = gangs.Gang(NoWorkers(), Options().changed(workers=3))
    monkeypatch.setattr(gangs.gang, "_ARRIVAL_S", 0.05)
    monkeypatch.setattr(gang._tasks, "start", lambda rank, *_: NoWorkers.future(rank.worker))
    monkeypatch.setattr(gang._tasks, "stop", lambda futures: [future.cancel() for future in futures])

    with pytest.raises(errors.Timeout, match="rank 2 of 3 has not come within 0 s after the first"):
        gang.run(len)


def test_a_range_of_ports_without_a_free_one_is_named(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(interpreter, "core", types.SimpleNamespace(endpoint="tcp://127.0.0.1:1"))
        monkeypatch.setattr(interpreter, "node", "g1")
        monkeypatch.setattr(interpreter, "ports", f"{port}-{port}")
        with pytest.raises(errors.BadRequest, match=f"no port of {port}-{port} is free on g1"):
            rank_run.offer()


class NoWorkers:
    """In a submitter's place: all that a gang asks of it before there are workers."""

    def __init__(self):
        self.session, self.gangs = self, GangNumbers()

    @staticmethod
    def future(rank: int):
        future = Offered()
        if rank < 2:
            future.set_result(offer(rank, "g1"))
        return future


class Offered(concurrent.futures.Future):
    def result(self, timeout=None):
        try:
            return super().result(timeout)
        except concurrent.futures.CancelledError:
            raise errors.Cancelled("given up") from None


# ---- runs ----


def test_each_rank_knows_who_it_is_and_the_next_run_begins_at_once(home):
    run = home.run("""
        def who():
            me = pounce.rank()
            names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
            return [me.rank, me.world_size, *(os.environ[name] for name in names)]
        def interfaces():
            return [os.environ["GLOO_SOCKET_IFNAME"], os.environ["NCCL_SOCKET_IFNAME"]]
        with pounce.Client() as client, client.gang(workers=2) as gang:
            report(interfaces=gang.run(interfaces), ranks=gang.run(who), pids=[len(set(gang.run(os.getpid))) for _ in range(2)], size=gang.size)
            plain = client.options(workers=2).submit(lambda: (pounce.rank().world_size, "RANK" in os.environ)).result(60)
            report(plain=plain, here=pounce.rank().world_size)
    """)
    assert run.reports["ranks"] == [[0, 2, "0", "2", "0", "2"], [1, 2, "1", "2", "1", "2"]]
    assert run.reports["interfaces"] == [["lo", "=lo"]] * 2  # the one that pounce itself uses here
    assert run.reports["pids"] == [2, 2]
    assert run.reports["plain"] == [1, False] and run.reports["here"] == 1


def test_a_rank_finds_the_same_devices_in_each_run():
    """From the second run on each rank offered what it had been told for the first: 3,5 became 3,5,3,5. The devices are pretended."""
    with made_home(stand_in_gpus=0, local_cpus=3, local_gpus="3,5,7,9") as home:
        reports = home.run("""
            def devices():
                seen = os.environ["CUDA_VISIBLE_DEVICES"]
                os.environ["CUDA_VISIBLE_DEVICES"] = "11"  # as some programs do: no later run sees it
                return seen
            with pounce.Client() as client, client.gang(workers=2, gpus=1) as pair, client.gang(workers=1, gpus=2) as alone:
                report(pair=[pair.run(devices) for _ in range(3)], alone=[alone.run(devices) for _ in range(2)])
        """).reports
    assert reports == {"pair": [["3,5", "3,5"]] * 3, "alone": [["7,9"]] * 2}


def test_ranks_reach_each_other_by_addresses_that_listen_before_any_of_them_begins(home):
    run = home.run("""
        import socket
        def ring():
            me = pounce.rank()
            if me.rank == 0: time.sleep(0.2)  # whoever is late is not missed
            onward = socket.create_connection(me.addresses[(me.rank + 1) % me.world_size])
            onward.sendall(bytes([me.rank]))
            return pounce.listener().accept()[0].recv(1)[0]
        with pounce.Client() as client, client.gang(workers=3) as gang:
            report(got=gang.run(ring))
    """)
    assert run.reports["got"] == [2, 0, 1]


def test_each_rank_gets_its_own_part_of_what_was_taken_apart(home):
    run = home.run("""
        import numpy
        with pounce.Client() as client, client.gang(workers=2) as gang:
            rows, columns = numpy.arange(6).reshape(3, 2), numpy.arange(8).reshape(2, 4)
            doubled = gang.gather(gang.run(lambda part, by: part * by, gang.scatter(rows, shard=0), by=gang.scatter(2)))
            back = gang.gather(gang.run(lambda part: part, gang.scatter(columns, shard=1)), axis=1)
            report(doubled=doubled.tolist(), same=bool((back == columns).all()))
    """)
    assert run.reports == {"doubled": [[0, 2], [4, 6], [8, 10]], "same": True}


def test_one_traceback_comes_of_the_rank_that_failed_and_the_others_are_stopped(home):
    run = home.run("""
        def fails():
            if pounce.rank().rank == 1:
                print("epoch 7\\nloss 0.5")
                raise ValueError("of rank 1")
            time.sleep(1000)
        with pounce.Client() as client, client.gang(workers=3) as gang:
            gang.run(os.getpid)
            began = time.monotonic()
            try:
                gang.run(fails)
            except ValueError as error:
                report(text=str(error), notes=getattr(error, "__notes__", []), seconds=time.monotonic() - began)
            report(again=gang.run(lambda: pounce.rank().rank))
    """)
    assert run.reports["text"] == "of rank 1" and run.reports["seconds"] < 5
    assert run.reports["notes"][-2:] == [f"rank 1 of 3, on {socket.gethostname()}; the others were stopped",
                                         "its last lines:\n    epoch 7\n    loss 0.5"]
    assert run.reports["again"] == [0, 1, 2]


def test_the_rank_that_failed_first_is_told_of_also_where_the_failure_of_its_peer_comes_before(home):
    """Its exception cannot be pickled before the notebook has heard of its peer's, which waited in a collective."""
    run = home.run("""
        import pathlib, tempfile
        from pounce.gangs import rank_tasks
        heard = pathlib.Path(tempfile.mkdtemp()) / "heard"
        class Late(ValueError):
            def __reduce__(self):
                while not heard.exists(): time.sleep(0.01)
                return ValueError, self.args
        plain = rank_tasks.Failure
        def told(rank, error):
            heard.touch()
            return plain(rank, error)
        rank_tasks.Failure = told
        def fails():
            import torch.distributed as dist
            dist.init_process_group("gloo")
            if dist.get_rank() == 1: raise Late("of rank 1")
            dist.barrier()
        with pounce.Client() as client, client.gang(workers=2) as gang:
            try:
                gang.run(fails)
            except Exception as error:
                report(text=str(error), notes=getattr(error, "__notes__", []))
            report(again=gang.run(lambda: pounce.rank().rank))
    """)
    assert run.reports["text"] == "of rank 1" and f"rank 1 of 2, on {socket.gethostname()}; the others were stopped" in run.reports["notes"]
    assert run.reports["again"] == [0, 1]


def test_a_rank_that_dies_ends_the_run_and_the_next_one_has_all_ranks(home):
    run = home.run("""
        def dies():
            if pounce.rank().rank == 1:
                print("epoch 7", flush=True)
                os.write(2, b"from C\\n")
                os.kill(os.getpid(), 9)
            time.sleep(1000)
        with pounce.Client() as client, client.gang(workers=2) as gang:
            gang.run(os.getpid)
            began = time.monotonic()
            try:
                gang.run(dies)
            except pounce.WorkerCrashed as error:
                report(seconds=time.monotonic() - began, text=str(error), context=error.context)
            report(again=gang.run(lambda: pounce.rank().rank))
    """)
    assert run.reports["seconds"] < 5 and run.reports["again"] == [0, 1]
    assert run.reports["text"].startswith(f"rank 1 of 2, on {socket.gethostname()}: the worker died of SIGKILL")
    assert run.reports["context"]["last_lines"].count("from C") == 1


def test_a_rank_without_memory_is_the_cause_where_its_peer_waits_for_it_in_a_collective(home):
    run = home.run("""
        def fills():
            import torch, torch.distributed as dist
            dist.init_process_group("gloo")
            if dist.get_rank() == 1: bytearray(2**60)
            dist.all_reduce(torch.ones(1))
        with pounce.Client() as client, client.gang(workers=2) as gang:
            try:
                gang.run(fills)
            except MemoryError as error:
                report(notes=error.__notes__)
    """)
    assert f"rank 1 of 2, on {socket.gethostname()}; the others were stopped" in run.reports["notes"]


def test_of_a_collective_that_one_rank_does_not_call_it_is_told_who_had_returned(home):
    run = home.run("""
        def some_call():
            import torch, torch.distributed as dist
            dist.init_process_group("gloo")
            if dist.get_rank() != 1: dist.all_reduce(torch.ones(1))
        with pounce.Client() as client, client.gang(workers=2) as gang:
            try:
                gang.run(some_call)
            except RuntimeError as error:
                report(notes=error.__notes__)
    """)  # whether its end or its peer's failure is heard of first is chance
    assert f"rank 0 of 2, on {socket.gethostname()}; the others were stopped" in run.reports["notes"]
    assert any(note.startswith("rank 1 returned: ") for note in run.reports["notes"])


def test_ranks_that_call_a_collective_with_different_shapes_or_dtypes_are_named_where_that_is_checked(home):
    run = home.run("""
        def sums(by):
            import torch, torch.distributed as dist
            dist.init_process_group("gloo")
            mine = dist.get_rank()
            dist.all_reduce(torch.ones(1 + 3 * mine) if by == "shape" else torch.ones(1, dtype=torch.float64 if mine else torch.float32))
        def level():
            import torch.distributed as dist
            return [dist.get_debug_level().name, os.environ.get("TORCH_DISTRIBUTED_DEBUG")]
        with pounce.Client() as client:  # the same workers, which have imported torch
            with client.gang(workers=2) as gang:
                report(before=gang.run(level))
            with client.gang(workers=2, check=True) as gang:
                for by in ("shape", "dtype"):
                    try:
                        gang.run(sums, by)
                    except RuntimeError as error:
                        report(**{by: str(error)})
                report(checked=gang.run(level))
            with client.gang(workers=2) as gang:
                report(after=gang.run(level))
    """)
    assert "TensorShape=[4]" in run.reports["shape"] and "TensorShape=[1]" in run.reports["shape"]
    assert "Float" in run.reports["dtype"] and "Double" in run.reports["dtype"]
    assert run.reports["checked"] == [["DETAIL", "DETAIL"]] * 2 and run.reports["before"] == run.reports["after"] == [["OFF", None]] * 2


def test_stopping_it_stops_all_ranks(home):
    run = home.run("""
        import pathlib, signal, threading
        def runs(folder):
            try:
                (pathlib.Path(folder) / str(pounce.rank().rank)).touch()
                time.sleep(1000)
            finally:
                (pathlib.Path(folder) / f"{pounce.rank().rank}-stopped").touch()
        import tempfile
        folder = tempfile.mkdtemp()
        def stop_when_both_run():
            while len(os.listdir(folder)) < 2: time.sleep(0.01)
            signal.raise_signal(signal.SIGINT)
        with pounce.Client() as client, client.gang(workers=2) as gang:
            threading.Thread(target=stop_when_both_run, daemon=True).start()
            try:
                gang.run(runs, folder)
            except KeyboardInterrupt:
                report(there=sorted(os.listdir(folder)))
    """)
    assert run.reports["there"] == ["0", "0-stopped", "1", "1-stopped"]


@pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"), reason="takes a minute: tests/run --long runs it")
@pytest.mark.parametrize("ranks, starts", [(4, 100), (16, 3)])
def test_ranks_that_come_late_meet_all_the_same_each_time(home, ranks, starts):
    run = home.run(f"""
        import random
        def meets(delays):
            import torch, torch.distributed as dist
            time.sleep(delays[pounce.rank().rank])
            dist.init_process_group("gloo")
            ones = torch.ones(1)
            dist.all_reduce(ones)
            return ones.item()
        draw = random.Random(17)
        with pounce.Client() as client, client.gang(workers={ranks}, cpus=1) as gang:
            report(sums=[gang.run(meets, [draw.uniform(0, 0.5) for _ in range({ranks})]) for _ in range({starts})])
    """, seconds=250)
    assert run.reports["sums"] == [[ranks] * ranks] * starts


def test_two_gangs_of_the_same_shape_run_at_the_same_time_and_never_meet(home):
    run = home.run("""
        import threading
        def who():
            time.sleep(0.2)
            return [os.environ["MASTER_PORT"], os.getpid()]
        with pounce.Client() as client, client.gang(workers=2) as one, client.gang(workers=2) as other:
            found = {}
            threads = [threading.Thread(target=lambda gang=gang, name=name: found.update({name: gang.run(who)}))
                       for name, gang in (("one", one), ("other", other))]
            for thread in threads: thread.start()
            for thread in threads: thread.join(100)
            rows = [row for rows in found.values() for row in rows]
            report(ports=len({port for port, _ in rows}), pids=len({pid for _, pid in rows}))
    """)
    assert run.reports == {"ports": 2, "pids": 4}


def test_the_lease_of_a_gang_that_was_closed_serves_the_next_one(home):
    run = home.run("""
        with pounce.Client() as client:
            pids = []
            for _ in range(2):
                with client.gang(workers=2) as gang:
                    pids.append(gang.run(os.getpid))
            report(same=pids[0] == pids[1])
            try:
                gang.run(os.getpid)
            except pounce.BadRequest as error:
                report(closed=str(error))
    """)
    assert run.reports["same"] is True and "closed" in run.reports["closed"]


def test_what_further_ranks_print_comes_behind_rank_0s_under_their_numbers(home):
    run = home.run("""
        def prints():
            print("from", pounce.rank().rank)
        with pounce.Client() as client, client.gang(workers=2) as gang:
            gang.run(prints)
    """)
    assert "from 0\n[rank 1] from 1\n" in run.stdout


def test_several_nodes_are_not_to_be_had_on_one_machine(home):
    run = home.run("""
        with pounce.Client() as client, client.gang(nodes=2) as gang:
            try:
                gang.run(os.getpid)
            except pounce.Unsatisfiable as error:
                report(text=str(error))
    """)
    assert "here is one node, not 2" in run.reports["text"] and "workers=" in run.reports["text"]


def test_a_program_that_is_not_there_is_named(home):
    run = home.run("""
        with pounce.Client() as client, client.gang(workers=2) as gang:
            try:
                gang.command(["no-such-program"])
            except pounce.BadRequest as error:
                report(text=str(error))
            report(codes=gang.command(["sh", "-c", "exit 3"]))
    """)
    assert "no program no-such-program" in run.reports["text"] and run.reports["codes"] == [3]
