"""A user whose last call waits, and what an admin changes meanwhile."""

from __future__ import annotations

from contextlib import contextmanager

from login_node import User, Running, wait_until

# Tells each change of why the last call waits; those before it run, until the flag is there.
WAITING = """
    import pounce
    def hold(flag):
        import os, time
        while not os.path.exists(flag):
            time.sleep(0.05)
        return 1024
    client = pounce.Client()
    futures = []
    for options in {calls!r}:
        while futures and not futures[-1].running():
            time.sleep(0.02)
        futures.append(client.options(**options).submit(hold, {flag!r}))
    last, told = futures[-1], None
    while not last.running() and not last.done():
        why = last.why()
        if why is not None and why != told:
            told = why
            report(why=why._asdict(), sentence=str(why))
        time.sleep(0.05)
    report(runs=last.running())
    report(results=[future.result(100) for future in futures])
    client.close()
"""


class Waiting:
    """A user whose last call waits."""

    def __init__(self, who: User, *calls: dict):
        self.who, self.flag = who, who.folder / "flag"
        self.run: Running = who.python(WAITING.format(flag=str(self.flag), calls=list(calls)))

    def told(self, slurm_reason: str, **facts) -> dict:
        """The first report of that reason, with these facts."""

        def look():
            whys = [{**r["why"], "sentence": r["sentence"]} for r in self.run.reports if "why" in r]
            return [why for why in whys if why["slurm_reason"].startswith(slurm_reason)
                    and all(why[name] == value for name, value in facts.items())]

        return wait_until(look, 60, f"{slurm_reason} {facts} is told; so far:\n{self.run.output}")[-1]

    def ends_well(self) -> None:
        self.flag.touch()
        assert set(self.run.ended(100).reported("results")) == {1024}


@contextmanager
def changed(admin, change: str, back: str):
    admin("sacctmgr", "-i", *change.split())
    try:
        yield
    finally:
        admin("sacctmgr", "-i", *back.split())
