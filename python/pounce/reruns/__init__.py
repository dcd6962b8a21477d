"""``pounce.rerun``: a run of MLflow once more, with the same code, and how the two differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .. import errors
from .._engine import mlflow_runs
from .._engine.status_line import output
from .._record import software, store
from ..errors import BadRequest
from .comparison import Metrics

if TYPE_CHECKING:  # it imports MLflow
    from .started import Started

_SHOWN = 10  # differences, as lines; as_dict() has them all


@errors.public
class Rerun:
    """A run of MLflow that repeats another one. Made by ``pounce.rerun``.

    Attributes
    ----------
    of : str
        The id of the run that it repeats.
    kind : str
        ``"project"``, ``"batch"`` or ``"call"``.
    differences : list of (str, str)
        What is not as it was then (``"code"``, ``"environment"``, ``"data"``), and how, in words.
    metrics : Metrics or None
        How the metrics differ: a table, with ``name``, ``before``, ``now``, ``difference`` and ``relative`` of each
        row. None until ``compare()``.
    """

    def __init__(self, run: Any, facts: Mapping[str, Any], started: Started, differences: list[tuple[str, str]]):
        self._run, self._started = run, started
        self.of: str = run.info.run_id
        self.kind: str = facts["kind"]
        self.differences = differences
        self.metrics: Metrics | None = None
        self._status = ""

    @property
    def run_id(self) -> str | None:
        """Of the new run; None: it has not begun yet. Blocks for MLflow."""
        return self._started.run_id() or None

    @property
    def title(self) -> str:
        """The job or the function that runs."""
        return self._started.title

    @property
    def status(self) -> str:
        """As MLflow has it: ``"SCHEDULED"``, ``"RUNNING"``, ``"FINISHED"``, ``"FAILED"`` or ``"KILLED"``. Blocks for
        MLflow."""
        from . import tracked

        id = self.run_id
        return self._status or (tracked.found(id).info.status if id else "SCHEDULED")

    def wait(self, timeout: float | None = None) -> Rerun:
        """Until it has ended, well or not: ``status`` says how.

        Raises
        ------
        Timeout
            It has not ended after so many seconds. It goes on.
        """
        self._started.wait(timeout)
        return self

    def compare(self, timeout: float | None = None) -> Rerun:
        """Waits, and reads how the metrics and the data sets of the two runs differ."""
        from . import tracked

        self.wait(timeout)
        id = self.run_id
        if id is None:
            raise BadRequest(f"{self.title} has ended without a run of MLflow", "Look into its output.")
        new = tracked.found(id)
        self._status = new.info.status
        self.metrics = Metrics(self._run.data.metrics, new.data.metrics)
        seen = tracked.differences(self._run, new)
        self.differences += [each for each in seen if each not in self.differences]
        return self

    def as_dict(self) -> dict[str, Any]:
        """As JSON can have it. Blocks for MLflow."""
        return {"run_id": self.run_id, "rerun_of": self.of, "kind": self.kind, "status": self.status,
                "differences": [{"what": what, "text": text} for what, text in self.differences],
                "metrics": None if self.metrics is None else [each.as_dict() for each in self.metrics]}

    def __repr__(self) -> str:
        head = f"<pounce.Rerun {self.run_id or 'that has not begun'} of {self.of}: {self.title}>"
        return "\n".join([head, *([] if self.metrics is None else [repr(self.metrics)]), *lines(self.differences)])


def rerun(run: str, parameters: Mapping[str, Any] | None = None, compare: bool = False) -> Rerun:
    """Repeats a run of MLflow that pounce has run: of a project, of a batch run, or of a function that was submitted.

    It has the same code, and its parameters but for those given here. The environment and the data are compared with
    those of that time; a line says what differs. The new run has the tag ``pounce.rerun_of``. Blocks for MLflow and for
    Slurm.

    Parameters
    ----------
    run : str
        ``"runs:/ID"``.
    parameters : dict, optional
        Those to change, by name.
    compare : bool
        Wait for its end, and say which metrics differ by how much.

    Raises
    ------
    BadRequest
        There is no such run in this store, it has not ended, pounce has no record of it here, its code is gone, or a
        parameter is unknown.
    ResultGone
        The record is not what was written.

    Examples
    --------
    >>> pounce.rerun("runs:/6b0c…", {"rate": 0.1}, compare=True).metrics  # doctest: +SKIP
    METRIC  BEFORE  NOW   DIFFERENCE  RELATIVE
    loss    0.31    0.28  -0.03       -9.68%
    """
    made = begin(run, dict(parameters or {}))
    return made.compare() if compare else made


def begin(run: str, changes: dict[str, Any], value_of: Callable[[str], Any] = lambda value: value) -> Rerun:
    """`value_of` makes a value of a parameter's text; a project takes the text."""
    try:
        from . import started, tracked
    except ModuleNotFoundError as problem:
        raise BadRequest(f"MLflow cannot be imported here: {problem}", "Install it: pip install mlflow.") from None
    mlflow_runs.records_are_kept()
    old = tracked.ended(run)
    facts, data = store.read(old.data.tags[store.TAG])
    if facts["kind"] != "project":
        changes = {name: value_of(value) for name, value in changes.items()}
    begun: Started
    if facts["kind"] == "project":
        begun = started.OfProject(old, facts, data, changes)
    elif facts["kind"] == "batch":
        begun = started.OfBatch(old, facts, changes)
    else:
        begun = started.OfCall(old, facts, data, changes)
    differences = [*begun.differences, *started.inputs_that_differ(facts, changes), *_of_software(facts, begun)]
    for line in lines(differences):
        output().end(f"pounce: {line}")
    return Rerun(old, facts, begun, differences)


def lines(differences: list[tuple[str, str]]) -> list[str]:
    """In words, of each kind so many."""
    shown = []
    for what in dict.fromkeys(each for each, _ in differences):
        texts = [text for each, text in differences if each == what]
        shown += [f"{what}: {text}" for text in texts[:_SHOWN]]
        if len(texts) > _SHOWN:
            shown.append(f"{what}: {len(texts) - _SHOWN} more differences")
    return shown


def _of_software(facts: Mapping[str, Any], begun: Started) -> list[tuple[str, str]]:
    """The environment that the new run has, beside the one of that time."""
    from . import tracked

    now = None
    if facts["kind"] == "project":  # which makes its environment anew
        name = tracked.found(begun.run_id()).data.tags.get(store.TAG, "")
        now = store.read(name)[0]["software"]
    return [("environment", text)
            for text in software.differences(facts["software"], now or software.of(facts["env"]))]
