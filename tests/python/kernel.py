"""A real kernel in somebody's home, and what its cells show."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

from conftest import made_home
from jupyter_client.manager import KernelManager

SECONDS = 120  # for anything: the machine may be busy
# An interpreter that sees an empty folder where the notebook's saved variables are, as on a node that shares no file system.
APART = """#!/bin/sh
exec unshare --mount sh -c '
    for each in "$HOME"/.local/state/pounce/*/parked; do mount -t tmpfs none "$each"; done
    exec "$0" "$@"' {python} "$@"
"""
CAN_BE_APART = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0


@dataclass
class Shown:
    """Everything that one cell showed, in order."""

    messages: list[dict] = field(default_factory=list)
    reply: dict = field(default_factory=dict)

    def of(self, kind: str) -> list[dict]:
        return [m["content"] for m in self.messages if m["msg_type"] == kind]

    def stream(self, name: str) -> str:
        return "".join(content["text"] for content in self.of("stream") if content["name"] == name)

    @property
    def stdout(self) -> str:
        """What the cell printed, without pounce's own lines. One in grey may come a moment later, and still be this cell's."""
        return "".join(line for line in self.stream("stdout").splitlines(True) if not line.startswith(("pounce: ", "\x1b[90mpounce: ")))

    @property
    def said(self) -> str:
        return "".join(line for line in self.stream("stdout").splitlines(True) if line.startswith("pounce: "))

    @property
    def value(self) -> str:
        (result,) = self.of("execute_result")
        return result["data"]["text/plain"]

    @property
    def error(self) -> dict:
        (error,) = self.of("error")
        return {**error, "text": "\n".join(error["traceback"])}

    @property
    def kinds(self) -> list[str]:
        """In order, without what every cell has."""
        return [m["msg_type"] for m in self.messages if m["msg_type"] not in ("status", "execute_input")]


class Notebook:
    def __init__(self, home):
        self.home = home
        self.seen: list[dict] = []  # every message of every cell, in order
        # Free ports of this machine are taken by others before the kernel binds them.
        sockets = tempfile.mkdtemp(prefix="kernel-", dir=home.folder)
        self.manager = KernelManager(kernel_name="python3", transport="ipc", ip=f"{sockets}/socket")
        self.manager.start_kernel(env=home.environment, cwd=str(home.folder))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=SECONDS)

    def start(self, source: str, allow_stdin: bool = False) -> str:
        return self.client.execute(source, allow_stdin=allow_stdin)

    def ended(self, cell: str, until=None) -> Shown:
        """All that the cell shows, until it ends, or until `until` is true of it."""
        shown, deadline = Shown(), time.monotonic() + SECONDS
        while True:
            message = self.client.get_iopub_msg(timeout=max(0, deadline - time.monotonic()))
            self.seen.append(message)
            if message["parent_header"].get("msg_id") != cell:
                continue
            assert until is None or message["content"].get("execution_state") != "idle", f"ended before that: {shown}"
            shown.messages.append(message)
            if until is not None and until(shown):
                return shown
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
        while True:
            reply = self.client.get_shell_msg(timeout=max(0, deadline - time.monotonic()))
            if reply["parent_header"].get("msg_id") == cell:
                shown.reply = reply["content"]
                return shown

    def asked(self, answer: str | None) -> tuple[str, bool]:
        """Waits for a question, answers it if `answer` is text; returns (prompt, whether it is for a password)."""
        question = self.client.get_stdin_msg(timeout=SECONDS)["content"]
        if answer is not None:
            self.client.input(answer)
        return question["prompt"], question["password"]

    def completed(self, line: str) -> list[str]:
        return self.completion(line)["matches"]

    def completion(self, text: str) -> dict:
        """What the tab key gets behind the text."""
        return self._answered(self.client.complete(text))

    def inspected(self, name: str, detail: int) -> dict:
        return self._answered(self.client.inspect(name, detail_level=detail))

    def comms(self) -> dict:
        """As a page that is opened again asks for them."""
        return self._answered(self.client.comm_info())["comms"]

    def _answered(self, asked: str) -> dict:
        while True:
            reply = self.client.get_shell_msg(timeout=SECONDS)
            if reply["parent_header"].get("msg_id") == asked:
                return reply["content"]

    def run(self, source: str) -> Shown:
        return self.ended(self.start(source))

    def until_saved(self, name: str) -> None:
        """Waits until that variable is in a saved state: the next cell may begin, and fail, before."""
        deadline, parked = time.monotonic() + SECONDS, self.home.folder / ".local/state/pounce"
        while not any(f'"{name}"' in manifest.read_text() for manifest in parked.glob("*/parked/*/manifest-*.json")):
            assert time.monotonic() < deadline, f"{name} was not saved"
            time.sleep(0.02)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def set_apart(home) -> None:
    """Workers of kernels in this home do not see what is saved."""
    python = home.folder / "python"
    python.write_text(APART.format(python=sys.executable))
    python.chmod(0o755)
    add_startup_file(home, "apart.py", f"import sys; sys.executable = {str(python)!r}")


def add_startup_file(home, name: str, text: str) -> None:
    """A file that IPython runs in each new kernel of this home."""
    startup = home.folder / ".ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    (startup / name).write_text(text)


@contextmanager
def notebook_at_home(first_cell: str, apart: bool = False, startup: dict[str, str] | None = None):
    """A kernel in a home of its own, on workers of the local launcher; `first_cell` has run in it. `startup`: texts of
    files that IPython runs first, by their names."""
    with made_home(idle_release_s=600) as home:
        for name, text in (startup or {}).items():
            add_startup_file(home, name, text)
        if apart:
            set_apart(home)
        notebook = Notebook(home)
        assert not notebook.run(first_cell).of("error")
        yield notebook
        notebook.run("%pounce release")
        notebook.close()
