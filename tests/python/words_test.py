"""What a newcomer reads speaks of GPUs, memory and time: Slurm's own words come behind "Slurm says", or in pouncectl."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pounce
import pytest

PACKAGE = Path(pounce.__file__).parent
ENGINE = [PACKAGE / "_engine" / f"{name}.py" for name in ("options", "display", "status_line", "time_left", "result_relay", "detached")]
SHOWN = [*sorted((PACKAGE / "cell").glob("*.py")), *sorted((PACKAGE / "_worker" / "cell").glob("*.py")), *ENGINE]
SLURMS_OWN = re.compile(r"\b(QOS|QoS|TRES|GRES|gres|sbatch|srun|scancel|squeue|sinfo|slurmctld|slurmdbd|slurmd|association|partition|"
                        r"reservation|cgroup|job step|MaxWall|NodeFail|PENDING|COMPLETING)\b")


def sentences(path: Path) -> list[str]:
    """Every text in a module that can be shown: with a blank in it, and no docstring but a magic's, which is its help page."""
    tree = ast.parse(path.read_text())
    hidden = {id(node.body[0].value) for node in ast.walk(tree)
              if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node)
              and not getattr(node, "decorator_list", [])}
    # The help of client.options, and what a keyword says of a wrong value: who writes a program with it knows sbatch.
    hidden |= {id(text) for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Keyword"
               for part in node.args[:3] for text in ast.walk(part)}
    texts = [node.value for node in ast.walk(tree)
             if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden]
    return [text for text in texts if " " in text.strip() and not text.startswith("Slurm says")]


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_no_message_of_a_cell_has_a_word_of_slurms_own(path):
    texts = [text.replace("--reservation", "") for text in sentences(path)]  # an option has the name that people know

    assert [text for text in texts if SLURMS_OWN.search(text)] == []


def test_the_check_reads_the_help_page_and_the_notes():
    texts = "\n".join(text for path in SHOWN for text in sentences(path))

    assert "how many GPUs, or which" in texts and "Runs this cell on a worker" in texts and "this is a new worker" in texts and "Keeps" not in texts
