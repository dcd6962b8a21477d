"""Each kind of antipattern on a habit that is one, and on those beside it that are none; then on a whole site with known truths."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

import pytest
from pounce.insight.antipatterns.evidence import Span
from pounce.insight.antipatterns.holds import only_sleeps
from pounce.insight.antipatterns.judge import Finding, findings
from pounce.insight.antipatterns.rules import KINDS, load
from pounce.insight.antipatterns.typed import line_of, retyped, slurm_time, without_gpus
from pounce.insight.jobs import Job

HOUR, GIB = 3600, 1024
START = 1_790_000_000
RULES = load()
SPAN = Span(START - 30 * 86400, START + 30 * 86400, frozenset({"a100", "a100_1g.10gb", "a100_3g.20gb", "v100", "a14"}))


def job(hours: float = 10, at: float = 0, **given) -> Job:
    """Ended and measured, with a GPU that worked, as most jobs are."""
    start = START + int(at * HOUR)
    values = {"job": 1, "submit_s": start - 60, "eligible_s": start - 60, "start_s": start, "end_s": start + round(hours * HOUR), "user": "ada",
              "account": "ml", "partition": "gpu", "mode": "batch", "state": "COMPLETED", "nodes": "g1", "node_count": 1, "name": "train",
              "submit_line": "sbatch --gres=gpu:1 train.sh", "gpus": 1, "cpus": 4, "limit_s": round(hours * HOUR) + 1800, "gpu": "a100",
              "gpu_use_permille": 900, "gpu_memory_mib": 30 * GIB, "cpu_used_s": round(hours * HOUR * 2), **given}
    made = Job(**values)
    return dataclasses.replace(made, until_s=made.end_s or START + 30 * HOUR)


def unmeasured(**given) -> dict:
    return {"gpu_use_permille": -1, "gpu_memory_mib": -1, "cpu_used_s": -1, **given}


def found(*jobs: Job, rules=RULES) -> dict[str, Finding]:
    return {finding.kind: finding for finding in findings("ada", list(jobs), rules, SPAN)}


# kind: the jobs of a habit that is one. Each takes random figures within what is one.
HABITS: dict[str, Callable[[random.Random], list[Job]]] = {
    "sleep-job": lambda dice: [job(dice.uniform(2, 70), **unmeasured(submit_line=f"sbatch --gres=gpu:2 --wrap=sleep {dice.randrange(9999)}", gpus=2))],
    "terminal-holder": lambda dice: [job(dice.uniform(2, 20), mode="reservation", submit_line="srun --gres=gpu:1 --pty bash -i", name="bash",
                                         gpu_use_permille=dice.randrange(20))],
    "idle-notebook": lambda dice: [job(dice.uniform(2, 20), mode="reservation", submit_line="", name=dice.choice(["jupyter-ada", "spawner-jupyterhub"]),
                                       gpu_use_permille=dice.randrange(40))],
    "idle-reservation": lambda dice: [job(dice.uniform(2, 20), mode="reservation", submit_line="srun -G 1 python serve.py", name="python",
                                          gpu_use_permille=dice.randrange(1, 40))],
    "never-used-gpu": lambda dice: [job(dice.uniform(2, 20), gpu_use_permille=0, gpu_memory_mib=dice.choice([0, -1]))],
    "half-idle-gang": lambda dice: [job(dice.uniform(2, 20), gpus=4, submit_line="sbatch --gres=gpu:4 train.sh", gpu_memory_mib=9 * GIB,
                                        gpu_use_permille=dice.randrange(150, 200))],
    "gpu-too-large": lambda dice: [job(dice.uniform(2, 20), gpu_memory_mib=dice.randrange(500, 7 * GIB), gpu_use_permille=dice.randrange(10, 90),
                                       cpu_used_s=3600)],
    "unused-cores-or-memory": lambda dice: [job(dice.uniform(2, 20), gpus=0, cpus=32, cpu_used_s=dice.randrange(3600, 7200), gpu_use_permille=-1,
                                                submit_line="sbatch -c32 prepare.sh")],
    "overlong-limit": lambda dice: [job(dice.uniform(0.4, 1), at=number * 2, job=number, name=f"fit_{number}", limit_s=24 * HOUR) for number in range(6)],
    "many-tiny-jobs": lambda dice: [job(dice.uniform(0.003, 0.03), at=number / 20, job=number, name=f"eval-{number}", limit_s=600) for number in range(80)],
    "walltime-hopping": lambda dice: [job(4, at=4.05 * number, job=number, limit_s=4 * HOUR, state="TIMEOUT", name="hold", submit_line="sbatch hold.sh",
                                          gpu_use_permille=dice.randrange(1, 30)) for number in range(dice.randrange(4, 9))],
}

# kind and why it is none: jobs that are near to one
NEAR: dict[tuple[str, str], list[Job]] = {
    ("sleep-job", "it sleeps before it works"): [job(submit_line="sbatch --gres=gpu:1 --wrap=sleep 60; python train.py")],
    ("sleep-job", "the name alone says so, and nothing was measured"): [job(name="sleep-study", **unmeasured(submit_line="sbatch eeg.sh"))],
    ("sleep-job", "it ran on the CPU"): [job(name="sleep", submit_line="sbatch --wrap=sleep 9", gpu_use_permille=-1, cpu_used_s=20 * HOUR)],
    ("sleep-job", "it was a short look at the cluster"): [job(0.2, **unmeasured(submit_line="sbatch --gres=gpu:1 --wrap=sleep 600"))],
    ("sleep-job", "no CPU time is known where Slurm gathers none"): [job(**unmeasured(cpu_used_s=0))],
    ("sleep-job", "it has no GPU"): [job(gpus=0, **unmeasured(submit_line="sbatch --wrap=sleep 9999"))],
    ("terminal-holder", "the GPU worked"): [job(mode="reservation", submit_line="srun --pty bash", name="bash", gpu_use_permille=300)],
    ("terminal-holder", "its use is not known"): [job(mode="reservation", name="bash", **unmeasured(submit_line="srun --pty bash"))],
    ("terminal-holder", "it runs yet, and its steps are measured when they end"): [
        job(mode="reservation", submit_line="srun --pty bash", name="bash", gpu_use_permille=0, gpu_memory_mib=-1, cpu_used_s=2, end_s=0, state="RUNNING")],
    ("terminal-holder", "bash runs a script"): [job(mode="batch", submit_line="srun --gres=gpu:1 bash train.sh", name="bash", gpu_use_permille=80,
                                                    gpu_memory_mib=-1)],
    ("terminal-holder", "a screen of molecules is no terminal"): [job(name="screen", **unmeasured(submit_line="sbatch screen.sh"))],
    ("idle-notebook", "it computed"): [job(mode="reservation", name="jupyter-ada", gpu_use_permille=250)],
    ("idle-notebook", "it has no GPU"): [job(mode="reservation", name="jupyter-ada", gpus=0, gpu_use_permille=-1)],
    ("idle-notebook", "nothing was measured"): [job(mode="reservation", name="spawner-jupyterhub", **unmeasured())],
    ("idle-reservation", "it lasted for minutes"): [job(0.5, mode="reservation", submit_line="srun -G1 python x.py", gpu_use_permille=10)],
    ("idle-reservation", "pounce gives its leases back"): [job(mode="offload", lease="3f", gpu_use_permille=-1, busy_s=1, idle_s=35_000)],
    ("never-used-gpu", "0 % of memory in use is not 0 MiB"): [job(gpu_use_permille=0, gpu_memory_mib=400)],
    ("never-used-gpu", "it was not measured"): [job(**unmeasured(cpu_used_s=72_000))],
    ("never-used-gpu", "it failed within minutes"): [job(0.1, gpu_use_permille=0, gpu_memory_mib=0, state="FAILED", exit_code=1)],
    ("half-idle-gang", "all of them worked"): [job(gpus=4, gpu_use_permille=800)],
    ("half-idle-gang", "its work needs more than half of them"): [job(gpus=4, gpu_use_permille=480)],
    ("half-idle-gang", "its model fills the memory of all"): [job(gpus=4, gpu_use_permille=180, gpu_memory_mib=150 * GIB)],
    ("half-idle-gang", "it was not measured"): [job(gpus=4, **unmeasured())],
    ("gpu-too-large", "it needs the memory"): [job(gpu_use_permille=50, gpu_memory_mib=35 * GIB, cpu_used_s=3600)],
    ("gpu-too-large", "it needs the power"): [job(gpu_use_permille=400, gpu_memory_mib=2 * GIB, cpu_used_s=3600)],
    ("gpu-too-large", "many cores feed it"): [job(gpu_use_permille=50, gpu_memory_mib=2 * GIB, cpu_used_s=200_000)],
    ("gpu-too-large", "the site has none smaller"): [job(gpu="a100_1g.10gb", gpu_use_permille=50, gpu_memory_mib=2 * GIB, cpu_used_s=3600)],
    ("gpu-too-large", "the size of its GPU is not known"): [job(gpu="a14", gpu_use_permille=50, gpu_memory_mib=2 * GIB, cpu_used_s=3600)],
    ("gpu-too-large", "its memory is not known"): [job(gpu_use_permille=50, gpu_memory_mib=-1, cpu_used_s=3600)],
    ("unused-cores-or-memory", "eight cores beside a GPU are usual"): [job(cpus=8, cpu_used_s=30_000)],
    ("unused-cores-or-memory", "whole nodes are the site's rule"): [job(cpus=128, cpus_requested=4, cpu_used_s=72_000)],
    ("unused-cores-or-memory", "no CPU time is known"): [job(cpus=64, cpu_used_s=0)],
    ("unused-cores-or-memory", "no option names that much memory"): [job(memory_mib=500 * GIB, memory_peak_mib=2 * GIB)],
    ("unused-cores-or-memory", "each of its cores may have as large a task"): [
        job(gpus=0, cpus=16, memory_mib=256 * GIB, memory_peak_mib=12 * GIB, cpu_used_s=300_000, submit_line="sbatch --mem=256G mpi.sh")],
    ("overlong-limit", "one of them came near"): [job(23 if number == 2 else 1, at=number, job=number, limit_s=24 * HOUR) for number in range(9)],
    ("overlong-limit", "two are too few to say"): [job(1, at=number, job=number, limit_s=24 * HOUR) for number in range(2)],
    ("overlong-limit", "those that failed say nothing"): [job(1, at=number, job=number, limit_s=24 * HOUR, state="FAILED", exit_code=1) for number in range(9)],
    ("overlong-limit", "one of them came to its limit"): [
        job(24 if number == 2 else 1, at=number, job=number, limit_s=24 * HOUR, state="TIMEOUT" if number == 2 else "COMPLETED") for number in range(9)],
    ("overlong-limit", "a short limit waits no longer"): [job(0.1, at=number, job=number, limit_s=2 * HOUR) for number in range(9)],
    ("many-tiny-jobs", "they crashed"): [job(0.01, at=number / 9, job=number, limit_s=600, state="FAILED", exit_code=1) for number in range(200)],
    ("many-tiny-jobs", "they came over weeks"): [job(0.01, at=number * 5, job=number, limit_s=600) for number in range(100)],
    ("many-tiny-jobs", "they were long"): [job(0.1, at=number / 9, job=number, limit_s=600) for number in range(100)],
    ("walltime-hopping", "training goes on from its checkpoint"): [job(4, at=4.05 * number, job=number, limit_s=4 * HOUR, state="TIMEOUT") for number in range(9)],
    ("walltime-hopping", "nothing was measured"): [
        job(4, at=4.05 * number, job=number, limit_s=4 * HOUR, state="TIMEOUT", **unmeasured()) for number in range(9)],
    ("walltime-hopping", "they come once a day"): [
        job(4, at=24 * number, job=number, limit_s=4 * HOUR, state="TIMEOUT", gpu_use_permille=20) for number in range(9)],
    ("walltime-hopping", "they end by themselves"): [
        job(2, at=2.05 * number, job=number, limit_s=4 * HOUR, gpu_use_permille=20) for number in range(9)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_habit_is_found_as_what_it_is(kind):
    jobs = HABITS[kind](random.Random(kind))
    finding = found(*jobs)[kind]
    assert finding.jobs == len(jobs) and RULES[kind]["confidence"] <= finding.confidence <= 1
    assert finding.gpu_s == sum(one.gpus * (one.until_s - one.start_s) for one in jobs)
    assert finding.hint.count("`") >= 2  # a line to type


@pytest.mark.parametrize(("kind", "why"), NEAR)
def test_what_is_near_to_a_habit_is_left_alone(kind, why):
    assert kind not in found(*NEAR[kind, why])


@pytest.mark.parametrize("seed", range(5))
def test_of_a_whole_site_those_with_a_habit_are_found_and_no_other(seed):
    dice = random.Random(seed)
    people = {f"{kind} {number}": ({kind}, HABITS[kind](dice)) for kind in KINDS for number in range(5)}
    people |= {why: (ALSO.get(why, set()), jobs) for (_, why), jobs in NEAR.items()}
    for name, (kinds, jobs) in people.items():
        beside = [job(dice.uniform(1, 30), at=-dice.randrange(40, 600), job=900 + number, name=dice.choice("xyz")) for number in range(dice.randrange(9))]
        assert {finding.kind for finding in findings(name, [*beside, *jobs], RULES, SPAN)} == kinds, name


ALSO = {"0 % of memory in use is not 0 MiB": {"gpu-too-large"}}  # what is near to one habit and is another


# ---- what is told of them ------------------------------------------------------------------------------------------------------------


def test_gpu_hours_are_those_of_the_span_and_the_idle_part_is_what_did_not_compute():
    span = Span(START + 4 * HOUR, START + 9 * HOUR)
    (finding,) = findings("ada", [job(10, mode="reservation", gpus=2, submit_line="srun python x.py", gpu_use_permille=50)], RULES, span)
    assert (finding.kind, finding.gpu_s, finding.idle_gpu_s) == ("idle-reservation", 2 * 5 * HOUR, round(0.95 * 2 * 5 * HOUR))


def test_of_several_cases_the_hint_is_that_of_most_gpu_hours_and_the_confidence_their_mean():
    few, many = job(2, job=7, gpu_use_permille=0, gpu_memory_mib=-1), job(18, job=8, gpu_use_permille=0, gpu_memory_mib=0, at=3)
    finding = found(few, many)["never-used-gpu"]
    assert [case.jobs[0].job for case in finding.cases] == [8, 7] and finding.hint.startswith("job 8 ")
    assert finding.confidence == pytest.approx((2 * 0.9 + 18 * 1.0) / 20)


def test_a_gpus_time_is_told_of_once():
    asleep = job(submit_line="sbatch --gres=gpu:4 --wrap=sleep 9999", name="jupyter", mode="reservation", gpus=4, gpu_use_permille=0, gpu_memory_mib=0,
                 cpu_used_s=3)
    assert set(found(asleep)) == {"sleep-job"}


def test_the_nearer_to_a_threshold_the_less_sure():
    shell = {"mode": "reservation", "submit_line": "srun --pty bash"}
    sure = [found(job(gpu_use_permille=use, **shell))["terminal-holder"].confidence for use in (0, 20, 40)]
    assert sure == sorted(sure, reverse=True) and sure[0] == 1.0
    cpu = found(job(**shell, **unmeasured_but_cpu(60)))["terminal-holder"]
    assert cpu.confidence < 0.8 and cpu.cases[0].evidence["known_by"] == "cpu time"
    assert not found(job(**shell, **unmeasured_but_cpu(1700)))  # 4.7 % of a core: nearly a program


def unmeasured_but_cpu(seconds: int) -> dict:
    return {"gpu_use_permille": -1, "gpu_memory_mib": -1, "cpu_used_s": seconds}


def test_what_pounce_says_of_its_own_lease_counts_less_than_what_slurm_measured():
    finding = found(job(mode="reservation", lease="3f", name="pounce-3f", submit_line="", gpu_use_permille=-1, busy_s=0, idle_s=36_000))["idle-reservation"]
    assert finding.confidence == pytest.approx(0.9) and finding.cases[0].evidence["known_by"] == "the job"


@pytest.mark.parametrize(("given", "line"), [
    ({}, "sbatch --gres=gpu:1 train.sh"),
    ({"node_count": 2}, "sbatch --nodes=1 --gres=gpu:1 train.sh"),
    ({"node_count": 8, "gpus": 16}, "sbatch --gpus=4 train.sh"),
])
def test_fewer_gpus_are_asked_for_on_one_node_or_in_all(given, line):
    gang = job(**{"gpus": 4, "gpu_use_permille": 200, "gpu_memory_mib": 9 * GIB, "submit_line": "sbatch --gres=gpu:4 train.sh", **given})
    assert f"`{line}`" in found(gang)["half-idle-gang"].hint


def test_cores_and_memory_are_named_with_room_above_what_was_used():
    wide = job(2, gpus=0, cpus=64, cpu_used_s=4 * 2 * HOUR, memory_mib=256 * GIB, memory_peak_mib=300, submit_line="sbatch -c 64 --mem=256G prepare.sh")
    assert "`sbatch --cpus-per-task=6 --mem=29G prepare.sh`" in found(wide)["unused-cores-or-memory"].hint


# ---- what was typed ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("command", "is_sleep"), [
    ("sleep infinity", True), ("/bin/sleep 1d", True), ("hostname; nvidia-smi -L; sleep 3600", True), ("while true; do sleep 60; done", True),
    ("exec tail -f /dev/null", True), ("sleep 60; python train.py", False), ("sleep 5 && ./x & wait", False), ("python sleep.py", False),
    ("hostname", False), ("", False), ("nvidia-smi dmon", False)])
def test_nothing_but_sleep_is_told_from_sleep_before_work(command, is_sleep):
    assert only_sleeps(command) == is_sleep


@pytest.mark.parametrize(("typed", "again"), [
    ("sbatch train.sh --time 3", "sbatch --time=02:00:00 train.sh --time 3"),
    ("sbatch -t 1-0 -c8 --exclusive train.sh", "sbatch -c8 --exclusive --time=02:00:00 train.sh"),
    ("sbatch --time=9:00:00 --wrap=python x.py --gres=gpu:2", "sbatch --gres=gpu:2 --time=02:00:00 --wrap='python x.py'"),
    ("srun -p gpu --pty bash", "srun -p gpu --pty --time=02:00:00 bash"),
    ("", "sbatch --time=02:00:00 SCRIPT"), ("dask-worker --x", "sbatch --time=02:00:00 SCRIPT"), ("sbatch --time", "sbatch --time=02:00:00")])
def test_a_line_is_typed_again_with_another_limit(typed, again):
    assert retyped(job(submit_line=typed), {"--time": "02:00:00"}) == again


@pytest.mark.parametrize(("typed", "again"), [
    ("sbatch --gres=gpu:1 -p gpu x.sh", "sbatch -p gpu x.sh"), ("sbatch -G 4 x.sh", "sbatch x.sh"), ("sbatch x.sh", "sbatch --gres=none x.sh")])
def test_a_line_is_typed_again_without_gpus(typed, again):
    assert without_gpus(job(submit_line=typed)) == again


def test_a_limit_is_written_in_whole_minutes_and_never_none():
    assert [slurm_time(seconds) for seconds in (1, 3601, 90_000)] == ["00:01:00", "01:01:00", "1-01:00:00"]


def test_a_terminal_is_a_pty_or_an_allocation_without_a_command():
    lines = ["srun --pty bash", "salloc -G 1", "salloc -G 1 python x.py", "srun python x.py", "sbatch x.sh"]
    assert [line_of(job(submit_line=line)).is_shell for line in lines] == [True, True, False, False, False]
