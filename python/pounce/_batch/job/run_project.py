"""Runs the command of an MLflow project in the job, and tells MLflow from here how the run stands and how it ends.

A second process does the telling, the reporter. It imports MLflow by the Python that submitted, since the project's own
environment may have none. It is a step of the job: when Slurm ends a job, it warns steps alone (SIGTERM), and kills the
batch script and all that this has started a moment later.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

AGAIN = 85  # an exit code: "my state is saved, run me again"
STOPPED = 128 + signal.SIGTERM
_REPORT_TAKES_S = 120
_OPEN = ("SCHEDULED", "RUNNING")
# A shell loads the project's modules, since `module` is one of its functions.
_SHELL = """\
path=$1 count=$2
shift 2
if [ "$count" != 0 ]; then
  for file in "${MODULESHOME:-/}/init/bash" "${LMOD_PKG:-/}/init/bash" /etc/profile.d/*mod*.sh; do
    if type module > /dev/null 2>&1; then break; fi
    if [ -r "$file" ]; then . "$file"; fi
  done
  if ! module load "${@:1:count}"; then
    echo "pounce: the project's modules cannot be loaded: ${*:1:count}" >&2
    exit 1
  fi
  shift "$count"
fi
if [ -n "$path" ]; then PATH=$path:$PATH; fi
exec "$@"
"""


def main(folder: str) -> int:
    project = _read(folder, "project.json")
    if project["secrets"] and not os.path.exists(os.path.join(folder, "secrets.json")):
        return _say("this run's secrets were removed when it ended; start it anew with mlflow run")
    _follow_log(folder)
    reporter = _Reporter(folder)
    signal.signal(signal.SIGTERM, lambda number, frame: None)  # the command gets it, too: its end is reported
    code = _run(folder, project)
    reporter.end({0: "FINISHED", AGAIN: "SCHEDULED", STOPPED: "KILLED"}.get(code, "FAILED"))
    if code == 0:
        _keep(folder, {"value": project["run"]})
    if code != AGAIN:
        _remove(folder, "secrets.json")
    return code


def task(folder: str) -> int:
    """The command on one of several nodes. srun started this, without the secrets."""
    project = _read(folder, "project.json")
    words = _words(project)
    os.execvpe(words[0], words, _environment(folder, project))


def _run(folder: str, project: dict[str, Any]) -> int:
    environment = _environment(folder, project)
    several = project["nodes"] > 1
    words = ["srun", sys.executable, os.path.abspath(__file__), folder, "task"] if several else _words(project)
    try:
        code = subprocess.call(words, cwd=project["directory"], env=None if several else environment)
    except OSError as problem:
        return _say(f"the project cannot be started: {problem}")
    return code if code >= 0 else 128 - code


def _words(project: dict[str, Any]) -> list[str]:
    command = ["bash", "-c", project["command"]]
    words = [part for word in project["container"] for part in (command if word == "{command}" else [word])]
    modules = project["modules"]
    return ["bash", "-c", _SHELL, "project", project["path"], str(len(modules)), *modules, *words]


def _environment(folder: str, project: dict[str, Any]) -> dict[str, str]:
    """This process itself is started without the secrets: only the command and the reporter get them."""
    environment = dict(os.environ)
    if project["secrets"]:
        environment.update(_read(folder, "secrets.json"))
    environment.update(project["variables"])
    for name, value in project["environment"].items():
        environment[name] = _expanded(value, environment)
    if project["other_python"]:  # the folders of this one are not for it
        environment.pop("PYTHONPATH", None)
    return environment


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    """With ``$NAME`` and ``${NAME}`` replaced; nothing is executed."""
    return re.sub(r"\$(?:(\w+)|\{(\w+)\})", lambda match: variables.get(match[1] or match[2], ""), text)


def _follow_log(folder: str) -> None:
    """The run's log is the file that Slurm writes, also where the configuration has named another one."""
    log = os.path.join(folder, "job.log")
    with contextlib.suppress(OSError):
        written = os.readlink("/proc/self/fd/1")
        if os.path.isfile(written) and not os.path.exists(log):
            os.symlink(written, log)


def _read(folder: str, name: str) -> dict[str, Any]:
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def _keep(folder: str, result: dict[str, str]) -> None:
    """What the batch run's ``result()`` returns."""
    path = os.path.join(folder, "result.pickle")
    with open(os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        pickle.dump(result, file)
    os.replace(f"{path}.new", path)


def _remove(folder: str, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, name))


def _say(text: str) -> int:
    print(f"pounce: {text}", file=sys.stderr, flush=True)
    return 1


# ---- what MLflow is told ----


class _Reporter:
    """The process that tells MLflow, seen from the one that runs the command."""

    def __init__(self, folder: str):
        self._words = [sys.executable, os.path.abspath(__file__), folder, "report"]
        srun = shutil.which("srun") if "SLURM_JOB_ID" in os.environ else None
        one = ["--overlap", "--nodes=1", "--ntasks=1", "--gres=none", "--quiet", "--export=ALL"]
        here = [f"--nodelist={os.environ['SLURMD_NODENAME']}"] if "SLURMD_NODENAME" in os.environ else []
        self._process = self._start([srun, *one, *here] if srun else [])
        self._is_step = srun is not None

    def end(self, status: str) -> None:
        """Blocks until MLflow knows it, for two minutes at most."""
        if self._tell(status) != 0 and self._is_step:  # no step could be started here
            self._process = self._start([])
            self._tell(status)

    def _start(self, before: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*before, *self._words], stdin=subprocess.PIPE)

    def _tell(self, status: str) -> int:
        try:
            self._process.communicate(f"{status}\n".encode(), _REPORT_TAKES_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _say(f"MLflow did not take the run's status {status} within {_REPORT_TAKES_S} s")
            return 0
        return self._process.returncode


def report(folder: str) -> int:
    """Sets the run's status to RUNNING, and then to what comes: KILLED with SIGTERM, and the last word on standard
    input. An input that ends without one is that of a job which was killed."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    project = _read(folder, "project.json")
    os.environ.update(_environment(folder, {**project, "other_python": False}))
    news: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()
    for wait in (_wait_for_signal, _wait_for_word):
        threading.Thread(target=wait, args=(news,), daemon=True).start()
    try:
        from mlflow import MlflowClient
    except ImportError as problem:
        _say(f"MLflow is not told of this run: {problem}")
        return 0
    status, is_last, is_killed = "RUNNING", False, False
    while True:
        try:
            _set(MlflowClient(), project["run"], status, is_killed)
            if is_last and status not in _OPEN:
                _remove(folder, "open")
        except Exception as problem:  # whatever MLflow or a server's client raises: the project goes on
            _say(f"MLflow was not told that the run is {status}: {problem}")
        if is_last:
            return 0
        is_killed = status == "KILLED"
        status, is_last = news.get()


def _wait_for_signal(news: queue.SimpleQueue[tuple[str, bool]]) -> None:
    signal.sigwait([signal.SIGTERM])
    news.put(("KILLED", False))


def _wait_for_word(news: queue.SimpleQueue[tuple[str, bool]]) -> None:
    news.put((sys.stdin.readline().strip() or "KILLED", True))


def _set(client: Any, run: str, status: str, is_killed: bool) -> None:
    """A status that the project's own program has set stays, unless it failed or was stopped."""
    if status in _OPEN:
        client.update_run(run, status)
    elif status != "FINISHED" or is_killed or client.get_run(run).info.status in _OPEN:
        client.set_terminated(run, status)
    if status == "RUNNING":
        client.set_tag(run, "slurm_job_id", os.environ.get("SLURM_JOB_ID", ""))
        client.set_tag(run, "pounce.node", os.environ.get("SLURMD_NODENAME") or socket.gethostname())


if __name__ == "__main__":
    sys.exit({"report": report, "task": task}.get("".join(sys.argv[2:]), main)(sys.argv[1]))
