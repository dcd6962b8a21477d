"""One hint for a person: at most one a day, of each kind only for jobs that began after it was told, and none for who
has switched them off."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ...errors import PounceError
from ..spans import DAY_S
from .evidence import Case
from .judge import Finding


@dataclass
class Told:
    """What this person has been told. Times are unix seconds."""

    is_off: bool = False
    looked_s: int = 0  # when their jobs were last looked at, whether there was a hint or not
    kinds: dict[str, int] = field(default_factory=dict)  # when a hint of that kind was shown

    def is_due(self, now_s: int) -> bool:
        return not self.is_off and not 0 <= now_s - self.looked_s < DAY_S


def next_hint(found: Sequence[Finding], told: Told) -> tuple[str, Case] | None:
    """(kind, case): of what is new, that with the most idle GPU time, then the most GPU time."""
    for finding in sorted(found, key=lambda finding: (-(finding.idle_gpu_s or 0), -finding.gpu_s)):
        for case in finding.cases:
            if all(job.start_s > told.kinds.get(finding.kind, 0) for job in case.jobs):
                return finding.kind, case
    return None


def sentences(case: Case) -> tuple[str, str]:
    return (f"A hint from your last week: {case.hint}",
            "(`pouncectl antipatterns` shows all and why; `pouncectl antipatterns hint --off` ends these hints)")


# ---- the file ------------------------------------------------------------------------------------------------------


def default_place() -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "pounce" / "hints.json"


def read(place: Path) -> Told:
    """A file that is not there, or is damaged, has told nothing."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        values = json.loads(place.read_text(encoding="utf-8"))
        kinds = {str(kind): int(moment) for kind, moment in dict(values["kinds"]).items()}
        return Told(bool(values["is_off"]), int(values["looked_s"]), kinds)
    return Told()


def write(place: Path, told: Told) -> None:
    """Whole or not at all."""
    new = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new.write_text(json.dumps(asdict(told)), encoding="utf-8")
        os.replace(new, place)
    except OSError as error:
        raise PounceError(f"{place} cannot be written: {error.strerror}",
                          "Make room, or let XDG_STATE_HOME name a folder of yours that can be written.") from None
