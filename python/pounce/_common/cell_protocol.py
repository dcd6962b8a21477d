"""What the notebook's side of a cell and its worker send each other, as pickles of these classes. Both have the same
pounce: `attach` compares the versions before any task is sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .mlflow_work import MlflowState, Origin
from .random_streams import Streams


@dataclass(frozen=True, slots=True)
class CellCode:
    """The notebook's side makes it of the cell. A rank of a gang gets nothing else."""

    source: str
    number: int
    brings: Sequence[str]  # variables to send back at its end
    colors: str
    message: str  # the id of the message that the cell came in; empty: the notebook has no messages
    files: dict[str, tuple[int, str]]  # cells that the notebook's functions come from: number and text, for tracebacks
    origin: Origin | None = None


SETTINGS = "settings"  # in CellReply.lacks: the namespace is new to this worker, which needs all changes of settings


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """What the notebook changed of its process's settings. A worker writes those that its namespace has not had."""

    kernel: str = ""  # whose changes these are
    since: int = 0  # those up to this number are left out, except what may be a secret, which is not saved
    number: int = 0  # of the last one
    # By the row of _common.settings and the option ("" of a row that is one value): the number and the pickled value.
    rows: dict[str, dict[str, tuple[int, bytes]]] = field(default_factory=dict)


@dataclass(slots=True)
class NamespaceRequest:
    """The saved namespace that a request relies on. NotebookState makes it; the state transfer sets `supply`."""

    id: str
    folder: str  # the notebook's; a worker that does not see it continues with one of its own
    turn: int = 0  # this request's number
    after: int = 0  # of the request whose work the namespace must have
    patience_s: float = 0.0  # how long the worker before may take to save that
    most_bytes: int | None = None  # what may be saved
    setup: Sequence[tuple[int, str]] = ()  # cells, number and source, that run on a new worker before all others
    settings: SettingsChange = SettingsChange()
    supply: bytes | None = None  # crossing.unsigned(), for a worker that does not see the folder


@dataclass(frozen=True, slots=True)
class CellRandom:
    """The notebook's seeds make it: `streams` of a cell that runs beside others, else its generators."""

    streams: Streams | None = None
    states: dict[str, bytes] = field(default_factory=dict)
    unused: Sequence[str] = ()  # states that the worker has, or that were saved, take precedence over these


@dataclass(frozen=True, slots=True)
class LoopState:
    """A loop that was left between two steps. The worker makes it, and the notebook's side sends it to the next one."""

    statement: int  # of the cell
    position: int  # steps that are over
    seeds: bytes  # with which they were drawn
    total: int  # 0: not known
    why: str  # "demand" or "time"


@dataclass(frozen=True, slots=True)
class KeptCell:
    """Where the output of a cell that goes on without its kernel is kept. The notebook's side makes the folder."""

    folder: str
    most_bytes: int


@dataclass(frozen=True, slots=True)
class CellRequest:
    """The notebook's side makes it, for one cell or for variables alone (no source)."""

    code: CellCode
    namespace: NamespaceRequest
    holder: str  # the interpreter that has the namespace, as far as the notebook knows
    reads: Sequence[str]  # the notebook's variables
    setup: bool  # the cell will run on each new worker
    held: bool  # only a worker that the notebook holds may run it
    may_ask: bool  # it may call input()
    may_leave: bool  # its loop may be left between two steps
    saves_at_limit: bool  # WalltimeReached is raised in it while there is time to save
    random: CellRandom
    loop: LoopState | None  # it continues in the middle of this one
    last: dict[str, int] = field(default_factory=dict)  # which cells on workers have the values of _, __ and ___
    inputs: Sequence[str] = ()  # sources of all cells before it, if it reads In
    keeps: KeptCell | None = None  # it goes on without its kernel


@dataclass(frozen=True, slots=True)
class CellError:
    """The worker makes it of what the cell raised."""

    type: str
    text: str
    lines: Sequence[str]  # IPython's
    node: str
    devices: str
    name: str | None  # that a NameError or a ModuleNotFoundError is about
    pickle: bytes  # empty: it cannot be pickled


@dataclass(frozen=True, slots=True)
class CellEnd:
    """What a cell did that goes on without its kernel: a file in its folder, as JSON, without pickles. The worker makes
    it, or the kernel as it heard of the cell's end."""

    cell: int
    ended: float
    state: str = ""  # the namespace that has its variables; empty: none
    turn: int = 0  # when that is as the cell left it
    shown: tuple[dict[str, Any], dict[str, Any]] | None = None  # as in CellRun, and so are these
    below: Sequence[dict[str, Any]] = ()
    assigned: Sequence[str] = ()
    problem: str = ""  # why the namespace is not saved
    error: CellError | None = None

    def encoded(self) -> bytes:
        values = {name: getattr(self, name) for name in self.__slots__}
        if self.error is not None:
            values["error"] = {name: getattr(self.error, name) for name in CellError.__slots__ if name != "pickle"}
        return json.dumps(values).encode()

    @staticmethod
    def decoded(data: bytes) -> CellEnd:
        """Raises ValueError, TypeError or KeyError where it is no such value."""
        values = json.loads(data)
        error = values.pop("error")
        return CellEnd(**values, error=CellError(**error, pickle=b"") if error is not None else None)


