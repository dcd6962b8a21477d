"""Notebooks that nbclient executes as a user of the cluster, and what their cells show in the end."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
from login_node import ROOT
from nbformat.v4 import new_code_cell, new_notebook


class Executed:
    """A notebook that runs, and what its cells show in the end."""

    def __init__(self, alice, notebook: Path, seconds: int = 150, **environment):
        self.seconds = seconds
        self.folder = alice.folder / f"notebook{alice.count}"
        self.folder.mkdir(mode=0o777)
        self.folder.chmod(0o777)  # alice writes there
        program = shutil.copy(ROOT / "packaging" / "run_notebook.py", self.folder)
        mine = shutil.copy(notebook, self.folder)
        self.saved = self.folder / "executed.ipynb"
        self.run = alice.start(["python", "-u", program, mine, "--output", str(self.saved), "--seconds", str(seconds)], **environment)

    def notebook(self):
        self.run.ended(self.seconds + 20)
        return nbformat.read(self.saved, as_version=4)

    def cells(self) -> list:
        return code_cells(self.notebook())


def code_cells(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def written(alice, *sources: str, fails: tuple[int, ...] = ()) -> Path:
    cells = [new_code_cell(source, metadata={"tags": ["raises-exception"]} if number in fails else {})
             for number, source in enumerate(sources)]
    path = alice.folder / "written.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return path


def printed(cell) -> str:
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


def shown(cell, kind: str) -> list:
    """What it displays, without the empty rest of the line under a cell on a GPU."""
    return [output.data[kind] for output in cell.outputs if output.output_type in ("display_data", "execute_result")
            and output.data.get(kind)]
