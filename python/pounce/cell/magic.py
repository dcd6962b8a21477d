"""``%%pounce`` and ``%pounce``: the way in from a notebook."""

from __future__ import annotations

import ast
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from .. import errors
from .._common.names_shown import LAST
from .._common.quiet_compile import python_of, quiet_compile
from .._common.settings.shell import names_read
from .._engine.shell import cell_begins
from . import attaching, gang_cells, holding
from .completion import Completion
from .held_cells import HELD, HeldCells
from .look import register as look
from .names import imported, is_import, reads
from .options_line import PARSER, CellLine, parse_cell, parse_verb, with_options
from .remote import Remote
from .traceback import syntax_error
from .verbs import VERBS
from .waits import cells as waits
from .widgets import register as widgets


def load(shell: Any) -> None:
    """Registers the magics. A second call does nothing."""
    if "pounce" in shell.magics_manager.magics["cell"]:
        return
    magics = PounceMagics(shell)
    shell.register_magics(magics)
    cell_begins()
    shell.events.register("pre_run_cell", cell_begins)
    shell.events.register("post_run_cell", magics.remote.cell_ended)
    magics.completion.register(shell)
    look.register(shell, magics.remote)
    widgets.register(shell, magics.remote)
    magics.held_cells.register()
    attaching.register(magics.remote)


@magics_class
class PounceMagics(Magics):
    def __init__(self, shell: Any):
        super().__init__(shell)
        self.remote = Remote(shell)
        self.held_cells = HeldCells(shell, lambda: self.remote.hold is not None)
        self.completion = Completion(self.remote.own, self.remote.workers.held_names)

    @with_options("""
        After an error a %%pounce cell of %debug looks into the worker's frames.
        See also %pounce vars | pull x,y | push a,b | parked | settings | restore | status | explain | restart | hold |
        release | batch | serve | panel | timings | attach (followed by the cell's options)""")
    @cell_magic("pounce")  # type: ignore[arg-type]
    def cell(self, line: str, cell: str) -> Any:
        """Runs this cell on a worker: a GPU, or the memory and CPUs that you ask for, leased for as long as there is
        work.

            %%pounce --gpu 1
            model = train(Net().cuda(), loader)

        Variables, functions and classes of the notebook that the cell reads are sent along (only what the worker
        lacks, or what changed). What the cell assigns stays on the worker, for the next %%pounce cell; when the worker
        goes it is saved, and the next one restores what a cell reads. Prints, progress bars, figures and tracebacks
        appear here as they come. The stop button stops the cell on the worker and keeps the worker's variables; while
        the cell still waits for its turn, it takes the request back.
        """
        if line == HELD:
            return self._on_held(cell)
        cell_line = _usage(parse_cell, line)
        if cell_line.help:
            return print(PARSER.format_help())
        if cell_line.local:
            raise UsageError("--local stands alone behind %%pounce, which is the cell's first line")
        tree = self._parsed(cell)
        holding.look(self.remote)
        return self._run(cell_line, tree, cell, line) if tree is not None else None

    def _on_held(self, cell: str) -> Any:
        tree = self._parsed(cell, magic_line=False)
        if tree is None:
            return None
        return holding.run(self.remote, CellLine(), lambda cell_line: self._run(cell_line, tree, cell))

    def _run(self, cell_line: CellLine, tree: ast.Module, cell: str, said: str = "") -> Any:
        remote = self.remote
        remote.require(cell_line.sends or ())
        read = reads(tree) | names_read(cell)
        wanted = [name for name in read if remote.is_ours(name) or name in LAST]
        if cell_line.sends is not None:
            wanted = [*cell_line.sends, *(name for name in wanted if is_import(remote.shell.user_ns.get(name)))]
        if cell_line.target.options.resources.nodes > 1:
            _usage(gang_cells.check, cell_line)
            return remote.run_on_ranks(cell_line, list(filter(remote.is_ours, wanted)), cell)
        cell_line = remote.workers.settled(cell_line)
        values = [remote.shell.user_ns[name] for name in wanted if remote.is_ours(name)]
        remote.workers.will_import(cell_line.target, imported(tree), values)
        if cell_line.held:
            return remote.run(cell_line, wanted, cell)
        run = waits.run_behind if cell_line.background else waits.run
        return run(remote, cell_line, wanted, cell, said)

    @line_magic("pounce")  # type: ignore[arg-type]
    def line(self, line: str) -> Any:
        """Looks after the workers of %%pounce cells. Options after the names say which worker is meant, as in the cell.

        %pounce status           which workers this notebook has
        %pounce explain          what waits, why, and what Slurm says about it
        %pounce explain 48213    a job of this notebook, or a batch run by its name, as a script and what does the same
                                 in a terminal
        %pounce vars             the variables on the worker
        %pounce pull x,y         brings variables into the notebook
        %pounce push a,b         sends variables of the notebook
        %pounce parked           what is saved of variables on workers, and what cannot be
        %pounce settings         which settings of the notebook its workers have, and which cannot follow
        %pounce restore a,b      brings what an earlier kernel had saved; without names all of it
        %pounce restart          a new Python on the same worker: its variables are gone, its GPU stays
        %pounce hold --gpu 1     takes a worker and keeps it, busy or not: the following cells run there without a
                                 magic, until release, or hold --off; a cell that begins with %%pounce --local runs here
        %pounce release          gives all workers back, which save their variables first
        %pounce batch train.ipynb -p lr=1e-3 --class lion --submit
                                 as a batch job, which needs no kernel: a job script with these resources; see
                                 %pounce batch --help
        %pounce attach training  a cell that goes on without its kernel (--bg, --keep), by its name, else the last one:
                                 its output from the beginning, its variables and its error; --list names them
        %pounce panel            your leases and background cells as a picture, live, with buttons
        %pounce serve            the models and functions that this notebook serves
        %pounce serve stop digits
                                 ends one
        %pounce timings          where the time of the last ten cells went, until the first output and the first loss;
                                 --json
        """
        verb, cell_line, names = _usage(parse_verb, line)
        if cell_line.help:
            return print(PARSER.format_help())
        if verb == "hold":
            self.held_cells.hold_begins()
        if verb in ("pull", "push") and not names:
            raise UsageError(f"%pounce {verb} takes names of variables, such as a,b")
        return VERBS[verb](self.remote, self.remote.workers.settled(cell_line), names)

    def _parsed(self, cell: str, magic_line: bool = True) -> ast.Module | None:
        """A SyntaxError is raised here, and nothing is sent. The line of the magic counts as a line."""
        shell, above = self.remote.shell, "\n" * magic_line
        compiler, code = shell.compile, above + cell
        try:
            code = above + python_of(shell, cell)
            filename = compiler.cache(code, self.remote.number())
            flags = compiler.flags | ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            tree = quiet_compile(code, filename, flags)
        except SyntaxError as error:
            raise syntax_error(shell, error) from None
        return tree if tree.body else None


def _usage(parse: Any, line: Any) -> Any:
    try:
        return parse(line)
    except errors.BadRequest as error:
        raise UsageError(str(error)) from None
