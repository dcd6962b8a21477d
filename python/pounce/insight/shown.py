"""How an answer looks: the table and its sentences, CSV, JSON."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from .. import _core
from .._tables.text_table import as_text
from .answer import Answer
from .spans import UNITS, Calendar, label_order
from .tally import Share, summed

SORTS = ("gpu", "busy", "cpu", "jobs", "waited", "energy", "key")
_BY_SUM = {"gpu": "gpu_s", "busy": "busy_ms", "cpu": "cpu_s", "jobs": "jobs", "waited": "waited_s",
           "energy": "energy_j"}
Rows = list[tuple[tuple[str, ...], Share]]


def sorted_rows(answer: Answer, sort: str = "") -> Rows:
    """Most GPU time first; where the first key is a time, in its order."""
    keys = answer.question.keys
    rows = sorted(answer.groups.items(),
                  key=lambda row: [label_order(key, text) for key, text in zip(keys, row[0], strict=True)])
    if sort == "key" or (not sort and keys and keys[0] in UNITS):
        return rows
    name = _BY_SUM[sort or "gpu"]
    return sorted(rows, key=lambda row: -getattr(row[1], name))


def cut(rows: Rows, top: int) -> tuple[Rows, Share | None]:
    """The first `top` rows (0: all), and the sum of the others."""
    if not top or len(rows) <= top:
        return rows, None
    return rows[:top], summed(share for _, share in rows[top:])


# ---- words ---------------------------------------------------------------------------------------------------------


def as_words(answer: Answer, rows: Rows, others: Share | None, span: str, calendar: Calendar) -> str:
    lines = [f"Cluster {_core.printable(answer.cluster)}, {span}", _table(answer, rows, others)]
    if idle := idle_line(answer.of_mode("offload")):
        lines.append(idle)
    return "\n".join([*lines, *gap_lines(answer, calendar)])


def _table(answer: Answer, rows: Rows, others: Share | None) -> str:
    if not rows:
        return "no job held anything"
    keys = answer.question.keys
    head = [*(key.upper() for key in keys), "JOBS", "CPU TIME", "GPU TIME", "GPU BUSY", "WAITED", "ENERGY"]
    table = [[*(text or "-" for text in key), *_cells(share)] for key, share in rows]
    if others is not None:
        rest = len(answer.groups) - len(rows)
        table.append([f"({rest} more)", *[""] * (len(keys) - 1), *_cells(others)] if keys else _cells(others))
    used = [column for column in range(len(head)) if column < len(keys) or any(row[column] for row in table)]
    return as_text([[head[column] for column in used], *([row[column] or "-" for column in used] for row in table)])


def _cells(share: Share) -> list[str]:
    return [str(share.jobs), _hours(share.cpu_s), _hours(share.gpu_s) if share.gpu_s else "", busy_words(share),
            _waited(share), f"{share.energy_j / 3.6e6:.1f} kWh" if share.energy_j else ""]


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %"


def _waited(share: Share) -> str:
    """The mean of the jobs that started in the span."""
    if not share.started:
        return ""
    seconds = share.waited_s / share.started
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min" if seconds < 7200 else _hours(seconds)


def busy_words(share: Share) -> str:
    """The busy part of the known GPU time, and the known part if it is not all. "said": reported by jobs."""
    if not share.known_s:
        return ""
    words = _percent(share.busy_ms / 1000, share.known_s) + (" said" if share.said_s else "")
    return words if share.known_s >= 0.99 * share.gpu_s else \
        f"{words} (known of {_percent(share.known_s, share.gpu_s)})"


def idle_line(leased: Share) -> str:
    """"pounce leased 3.3 h of GPU time: 61 % computing, 39 % warm but idle"; empty if it leased none."""
    if not leased.gpu_s:
        return ""
    line = f"pounce leased {_hours(leased.gpu_s)} of GPU time"
    if not leased.known_s:
        return f"{line}; how much of it was warm but idle is not known"
    busy_s = leased.busy_ms / 1000
    known = "" if leased.known_s >= 0.99 * leased.gpu_s else \
        f", as far as it is known ({_percent(leased.known_s, leased.gpu_s)})"
    said = ", said by the jobs themselves" if leased.said_s else ""
    return (f"{line}: {_percent(busy_s, leased.known_s)} computing, "
            f"{_percent(leased.known_s - busy_s, leased.known_s)} warm but idle{known}{said}")


def gap_lines(answer: Answer, calendar: Calendar) -> list[str]:
    """What these figures do not have, and how an admin can complete them."""
    facts, lines = answer.facts, []
    for begin, end in answer.gaps:
        lines.append(f"Nothing is known of {calendar.shown(begin)} to {calendar.shown(end)}: {answer.trouble}")
    if answer.own_only:
        lines.append("These are your own jobs: this site shows others' to operators only (PrivateData).")
    if facts is not None and not facts.has_database:
        return [*lines, "This Slurm has no slurmdbd: only your own leases are known here, from pounce's own records.",
                "With slurmdbd (AccountingStorageType=accounting_storage/slurmdbd) it is everybody's jobs."]
    if not answer.counts_gpus:
        lines.append("Slurm does not count GPUs here: AccountingStorageTRES=gres/gpu in slurm.conf, then restart "
                     "slurmctld.")
    if answer.has_untagged:
        lines.append("What pounce's leases did with their time is not kept: AccountingStoreFlags=job_comment in "
                     "slurm.conf.")
    if not measures_gpu_use(answer):
        lines.append("How busy the GPUs of other jobs were is not measured here: that needs NVML on the nodes and "
                     "gres/gpuutil in AccountingStorageTRES.")
    return lines


def measures_gpu_use(answer: Answer) -> bool:
    """Newer Slurms (25.11) have gres/gpuutil by default, but without NVML they measure nothing."""
    total = answer.tally.total()
    return answer.counts_gpu_use and (total.known_s > total.said_s or total.known_s == total.gpu_s)


# ---- for programs --------------------------------------------------------------------------------------------------


def _figures(share: Share) -> dict[str, Any]:
    return {"jobs": share.jobs, "started": share.started, "gpu_s": share.gpu_s,
            "gpu_busy_s": share.busy_ms / 1000 if share.known_s else None, "gpu_known_s": share.known_s,
            "gpu_said_s": share.said_s, "cpu_s": share.cpu_s, "waited_s": share.waited_s,
            "energy": share.energy_j or None}


def as_json(answer: Answer, rows: Rows, others: Share | None) -> str:
    keys, facts = answer.question.keys, answer.facts
    document = {
        "cluster": answer.cluster, "from_s": answer.question.from_s, "to_s": answer.question.to_s,
        "zone": answer.tally.zone, "by": list(keys),
        "from_slurmdbd": facts.has_database if facts is not None else answer.kept is not None,
        "own_only": answer.own_only or bool(facts and not facts.has_database),
        "store_until_s": answer.kept.until_s if answer.kept else None,
        "gaps": [{"from_s": begin, "to_s": end, "text": str(answer.trouble)} for begin, end in answer.gaps],
        "shares": [{**dict(zip(keys, key, strict=True)), **_figures(share)} for key, share in rows],
    }
    if others is not None:
        document["others"] = _figures(others)
    return json.dumps(document, indent=2)


def as_csv(answer: Answer, rows: Rows, others: Share | None) -> str:
    """With a row "(others)" for those that --top left out."""
    keys = answer.question.keys
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*keys, *_figures(Share())])
    rest: Rows = [(("(others)", *[""] * (len(keys) - 1)) if keys else (), others)] if others is not None else []
    for key, share in [*rows, *rest]:
        writer.writerow([*map(safe_cell, key), *("" if value is None else value for value in _figures(share).values())])
    return text.getvalue()


def safe_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula, as a job or an account may be called "=cmd"."""
    clean = "".join(" " if character < " " else character for character in text)
    return "'" + clean if clean.lstrip().startswith(("=", "+", "-", "@")) else clean
