"""An MLproject as a job script and back: what each says of the other, what the shell makes of it, and what is named as lost."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from types import SimpleNamespace

import pytest
from pounce import errors
from pounce.mlflow_projects.project_file import of_job_file

pytestmark = [pytest.mark.xdist_group("job_file"), pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="MLflow is not installed")]

MLPROJECT = """
name: show
python_env: python_env.yaml
entry_points:
  main:
    parameters: {text: string, rate: {type: float, default: 0.5}, data: {type: path, default: rows.csv}, LANG: {default: "C; id"}}
    command: "./show {text} --rate {rate} 'a {data} b' \\"c {text}\\" {{x}} {LANG}"
  other: {command: "true"}
"""
CONFIG = {"account": "ml", "mem": "4G", "partition": "pascal", "time": "8:00:00", "gres": "gpu:1", "mail-user": "ada@example.org", "mail-type": "FAIL",
          "ntasks": "2", "job-name": "train", "output": "train-%j.out", "sbatch-script-file": "batchFile", "modules": ["cuda/12", "gcc"],
          "environment": {"OMP_NUM_THREADS": "4", "L": "/a b:$HOME$(touch injected)`id`\"\\"}, "exports": ["HOME"], "env": "/opt/envs/torch"}
TEXT = "it's \"$(touch injected)\" `id`;\nnext \\n"
SHOW = '#!/bin/bash\nprintf "%s\\0" "$@" "$L" "$OMP_NUM_THREADS" > shown\n'


PROGRAM = """
import contextlib, io, json, sys
from pounce.mlflow_projects.job_command import main
told = []
for words in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    told.append({"code": code, "out": out.getvalue(), "err": err.getvalue()})
json.dump(told, sys.stdout)
"""
PARAMETERS = ("-P", f"text={TEXT}", "-P", "seed=a b")
REFUSED = [
    ([], "say which way"), (["from-mlprojekt"], "did you mean from-mlproject?"), (["from-mlproject"], "name the project's folder"),
    (["from-mlproject", "nowhere"], "there is no folder"), (["from-mlproject", "project", "-e", "othr"], "did you mean other?"),
    (["from-mlproject", "project"], "the parameter text has no value"), (["from-mlproject", "project", "--fast"], "there is no option --fast"),
    (["from-mlproject", "project", "-P", "text"], "-P takes NAME=VALUE"), (["to-mlproject", "nowhere.sbatch"], "cannot be read"),
    (["to-mlproject", "x", "-P", "a=b"], "has its parameters in it")]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the commands say, one process for all of them: each would import MLflow."""
    home = tmp_path_factory.mktemp("home")
    (home / "pounced.json").write_text('{"launcher": "local"}')
    for folder, config in (("project", CONFIG), ("nodes", {"nodes": 2}), ("again", None)):
        (home / folder).mkdir()
        for name, text in (("MLproject", MLPROJECT), ("show", SHOW), ("slurm_config.json", json.dumps(config))):
            if config:
                (home / folder / name).write_text(text)
        (home / folder / "python_env.yaml").write_text("")
    (home / "project" / "show").chmod(0o755)
    commands = {
        "script": ["from-mlproject", "project", *PARAMETERS, "--json"], "written": ["from-mlproject", "project", *PARAMETERS, "-o", "first.sbatch"],
        "back": ["to-mlproject", "first.sbatch", "-o", "again"], "again": ["from-mlproject", "again", "--json"],
        "twice": ["to-mlproject", "first.sbatch", "-o", "again"], "nodes": ["from-mlproject", "nodes", "-P", "text=x", "--json"]}
    environment = {**os.environ, "HOME": str(home), "POUNCE_CONFIG": str(home / "pounced.json")}
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=home, env=environment, text=True, capture_output=True,
                          input=json.dumps([*commands.values(), *(words for words, _ in REFUSED)]))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return SimpleNamespace(home=home, refused=found[len(commands):], **dict(zip(commands, found, strict=False)))


def test_a_project_becomes_a_script_whose_parameters_nothing_executes(told):
    made, project = json.loads(told.script["out"]), told.home / "project"
    head = made["script"].partition("\n\n")[0].splitlines()
    assert [line.removeprefix("#SBATCH --") for line in head if line.startswith("#SBATCH")] == [
        f"chdir={project}", "account=ml", "nodes=1", "mem=4096M", "gres=gpu:1", "time=480", "partition=pascal",
        'mail-user="ada@example.org"', "mail-type=FAIL", "ntasks=2", "job-name=train", 'output="train-%j.out"']
    assert [line.split(":")[0] for line in made["lost"]] == ["MLproject", "MLproject", "MLproject", "slurm_config.json", "slurm_config.json"]
    assert "the entry points other" in made["lost"][1] and "the parameter LANG" in made["lost"][2] and "exports: HOME" in made["lost"][3]

    environment = {**os.environ, "HOME": "/home/ada"}
    ran = subprocess.run(["bash", "-c", f"module() {{ echo modules $*; }}\n{made['script']}"], cwd=project, env=environment, capture_output=True, text=True)
    assert ran.stdout == "modules load cuda/12 gcc\n", ran.stderr
    shown = (project / "shown").read_text().split("\0")
    # A value inside the command's own double quotes goes in as it is; MLflow would end them there.
    assert shown[:9] == [TEXT, "--rate", "0.5", "a rows.csv b", f"c {TEXT}", "{x}", "C; id", "--seed", "a b"]
    assert shown[9:11] == ["/a b:/home/ada$(touch injected)`id`\"\\", "4"] and not (project / "injected").exists()


