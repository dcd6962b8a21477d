"""How findings look: a table with what is missing below it, and JSON (docs/antipatterns.schema.json)."""

from __future__ import annotations

import json

from ... import _core
from ..._tables.text_table import as_text
from ..spans import Calendar
from .evidence import Case
from .judge import Finding
from .rows import Past


def in_order(found: list[Finding]) -> list[Finding]:
    """Most GPU time first."""
    return sorted(found, key=lambda finding: (-finding.gpu_s, finding.user, finding.kind))


def as_words(past: Past, found: list[Finding], span: str, calendar: Calendar) -> str:
    lines = [f"Cluster {_core.printable(past.cluster)}, {span}"]
    if found:
        head = ["USER", "KIND", "JOBS", "GPU HOURS", "CONFIDENCE", "HINT"]
        lines.append(as_text([head, *map(_row, in_order(found))]))
    else:
        lines.append("no habit was found that holds GPUs without use")
    return "\n".join([*lines, *missing_lines(past, calendar)])


def _row(finding: Finding) -> list[str]:
    return [finding.user, finding.kind, str(finding.jobs), f"{finding.gpu_s / 3600:.1f} h", f"{finding.confidence:.2f}",
            finding.hint]


def missing_lines(past: Past, calendar: Calendar) -> list[str]:
    """What was not judged."""
    facts, kept = past.facts, past.kept
    lines = [f"Nothing is known of {calendar.shown(begin)} to {calendar.shown(end)}: {past.trouble}"
             for begin, end in past.gaps]
    if facts is not None and not facts.has_database:
        return [*lines, "This Slurm has no slurmdbd, so the jobs of the past are not known."]
    if not (facts.counts_gpus if facts is not None else kept is not None and kept.counts_gpus):
        lines.append("Slurm does not count GPUs here: AccountingStorageTRES=gres/gpu in slurm.conf, then restart "
                     "slurmctld.")
    if not (facts.counts_gpu_use if facts is not None else kept is not None and kept.counts_gpu_use):
        lines.append("GPU use is not measured here (gres/gpuutil in AccountingStorageTRES, NVML on the nodes): jobs "
                     "are judged by their command lines and CPU time alone, and many not at all.")
    return lines


def as_json(past: Past, found: list[Finding], from_s: int, to_s: int) -> str:
    return json.dumps({
        "cluster": past.cluster, "from_s": from_s, "to_s": to_s, "own_only": bool(past.users),
        "gaps": [{"from_s": begin, "to_s": end, "text": str(past.trouble)} for begin, end in past.gaps],
        "findings": [_document(finding) for finding in in_order(found)],
    }, indent=2)


def _document(finding: Finding) -> dict[str, object]:
    return {"user": finding.user, "kind": finding.kind, "jobs": finding.jobs, "gpu_s": finding.gpu_s,
            "idle_gpu_s": finding.idle_gpu_s, "confidence": round(finding.confidence, 3), "hint": finding.hint,
            "cases": [_case(case) for case in finding.cases]}


def _case(case: Case) -> dict[str, object]:
    return {"jobs": [job.job for job in case.jobs], "confidence": round(case.confidence, 3),
            "evidence": dict(case.evidence), "hint": case.hint}
