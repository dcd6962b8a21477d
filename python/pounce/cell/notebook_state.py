"""One namespace of this notebook on workers: which worker has it, where it is saved, and what it is known to hold."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sys
import time
from typing import Any

from .._common import here
from .._common.cell_protocol import NamespaceRequest, SettingsChange
from .._worker.state.folder import Folder
from .._worker.state.key import made_key
from .ledger import Ledger
from .target import Target

_LEAVING_S = 60.0  # a departing worker may need this long to save the last changes
ABOUT = "about.json"


class NotebookState:
    def __init__(self) -> None:
        self.ledger = Ledger()
        self.target: Target | None = None  # of the line that requested its last worker
        self.cells: dict[int, str] = {}
        self.setup: list[tuple[int, str]] = []  # cells, number and source, that run on each new worker
        self.held = False  # its worker stays, busy or not, until the notebook gives it back
        self.begin()

    def begin(self) -> None:
        """Starts a new namespace: nothing that was made on workers is there any more."""
        self.id = os.urandom(8).hex()
        self.folder = self.problem = ""  # `problem`: why the last worker could not save it
        self.holder = ""  # that worker's interpreter; empty: none has had it yet
        self.turn = 0  # of the last request sent
        self.settings = 0  # the number of the last change of settings that it has
        self.after = 0  # of the last one that has run, as far as is known, or surely will run before the next
        self.crashed = False  # the last worker died: what it had not saved will not come
        self.widgets: dict[str, str] = {}  # by the comm's id: the variable that each is, or is in
        self.out_of_time = False  # a cell was interrupted since the time of its worker ends
        self.unshared = False  # the last worker does not see the folder, so the kernel brings what that saves
        self.ledger.back_to(-1)

    def next_request(self, most_bytes: int | None, settings: SettingsChange) -> NamespaceRequest:
        self.turn += 1
        patience_s = 0.0 if self.crashed or self.problem else _LEAVING_S
        return NamespaceRequest(self.id, self.folder, self.turn, self.after, patience_s, most_bytes, self.setup,
                                settings)

    def has_run(self, turn: int, holder: str, problem: str) -> None:
        self.after = max(self.after, turn)
        self.holder, self.problem, self.crashed = holder, problem, False

    def make_folder(self, root: str) -> None:
        """Makes the folder where workers save the namespace, if there is none (any more)."""
        if not os.path.isdir(self.folder):
            self.folder = _made(root, self.id, self._about())

    def note_setup(self, number: int) -> None:
        """From now on the cell runs on each new worker."""
        source = self.cells[number]
        self.setup = [*(one for one in self.setup if one[1] != source), (number, source)]
        if self.folder:
            _write(self.folder, self._about())

    def adopted(self, setup: list[tuple[int, str]]) -> None:
        """Another state was merged into this one on the disk: the next worker has it from there."""
        self.turn += 1
        self.after = self.turn
        self.setup += [(number, source) for number, source in setup if all(source != known for _, known in self.setup)]
        _write(self.folder, self._about())

    def remove(self) -> None:
        """Removes what is saved."""
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _about(self) -> dict[str, Any]:
        return {"notebook": notebook(), "host": socket.gethostname(), "pid": os.getpid(),
                "python": sys.version.split()[0], "began": time.time(), "setup": self.setup}


def notebook() -> str:
    """The notebook's path, if Jupyter gives it; else the folder that the kernel runs in."""
    path = os.environ.get("JPY_SESSION_NAME", "")
    return here.absolute(path) if path else here.folder()


def _made(root: str, name: str, about: dict[str, Any]) -> str:
    with contextlib.suppress(FileExistsError):
        os.mkdir(root, 0o700)
    made_key(root)
    folder = os.path.join(root, name)
    _write(folder, about)
    return folder


def _write(folder: str, about: dict[str, Any]) -> None:
    with contextlib.closing(Folder.made(folder)) as opened:
        opened.write(ABOUT, [memoryview(json.dumps(about).encode())])
