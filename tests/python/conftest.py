"""A home of its own for each test that starts daemons: its pounced is nobody else's and ends with the test."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest
from pounce import _core
from pounce._engine.options import Options

signal.signal(signal.SIGINT, signal.default_int_handler)  # in a shell's background it is ignored, by all that is started too


@pytest.fixture(autouse=True)
def interrupt():
    """Ctrl-C means for each test what it means for the others: a module that a test imported made it a SystemExit, which a later one met."""
    yield
    left = signal.signal(signal.SIGINT, signal.default_int_handler)
    assert left is signal.default_int_handler, f"the test leaves {left} for SIGINT, of {getattr(left, '__module__', None)}"


class Script:
    """A program of a user, and what it reports: lines `REPORT {...}` on its standard output."""

    def __init__(self, process: subprocess.Popen, out: Path, err: Path):
        self.process, self._out, self._err = process, out, err

    @property
    def stdout(self) -> str:
        return self._out.read_text()

    @property
    def stderr(self) -> str:
        return self._err.read_text()

    @property
    def reports(self) -> dict:
        lines = [line.removeprefix("REPORT ") for line in self.stdout.splitlines() if line.startswith("REPORT ")]
        return {key: value for line in lines for key, value in json.loads(line).items()}

    def until(self, condition, what: str, seconds: float = 60):
        """Waits on a condition, never on a duration."""
        deadline = time.monotonic() + seconds
        while not condition(self):
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}\n{self.stdout}\n{self.stderr}"
            assert self.process.poll() is None or condition(self), f"ended before {what}\n{self.stdout}\n{self.stderr}"
            time.sleep(0.02)
        return self

    def ended(self, code: int = 0, seconds: float = 90) -> Script:
        try:
            found = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)  # its threads write where they are
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            self.process.kill()
            raise AssertionError(f"still running after {seconds} s\n{self.stdout}\n{self.stderr}") from None
        assert found == code, f"exit code {found}\n{self.stdout}\n{self.stderr}"
        return self


BENCH = str(Path(__file__).resolve().parents[1] / "bench")  # measures and two network namespaces, for tests that count
sys.path.insert(0, BENCH)
PRELUDE = """
import faulthandler, json, os, signal, sys, time
faulthandler.enable()
import pounce
def report(**facts):
    print("REPORT " + json.dumps(facts), flush=True)
def error_of(call):
    try:
        call()
    except BaseException as e:
        return dict(type=type(e).__name__, text=str(e), context=dict(getattr(e, "context", {}) or {}))
def pounced_pid():
    import pathlib
    (file,) = pathlib.Path(os.environ["HOME"]).glob(".local/state/pounce/*/*/endpoint")
    return json.loads(file.read_text().splitlines()[0])["pid"]
def files_with(*secrets):
    # The files of the home that have one of these texts, except scripts of the test; and how many were looked through.
    import pathlib
    found, looked = [], 0
    for path in pathlib.Path(os.environ["HOME"]).rglob("*"):
        try:
            data = b"" if path.name.startswith("script") or not path.is_file() else path.open("rb").read(1 << 26)
        except FileNotFoundError:  # removed since its folder was listed
            continue
        looked += bool(data)
        found += [str(path)] * any(secret.encode() in data for secret in secrets)
    return found, looked
"""


class Home:
    def __init__(self, folder: Path, **config):
        self.folder = folder
        self.config = folder / "pounced.json"
        self.config.write_text(json.dumps({"launcher": "local", "stand_in_gpus": 1, "daemon_idle_exit_s": 30, **config}))
        (folder / "run").mkdir(mode=0o700)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "POUNCE_LOG"))},
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "POUNCE_CONFIG": str(self.config),
        }
        self._scripts: list[Script] = []

    def start(self, program: str) -> Script:
        number = len(self._scripts)
        path = self.folder / f"script{number}.py"
        bench = f"import sys; sys.path.insert(1, {BENCH!r})\n" if "pounce_bench" in program else ""
        path.write_text(bench + PRELUDE + textwrap.dedent(program))
        out, err = self.folder / f"out{number}", self.folder / f"err{number}"
        with out.open("w") as stdout, err.open("w") as stderr:
            process = subprocess.Popen(
                [sys.executable, str(path)], cwd=self.folder, env=self.environment, stdout=stdout, stderr=stderr
            )
        script = Script(process, out, err)
        self._scripts.append(script)
        return script

    def run(self, program: str, code: int = 0, seconds: float = 90) -> Script:
        return self.start(program).ended(code, seconds)

    def endpoints(self) -> list[dict]:
        """What each pounced here says of itself: its file's first line; the second is a seal."""
        return [json.loads(file.read_text().splitlines()[0]) for file in self.folder.glob(".local/state/pounce/*/*/endpoint")]

    def endpoint(self) -> dict:
        (endpoint,) = self.endpoints()
        return endpoint

    def close(self) -> None:
        for script in self._scripts:
            if script.process.poll() is None:
                script.process.kill()
                script.process.wait()
        for endpoint in self.endpoints():
            _end(endpoint["pid"])


def _end(pid: int) -> None:
    try:
        if "pounced" not in Path(f"/proc/{pid}/comm").read_text():
            return
        os.kill(pid, signal.SIGTERM)
    except (FileNotFoundError, ProcessLookupError):
        return


def resources(**fields) -> Options:
    return Options(_core.Resources(**fields))


@contextlib.contextmanager
def made_home(**config):
    folder = Path(tempfile.mkdtemp(prefix="pounce-home-"))
    made = Home(folder, **config)
    yield made
    made.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def home(request):
    """Somebody's home with a configuration for the local launcher: `home.run("...")` runs a program of theirs."""
    with made_home(**getattr(request, "param", {})) as made:
        yield made


@pytest.fixture(scope="module")
def module_home():
    """The same for tests that look at one program from several sides."""
    with made_home() as made:
        yield made


@pytest.fixture
def folder(tmp_path) -> Path:
    """Of a saved state; it is not made yet."""
    return tmp_path / "state"
