"""Options of sbatch, as people write them for Dask and submitit, and what they become."""

from __future__ import annotations

import re

import pytest

from pounce import _core
from pounce.compat.dask.job_options import as_directives, options_of_job
from pounce.compat.directives import VARIABLES, options_of_lines, options_of_names
from pounce.compat.submitit.parameters import options_of
from pounce.errors import BadRequest


@pytest.mark.parametrize("line, options", [
    ("--gres=gpu:1", {"gpus": 1}),
    ("--gres=gpu", {"gpus": 1}),
    ("--gres=gpu:a100", {"gpus": "a100:1"}),
    ("--gres=gpu:3g.20gb:2", {"gpus": "3g.20gb:2"}),
    ("#SBATCH --gpus=a100:2", {"gpus": "a100:2"}),
    ("-G 2", {"gpus": 2}),
    ("--qos lion", {"class_": "lion"}),
    ("-A ml", {"account": "ml"}),
    ("--time=30", {"time": "30"}),
    ("--time=30:30", {"time": "30:30"}),
    ("-t 1-12", {"time": "1-12"}),
    ("--time=01:00:00", {"time": "01:00:00"}),
    ("--mem=4000", {"memory": "4000MB"}),
    ("--mem=4G", {"memory": "4G"}),
    ("-c 4", {"cpus": 4}),
    ("-x 'g1,g2'", {"not_nodes": "g1,g2"}),
    ("-C nvlink", {"slurm": {"constraint": "nvlink"}}),
    ("--exclusive", {"slurm": {"exclusive": True}}),
    ("--nodes=1", {}),
    ("-J mine", {}),
    ("--output=log.txt", {}),
])
def test_a_directive_becomes_an_option(line, options):
    assert options_of_lines([line]) == options


def test_several_of_slurms_own_options_go_together():
    assert options_of_lines(["-C nvlink", "--licenses=matlab"]) == {"slurm": {"constraint": "nvlink", "licenses": "matlab"}}
    assert options_of_names({"gres": "gpu:1", "mail_type": "END", "exclusive": False}) == {"gpus": 1, "slurm": {"mail-type": "END"}}


@pytest.mark.parametrize("line, instead", [
    ("--dependency=afterok:1", "Pass the future as an argument"),
    ("--array=1-10", "Use map"),
    ("--nodes=2", "where there is room"),
    ("--gres=license:1", "Write '--gres=gpu:1'"),
    ("--mem-per-cpu=1G", "--mem=8G"),
    ("--cpus-per-task=many", "digits"),
    ("--gpu-bind=none", "pounce knows --account"),
    ("gres=gpu:1", "Write its long name"),
])
def test_a_directive_without_an_equivalent_is_named_with_what_to_write(line, instead):
    with pytest.raises(BadRequest) as refused:
        options_of_lines([line])

    assert line in str(refused.value) and instead in str(refused.value)


def test_a_partition_is_said_to_be_the_classs_business_at_the_users_own_line():
    with pytest.warns(UserWarning, match=r"--partition=BigCats is not passed on.*--qos=NAME") as warned:
        assert options_of_lines(["--partition=BigCats"]) == {}

    assert warned[0].filename == __file__


@pytest.mark.parametrize("line, why", [("--chdir=/scratch", "os.chdir"), ("-D /scratch", "os.chdir"), ("--export=A=1", "inside the function")])
def test_what_a_program_would_see_of_a_directive_is_said_where_it_is_not_passed_on(line, why):
    with pytest.warns(UserWarning, match=f"{line} is not passed on: .*{why}") as warned:
        assert options_of_lines([line]) == {}

    assert warned[0].filename == __file__


def test_the_keywords_of_a_cluster_are_shared_by_its_processes():
    assert options_of_job(cores=8, memory="64g", processes=1, nanny=False, interface="ib0", death_timeout=60) == {
        "workers": 1, "cpus": 8, "memory": "64g"}
    assert options_of_job(cores=16, memory="64g", processes=4, job_extra_directives=["--gres=gpu:a100:4"], walltime="00:30:00",
                          account="ml", python="/envs/jax/bin/python3") == {
        "workers": 4, "cpus": 4, "memory": "16.000g", "gpus": "a100:1", "time": "00:30:00", "account": "ml", "env": "/envs/jax"}
    assert options_of_job(cores=2, memory="1g", processes=4, job_extra_directives=["--mem=64G", "--cpus-per-task=16"]) == {
        "workers": 4, "cpus": 4, "memory": "16.000G"}


