"""A job's time limit is spelled as sbatch takes it, and means the same wherever it is written (tests/slurm/batch_test.py asks sbatch)."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest
from pounce import errors
from pounce._batch.job_lines import job_lines
from pounce._batch.placement import Placement
from pounce._engine import resource_words
from pounce._engine.options import Options
from pounce.cell.batch_line import parse, with_lines
from pounce.cell.options_line import parse_cell, parse_hold
from pounce.compat.dask.job_options import as_directives, options_of_job
from pounce.compat.directives import options_of_lines, options_of_names
from pounce.compat.submitit.parameters import options_of
from pounce.run_command import parsed

# Of Slurm's manual (sbatch, "--time"), with the whole minutes that sbatch makes of each.
SLURMS = {"30": 30, "90:30": 91, "36:00:00": 2160, "00:20:00": 20, "1-12": 2160, "1-12:30": 2190, "1-": 1440, "1-12:30:15": 2191}
OURS = {"20min": 20, "90s": 2, "2h": 120, "1h30m": 90, "1.5h": 90, "1 day": 1440}


def minutes(**options) -> int:
    return Options().changed(**{name: value for name, value in options.items() if name not in ("workers", "env")}).resources.time_min


ENTRANCES = {
    "client.options(time=)": lambda text: minutes(time=text),
    "%%pounce --time": lambda text: parse_cell(f"--time '{text}'").target.options.resources.time_min,
    "%%pounce --time=": lambda text: parse_cell(f"'--time={text}'").target.options.resources.time_min,
    "%pounce hold --time": lambda text: parse_hold(f"hold --time '{text}'").target.options.resources.time_min,
    "%pounce batch --time": lambda text: parse(["fit.ipynb", "--time", text]).options.resources.time_min,
    "a hold of a batch run's notebook": lambda text: with_lines(parse(["fit.ipynb"]), [], [f"hold --time '{text}'"]).options.resources.time_min,
    "a batch script": lambda text: written(job_lines(Options().changed(time=text), Placement())),
    "pouncectl run --time": lambda text: resource_words.options_of(parsed(["--time", text, "--", "true"])[0]).resources.time_min,
    "the directive --time=": lambda text: minutes(**options_of_lines([f"#SBATCH --time={text}"])),
    "the directive --time ": lambda text: minutes(**options_of_lines([f"--time {text}"])),
    "the directive -t": lambda text: minutes(**options_of_lines([f"-t {text}"])),
    "Dask's walltime=": lambda text: minutes(**options_of_job(walltime=text)),
    "Dask's job_script()": lambda text: written(as_directives(options_of_job(walltime=text))),
    "job_script() of a directive": lambda text: written(as_directives(options_of_job(job_extra_directives=[f"-t {text}"]))),
    "submitit's slurm_time=": lambda text: minutes(**options_of({"slurm_time": text})),
    "submitit's additional parameters": lambda text: minutes(**options_of({"slurm_additional_parameters": {"time": text}})),
}


def written(lines: list[str]) -> int:
    """Behind --time, in the whole minutes that pounce writes."""
    (time,) = (line.partition("--time=")[2] for line in lines if "--time=" in line)
    assert time.isdigit()
    return int(time)


@pytest.mark.parametrize("entrance, text", [*itertools.product(ENTRANCES, [*SLURMS, *OURS])])
def test_a_spelling_means_the_same_at_every_entrance(entrance, text):
    assert ENTRANCES[entrance](text) == (SLURMS | OURS)[text]


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_lease_has_an_end_and_what_is_no_time_is_refused_with_examples(entrance):
    refused = {"UNLIMITED": "a lease has an end", "infinite": "a lease has an end", "1:2:3:4": "'1-12:00:00'", "soon": "'20min'",
               "0": "'30'"}
    for text, says in refused.items():
        with pytest.raises(errors.BadRequest, match=says):
            ENTRANCES[entrance](text)


@pytest.mark.parametrize("minutes_of, value", [
    (lambda value: minutes(time=value), 1800),  # of pounce's own: a number is seconds
    (lambda value: minutes(time=value), timedelta(minutes=30)),
    (lambda value: minutes(**options_of_job(walltime=value)), 30),  # of the others: minutes, as they hand it to sbatch
    (lambda value: minutes(**options_of_job(walltime=value)), timedelta(minutes=30)),
    (lambda value: minutes(**options_of({"timeout_min": value})), 30),
    (lambda value: minutes(**options_of({"slurm_time": value})), 30),
    (lambda value: minutes(**options_of_names({"time": value})), 30),
])
def test_a_number_has_the_unit_of_the_program_that_it_is_written_for(minutes_of, value):
    assert minutes_of(value) == 30
