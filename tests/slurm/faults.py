"""What the fault tests share: a task that runs until the test lets it go, and what its user is told."""

from __future__ import annotations

import textwrap
import time

from login_node import User, Running, wait_until

HELD_TASK = """
    {before}
    import pounce
    def hold(flag):
        import itertools, os, time
        print('REPORT {{"worker": %d}}' % os.getpid(), flush=True)
        for look in itertools.count():
            if os.path.exists(flag):
                return 1024
            if look % 50 == 0:
                print('REPORT {{"beat": %d}}' % (look // 50), flush=True)
            time.sleep(0.02)
    client = pounce.Client()
    future = client.options({options}).submit(hold, {flag!r})
    while not future.running() and not future.done():
        time.sleep(0.02)
    report(running=True, kernel=os.getpid())
    try:
        report(result=future.result(200))
    except Exception as e:
        report(error=error(e), told_at=time.time())
    {after}
    client.close()
"""
AGAIN = "report(again=client.submit(pow, 2, 5).result(100))"


class HeldTask:
    """A task on a worker that ends when `let_go` is called."""

    def __init__(self, who: User, options: str = "", before: str = "", after: str = "", **environment):
        self.who, self.flag = who, who.folder / f"flag{who.count}"
        script = HELD_TASK.format(options=options, flag=str(self.flag), before=before, after=after)
        self.run: Running = who.python(script, **environment)
        self.run.reported("running", 100)

    def job(self) -> dict:
        (job,) = self.who.jobs(self.who.endpoint()["instance"])
        return job

    def node(self) -> str:
        return self.who.run("squeue", "--noheader", "--jobs", self.job()["id"], "--format=%N").strip()

    def beats(self) -> int:
        """How often the task has said that it still runs: once a second, or less often on a busy machine."""
        return sum("beat" in report for report in self.run.reports)

    def let_go(self) -> None:
        self.flag.touch()

    def result(self, seconds: float = 90) -> int:
        return self.run.ended(seconds).reported("result")

    def error(self, seconds: float = 90) -> dict:
        return self.run.ended(seconds).reported("error")

    def told(self, words: str, seconds: float) -> float:
        """Waits until the user is told; returns the seconds that it took."""
        start = time.monotonic()
        wait_until(lambda: words in self.run.output, seconds, f"the user is told {words!r}; so far:\n{self.run.output}")
        return time.monotonic() - start


def assert_told(error: dict, type_name: str, *words: str) -> None:
    """A typed error whose text has a sentence of cause and one of remedy."""
    assert error["type"] == type_name, error
    for word in words:
        assert word in error["text"], error
    assert error["text"].count(".") >= 2, error


def measured(what: str, seconds: float) -> None:
    """Shown by `pytest -s`, copied to docs/faults.md; never a reason to fail."""
    print(f"MEASURED {what}: {seconds:.2f} s")


def submit_script(call: str, functions: str = "", options: str = "", after: str = "") -> str:
    return textwrap.dedent("""
        import pounce
        {functions}
        client = pounce.Client()
        try:
            report(result=repr(client.options({options}).submit({call}).result(100)))
        except BaseException as e:
            report(error=error(e))
        {after}
        client.close()
    """).format(call=call, functions=textwrap.dedent(functions).strip(), options=options, after=textwrap.dedent(after).strip())
