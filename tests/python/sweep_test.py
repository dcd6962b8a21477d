"""Client.sweep: members, their values, what is repeated, what is ended early, and what a sampler is told."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pounce
import pytest
from pounce._engine.options import Options
from pounce._sweep.samplers import Sampler, source_of
from pounce._sweep.sweep_plan import MedianRule, Member, Pace, count_of, members_of, progress, ranked, rows_of, value_of
from pounce.calls import View

# ---- decisions ---------------------------------------------------------------------------------------------------------


def test_a_dict_of_lists_is_each_combination():
    assert list(members_of({"a": [1, 2], "b": "xy".split(), "c": range(2)})) == [
        {"a": 1, "b": "xy", "c": 0}, {"a": 1, "b": "xy", "c": 1}, {"a": 2, "b": "xy", "c": 0}, {"a": 2, "b": "xy", "c": 1}]
    assert count_of({"a": [1, 2], "b": ["xy"], "c": range(2)}) == 4


def test_an_iterable_of_dicts_is_read_as_it_is_asked_for():
    read = []
    members = members_of({"n": read.append(n) or n} for n in range(10))

    assert next(members) == {"n": 0} and read == [0]


@pytest.mark.parametrize("grid", [{"a": 1}, {"a": "text"}, "text", 7])
def test_what_is_no_grid_is_refused(grid):
    with pytest.raises(pounce.BadRequest):
        members_of(grid)


def test_a_member_whose_parameters_are_no_dict_is_refused():
    with pytest.raises(pounce.BadRequest, match="not 7"):
        list(members_of([{"a": 1}, 7]))


@pytest.mark.parametrize("metric, result, reports, value", [
    (None, 0.5, [], 0.5),
    (lambda result: result[1], (1, 2), [], 2),
    ("loss", None, [{"loss": 3}, {"loss": 2}, {"step": 2}], 2),
    ("loss", {"loss": 1}, [{"loss": 3}], 1),
])
def test_a_member_is_judged_by_what_the_metric_names(metric, result, reports, value):
    assert value_of(metric, result, reports) == value


def test_a_member_that_does_not_tell_the_metric_is_named():
    with pytest.raises(pounce.BadRequest, match="pounce.report\\(loss="):
        value_of("loss", None, [{"accuracy": 1}])


def test_the_median_rule_ends_who_is_worse_than_half_of_the_others_after_as_many_reports():
    rule = MedianRule("loss", 1)
    for number, loss in enumerate([1.0, 2.0, 3.0]):
        assert not rule.should_prune(number, [{"loss": loss}, {"loss": loss}])

    assert rule.should_prune(3, [{"loss": 4.0}])
    assert not rule.should_prune(4, [{"loss": 0.5}])
    assert not rule.should_prune(5, [{"loss": 9.0}, {"loss": 0.1}])  # its best counts


def test_the_median_rule_knows_what_more_is_better_means_and_skips_what_is_no_number():
    rule = MedianRule("accuracy", -1)
    for number, accuracy in enumerate([0.9, 0.8, 0.7]):
        assert not rule.should_prune(number, [{"accuracy": float("nan")}, {"accuracy": accuracy}])

    assert rule.should_prune(3, [{}, {"accuracy": 0.1}])


def test_the_best_is_the_best_in_the_given_direction_and_a_number():
    members = [Member(n, {}, "done", value=value) for n, value in enumerate([2, float("nan"), 1, None, "text", 3])]
    members.append(Member(6, {}, "pruned", value=0))

    assert [member.value for member in ranked(members, 1)] == [1, 2, 3]
    assert [member.value for member in ranked(members, -1)] == [3, 2, 1]


def test_the_rest_is_estimated_by_how_quickly_members_ended_lately():
    pace = Pace(0.0)
    assert pace.seconds_left(10, 5.0) is None

    for second in range(1000):
        pace.ended(100.0 + second * 0.5)  # two a second, after a slow start

    assert pace.seconds_left(60, 100.0 + 999 * 0.5) == pytest.approx(30.0, rel=0.05)


def test_the_line_says_what_has_become_of_the_members():
    members = [Member(0, {}, "done", value=0.25), Member(1, {}, "failed"), Member(2, {}, "running"), Member(3, {})]

    assert progress(members, 100, members[0], 250.0) == "2 of 100 · 1 running · 1 failed · best 0.25 · about 4 min left"


def test_a_parameter_that_is_called_as_a_column_of_ours_keeps_its_own():
    (row,) = rows_of([Member(0, {"state": "x", "lr": 1}, "done")])

    assert row["params_state"] == "x" and row["lr"] == 1 and row["state"] == "done"


# ---- samplers ----------------------------------------------------------------------------------------------------------


class Asked:
    """A sampler of the simplest kind."""

    def __init__(self):
        self.told = []

    def ask(self):
        return {"n": len(self.told)}

    def tell(self, trial, value, state):
        self.told.append((trial["n"], value, state))


def test_a_sampler_is_told_how_each_member_ended():
    asked = Asked()
    sampler = Sampler(asked, None, 3)

    for number, (state, value) in enumerate([("done", 0.5), ("pruned", 0.7), ("done", float("nan"))]):
        assert sampler.ask(number) is not None
        sampler.tell(Member(number, {}, state, value=value))

    assert sampler.ask(3) is None
    assert asked.told == [(0, 0.5, "done"), (1, None, "pruned"), (2, None, "failed")]


@pytest.mark.parametrize("words", [{"n_trials": None}, {"n_trials": 0}, {"n_trials": True}])
def test_a_sampler_without_an_end_is_refused(words):
    with pytest.raises(pounce.BadRequest, match="n_trials="):
        source_of(Asked(), None, **words)


def test_n_trials_of_a_grid_is_refused():
    with pytest.raises(pounce.BadRequest, match="sampler"):
        source_of({"a": [1]}, None, 3)


def test_a_study_of_optunas_is_told_in_its_own_words():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", pruner=optuna.pruners.ThresholdPruner(lower=0.5))
    sampler = Sampler(study, lambda trial: {"x": trial.suggest_float("x", 0, 1)}, 3)
    members = [Member(number, sampler.ask(number)) for number in range(3)]
    members[1].reports = [{"loss": 0.9}, {"loss": 0.1}]

    pruned = [sampler.should_prune(member, "loss") for member in members]
    for member, (state, value) in zip(members, [("done", 1.0), ("pruned", 0.1), ("failed", None)], strict=True):
        member.state, member.value = state, value
        sampler.tell(member)

    assert pruned == [False, True, False] and sampler.direction == "maximize"
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "PRUNED", "FAIL"]
    assert study.best_value == 1.0 and study.trials[1].intermediate_values == {0: 0.9, 1: 0.1}


def test_a_study_with_several_values_is_refused():
    optuna = pytest.importorskip("optuna")

    with pytest.raises(pounce.BadRequest, match="one value"):
        Sampler(optuna.create_study(directions=["minimize", "maximize"]), None, 3)


# ---- whole sweeps ------------------------------------------------------------------------------------------------------


def test_members_of_a_pool_are_all_there_with_their_values(home):
    members = 1000 if os.environ.get("POUNCE_LONG_RUN") else 200

    run = home.run(f"""
        def train(n, scale):
            pounce.report(loss=n * scale)
            return None
        with pounce.Client(workers="0:3") as client:
            sweep = client.sweep(train, {{"n": range({members // 2}), "scale": [1, 2]}}, metric="loss").wait()
            report(values=[each.value for each in sweep.results] == [n * scale for n in range({members // 2}) for scale in (1, 2)])
            report(states=list({{each.state for each in sweep.results}}), best=sweep.best.params, words=repr(sweep), html=sweep._repr_html_())
    """)

    assert run.reports["values"] and run.reports["states"] == ["done"] and run.reports["best"] == {"n": 0, "scale": 1}
    assert f"{members} of {members}" in run.reports["words"] and "<table>" in run.reports["html"]


def test_failed_members_alone_are_repeated_as_often_as_asked(home):
    run = home.run("""
        def train(n, folder):
            import pathlib
            before = len(list(pathlib.Path(folder).glob(f"{n}-*")))
            pathlib.Path(folder, f"{n}-{before}").touch()
            if n % 5 == 0 and before < (1 if n else 9): raise RuntimeError("this once")
            return n
        os.mkdir("runs")
        with pounce.Client() as client:
            sweep = client.sweep(train, [dict(n=n, folder=os.path.abspath("runs")) for n in range(20)], retries=2).wait()
            report(states=[each.state for each in sweep.results], attempts=[each.attempts for each in sweep.results])
            report(error=str(sweep.results[0].error), runs=len(os.listdir("runs")))
    """)

    assert run.reports["states"] == ["failed"] + ["done"] * 19
    assert run.reports["attempts"] == [3 if n == 0 else 2 if n % 5 == 0 else 1 for n in range(20)]
    assert run.reports["error"] == "this once" and run.reports["runs"] == 20 + 2 + 3


def test_a_member_that_kills_its_worker_runs_again_alone(home):
    run = home.run("""
        def train(n, folder):
            import pathlib
            mark = pathlib.Path(folder, str(n))
            if n == 2 and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return n
        with pounce.Client() as client:
            sweep = client.sweep(train, [dict(n=n, folder=os.getcwd()) for n in range(4)], retries=1).wait()
            report(values=[each.value for each in sweep.results], attempts=[each.attempts for each in sweep.results])
    """)

    assert run.reports == {"values": [0, 1, 2, 3], "attempts": [1, 1, 2, 1]}


def test_a_pruned_member_frees_its_worker_within_5_s_and_the_next_one_runs_there(home):
    run = home.run("""
        def train(n):
            import time
            began = time.time()
            pounce.report(loss=n)
            while n: time.sleep(0.01)
            return began
        hopeless = []
        def stop(reports):
            if reports[-1]["loss"] <= 5: return False
            hopeless.append(time.time())
            return True
        with pounce.Client() as client:
            sweep = client.sweep(train, {"n": [9, 0]}, metric="loss", stop=stop).wait(60)
            report(states=[each.state for each in sweep.results], values=[each.value for each in sweep.results], best=sweep.best.number)
            report(seconds=sweep.best.result - hopeless[0])
    """)

    assert run.reports["states"] == ["pruned", "done"] and run.reports["values"] == [9, 0] and run.reports["best"] == 1
    assert 0 < run.reports["seconds"] < 5


def test_a_pruned_member_that_does_not_stop_is_killed_after_the_grace(home):
    run = home.run("""
        def train(n):
            import time
            pounce.report(loss=n)
            while n:
                try: time.sleep(1000)
                except KeyboardInterrupt: pass
            return "trained"
        with pounce.Client(cancel_grace=0.5) as client:
            sweep = client.sweep(train, {"n": [9, 0]}, metric="loss", stop=lambda reports: reports[-1]["loss"] > 5).wait(60)
            report(states=[each.state for each in sweep.results])
    """)

    assert run.reports == {"states": ["pruned", "done"]}


def test_the_sampler_is_asked_when_a_worker_is_free_and_told_of_each_end(home):
    run = home.run("""
        class Halving:
            told, under_way, most = [], 0, 0
            def ask(self):
                self.under_way += 1
                self.most = max(self.most, self.under_way)
                return {"x": self.told[-1] / 2 if self.told else 64.0}
            def tell(self, trial, value, state):
                self.under_way -= 1
                self.told.append(value)
        halving = Halving()
        with pounce.Client(workers=1) as client:
            sweep = client.sweep(lambda x: x, halving, n_trials=7).wait()
            report(told=halving.told, most=halving.most, best=sweep.best.value)
    """)

    assert run.reports == {"told": [64, 32, 16, 8, 4, 2, 1], "most": 1, "best": 1}


def test_optuna_finds_the_minimum_and_prunes_what_its_pruner_says(home):
    pytest.importorskip("optuna")
    run = home.run("""
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        def train(x):
            import time
            for step in range(3):
                pounce.report(loss=(x - 2) ** 2, step=step)
            while (x - 2) ** 2 > 50: time.sleep(0.01)
            return {"loss": (x - 2) ** 2}
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1), pruner=optuna.pruners.ThresholdPruner(upper=50))
        with pounce.Client() as client:
            sweep = client.sweep(train, study, space={"x": optuna.distributions.FloatDistribution(-10, 10)}, metric="loss", n_trials=30).wait()
        states = [trial.state.name for trial in study.trials]
        report(best=study.best_value, same=sweep.best.value == study.best_value, states=sorted(set(states)), count=len(states))
        report(agree=[each.state == {"COMPLETE": "done", "PRUNED": "pruned"}[name] for each, name in zip(sweep.results, states)])
    """, seconds=150)

    assert run.reports["best"] < 1 and run.reports["same"] and run.reports["count"] == 30 and all(run.reports["agree"])
    assert run.reports["states"] == ["COMPLETE", "PRUNED"]


def test_a_function_that_does_not_pickle_is_named_at_the_call_and_nothing_is_left(home):
    run = home.run("""
        import threading
        lock = threading.Lock()
        def train(n): return lock and n
        with pounce.Client() as client:
            report(**error_of(lambda: client.sweep(train, {"n": [1, 2]})))
            report(threads=[each.name for each in threading.enumerate() if each.name == "pounce-sweep"], leases=len(client.leases()))
    """)

    assert run.reports["type"] == "NotPicklable" and "train: global lock" in run.reports["text"]
    assert run.reports["threads"] == [] and run.reports["leases"] == 0


def test_what_the_iterable_or_stop_raises_ends_the_sweep_and_keeps_what_has_ended(home):
    run = home.run("""
        def members():
            yield {"n": 1}
            yield {"n": 2}
            raise OSError("the list is broken")
        def stop(reports): raise KeyError("no such thing")
        def train(n):
            pounce.report(loss=n)
            return n
        with pounce.Client() as client:
            sweep = client.sweep(train, members())
            report(**error_of(sweep.wait))
            report(over=all(each.over for each in sweep.results), count=len(sweep))
            def wait(n):
                pounce.report(loss=n)
                time.sleep(1000)
            report(stop=error_of(client.sweep(wait, {"n": [1]}, stop=stop).wait)["type"])
            report(empty=len(client.sweep(train, []).wait()), after=client.submit(pow, 2, 2).result(30))
    """)

    assert run.reports["type"] == "OSError" and run.reports["over"] and run.reports["count"] == 2
    assert run.reports["stop"] == "KeyError" and run.reports["empty"] == 0 and run.reports["after"] == 4


def test_a_sweep_that_is_cancelled_or_whose_client_is_closed_ends(home):
    run = home.run("""
        def train(n):
            import time
            time.sleep(1000 if n else 0)
            return n
        client = pounce.Client()
        sweep = client.sweep(train, {"n": range(5)})
        while not any(each.over for each in sweep.results): time.sleep(0.01)
        report(late=error_of(lambda: sweep.wait(0.1))["type"])
        sweep.cancel()
        sweep.wait(60)
        report(states=[each.state for each in sweep.results])
        closed = client.sweep(train, {"n": [1, 2]})
        client.close()
        report(closed=(error_of(lambda: closed.wait(60)) or {}).get("type"), over=all(each.over for each in closed.results))
    """)

    assert run.reports["late"] == "Timeout" and run.reports["states"][0] == "done"
    assert set(run.reports["states"][1:]) == {"cancelled"}  # those that were not sent too
    assert run.reports["over"]


def test_stopping_the_wait_cancels_the_sweep(home):
    program = home.start("""
        def train(n):
            import time
            time.sleep(1000)
        with pounce.Client() as client:
            sweep = client.sweep(train, {"n": range(3)})
            while sweep.results[0].state != "running": time.sleep(0.01)
            report(running=True)
            report(**error_of(sweep.wait))
            sweep.wait(60)
            report(states=[each.state for each in sweep.results])
    """).until(lambda s: "running" in s.reports, "a member runs")

    program.process.send_signal(2)

    assert program.ended().reports["states"] == ["cancelled"] * 3 and program.reports["type"] == "KeyboardInterrupt"


def test_a_member_that_is_submitted_while_another_thread_cancels_is_cancelled_too(home):
    run = home.run("""
        import threading
        made = threading.Event()
        def grid():
            yield {"n": 0}
            made.wait()
            sweep.cancel()
            yield {"n": 1}
        def train(n):
            import time
            time.sleep(1000)
        with pounce.Client() as client:
            sweep = client.sweep(train, grid())
            made.set()
            sweep.wait(60)
            report(states=[each.state for each in sweep.results])
    """)

    assert run.reports["states"] == ["cancelled"] * 2


def without_daemon() -> View:
    return View(SimpleNamespace(session=None), Options())


@pytest.mark.parametrize("words", [
    {"metric": 7}, {"stop": "now"}, {"stop": "median"}, {"retries": -1}, {"direction": "up"}, {"n_trials": 3}, {"space": {}},
])
def test_a_keyword_that_is_not_of_its_kind_is_refused(words):
    with pytest.raises(pounce.BadRequest):
        without_daemon().sweep(pow, {"n": [1]}, **words)


def test_a_table_where_there_is_no_pandas_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    sweep = without_daemon().sweep(pow, [])

    with pytest.raises(pounce.BadRequest, match="pip install pandas"):
        sweep.dataframe()


def test_the_table_has_a_row_for_each_member_and_a_column_for_each_parameter(home):
    pytest.importorskip("pandas")
    run = home.run("""
        with pounce.Client() as client:
            table = client.sweep(lambda a, b: a / b, {"a": [1], "b": [0, 1]}).wait().dataframe()
            report(columns=list(table.columns), states=list(table.state), value=table.value[1], error=table.error[0])
    """)

    assert run.reports["columns"] == ["number", "a", "b", "state", "value", "seconds", "attempts", "error"]
    assert run.reports["states"] == ["failed", "done"] and run.reports["error"] == "ZeroDivisionError: division by zero"
