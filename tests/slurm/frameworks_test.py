"""Frameworks in %%pounce cells on the real cluster: each example is executed here and there, and shows the same.

The remote notebook is made from the local one: `import pounce` before its cells, and one line at the head of each.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from login_node import ROOT
from nbformat.v4 import new_code_cell
from notebooks import Executed, code_cells, printed, shown, written

EXAMPLES = ROOT / "examples" / "06_frameworks"
COLOURS = "\x1b\\[[0-9;]*m"
SECONDS = 240  # the machine may be busy
WHAT_THE_KERNEL_IMPORTED = "import sys\nsorted({'torch', 'sklearn', 'transformers', 'lightning'} & set(sys.modules))"

OURS = re.compile(r"(\x1b\[90m)?pounce: ")  # a line of pounce's own, perhaps in grey


class Ran:
    """What one execution of an example shows."""

    def __init__(self, notebook, cells: list):
        self.cells = cells
        saved = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
        self._widgets = list(saved.get("state", {}).values())

    @property
    def values(self) -> list[str]:
        """The value of each cell that has one."""
        return [output.data["text/plain"] for cell in self.cells for output in cell.outputs
                if output.output_type == "execute_result"]

    @property
    def printed(self) -> str:
        return "\n".join(line for cell in self.cells for line in printed(cell).splitlines() if not OURS.match(line))

    @property
    def kinds(self) -> list[set[str]]:
        """What kinds of outputs each cell has, without pounce's own."""
        return [{kind for output in cell.outputs for kind in kinds_of(output)} for cell in self.cells]

    def widgets(self, model: str) -> list[dict]:
        """The saved states of all widgets of one model."""
        return [widget["state"] for widget in self._widgets if widget["model_name"] == model]


def kinds_of(output) -> set[str]:
    if output.output_type == "stream":
        return {output.name} if any(line and not OURS.match(line) for line in output.text.splitlines()) else set()
    if output.output_type == "error":
        return {"error"}
    text = output.data.get("text/plain", "its own")  # empty: the line under a cell on a GPU, which is over
    return set() if not text or text.startswith("pounce: ") else set(output.data)


def with_line(local: Path, line: str, last: str = "", folder: Path | None = None) -> Path:
    """The same notebook with this line at the head of each cell, behind `import pounce`."""
    notebook = nbformat.read(local, as_version=4)
    assert not [cell for cell in notebook.cells if "pounce" in cell.source]
    for cell in code_cells(notebook):
        cell.source = f"{line}\n{cell.source}"
    notebook.cells = [new_code_cell("import pounce"), *notebook.cells, *([new_code_cell(last)] if last else [])]
    path = (folder or local.parent) / f"remote_{local.name}"
    nbformat.write(notebook, path)
    return path


def both(alice, name: str) -> tuple[Ran, Ran]:
    """(here, there). There the kernel stays without the framework: all of it is the job's."""
    notebook = with_line(EXAMPLES / f"{name}.ipynb", "%%pounce --gpu 1", WHAT_THE_KERNEL_IMPORTED, alice.folder)
    there = Executed(alice, notebook, SECONDS)
    here = Executed(alice, EXAMPLES / f"{name}.ipynb", SECONDS)
    local, executed = here.notebook(), there.notebook()
    _, *cells, last = code_cells(executed)
    assert shown(last, "text/plain") == ["[]"]
    return Ran(local, code_cells(local)), Ran(executed, cells)


def test_torch_loads_batches_in_processes_of_the_worker_and_shows_its_bar(make_user):
    here, there = both(make_user(), "torch_dataloader")

    assert there.values == here.values and there.values[-1].startswith("([0, 1],")
    assert there.kinds == here.kinds
    for ran in (here, there):
        assert re.findall(r"^epoch (\d): loss 0\.\d{4}$", ran.printed, re.M) == ["1", "2", "3", "4"]
        (bar,) = ran.widgets("FloatProgressModel")
        assert (bar["value"], bar["max"], bar["bar_style"]) == (64.0, 64.0, "success")
        assert any("64/64" in text["value"] for text in ran.widgets("HTMLModel"))