def test_there_and_back_is_the_same(told):
    project, again = told.home / "project", told.home / "again"
    assert f"line 4: --chdir={project}: a project runs in its own folder" in told.back["err"] and told.back["out"].count("written: ") == 2
    assert json.loads(told.again["out"])["script"] == (told.home / "first.sbatch").read_text().replace(str(project), str(again))
    keys = json.loads((again / "slurm_config.json").read_text())
    lost = {"sbatch-script-file", "exports"}
    assert keys == {**{name: value for name, value in CONFIG.items() if name not in lost}, "mem": "4096M", "time": "480"}
    assert told.twice["code"] == 2 and "stays as it is" in told.twice["err"]


@pytest.mark.parametrize("which", range(len(REFUSED)))
def test_wrong_words_are_refused_with_the_nearest(told, which):
    assert told.refused[which]["code"] == 2 and REFUSED[which][1] in told.refused[which]["err"]


@pytest.mark.parametrize("command, says", [("job", "from-mlproject DIR"), ("rerun", "-P NAME=VALUE")])
def test_pouncectl_has_the_commands(command, says):
    program = shutil.which("pouncectl", path=sysconfig.get_path("scripts"))
    page = subprocess.run([program, command, "--help"], check=True, capture_output=True, text=True).stdout
    assert says in page


def test_several_nodes_start_the_command_by_srun_in_both(told):
    made = json.loads(told.nodes["out"])["script"]
    assert "export text rate data\nsrun bash -c '" in made and "#SBATCH --nodes=2\n#SBATCH --ntasks=2" in made
    back = of_job_file(told.home / "x.sbatch", made, told.home)
    assert back.command.startswith("./show {text} --rate {rate} ") and back.keys["nodes"] == "2"


SCRIPT = """#!/bin/bash -l
#SBATCH -J fit --qos lion
#SBATCH --gpus=2
#SBATCH --cpus-per-task=4
#SBATCH --nodes=2
#SBATCH --unheard of
# what it does
epochs=5  # int
name='a b'
now=$(date)
module load cuda
srun python fit.py "$epochs" "${name}" "in ${epochs}s" '$name' \\$name ${OTHER:-x} {a,b}
"""


def test_a_script_of_another_hand_becomes_a_project_and_what_is_lost_has_its_line(tmp_path):
    made = of_job_file(tmp_path / "fit.sbatch", SCRIPT.replace("-J fit --qos lion", "-J fit").replace("--gpus", "--qos=lion\n#SBATCH --gpus"), tmp_path)
    assert made.parameters == {"epochs": ("int", "5"), "name": ("string", "a b")} and made.name == "fit"
    assert made.keys == {"job-name": "fit", "class": "lion", "gpu": "2", "nodes": "2"}
    assert made.command == ('now=$(date)\nmodule load cuda\nsrun python fit.py {epochs} {name} "in "{epochs}"s" \'$name\' \\$name ${{OTHER:-x}} {{a,b}}')
    assert [line.partition(":")[0] for line in made.lost] == ["line 3", "line 5", "line 7"]


def test_a_batch_runs_own_script_is_started_as_it_is(tmp_path):
    text = "#!/bin/bash\n# The function f\n# Written by pounce 1. Submit it; it needs no pounce. pounce finds the run as f.\n#SBATCH --gres=gpu:1\nfolder=/x\n"
    made = of_job_file(tmp_path / "f g.sbatch", text, tmp_path)
    assert (made.command, made.keys, made.parameters) == (f"bash '{tmp_path}/f g.sbatch'", {"gres": "gpu:1"}, {})


@pytest.mark.parametrize("text, cause", [("#!/usr/bin/env python\nprint()", "is no script for bash"), ("", "is no script for bash"),
                                         ("#!/bin/bash\n#SBATCH --time=5\n", "has no command")])
def test_what_is_no_job_script_is_refused(tmp_path, text, cause):
    with pytest.raises(errors.BadRequest, match=cause):
        of_job_file(tmp_path / "x", text, tmp_path)
