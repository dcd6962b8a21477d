"""VS Code's Jupyter extension as a client: the messages that it sends to a kernel, in its order and with its fields.

Recorded from its public source (microsoft/vscode-jupyter), in words of our own: what differs from JupyterLab is that it sends no
comm_info_request, sets stop_on_error to False, runs code of its own without history, and restarts by killing.
"""

from __future__ import annotations

import json
import re
import signal
import time
from typing import Any

import psutil
from kernel import SECONDS, Notebook, Shown

CELL = {"silent": False, "stop_on_error": False, "allow_stdin": True, "store_history": True}
OWN = {**CELL, "store_history": False}  # code of the extension's; it is not silent, since its prints are read
AT_THE_START = [
    'try:\n    import ipywidgets as _VSCODE_ipywidgets\n    print("widgets: " + _VSCODE_ipywidgets.__version__)\n'
    "    del _VSCODE_ipywidgets\nexcept:\n    pass",
    "import os as _VSCODE_os\nimport sys as _VSCODE_sys\nimport builtins as _VSCODE_builtins\n"
    "if _VSCODE_os.getcwd() not in _VSCODE_sys.path:\n    _VSCODE_sys.path.insert(0, _VSCODE_os.getcwd())\n"
    "del _VSCODE_os, _VSCODE_sys, _VSCODE_builtins",
    "__vsc_ipynb_file__ = {notebook!r}",
]
# The view of variables, after each cell: a function, the names, one question for each of them, and all is removed again.
DEFINED = '''def _VSCODE_getVariable(kind, *names):
    import json
    of = lambda name: globals()[name]
    if kind == "types":
        found = {name: type(of(name)).__name__ for name in names[0]}
    else:
        found = {"value": repr(of(names[0]))[:50], "count": len(of(names[0])) if hasattr(of(names[0]), "__len__") else 0}
    print(json.dumps(found))'''
NAMES = '_VSCODE_names = %who_ls\n_VSCODE_getVariable("types", [name for name in _VSCODE_names if not name.startswith("_VSCODE")])'
DETAILS = '_VSCODE_getVariable("info", {name!r})'
REMOVED = "del _VSCODE_getVariable, _VSCODE_names"


class VsCode(Notebook):
    """A notebook that VS Code has opened: its kernel has run the extension's first lines."""

    def __init__(self, home):
        super().__init__(home)
        for source in AT_THE_START:
            self.own(source.format(notebook=str(home.folder / "training.ipynb")))
        self.completion("")  # it makes the completer import what it needs

    def start(self, source: str, allow_stdin: bool = True) -> str:
        return self._sent(CELL, source, {"cellId": f"vscode-notebook-cell:/training.ipynb#{len(self.seen)}"})

    def own(self, source: str) -> Shown:
        return self.ended(self._sent(OWN, source, {}))

    def _sent(self, fields: dict[str, Any], source: str, metadata: dict[str, Any]) -> str:
        message = self.client.session.msg("execute_request", {**fields, "code": source, "user_expressions": {}}, metadata=metadata)
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def variables(self) -> dict[str, dict]:
        """What the view of variables shows: type, value and length of each."""
        self.own(DEFINED)
        types = json.loads(self.own(NAMES).stream("stdout"))
        rows = {name: {"type": kind, **json.loads(self.own(DETAILS.format(name=name)).stream("stdout"))} for name, kind in types.items()}
        self.own(REMOVED)
        return rows

    def interrupt(self) -> None:
        """To the process, as a kernel of Python is interrupted; no message."""
        psutil.Process(self.manager.provisioner.pid).send_signal(signal.SIGINT)

    def kill(self) -> None:
        """The first half of its restart: all processes below the kernel's, and then itself, without a shutdown_request."""
        kernel = psutil.Process(self.manager.provisioner.pid)
        for below in kernel.children(recursive=True):
            below.kill()
        kernel.terminate()
        deadline = time.monotonic() + SECONDS
        while self.manager.is_alive():
            assert time.monotonic() < deadline, "the kernel goes on after its SIGTERM"
            time.sleep(0.02)
        self.client.stop_channels()
        self.manager.cleanup_resources()

    def restarted(self) -> VsCode:
        self.kill()
        return VsCode(self.home)


def outputs(shown: Shown) -> list[tuple]:
    """As the cell shows them: texts of one stream together, without pounce's own lines; ("error", type, words)."""
    drawn: list[tuple] = []
    for message in shown.messages:
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            text = "".join(line for line in content["text"].splitlines(True) if not line.startswith(("pounce: ", "\x1b[90mpounce: ")))
            if drawn and drawn[-1][0] == content["name"]:
                text = drawn.pop()[1] + text
            drawn += [(content["name"], text)] if text else []
        elif kind in ("display_data", "update_display_data", "execute_result"):
            drawn.append((kind, content["data"]))
        elif kind == "error":
            drawn.append((kind, content["ename"], re.sub(r"\d+\.py", "cell.py", content["evalue"])))
    return drawn
