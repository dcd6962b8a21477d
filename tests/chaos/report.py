"""What a run was and showed: as a text, as JSON, and as a junit file with one case for each property."""

from __future__ import annotations

import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

from oracle import PROPERTIES, History, Violation, endings


def facts(rows: list[dict], found: list[Violation], seed: int) -> dict:
    history = History(rows)
    kinds = Counter(asked["kind"] for asked in history.asked.values() if asked["kind"] != "open")
    return {"seed": seed, "seconds": round(rows[-1]["at"] - rows[0]["at"]), "faults": dict(Counter(row["kind"] for row in history.faults)),
            "hit_nothing": sum(row["what"] == "missed" for row in rows), "tasks": dict(kinds), "ended": dict(endings(rows)),
            "slurm_lost_gpus": sum(row["what"] == "slurm lost gpus" for row in rows), "jobs": len(history.accounts), "violations": [violation._asdict() for violation in found]}


def text(facts: dict) -> str:
    listed = lambda counts: ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
    lines = [f"{sum(facts['faults'].values())} faults in {facts['seconds']} s ({facts['hit_nothing']} more found nothing to hit): {listed(facts['faults'])}",
             f"{sum(facts['tasks'].values())} tasks ({listed(facts['tasks'])}) in {facts['jobs']} jobs",
             f"they ended: {listed(facts['ended'])}",
             f"times that Slurm itself had GPUs given out that no job had, until its controller was restarted: {facts['slurm_lost_gpus']}"]
    for violation in facts["violations"]:
        lines.append(f"VIOLATED {violation['name']}: {violation['text']}")
    return "\n".join(lines + [f"{len(facts['violations'])} violations"])


def junit(path: Path, found: list[Violation]) -> None:
    suite = xml.Element("testsuite", name="chaos")
    for check in PROPERTIES:
        case = xml.SubElement(suite, "testcase", classname="chaos", name=check.__name__)
        texts = [violation.text for violation in found if violation.name == check.__name__]
        if texts:
            xml.SubElement(case, "failure", message=texts[0]).text = "\n".join(texts)
    xml.ElementTree(suite).write(path)
