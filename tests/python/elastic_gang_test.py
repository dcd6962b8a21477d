"""A gang whose leases come and go: when a round begins, and that the program goes on with those that there are."""

from __future__ import annotations

from pounce.gangs.elastic_gang import SETTLE_S, Members

# ---- when a round begins ----


def test_it_begins_at_once_when_all_have_come():
    members = Members(1, 2)
    members.come(0, now=10)
    members.come(1, now=11)
    assert members.begins_in(now=11) == 0 and members.begin() == [0, 1]


def test_it_does_not_begin_before_the_least_have_come():
    members = Members(2, 4)
    members.come(3, now=10)
    assert members.begins_in(now=1000) is None


def test_it_waits_a_moment_for_others_that_come_at_the_same_time():
    members = Members(1, 4)
    members.come(0, now=10)
    members.come(2, now=11)
    assert members.begins_in(now=11.5) == SETTLE_S - 0.5
    assert members.begins_in(now=11 + SETTLE_S) == 0


def test_it_waits_for_those_of_the_last_round_who_have_not_left():
    members = Members(1, 3)
    for member in (0, 1):
        members.come(member, now=10)
    members.begin()

    members.come(0, now=20)
    assert members.begins_in(now=1000) is None
    members.leave(1)
    assert members.begins_in(now=1000) == 0 and members.begin() == [0]


def test_whoever_is_refused_is_not_waited_for():
    members = Members(1, 2)
    members.leave(1, for_good=True)
    members.come(0, now=10)
    assert members.begins_in(now=10) == 0 and not members.are_too_few


def test_it_never_begins_when_too_many_are_refused():
    members = Members(2, 3)
    members.leave(0, for_good=True)
    assert not members.are_too_few
    members.leave(2, for_good=True)
    assert members.are_too_few


# ---- runs ----

def test_a_run_begins_with_whoever_is_there_and_again_when_another_one_comes(home):
    run = home.run("""
        import pathlib, tempfile, threading
        from pounce.gangs.arrivals import Arrivals
        def train(folder):
            me, kept = pounce.rank(), pathlib.Path(folder) / "kept"
            if me.world_size == 1:
                kept.write_text("epoch 7")
                (kept.parent / "runs").touch()
                time.sleep(1000)
            return [me.rank, me.world_size, os.environ["TORCHELASTIC_RESTART_COUNT"], kept.read_text()]
        folder, ask = pathlib.Path(tempfile.mkdtemp()), Arrivals.ask
        def asks_late(self, member):  # for the second one: when the first round is under way
            if member == 0 or (folder / "runs").exists(): return ask(self, member)
            threading.Thread(target=asks_when_it_runs, args=(self, member), daemon=True).start()
        def asks_when_it_runs(self, member):
            while not (folder / "runs").exists(): time.sleep(0.01)
            ask(self, member)
        Arrivals.ask = asks_late
        with pounce.Client() as client, client.gang(workers="1:2", cpus=1) as gang:
            report(ends=gang.run(train, str(folder)), size=gang.size, leases=len(gang.leases))
    """)
    assert run.reports == {"ends": [[0, 2, "1", "epoch 7"], [1, 2, "1", "epoch 7"]], "size": 2, "leases": 2}
    assert "begins again with 2 ranks; it had 1" in run.stderr


def test_what_the_function_raises_ends_the_run(home):
    run = home.run("""
        def fails():
            if pounce.rank().rank == 1: raise ValueError("its own")
            time.sleep(1000)
        with pounce.Client() as client, client.gang(workers="2:2", cpus=1) as gang:
            try:
                gang.run(fails)
            except ValueError as error:
                report(text=str(error), notes=error.__notes__)
            report(again=gang.run(lambda: pounce.rank().rank))
    """)
    assert run.reports["text"] == "its own" and any("rank 1 of 2" in note for note in run.reports["notes"])
    assert run.reports["again"] == [0, 1]


def test_what_cannot_be_had_at_all_says_so(home):
    run = home.run("""
        with pounce.Client() as client, client.gang(workers="1:2", gpus=99) as gang:
            try:
                gang.run(os.getpid)
            except pounce.Unsatisfiable as error:
                report(text=str(error))
    """)
    assert "99" in run.reports["text"]


def test_parts_need_a_fixed_number_of_ranks(home):
    run = home.run("""
        with pounce.Client() as client, client.gang(workers="1:2") as gang:
            try:
                gang.scatter([1, 2], shard=0)
            except pounce.BadRequest as error:
                report(text=str(error))
    """)
    assert "the parts" in run.reports["text"]
