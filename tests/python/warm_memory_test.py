"""Memory that is kept warm between arrays: nothing that is still held changes, whoever holds it."""

from __future__ import annotations

import pytest

from pounce_bench import bridge

needs_root = pytest.mark.skipif(not bridge.possible(), reason=f"needs {bridge.NEEDS}")
ROADS = ["memory", pytest.param("network", marks=needs_root)]

PRELUDE = """
    import contextlib, numpy
    from pounce_bench.bridge import bridge, home_across
    SIZE = 24 << 20
    @contextlib.contextmanager
    def client_over(road):
        with contextlib.ExitStack() as stack:
            if road == "network":
                stack.enter_context(home_across(stack.enter_context(bridge())))
            yield stack.enter_context(pounce.Client())
    def made(value):
        return numpy.full(SIZE, value, "u1")
    def is_all(array, value):
        return bool((array == value).all())
"""


@pytest.mark.parametrize("road", ROADS)
def test_results_that_are_held_stay_as_they_came(home, road):
    pytest.importorskip("numpy")
    run = home.run(PRELUDE + f"""
    with client_over("{road}") as client:
        held = [client.submit(made, value).result() for value in range(4)]
        part = client.submit(made, 9).result()[1000:2000]
        for value in range(10, 16):
            client.submit(made, value).result()
        report(held=[is_all(array, value) for value, array in enumerate(held)], part=is_all(part, 9))
        mine = client.submit(made, 1).result()
        mine[:] = 2
        report(next=is_all(client.submit(made, 3).result(), 3), mine=is_all(mine, 2))
    """)

    assert run.reports["held"] == [True] * 4 and run.reports["part"]
    assert run.reports["next"] and run.reports["mine"]


@pytest.mark.parametrize("road", ROADS)
def test_arrays_that_a_worker_holds_stay_as_they_came(home, road):
    """In a variable of the worker, and in a child of it."""
    pytest.importorskip("numpy")
    run = home.run(PRELUDE + f"""
    def hold(array, value):
        import builtins
        builtins.held = getattr(builtins, "held", []) + [(array, value)]
    def held_in_child(array, value):
        go, told = os.pipe(), os.pipe()
        if os.fork() == 0:
            os.read(go[0], 1)
            os.write(told[1], b"1" if (array == value).all() else b"0")
            os._exit(0)
        import builtins
        builtins.child = go[1], told[0]
    def look_at_held():
        import builtins
        os.write(builtins.child[0], b"g")
        return [bool((array == value).all()) for array, value in builtins.held] + [os.read(builtins.child[1], 1) == b"1"]
    with client_over("{road}") as client:
        for value in range(3):
            client.submit(hold, client.scatter(made(value)), value).result()
        client.submit(held_in_child, client.scatter(made(7)), 7).result()
        for value in range(100, 200):  # more than what a worker keeps of objects that no call needs
            client.submit(len, client.scatter(made(value))).result()
        report(held=client.submit(look_at_held).result(), last=client.submit(is_all, client.scatter(made(201)), 201).result())
    """, seconds=200)

    assert run.reports["held"] == [True] * 4
    assert run.reports["last"]
