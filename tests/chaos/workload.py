"""The people at work: their programs and notebooks, started again where a fault has killed them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

HERE = Path(__file__).parent
# Name, login node, program, streams of work.
LIVES = [("train", "a", "client.py", 3), ("search", "a", "client.py", 2), ("small-disk", "b", "client.py", 3), ("bob", "c", "client.py", 3),
         ("notebook", "a", "notebook.py", 1)]


class Workload:
    def __init__(self, site, seed: int):
        self.site, self.seed = site, seed
        self.stop = site.folder / "stop"
        self.running: dict[str, object] = {}
        self.generation = dict.fromkeys((name for name, *_ in LIVES), 0)
        for program in ("client.py", "notebook.py"):
            Path(shutil.copy(HERE / program, site.folder)).chmod(0o644)  # where everybody can read it

    def keep_alive(self) -> None:
        for name, login, program, streams in LIVES:
            if name not in self.running or self.running[name].process.poll() is not None:
                self.generation[name] += 1
                life = f"{name}{self.generation[name]}"
                self.running[name] = self.start(life, login, program, client=life, streams=streams)

    def start(self, life: str, login: str, program: str, **facts):
        spec = self.site.folder / f"{life}.json"
        spec.write_text(json.dumps({"run": self.site.folder.name.rpartition("-")[2], "history": str(self.site.history.path), "stop": str(self.stop), "seed": self.seed, "login": login,
                                    "client": life, **facts}))
        spec.chmod(0o644)
        return self.site.people[login].start(["python", "-u", str(self.site.folder / program), str(spec)], **self.site.moved.get(login, {}))

    def finish(self) -> None:
        """No new task; those that wait or run end by themselves."""
        self.stop.touch()

    def ended(self) -> bool:
        return all(running.process.poll() is not None for running in self.running.values())

    def collect(self) -> None:
        """Results of tasks with a name are fetched by programs that start after everything."""
        history = self.site.history
        client_of = {row["task"]: row["client"] for row in history.rows("asked")}
        login_of = {row["client"]: row["login"] for row in history.rows("client")}
        tasks: dict[str, list[str]] = {}
        for row in history.rows("accepted"):
            tasks.setdefault(login_of[client_of[row["task"]]], []).append(row["task"])
        collectors = [self.start(f"collector-{login}", login, "client.py", collect=sorted(names)) for login, names in tasks.items()]
        for collector in collectors:
            collector.process.wait(300)

    def outputs(self) -> str:
        return "\n".join(f"== {name}\n{running.output[-1500:]}" for name, running in self.running.items())
