"""Tags of the runs of MLflow that begin in a batch run. MLflow finds this by an entry point beside it."""

from __future__ import annotations

import json
import os


class Context:
    def in_context(self) -> bool:
        return "POUNCE_BATCH" in os.environ

    def tags(self) -> dict[str, str]:
        with open(os.path.join(os.environ["POUNCE_BATCH"], "tags.json"), encoding="utf-8") as file:
            tags: dict[str, str] = json.load(file)
        if "SLURM_JOB_ID" in os.environ:
            tags["slurm_job_id"] = os.environ["SLURM_JOB_ID"]
        if "SLURMD_NODENAME" in os.environ:
            tags["pounce.node"] = os.environ["SLURMD_NODENAME"]
        return tags
