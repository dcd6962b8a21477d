"""Executes a notebook as a user would: cell after cell, showing what each prints while it runs.

The executed notebook, figures included, is written beside the original. Exit code 1: a cell failed, and the
last lines say which and why.
"""

import argparse
import pathlib
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbclient.output_widget import OutputWidget
from traitlets.config import Config


class SilentOutput(OutputWidget):
    """Tells the kernel nothing of what it shows: a message sent while the cell's reply is awaited can hide it (docs/gotchas.md, P15)."""

    def send(self, *_, **__):
        pass


class Narrator(NotebookClient):
    """A notebook client that tells on standard output what happens, while it happens."""

    def begin(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        self.current = "starting the kernel"
        self.code_cells = sum(cell.cell_type == "code" for cell in self.nb.cells)
        self.timeout_func = lambda cell: max(1, round(self.deadline - time.monotonic()))
        self.number = 0
        self.widget_registry["@jupyter-widgets/output"]["OutputModel"] = SilentOutput

    async def async_execute_cell(self, cell, cell_index, **options):
        if cell.cell_type != "code" or not cell.source.strip():
            return await super().async_execute_cell(cell, cell_index, **options)
        self.number += 1
        first_line = cell.source.strip().splitlines()[0]
        self.current = f"cell {self.number} ({first_line})"
        say(f"── cell {self.number}/{self.code_cells}: {first_line}\n")
        started = time.monotonic()
        cell = await super().async_execute_cell(cell, cell_index, **options)
        say(f"── {time.monotonic() - started:.1f} s\n")
        return cell

    def output(self, outs, msg, display_id, cell_index):
        narrate(msg["msg_type"], msg["content"])
        return super().output(outs, msg, display_id, cell_index)


def narrate(kind: str, content: dict) -> None:
    if kind == "stream":
        say(content["text"])
    elif kind in ("display_data", "execute_result"):
        say(summary(content["data"]) + "\n")


def summary(data: dict) -> str:
    """What a terminal can show of an output: its text, or that a figure is in the saved notebook."""
    pictures = [kind for kind in data if kind.startswith("image/")]
    return f"[figure: {pictures[0]}, in the saved notebook]" if pictures else data.get("text/plain", "")


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def explain(error: Exception, current: str, seconds: float) -> str:
    """One line: where and why."""
    if isinstance(error, CellTimeoutError):
        return f"{current} did not end within the {seconds:g} s that this notebook may take"
    if isinstance(error, CellExecutionError):
        return f"{current} raised {error.ename}: {error.evalue}"
    if isinstance(error, DeadKernelError):
        return f"the kernel died in {current}"
    return f"{current}: {type(error).__name__}: {error}"


def execute(path: pathlib.Path, saved: pathlib.Path, seconds: float) -> str | None:
    """Runs the notebook from its own folder and saves it, failed or not; returns the reason of a failure."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="kernel-") as sockets:
        narrator = Narrator(notebook, config=private_kernel(sockets), resources={"metadata": {"path": str(path.parent)}})
        narrator.begin(seconds)
        try:
            narrator.execute()
        except Exception as error:
            if isinstance(error, CellExecutionError):
                say(error.traceback + "\n")
            return explain(error, narrator.current, seconds)
        finally:
            nbformat.write(notebook, saved)
    return None


def private_kernel(folder: str) -> Config:
    """Sockets in a folder that only its owner enters: TCP would show cells and outputs to others on this machine."""
    return Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})


def report(file: pathlib.Path, name: str, seconds: float, reason: str | None) -> None:
    """What became of this run, as test reports say it (JUnit)."""
    suite = xml.Element("testsuite", name="notebook", tests="1", failures=str(int(reason is not None)))
    case = xml.SubElement(suite, "testcase", classname="notebook", name=name, time=f"{seconds:.1f}")
    if reason is not None:
        xml.SubElement(case, "failure", message=reason)
    xml.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebook", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, help="default: NOTEBOOK with -executed before its suffix")
    parser.add_argument("--seconds", type=float, default=240, help="for the whole notebook; default %(default)s")
    parser.add_argument("--junit", type=pathlib.Path, metavar="FILE", help="also write there what became of the run")
    options = parser.parse_args()
    path = options.notebook.resolve()
    saved = options.output or path.with_name(path.stem + "-executed.ipynb")
    started = time.monotonic()
    reason = execute(path, saved, options.seconds)
    if options.junit:
        report(options.junit, saved.stem, time.monotonic() - started, reason)
    if reason:
        say(f"run_notebook: {reason}\nrun_notebook: the notebook so far is in {saved}\n")
        return 1
    say(f"notebook done in {time.monotonic() - started:.1f} s, saved as {saved}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