def test_scikit_learn_searches_in_processes_of_the_worker_and_shows_what_they_print(make_user):
    here, there = both(make_user(), "sklearn_n_jobs")

    assert there.values == here.values and there.values[-2].startswith("({'max_depth': 8}")
    assert there.kinds == here.kinds
    for ran in (here, there):
        assert "Fitting 3 folds for each of 3 candidates, totalling 9 fits" in ran.printed
        assert scores(ran) == scores(here) and len(scores(ran)) == 9
        # Which of its lines joblib prints of the nine depends on which thread hears of the last result first.
        assert re.search(r"\[Parallel\(n_jobs=2\)\]: Done +\d (tasks|out of +9) ", ran.printed)  # behind a score, at times: see scores()
        assert re.search(r"^\[Parallel\(n_jobs=2\)\]: Done 100 out of 100 ", ran.printed, re.M)


def scores(ran: Ran) -> list[str]:
    """What the processes have printed, in whichever order. Two may share a line: unbuffered, a text and its newline are two writes."""
    return sorted(re.findall(r"depth \d: 0\.\d{3}", ran.printed))


def test_hugging_face_trains_and_shows_its_table_of_losses(make_user):
    here, there = both(make_user(), "hf_trainer")

    assert there.values == here.values
    assert there.kinds == here.kinds
    assert losses(here) == losses(there) and len(losses(there)) == 3
    for ran in (here, there):
        assert any("[36/36" in html and "Epoch 3/3" in html for cell in ran.cells for html in shown(cell, "text/html"))


def losses(ran: Ran) -> list[tuple[str, ...]]:
    """The table's rows: epoch, training loss, validation loss."""
    (html,) = [html for cell in ran.cells for html in shown(cell, "text/html") if "Validation Loss" in html and "<progress" in html]
    rows = [re.findall(r"<td>(.*?)</td>", row, re.S) for row in re.findall(r"<tr>(.*?)</tr>", html, re.S)]
    return [(epoch, *(f"{float(loss):.3f}" for loss in more)) for epoch, *more in rows if epoch]


def test_lightning_trains_and_rich_draws_its_bar(make_user):
    here, there = both(make_user(), "lightning")

    assert there.values == here.values
    assert there.kinds == here.kinds
    for ran in (here, there):
        (bar,) = ran.widgets("OutputModel")
        drawn = [output["data"]["text/plain"] for output in bar["outputs"] if "data" in output]  # a warning of Lightning's may stand beside it
        # Of the last batches Lightning's own thread may draw none: what it is asked for while it draws, and at the bar's end, is forgotten.
        assert re.search(r"Epoch 2/2 .*\d+/16 .*loss: 0\.\d+", re.sub(COLOURS, "", drawn[-1]))


LAUNCHERS = ["""
import os, subprocess, sys
program = "import os; os.write(1, b'%s of %s;' % (os.environb[b'RANK'], os.environb[b'WORLD_SIZE']))"
torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--no-python"]
done = subprocess.run([*torchrun, sys.executable, "-c", program], capture_output=True, text=True, check=True)
sorted(done.stdout.split(";"))
""", """
import socket, tempfile
from accelerate import notebook_launcher
told = tempfile.mkdtemp()
with socket.create_server(("", 0)) as free:
    port = free.getsockname()[1]
def rank():
    from accelerate import PartialState
    state = PartialState(cpu=True)
    open(f"{told}/{state.process_index} of {state.num_processes}", "w").close()
notebook_launcher(rank, num_processes=2, use_port=str(port))
sorted(os.listdir(told))
""", """
from mpi4py import MPI
program = "from mpi4py import MPI; print(str(MPI.COMM_WORLD.allgather(MPI.COMM_WORLD.Get_rank())) + chr(10), end='')"  # one write each
mpiexec = os.path.join(os.path.dirname(sys.executable), "mpiexec")
done = subprocess.run([mpiexec, "-n", "2", sys.executable, "-c", program], capture_output=True, text=True)
MPI.COMM_WORLD.Get_size(), done.stdout.splitlines(), done.stderr
"""]


def test_launchers_start_their_processes_from_a_cell_as_from_a_plain_kernel(make_user):
    """torchrun, accelerate and mpiexec: each looks for a job of Slurm's in its environment, and would start ranks of its own there."""
    alice = make_user()
    plain = written(alice, *(cell.strip() for cell in LAUNCHERS))
    there, here = Executed(alice, with_line(plain, "%%pounce --cpus 2 --mem 4GB"), SECONDS), Executed(alice, plain, SECONDS)

    local, (_, *executed) = Ran(here.notebook(), code_cells(here.notebook())), code_cells(there.notebook())

    assert local.values == ["['', '0 of 2', '1 of 2']", "['0 of 2', '1 of 2']", "(1, ['[0, 1]', '[0, 1]'], '')"]
    assert Ran(there.notebook(), executed).values == local.values
