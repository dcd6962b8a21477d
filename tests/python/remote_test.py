"""``@pounce.remote``: what the calls of a decorated function do, here, on a worker and in another call."""

from __future__ import annotations


def test_a_call_runs_on_a_worker_prints_here_and_returns_its_value(home):
    run = home.run("""
        @pounce.remote(cpus=1)
        def train(epochs, rate=1):
            "Trains."
            print("at work")
            return os.getpid(), epochs * rate
        first, second = train(2, rate=3), train(4)
        report(value=first[1], elsewhere=first[0] != os.getpid(), warm=first[0] == second[0], doc=train.__doc__, name=repr(train),
               here=train.__wrapped__(1)[0] == os.getpid(), two=[train.submit(n).result()[1] for n in (1, 2)])
    """)

    assert run.reports == {"value": 6, "elsewhere": True, "warm": True, "doc": "Trains.", "name": "<pounce.RemoteFunction train>",
                           "here": True, "two": [1, 2]}
    assert run.stdout.count("at work\n") == 5


def test_its_error_is_the_functions_and_ctrl_c_cancels_it(home):
    run = home.run("""
        import threading
        @pounce.remote
        def fails(): raise ValueError("no more")
        @pounce.remote
        def waits():
            try:
                open("begun", "w").close()
                time.sleep(600)
            finally: open("stopped", "w").close()
        report(raised=error_of(fails))
        def stop():
            while not os.path.exists("begun"): time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=stop).start()
        report(stopped=error_of(waits))
        while not os.path.exists("stopped"): time.sleep(0.02)
    """)

    assert (run.reports["raised"]["type"], run.reports["raised"]["text"]) == ("ValueError", "no more")
    assert run.reports["stopped"]["type"] == "KeyboardInterrupt"


def test_inside_a_call_it_is_the_plain_function(home):
    (home.folder / "steps_of_mine.py").write_text("import os, pounce\n@pounce.remote(cpus=2)\ndef of_a_module(): return os.getpid()\n")
    run = home.run("""
        import steps_of_mine
        @pounce.remote
        def part(n): return os.getpid(), n
        @pounce.remote
        def whole(): return part(1), os.getpid(), steps_of_mine.of_a_module()
        class Net:
            weight = 3
            @pounce.remote
            def scaled(self, n): return self.weight * n, os.getpid()
        (of_part, n), of_whole, of_module = whole()
        client = pounce.Client()
        report(one=len({of_part, of_whole, of_module}), n=n, method=Net().scaled(2)[0], elsewhere=Net().scaled(2)[1] != os.getpid(),
               argument=client.submit(lambda f: f(5)[1], part).result(), mapped=[n for _, n in client.map(part, [1, 2])],
               module=steps_of_mine.of_a_module() != os.getpid())
    """)

    assert run.reports == {"one": 1, "n": 1, "method": 6, "elsewhere": True, "argument": 5, "mapped": [1, 2], "module": True}


def test_a_wrong_option_is_named_where_the_function_is_decorated(home):
    run = home.run("""
        report(option=error_of(lambda: pounce.remote(gpu=1)), value=error_of(lambda: pounce.remote(cpus="many")),
               name=error_of(lambda: pounce.remote(name="mine")), function=error_of(lambda: pounce.remote(3)))
    """)

    assert {error["type"] for error in run.reports.values()} == {"BadRequest"}
    assert "gpu" in run.reports["option"]["text"] and "3 is no function" in run.reports["function"]["text"]
