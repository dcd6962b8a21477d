"""``%%pounce --nodes 2``: every rank of a gang runs the cell. The gang keeps its variables for the next such cell."""

from __future__ import annotations

from typing import Any

from .. import errors
from .._common import bundle
from .._common.cell_protocol import CellCode, CellReply
from .._engine.display import Shown
from .._worker.cell import rank_cell
from ..calls import view_with
from ..client import Client
from ..errors import BadRequest
from ..future import Future
from ..gangs import Gang
from ..gangs.gang import watched
from .loaded_modules import LoadedModules
from .options_line import CellLine
from .target import Target
from .timings.records import Stopwatch
from .traceback import in_words, remote_error

_absent = object()


class GangCells:
    """The gangs of one notebook, one for each target."""

    def __init__(self, shell: Any, modules: LoadedModules):
        self._shell, self._modules = shell, modules
        self._gangs: dict[Target, Gang] = {}
        # What the ranks have assigned, with the notebook's own value of that name at the time.
        self._theirs: dict[Target, dict[str, Any]] = {}

    def run(self, line: CellLine, wanted: list[str], code: CellCode, watch: Stopwatch | None = None) -> Shown | None:
        """Blocks until all ranks have run the cell. Rank 0's output, value, ``--out`` and times are the cell's."""
        theirs = self._theirs.setdefault(line.target, {})
        mine = self._shell.user_ns
        values = {name: mine[name] for name in wanted
                  if theirs.get(name, _absent) is not mine[name] or line.sends is not None}
        try:
            parcel = bundle.dumps(values, by_file=True, brings=mine.keys() - theirs.keys())
            replies = self._timed(self._gang(line.target), watch, code, parcel)
        except rank_cell.CellFailed as failed:
            raise remote_error(failed.args[0], "\n".join(getattr(failed, "__notes__", ()))) from None
        except errors.PounceError as error:
            raise in_words(error) from None
        reply: CellReply = replies[0]
        for name in reply.run.assigned:
            theirs[name] = mine.get(name, _absent)
        if reply.missing:
            raise NameError(f"rank 0 has no variable {', '.join(reply.missing)}")
        self._shell.push(bundle.loads(*reply.bundle))
        return Shown(*reply.run.shown) if reply.run.shown is not None else None

    def close(self) -> None:
        """Gives back the leases. The ranks' variables go with them."""
        gangs = list(self._gangs.values())
        self._gangs.clear()
        self._theirs.clear()
        for gang in gangs:
            gang.close()

    @staticmethod
    def _timed(gang: Gang, watch: Stopwatch | None, code: CellCode, parcel: tuple[Any, ...]) -> list[CellReply]:
        tasks: list[Future] = []  # of rank 0: the one with which its worker has come, and the cell
        replies: list[CellReply] = []
        try:
            with watched(gang, tasks.append):
                replies = gang.run(rank_cell.run_cell, code, *parcel)
        finally:
            if watch is not None:
                watch.ranks = gang.size
                for task in tasks:
                    watch.ran(task, replies[0] if replies and task is tasks[-1] else None)
        return replies

    def _gang(self, target: Target) -> Gang:
        if target not in self._gangs:
            client = self._modules.followed(Client())
            self._gangs[target] = view_with(client, target.options, target.env).gang().ends_with(client.close)
        return self._gangs[target]


def check(line: CellLine) -> None:
    """Refuses options that a cell of a gang cannot have."""
    nodes = line.target.options.resources.nodes
    options = {"--bg": line.background, "--keep": line.keeps, "--tell": line.tells, "--setup": line.setup,
               "--or": line.instead, "--on": line.target.on}
    for word, value in options.items():
        if value:
            raise BadRequest(f"{word} is for a cell of one process, and --nodes {nodes} makes it several",
                             f"Leave out {word}.")
