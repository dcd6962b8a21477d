"""What the documents show is what happens: README's program and commands, the examples, the docstrings' examples."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / document).read_text(), flags=re.M | re.S)


def test_the_readmes_program_prints_what_it_says(home):
    (program,) = blocks("README.md", "python")

    run = home.run(program)

    assert run.stdout.splitlines()[0] == "499500"
    assert "CPU standing in" in run.stdout and len(run.stdout.splitlines()) == 3  # the result, a head, one job


def test_the_readmes_commands_work(home):
    commands = [line.split("#")[0].split() for block in blocks("README.md", "sh") for line in block.splitlines()]
    ours = [words for words in commands if words[:1] == ["pouncectl"]]
    assert len(ours) >= 2

    home.run("pounce.Client().submit(pow, 2, 3).result()")

    for words in ours:
        program = shutil.which(words[0], path=sysconfig.get_path("scripts"))
        subprocess.run([program, *words[1:]], env=home.environment, check=True, capture_output=True, timeout=60)


def test_every_script_that_the_documents_name_is_there():
    named = {word for document in ("README.md", "docs/contributing.md") for block in blocks(document, "sh")
             for word in re.findall(r"\./[a-z/]+", block)}
    assert {"./packaging/quickstart", "./tests/run"} <= named
    for name in named:
        usage = subprocess.run([ROOT / name, "--help"], check=True, capture_output=True, text=True, timeout=60)
        assert "usage" in usage.stdout.lower()


def test_the_smallest_example_prints_its_result(home):
    run = home.run((ROOT / "examples" / "00_first_submit" / "first_submit.py").read_text())

    assert run.stdout.split() == ["1024"]


def test_every_docstrings_example_runs(home):
    run = home.run("""
        import doctest, importlib
        client = pounce.Client()
        client.submit(pow, 2, 2).result()
        class Finder(doctest.DocTestFinder):
            def _from_module(self, module, thing):
                home = pounce._HOMES.get(getattr(thing, "__name__", ""), "")  # a public class says that it is of pounce
                return module.__name__ == "pounce." + home or super()._from_module(module, thing)
        def tested(module):
            runner = doctest.DocTestRunner()
            for test in Finder().find(module, extraglobs={"client": client, "pounce": pounce, "time": time}):
                runner.run(test)
            return runner.failures, runner.tries
        for name in ("client", "calls", "executor", "future", "serving.endpoint", "_map.collections", "_tables.queue", "on_worker", "sweeps",
                     "_common.device_array", "_common.ref",
                     "compat.dask.cluster", "compat.submitit.executor"):
            module = importlib.import_module("pounce." + name)
            report(**{name: tested(module)})
        client.close()
    """)

    assert all(failed == 0 for failed, _ in run.reports.values()), run.stdout
    assert run.reports["client"][1] >= 4 and run.reports["calls"][1] >= 12 and run.reports["future"][1] >= 1


def test_what_the_page_for_those_who_come_from_elsewhere_shows_runs(home):
    programs = blocks("docs/migrate.md", "python")
    assert len(programs) == 6

    run = home.run("\n".join(programs))

    assert run.stdout.split("\n")[:9] == ["[1, 2, 3]", "[9, 1024]", "[1, 2, 3]", "1024 COMPLETED", "[1, 2, 3]", "1024", "[1, 2, 4, 8, 16]", "1024", "[1, 2]"]
    assert run.stdout.split("\n")[9:] == ["6", "trained", "1024", ""]


def test_what_the_page_of_many_workers_shows_runs(home):
    programs = [program for program in blocks("docs/many.md", "python") if "optuna" not in program]  # that is the example's
    assert len(programs) >= 3

    run = home.run("\n".join(programs) + "\nclient.close()")

    assert run.stdout.splitlines()[:2] == ["[3, 7]", "[1 of 16 workers, 1 node]"]
    assert "{'lr': 0.1, 'depth': 2}\n<pounce.Sweep 6 of 6 · best 0.03125>\n{'id': 999, 'words': 999}\n" in run.stdout


def test_the_program_that_outlives_its_lease_prints_what_it_says(home):
    (program,) = blocks("docs/waiting.md", "python")

    run = home.run("client = pounce.Client()\n" + program)

    assert run.stdout.splitlines()[-1] == "3"
    assert "epoch 2 time left None" in run.stdout  # no limit on this machine
