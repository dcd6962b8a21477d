"""The words behind %%pounce and %pounce."""

from __future__ import annotations

import os

import pytest
from pounce import BadRequest
from pounce.cell import options_line, verbs
from pounce.cell.options_line import parse_cell, parse_verb
from pounce.options import Options


def test_an_empty_line_asks_for_what_the_class_gives():
    assert parse_cell("").place.options == Options()
    assert parse_cell("").sends is None


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("--gpu 1", Options(gpus=1)),
        ("--gpu=a100:2 --mem 8GB", Options(gpus=2, gpu_type="a100", memory_mib=8192)),
        ("--cpus 4 --time 20min --class cheetah", Options(cpus=4, time_min=20, class_name="cheetah")),
        ("--time '1 h'", Options(time_min=60)),
        ("--gpu-type a100,v100", Options(gpus=1, gpu_type="a100,v100")),
        ("--gpu-mem 20GB --cuda 12 --gpu 2", Options(gpus=2, gpu_memory_mib=20480, cuda=12000)),
        ("--gpu-mem='>=20GB' --cuda='>=12.4'", Options(gpus=1, gpu_memory_mib=20480, cuda=12040)),
        ("--spread --not-nodes g1,g2", Options(placement="spread", not_nodes="g1,g2")),
        ("--pack --nodes 1", Options(placement="pack")),
        ("--account ml --reservation=course", Options(account="ml", reservation="course")),
        ("--slurm constraint=nvlink --slurm=nice=5 --slurm exclusive",
         Options(slurm=(("constraint", "nvlink"), ("exclusive", "yes"), ("nice", "5")))),
    ],
)
def test_resources(line, options):
    assert parse_cell(line).place.options == options


def test_names_to_send_and_to_bring():
    line = parse_cell("--in a,b --out x --gpu 1")

    assert (line.sends, line.brings) == (("a", "b"), ("x",))


def test_a_cell_in_the_background_may_have_a_name():
    line = parse_cell("--gpu 1 --bg --name training")

    assert (line.background, line.name, line.place.options.gpus) == (True, "training", 1)


def test_a_try_leaves_the_gpu_and_keeps_the_rest():
    options = parse_cell("--gpu a100:2 --mem 8GB --time 5min --try").place.options

    assert options == Options(class_name="cheetah", memory_mib=8192, time_min=5)


def test_a_try_asks_nothing_of_a_gpu():
    options = parse_cell("--gpu-type a100 --gpu-mem 20GB --cuda 12 --not-nodes g1 --try").place.options

    assert options == Options(class_name="cheetah", not_nodes="g1")


def test_a_place_is_told_by_the_keywords_that_give_it():
    place = parse_cell("--gpu 2 --gpu-type a100,v100 --gpu-mem 20GB --cuda 12.4 --spread --not-nodes g1 --account ml "
                       "--reservation course --slurm nice=5").place

    assert Options().changed(**place.words()) == place.options


def test_another_environment_is_another_place():
    line, again = parse_cell("--env ~/torch"), parse_cell("--env ~/torch/ --in a")

    assert line.place == again.place != parse_cell("").place
    assert line.place.words() == {"env": os.path.expanduser("~/torch")}


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("--gpus 1", "did you mean --gpu?"),
        ("--memory 8GB", "did you mean --mem?"),
        ("--qos lion", "did you mean --class?"),
        ("--tiem 20min", "did you mean --time?"),
        ("--frobnicate 1", "there is no option --frobnicate. The options are --gpu"),
        ("--gpu", "--gpu needs a value, for example --gpu 1"),
        ("--gpu --mem 8GB", "--gpu needs a value"),
        ("print(1)", "the code begins in the line below"),
        ("--in a-b", "takes names of variables"),
        ("--gpu a:b:c", "--gpu takes a number"),
        ("--gpu-mem big", "--gpu-mem takes bytes"),
        ("--cuda new", "--cuda takes the version"),
        ("--nodes 2", "--nodes 2: the workers of one lease run on one node"), ("--gpu 0 --gpu-type a100", "--gpu 0 and --gpu-type contradict"),
        ("--spread --pack", "--spread and --pack contradict"),
        ("--spread=yes", "--spread takes no value"),
        ("--constraint nvlink", "did you mean --slurm?"),
        ("--exclude g1", "did you mean --not-nodes?"),
        ("--mem lots", "--mem takes bytes or a text such as '8GB'"),
        ("--cpus many", "--cpus takes a number of CPUs"),
        ("--in 'a", "Close the quotes"),
        ("--bg=yes", "--bg takes no value"),
        ("--name job", "Add --bg"),
        ("--bg --name a,b", "--name takes one name"),
    ],
)
def test_a_wrong_line_says_what_would_be_right(line, hint):
    with pytest.raises(BadRequest) as refused:
        parse_cell(line)

    assert hint in str(refused.value)


def test_a_verb_with_names_and_the_options_of_its_worker():
    verb, line, names = parse_verb("pull a,b c --gpu 1")

    assert (verb, line.place.options, names) == ("pull", Options(gpus=1), ("a", "b", "c"))


def test_a_wrong_verb_says_which_is_nearest():
    with pytest.raises(BadRequest, match=r"there is no %pounce stats; did you mean status\?"):
        parse_verb("stats")


def test_each_verb_that_is_understood_does_something():
    assert set(verbs.VERBS) == set(options_line.VERBS)