@dataclass(frozen=True, slots=True)
class CellRun:
    """What the source did, as the worker saw it."""

    shown: tuple[dict[str, Any], dict[str, Any]] | None = None  # the last value's data and metadata
    below: Sequence[dict[str, Any]] = ()  # messages, of figures: the notebook shows them below the value or the error
    assigned: Sequence[str] = ()  # or changed in place
    deleted: Sequence[str] = ()
    loop: LoopState | None = None  # it was left
    error: CellError | None = None
    at_limit: bool = False  # it was interrupted since the time of its worker ends
    code_began: float = 0.0  # seconds from the task's first line to the code's
    imported: float = 0.0  # seconds of imports until then
    compiled: float = 0.0  # seconds of torch.compile, in the code


@dataclass(frozen=True, slots=True)
class NamespaceReport:
    """How a request found the namespace on its worker. SavedNamespace makes it."""

    ran: bool = True  # it has the work that the request relies on
    fresh: bool = False  # it came to this worker with the request
    turn: int = 0  # the last request whose work it had then
    cell: int = 0
    lost: dict[str, tuple[str, int]] = field(default_factory=dict)  # not saved before: why, and the cell that made it
    problem: str = ""  # why it is not saved here; empty: it is


@dataclass(slots=True)
class CellReply:
    """The worker sets as much as the request came to."""

    not_held: bool = False  # the request was for a held worker
    holder: str = ""
    turn: int = 0  # the request's
    unshared: bool = False  # the worker does not see the notebook's folder
    lacks: list[str] = field(default_factory=list)  # blobs that the kernel has to send first, or crossing.MANIFEST
    settings: int = 0  # the number of the notebook's last change of settings that the namespace has
    mlflow: MlflowState | None = None  # what the cell left of it; None: the worker has not imported it
    namespace: NamespaceReport = NamespaceReport(ran=False)
    run: CellRun = CellRun()
    random: dict[str, bytes] = field(default_factory=dict)  # generators' states that the notebook does not know
    missing: Sequence[str] = ()  # of `brings`
    widgets: dict[str, str] = field(default_factory=dict)  # the variable of each, or that it is in, by the comm's id
    not_kept: str = ""  # why its output, or a part of it, is not kept
    bundle: tuple[bytes, Sequence[Any]] = (b"", ())  # bundle.dumps() of the others


@dataclass(frozen=True, slots=True)
class CallbacksReply:
    """What callbacks of widgets did between two cells."""

    gone: Sequence[int] = ()  # the numbers of events whose widget is not on the worker
    assigned: Sequence[str] = ()
    deleted: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SavedOffer:
    """What a worker has saved in its own folder. UnsharedState makes it."""

    manifest: bytes = b""  # crossing.unsigned()
    version: str = ""  # for brought(); empty: nothing is saved
    behind: bool = False  # something is not saved yet, and will be while nothing runs


@dataclass(frozen=True, slots=True)
class PartingOffer:
    """What a worker that ends by itself sends beside its output, as JSON: bytes of blobs, or first the list of all."""

    state: str  # the namespace's id
    holder: str
    parts: Sequence[tuple[str, int, int]] | None = None  # blob, start and size of each buffer; None: it is the list


# ---- looks: JSON beside the tasks, from the notebook's side and back --------------------------------------------


@dataclass(frozen=True, slots=True)
class Look:
    """A question about what lives on a worker, which a cell that runs there does not notice."""

    kind: str  # "complete", "inspect", "variables" or "use"
    text: str  # a cell's source, or a name, or types of variables
    offset: int = 0  # of the cursor in it
    options: dict[str, bool | int | str | list[str]] = field(default_factory=dict)  # of the notebook's completer
    detail: int = 0  # 1: with the source
    omit: Sequence[str] = ()  # sections


@dataclass(frozen=True, slots=True)
class CompletionRow:
    """As IPython's Completion."""

    start: int
    end: int
    text: str
    type: str | None
    signature: str


@dataclass(frozen=True, slots=True)
class LookAnswer:
    """Of one kind of question each."""

    completions: Sequence[CompletionRow] = ()
    bundle: dict[str, str] | None = None  # what is known of the name, by MIME types; None: nothing
    table: str = ""  # that %whos prints
    use: dict[str, float] | None = None  # of the lease, as LeaseMeter names it
