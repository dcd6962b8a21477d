"""Random numbers of calls: all different, and the same again after the same seed, whatever runs where."""

from __future__ import annotations

import pytest

numpy = pytest.importorskip("numpy")

UNSEEDED = """
    import random
    import numpy as np
    from pounce._engine import seeds
    with pounce.Client(workers=2) as client:
        report(rows=[list(row) for row in client.map(np.random.standard_normal, [3] * 6, chunksize=1)])
        report(gauss=list(client.map(random.gauss, [0] * 6, [1] * 6, chunksize=1)))
        report(object=[float(client.submit(lambda drawn: drawn.normal(), np.random.mtrand._rand).result()) for _ in range(3)])
        made, old, own = np.random.default_rng(3), np.random.RandomState(3), random.Random(3)
        report(values=[float(client.submit(each).result()) for each in (made.random, old.rand, own.random)])
        report(expected=[float(made.random()), float(old.rand()), own.random()])
        report(travels=seeds.of_call(len))
        with client.gang(workers=2) as gang:
            report(ranks=[float(number) for number in gang.run(np.random.standard_normal)])
"""


@pytest.fixture(scope="module")
def unseeded(module_home):
    return module_home.run(UNSEEDED).reports


@pytest.mark.parametrize("what", ["rows", "gauss", "object", "ranks"])
def test_a_method_of_a_global_generator_draws_other_numbers_in_each_task_and_rank(unseeded, what):
    drawn = [tuple(each) if isinstance(each, list) else each for each in unseeded[what]]

    assert len(set(drawn)) == len(drawn)


def test_a_generator_that_a_person_made_is_a_value(unseeded):
    assert unseeded["values"] == unseeded["expected"]


def test_where_nothing_was_seeded_or_drawn_from_no_seed_travels(unseeded):
    assert unseeded["travels"] is None


SEEDED = """
    import random, tempfile
    import numpy as np
    def draw(n):
        return random.random(), float(np.random.standard_normal())
    def draw_after_a_crash(file):
        if not os.path.exists(file):
            open(file, "w").close()
            os._exit(1)
        return draw(0)
    def draw_of(n, x):
        return draw(n)
    def seeded(call):
        random.seed(1), np.random.seed(2)
        return call()
    def named(name):
        future = client.options(name=name).submit(draw, 0)
        try:
            return future.result()
        finally:
            future.forget()
    with pounce.Client(workers=3) as client:
        once = seeded(lambda: list(client.map(draw, range(50))))
        report(map=once, twice=seeded(lambda: list(client.map(draw, range(50)))),
               by_seven=seeded(lambda: list(client.map(draw, range(50), chunksize=7))),
               speculated=seeded(lambda: list(client.map(draw, range(50), speculate=True))),
               named=seeded(lambda: list(client.map(draw, range(50), name="draws", chunksize=20))))
        client.forget("draws")
        with client.get_executor() as executor:
            report(executor=[seeded(lambda: list(executor.map(draw, range(9), chunksize=size))) for size in (1, 4)])
        report(submit=[seeded(lambda: client.gather([client.submit(draw, n) for n in range(6)])) for _ in range(2)])
        crashed, whole = [os.path.join(tempfile.mkdtemp(), name) for name in ("crashed", "whole")]
        open(whole, "w").close()
        report(retried=[seeded(lambda: client.submit(draw_after_a_crash, file, retries=1).result()) for file in (crashed, whole)])
        report(detached=[seeded(lambda: named(name)) for name in ("one", "two")])
        grid = {"n": [1, 2], "x": [1, 2]}
        sweeps = [seeded(lambda: client.sweep(draw_of, grid, metric=max).wait()) for _ in range(2)]
        report(sweep=[[member.result for member in sweep.results] for sweep in sweeps])
    from joblib import Parallel, delayed, parallel_config
    import pounce.compat.joblib
    with parallel_config("pounce", n_jobs=2, cpus=1):
        report(joblib=[seeded(lambda: Parallel(batch_size=size)(delayed(draw)(n) for n in range(9))) for size in (1, 4)])
    with pounce.Client(workers=1) as client:
        report(one_worker=seeded(lambda: list(client.map(draw, range(50)))))
        with client.gang(workers=2) as gang:
            report(gang=[seeded(lambda: gang.run(draw, 0)) for _ in range(2)], gang_again=gang.run(draw, 0))
"""


@pytest.fixture(scope="module")
def seeded(module_home):
    return module_home.run(SEEDED, seconds=180).reports


def all_differ(rows) -> bool:
    return all(len(set(column)) == len(column) for column in zip(*rows, strict=True))


@pytest.mark.parametrize("other", ["twice", "by_seven", "speculated", "named", "one_worker"])
def test_after_the_same_seed_each_item_draws_the_same_in_whatever_chunks_on_however_many_workers(seeded, other):
    assert all_differ(seeded["map"]) and seeded[other] == seeded["map"]


@pytest.mark.parametrize("what", ["executor", "submit", "sweep", "joblib"])
def test_calls_that_are_made_again_after_the_same_seed_draw_the_same(seeded, what):
    once, again = seeded[what]

    assert once == again and all_differ(once)


@pytest.mark.parametrize("what", ["retried", "detached"])
def test_a_call_that_was_lost_and_a_task_with_a_name_draw_what_they_would_have(seeded, what):
    once, again = seeded[what]

    assert once == again


def test_the_ranks_of_a_gang_draw_different_numbers_and_the_same_after_the_same_seed(seeded):
    once, again = seeded["gang"]

    assert once == again and all_differ([*once, *seeded["gang_again"]])


def test_a_seed_of_torch_holds_in_a_call_that_imports_it_and_in_one_on_a_worker_that_has_it(module_home):
    pytest.importorskip("torch")
    run = module_home.run("""
        import torch
        def draw():
            import torch
            return torch.rand(1).item()
        with pounce.Client() as client:
            report(drawn=[[client.submit(draw).result() for _ in range(2)] for _ in range(2) if torch.manual_seed(4)])
    """)

    once, again = run.reports["drawn"]
    assert once == again and once[0] != once[1]