def test_a_cluster_whose_processes_dask_would_choose_is_said_to_have_one():
    with pytest.warns(UserWarning, match="one process with all 16 cores, which runs one call at a time") as warned:
        assert options_of_job(cores=16) == {"workers": 1, "cpus": 16}

    assert warned[0].filename == __file__


@pytest.mark.filterwarnings("error")
def test_a_cluster_whose_processes_are_given_is_made_without_a_word():
    assert options_of_job(cores=20, memory="190g", processes=1)["workers"] == options_of_job(cores=1)["workers"] == 1


@pytest.mark.parametrize("keywords, instead", [
    ({"job_script_prologue": ["module load cuda"]}, "prologue"),
    ({"env_extra": ["A=1"]}, "Set others inside the function"),
    ({"asynchronous": True}, "awaited"),
    ({"worker_extra_args": ["--resources", "GPU=1"]}, "no arguments"),
    ({"processes": 3, "job_extra_directives": ["--gres=gpu:2"]}, "processes=1"),
    ({"colour": "red"}, "docs/migrate.md"),
])
def test_a_keyword_of_a_cluster_that_would_matter_is_refused_by_its_name(keywords, instead):
    with pytest.raises(BadRequest) as refused:
        options_of_job(**keywords)

    assert next(iter(keywords)) in str(refused.value) and instead in str(refused.value)


def test_the_variables_that_are_said_to_travel_do():
    said = re.findall(r"[A-Z_]{3,}\*?", VARIABLES.partition(" travel")[0])

    assert len(said) == 8 and all(_core.travels(name.replace("*", "NUM_THREADS")) for name in said)


def test_a_cluster_tells_what_it_asks_for_in_sbatchs_words():
    options = options_of_job(cores=8, processes=1, memory="64g", job_extra_directives=["--gres=gpu:1", "-C nvlink"], walltime="00:30:00")

    assert as_directives(options) == ["#SBATCH --cpus-per-task=8", "#SBATCH --mem=64g", "#SBATCH --time=30", "#SBATCH --gres=gpu:1",
                                      "#SBATCH --constraint=nvlink"]


def test_the_lifetime_of_dasks_workers_means_nothing_here():
    assert options_of_job(worker_extra_args=["--lifetime", "55m", "--lifetime-stagger", "4m"]) == {"workers": 1}


def test_the_parameters_of_submitit_become_options():
    assert options_of({"timeout_min": 30, "mem_gb": 16, "cpus_per_task": 4, "gpus_per_node": 1, "nodes": 1, "tasks_per_node": 1, "name": "train",
                       "slurm_qos": "lion", "slurm_constraint": "nvlink", "local_setup": ["x"], "slurm_array_parallelism": 2,
                       "slurm_additional_parameters": {"mail_type": "END"}}) == {
        "time": 1800, "memory": "16GB", "cpus": 4, "gpus": 1, "class_": "lion", "slurm": {"constraint": "nvlink", "mail-type": "END"}}


@pytest.mark.parametrize("parameters, instead", [
    ({"nodes": 2}, "map_array makes several jobs; pounce.gang(nodes=2)"), ({"tasks_per_node": 4}, "pounce.gang"), ({"slurm_nodes": 2}, "pounce.gang"),
    ({"slurm_setup": ["module load cuda"]}, "prologue"),
    ({"slurm_dependency": "afterok:1"}, "job.result()"),
    ({"timeout_min": "30"}, "a number"),
    ({"minutes": 30}, "timeout_min"),
    ({"slurm_gpu_bind": "none"}, "pounce knows"),
])
def test_a_parameter_of_submitit_without_an_equivalent_is_named_with_what_to_write(parameters, instead):
    with pytest.raises(BadRequest) as refused:
        options_of(parameters)

    assert next(iter(parameters)).removeprefix("slurm_").replace("_", "-") in str(refused.value).replace("_", "-")
    assert instead in str(refused.value)
