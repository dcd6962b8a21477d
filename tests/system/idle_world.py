"""A worker whose interpreter has something of a test's to do between its tasks, and when it leaves (idle_interpreter.py)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fake_daemon import LEASE, pack
from worker_world import World


class IdleWorld(World):
    def __init__(self, folder: Path, *options: str):
        script = Path(__file__).parent / "idle_interpreter.py"
        super().__init__(folder, *options, interpreter=(sys.executable, str(script)))

    def between(self, idle: Callable[[], Any], leave: Callable[[], Any] | None = None) -> None:
        """From the end of this task on idle() is called between tasks, and leave() after the last."""

        def set_them():
            import builtins

            builtins.idle = idle
            builtins.calls = []
            if leave is not None:
                builtins.leave = leave

        task = self.client.submit(set_them)
        self.client.result(task)
        self.client.acknowledge(task)

    def calls(self) -> list[str]:
        """What idle() has noted in ``builtins.calls``."""
        return self.client.result(self.client.submit(lambda: __import__("builtins").calls))

    def in_idle(self) -> None:
        """Until idle() has made the file ``in_idle``."""
        self.daemon.wait((self.worker.directory / "in_idle").exists, "idle()")

    def states(self) -> list[str]:
        """What the worker told of its variables, in this order."""
        told = [beat["state"] for beat in self.daemon.all("worker_beat")]
        return [state for at, state in enumerate(told) if at == 0 or told[at - 1] != state]

    def running(self) -> int | None:
        """What its last beat told; None: none came yet."""
        beats = self.daemon.all("worker_beat")
        return beats[-1]["running"] if beats else None

    def says(self, state: str) -> None:
        self.daemon.wait(lambda: self.states()[-1:] == [state], f"the state {state}")

    def order_end(self, only_if_idle: bool = False) -> None:
        self.daemon.say(pack("end_worker", lease=LEASE, cause={"code": "idle"}, only_if_idle=only_if_idle))

    def gone(self) -> None:
        self.daemon.wait(lambda: self.worker.process.poll() is not None, "the end of the worker")

    def log(self) -> str:
        return self.worker.log.read_text()


def told(*words: str, then: Callable[[], Any] = lambda: None) -> Callable[[], Any]:
    """Tells these states, one after the other."""

    def tell():
        from pounce._worker import interpreter

        for word in words:
            interpreter.core.tell_state(word)
        return then()

    return tell
