"""``%%pounce`` typed into a terminal: `jupyter console`, whose kernel is another process, and plain `ipython`."""

from __future__ import annotations

import sys

import pytest

pexpect = pytest.importorskip("pexpect")

SECONDS = 90


class Terminal:
    """Somebody at a prompt."""

    def __init__(self, home, program: str):
        environment = {**home.environment, "TERM": "dumb", "PROMPT_TOOLKIT_NO_CPR": "1", "COLUMNS": "120"}
        self.child = pexpect.spawn(sys.executable, ["-m", program], cwd=str(home.folder), env=environment, encoding="utf-8",
                                   timeout=SECONDS, dimensions=(50, 120))
        self.prompts(1)

    def shows(self, text: str) -> None:
        """Waits until the terminal shows this."""
        self.child.expect_exact(text)

    def prompts(self, number: int) -> None:
        self.child.expect(rf"In \[[^\n]*?{number}[^\n]*?\]")  # between the characters: colours

    def has_value(self, number: int, value: str) -> None:
        self.child.expect(rf"Out[^\n]*?\[[^\n]*?{number}[^\n]*?\]:[^\n]*{value}")

    def types(self, *lines: str) -> None:
        for line in lines:
            self.child.send(line + "\r")
        if len(lines) > 1:  # two empty lines end a cell of several
            self.child.send("\r\r")

    def close(self) -> None:
        self.child.close(force=True)


@pytest.fixture(params=["jupyter_console", "IPython"])
def terminal(home, request):
    pytest.importorskip(request.param)
    made = Terminal(home, request.param)
    made.types("import pounce")
    made.prompts(2)
    yield made
    made.close()


def test_a_cell_shows_what_it_prints_and_its_value(terminal):
    terminal.types("%%pounce", "print('at', 'work')", "6 * 7")

    terminal.shows("at work")
    terminal.has_value(2, "42")


def test_control_c_stops_the_cell_and_keeps_its_variables(terminal):
    terminal.types("%%pounce", "kept = 40", "import time", "print('at', 'work')", "time.sleep(600)")
    terminal.shows("at work")

    terminal.child.sendintr()

    terminal.shows("KeyboardInterrupt")
    terminal.prompts(3)
    terminal.types("%%pounce", "kept + 2")
    terminal.has_value(3, "42")


def test_a_question_of_the_cell_is_answered_in_the_terminal(terminal):
    terminal.types("%%pounce", "'hello ' + input('your ' + 'name? ')")
    terminal.shows("your name? ")

    terminal.types("alice")

    terminal.has_value(2, "'hello alice'")


@pytest.mark.parametrize("terminal", ["IPython"], indirect=True)
def test_a_bar_that_looks_for_a_page_finds_none_in_ipython_and_moves_as_text(terminal):
    """It was a widget, of which a terminal shows the first text: 0 %."""
    pytest.importorskip("tqdm")

    terminal.types("%%pounce", "from tqdm.auto import tqdm", "for _ in tqdm(range(3), mininterval=0): pass")

    terminal.shows("100%")
    terminal.shows("3/3")
