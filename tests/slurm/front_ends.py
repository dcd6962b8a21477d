"""Pages beside JupyterLab's own: a notebook that two people write together, the classic notebook, and marimo's."""

from __future__ import annotations

import contextlib

from browser import Browser, BrowserError
from hub import FRONT_ENDS
from lab import SECONDS, SITE, Cell, Lab
from login_node import Running, User, wait_until


class Together(Lab):
    """JupyterLab with collaboration: the notebook is the server's, and each page shows it."""

    program = FRONT_ENDS / "jupyter-lab"

    def second_page(self) -> Lab:
        """The same notebook in a browser of another person's: a profile, and so a client, of its own."""
        other = object.__new__(type(self))
        other.folder = self.folder
        (self.folder / "second").mkdir()
        (self.folder / "second").chmod(0o777)
        other.browser = Browser(self.browser.address, self.folder / "second")
        other.open()
        return other


class ClassicCell(Cell):
    """A code cell of the classic notebook's page."""

    found = "return [...document.querySelectorAll('#notebook .code_cell')][arguments[0]]"
    prompt_selector, output_selector = ".input_prompt", ".output_wrapper"

    @property
    def prompt(self) -> str:
        return super().prompt.removeprefix("In").strip()

    def select(self) -> None:
        self._browser.script(f"{self.found}.scrollIntoView({{block: 'nearest'}})", self._number)
        self._browser.click(f"#notebook .code_cell:nth-child({self._number + 1} of .code_cell) .input_prompt")


class Classic(Lab):
    program, page, cells = FRONT_ENDS / "jupyter-nbclassic", "notebooks", ClassicCell

    def click(self, command: str) -> None:
        name = command.partition(":")[2]
        self.browser.click(f"#maintoolbar [data-jupyter-action='jupyter-notebook:{name}']")

    def _wait_for_kernel(self) -> None:
        def look() -> bool:
            try:
                return self.browser.script("return document.querySelector('#kernel_indicator_icon.kernel_idle_icon') != null"
                                           " && document.querySelector('#notebook .code_cell') != null")
            except BrowserError:  # the page is still loading
                return False

        wait_until(look, SECONDS, "the page has a kernel that is idle")


class Marimo:
    """A notebook of marimo's as an app that others may look at: ``marimo run``."""

    command = "run"

    def __init__(self, user: User, source: str):
        self.folder = user.folder / "marimo"
        for folder in (self.folder, self.folder / "profile"):
            folder.mkdir()
            folder.chmod(0o777)  # the user writes there
        notebook = self.folder / "notebook.py"
        notebook.write_text(source)
        notebook.chmod(0o666)
        self.server = user.start(["marimo", self.command, str(notebook), "--headless", "--no-token", "--port=8888"])
        self.browser = Lab.begun(user, self.folder / "profile")
        wait_until(lambda: "URL: " in self.server.output, SECONDS, "the server listens")
        self.browser.open(SITE)

    @property
    def shown(self) -> str:
        try:
            return self.browser.script("return document.body.innerText")
        except BrowserError:  # the page is still loading
            return ""


class MarimoEditor(Marimo):
    """The same as its author has it: ``marimo edit``."""

    command = "edit"

    def run(self) -> None:
        """All cells. The button is pressed again where nothing runs, as a user does: the page draws it before it has its kernel."""
        def runs() -> bool:
            with contextlib.suppress(BrowserError, AssertionError):  # the page is still loading
                self._click("run")
                return wait_until(lambda: "running" in self._states(), 5, "a cell runs")
            return False

        wait_until(runs, SECONDS, "a cell runs")

    def stop(self) -> None:
        self._click("interrupt")

    def _states(self) -> list[str]:
        return self.browser.script("return [...document.querySelectorAll('[data-testid=cell-status]')].map(cell => cell.dataset.status)")

    def _click(self, button: str) -> None:
        self.browser.click(f"[data-testid=chrome-controls-bottom-right] [data-testid={button}-button]")
