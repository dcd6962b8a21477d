"""JupyterLab on a login node as a user has it: a server of theirs, and a browser that shows its page."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import nbformat
import psutil
from browser import END, PORT, Browser, BrowserError
from login_node import ROOT, Running, User, wait_until
from nbformat.v4 import new_code_cell, new_notebook

JUPYTER = Path("/opt/pounce-lab/bin/jupyter-lab")
PICTURES = ROOT / "build" / "logs"
SITE = "http://127.0.0.1:8888"
SECONDS = 120  # for anything: the machine may be busy

# The server's own environment has no pounce: the kernel is the `python` that the user has on PATH.
KERNEL = {"argv": ["/usr/bin/env", "python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
          "display_name": "Python", "language": "python"}
SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}


class Cell:
    """One code cell of the page, as it is shown now."""

    found = "return [...document.querySelectorAll('.jp-Notebook .jp-CodeCell')][arguments[0]]"
    prompt_selector, output_selector = ".jp-InputPrompt", ".jp-OutputArea"

    def __init__(self, browser: Browser, number: int):
        self._browser, self._number = browser, number

    @property
    def prompt(self) -> str:
        """``[*]:`` while it runs, ``[3]:`` when it has ended."""
        return self._of(f".querySelector('{self.prompt_selector}').innerText.trim()")

    @property
    def shown(self) -> str:
        """The text of all that it has printed and displayed."""
        return self._of(f".querySelector('{self.output_selector}')?.innerText ?? ''")

    def has(self, selector: str) -> bool:
        """Whether something of that kind is in its output."""
        return self._of(f".querySelector('{self.output_selector}')?.querySelector(arguments[1]) != null", selector)

    def select(self) -> None:
        """A page that has just been opened draws its last cells when it has nothing else to do."""
        wait_until(lambda: self._browser.script(f"{self.found} != undefined", self._number), SECONDS, f"cell {self._number} is drawn")
        self._browser.script(f"{self.found}.scrollIntoView({{block: 'nearest'}})", self._number)
        self._browser.click(f".jp-Notebook .jp-CodeCell:nth-child({self._number + 1} of .jp-CodeCell) .jp-InputPrompt")

    def _of(self, what: str, *arguments):
        return self._browser.script(f"{self.found}{what}", self._number, *arguments)


class Lab:
    """A notebook of these cells, open in a browser, its kernel idle."""

    program, page, toolbar = JUPYTER, "doc/tree", ".jp-NotebookPanel-toolbar"
    listens = "127.0.0.1:8888/"  # in the server's log
    cells = Cell

    def __init__(self, user: User, *sources: str):
        self.folder = user.folder / "lab"
        for folder in (self.folder, self.folder / "profile"):
            folder.mkdir()
            folder.chmod(0o777)  # the user writes there
        self._prepare()
        self._write("training", sources)
        self.user, self.server = user, self._served(user)
        self.browser = self.begun(user, self.folder / "profile")
        wait_until(lambda: self.listens in self.server.output, SECONDS, "the server listens")
        self.open()

    @staticmethod
    def begun(user: User, profile: Path) -> Browser:
        """A browser on the user's login node."""
        driver = user.start(["chromedriver", f"--port={PORT}", "--allowed-ips=", "--allowed-origins=*"])
        wait_until(lambda: "was started successfully" in driver.output, SECONDS, "chromedriver listens")
        return Browser(user.node.address, profile)

    def open(self, name: str = "training") -> None:
        """A notebook, with its kernel or a new one."""
        self._name = name
        self.browser.open(f"{SITE}/{self.page}/{name}.ipynb?token=lab")
        self._wait_for_kernel()

    def open_new(self, name: str, *sources: str) -> None:
        """Another notebook of these cells, with a kernel of its own."""
        self._write(name, sources)
        self.open(name)

    def reopen(self) -> None:
        """Closes the browser, and opens the notebook in another, whose kernel has gone on."""
        self.browser.close()
        profile = self.folder / "second profile"
        profile.mkdir()
        profile.chmod(0o777)
        self.browser = Browser(self.user.node.address, profile)
        self.open(self._name)

    def restart_kernel(self) -> None:
        """By the toolbar's button, which wants to be confirmed."""
        before = self._kernels()
        self.click("notebook:restart-kernel")
        accept = ".jp-Dialog .jp-mod-accept"
        wait_until(lambda: self.browser.script("return document.querySelector(arguments[0]) != null", accept), SECONDS, "it is to be confirmed")
        self.browser.click(accept)
        wait_until(lambda: self._kernels() - before and before - self._kernels(), SECONDS, "another kernel is there")
        self._wait_for_kernel()

    def end_kernels(self) -> None:
        """Those of all notebooks, as a user shuts them down; their workers go back."""
        self.browser.script("""for (const one of await (await fetch('/api/kernels?token=lab')).json())
            await fetch(`/api/kernels/${one.id}?token=lab`, {method: 'DELETE'})""")
        wait_until(lambda: not self._kernels(), SECONDS, "no kernel is left")

    def jobs(self) -> list[dict]:
        """Of the user's daemon."""
        return self.user.jobs(self.user.endpoint()["instance"])

    def _kernels(self) -> set[int]:
        found = set()
        for pid in self.user.node.pids():
            with contextlib.suppress(psutil.Error):
                if "ipykernel_launcher" in psutil.Process(pid).cmdline():
                    found.add(pid)
        return found

    def cell(self, number: int) -> Cell:
        return self.cells(self.browser, number)

    def run(self, number: int) -> Cell:
        """Clicks ▶; returns when the page shows that the cell runs, or has run."""
        cell = self.cell(number)
        cell.select()
        before = cell.prompt
        self.click("notebook:run-cell-and-select-next")
        wait_until(lambda: cell.prompt != before, SECONDS, f"cell {number} runs")
        return cell

    def ran(self, number: int) -> Cell:
        cell = self.run(number)
        self.wait(cell)
        return cell

    def wait(self, cell: Cell) -> None:
        wait_until(lambda: cell.prompt != "[*]:", SECONDS, "the cell ends")

    def put_cursor_behind(self, number: int) -> None:
        """Behind the text of a cell, which is one line."""
        editor = f".jp-Notebook .jp-CodeCell:nth-child({number + 1} of .jp-CodeCell) .cm-content"
        self.browser.script("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", editor)
        self.browser.click(editor)
        self.browser.press(END)

    def text_of(self, selector: str) -> str:
        """Of what stands over the page; empty: it is not there."""
        return self.browser.script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def click(self, command: str) -> None:
        """A button of the notebook's toolbar."""
        self.browser.click(f"{self.toolbar} [data-command='{command}']")

    def _served(self, user: User) -> Running:
        return user.start([str(self.program), "--no-browser", "--ip=127.0.0.1", "--port=8888", "--IdentityProvider.token=lab",
                           f"--ServerApp.root_dir={self.folder}"], **self.places)

    @property
    def places(self) -> dict[str, str]:
        """Where Jupyter has its files: none in the user's home."""
        return {f"JUPYTER_{what}": str(self.folder / place) for what, place in (
            ("CONFIG_DIR", "config"), ("DATA_DIR", "data"), ("RUNTIME_DIR", "runtime"), ("PATH", "share"))}

    def _prepare(self) -> None:
        kernel = self.folder / "share" / "kernels" / "cells"
        settings = self.folder / "config" / "labconfig"
        for folder in (kernel, settings):
            folder.mkdir(parents=True)
        drawn = Path(sys.prefix) / "share" / "jupyter" / "labextensions"  # the pages' halves of widgets that the tests' Python has
        (self.folder / "share" / "labextensions").mkdir()
        for extension in ("jupyter-matplotlib", "anywidget"):
            if (drawn / extension).is_dir():
                (self.folder / "share" / "labextensions" / extension).symlink_to(drawn / extension)
        (self.folder / "config").chmod(0o777)
        (kernel / "kernel.json").write_text(json.dumps(KERNEL))
        (settings / "default_setting_overrides.json").write_text(json.dumps(SETTINGS))

    def _write(self, name: str, sources: tuple[str, ...]) -> None:
        about = {"kernelspec": {"name": "cells", "display_name": "Python", "language": "python"}}
        notebook = self.folder / f"{name}.ipynb"
        nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources], metadata=about), notebook)
        notebook.chmod(0o666)

    def _wait_for_kernel(self) -> None:
        # The status bar, not the toolbar's circle: that one is idle while the page still connects, and a click on ▶ is lost then.
        status = "return document.querySelector('#jp-main-statusbar')?.innerText ?? ''"

        def look() -> bool:
            try:
                return "Python | Idle" in self.browser.script(status)
            except BrowserError:  # the page is still loading
                return False

        wait_until(look, SECONDS, "the page has a kernel that is idle")


class Notebook7(Lab):
    """The same in Notebook 7: a page of one notebook."""

    program, page = JUPYTER.with_name("jupyter-notebook"), "notebooks"

    def _wait_for_kernel(self) -> None:
        """There is no status bar. The circle is idle also while the page still connects, and what it says of that fades when it has."""
        status = ("return document.querySelector('.jp-NotebookKernelStatus-fade') != null && "
                  "document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status == 'idle'")

        def look() -> bool:
            try:
                return self.browser.script(status)
            except BrowserError:  # the page is still loading
                return False

        wait_until(look, SECONDS, "the page has a kernel that is idle")
