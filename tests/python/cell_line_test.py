"""The words behind %%pounce and %pounce."""

from __future__ import annotations

import os

import pytest
from conftest import resources
from pounce import BadRequest
from pounce._engine.options import Options
from pounce.cell import options_line, verbs
from pounce.cell.magic import PounceMagics
from pounce.cell.options_line import parse_cell, parse_verb


def test_an_empty_line_asks_for_what_the_class_gives():
    assert parse_cell("").target.options == Options()
    assert parse_cell("").sends is None


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("--gpu 1", resources(gpus=1)),
        ("--gpu=a100:2 --mem 8GB", resources(gpus=2, gpu_type="a100", memory_mib=8192)),
        ("--cpus 4 --time 20min --class cheetah", resources(cpus=4, time_min=20, class_="cheetah")),
        ("--time '1 h'", resources(time_min=60)),
        ("--gpu-type a100,v100", resources(gpus=1, gpu_type="a100,v100")),
        ("--gpu-mem 20GB --cuda 12 --gpu 2", resources(gpus=2, gpu_memory_mib=20480, cuda=12000)),
        ("--gpu-mem='>=20GB' --cuda='>=12.4'", resources(gpus=1, gpu_memory_mib=20480, cuda=12040)),
        ("--spread --not-nodes g1,g2", resources(placement="spread", not_nodes="g1,g2")),
        ("--pack --nodes 1", resources(placement="pack")),
        ("--nice 100", resources(nice=100)),
        ("--account ml --reservation=course", resources(account="ml", reservation="course")),
        ("--slurm constraint=nvlink --slurm=nice=5 --slurm exclusive",
         resources(slurm={"constraint": "nvlink", "exclusive": "yes", "nice": "5"})),
    ],
)
def test_resources(line, options):
    assert parse_cell(line).target.options == options


def test_names_to_send_and_to_bring():
    line = parse_cell("--in a,b --out x --gpu 1")

    assert (line.sends, line.brings) == (("a", "b"), ("x",))


def test_a_cell_in_the_background_may_have_a_name():
    line = parse_cell("--gpu 1 --bg --name training")

    assert (line.background, line.name, line.target.options.resources.gpus) == (True, "training", 1)


def test_a_cell_is_interrupted_before_its_time_ends_unless_the_line_says_kill():
    assert parse_cell("").saves_at_limit and not parse_cell("--at-limit kill").saves_at_limit


def test_a_try_leaves_the_gpu_and_keeps_the_rest():
    line = parse_cell("--gpu a100:2 --mem 8GB --time 5min --try")

    assert line.trial and line.target.options == resources(memory_mib=8192, time_min=5)


def test_a_try_keeps_the_class_that_is_named():
    assert parse_cell("--class long --try").target.options == resources(class_="long")


def test_a_try_asks_nothing_of_a_gpu():
    options = parse_cell("--gpu-type a100 --gpu-mem 20GB --cuda 12 --not-nodes g1 --try").target.options

    assert options == resources(not_nodes="g1")


def test_another_environment_is_another_place():
    line, again = parse_cell("--env ~/torch"), parse_cell("--env ~/torch/ --in a")

    assert line.target == again.target != parse_cell("").target
    assert line.target.env == os.path.expanduser("~/torch")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("--gpus 1", "did you mean --gpu?"),
        ("--memory 8GB", "did you mean --mem?"),
        ("--qos lion", "did you mean --class?"),
        ("--tiem 20min", "did you mean --time?"),
        ("--xyzzy 1", "there is no option --xyzzy. The options are --gpu"),
        ("--gpu", "--gpu needs a value, for example --gpu 1"),
        ("--gpu --mem 8GB", "--gpu needs a value"),
        ("print(1)", "the code begins in the line below"),
        ("--in a-b", "takes names of variables"),
        ("--gpu a:b:c", "--gpu takes a number"),
        ("--gpu-mem big", "--gpu-mem takes bytes"),
        ("--cuda new", "--cuda takes the version"),
        ("--gpu 0 --gpu-type a100", "--gpu 0 and --gpu-type contradict"),
        ("--spread --pack", "--spread and --pack contradict"),
        ("--spread=yes", "--spread takes no value"),
        ("--constraint nvlink", "did you mean --slurm?"),
        ("--exclude g1", "did you mean --not-nodes?"),
        ("--mem lots", "--mem takes bytes or a text such as '8GB'"),
        ("--nice -5", "--nice takes a number from 0"), ("--nice much", "--nice takes a number from 0"),
        ("--cpus many", "--cpus takes a number of CPUs"),
        ("--in 'a", "Close the quotes"),
        ("--bg=yes", "--bg takes no value"),
        ("--name job", "Add --bg"),
        ("--at-limit soon", "--at-limit takes save or kill, not soon"),
        ("--bg --name a,b", "--name takes one name"),
        ("--gp 1", "there is no option --gp; did you mean --gpu?"),
        ("--res course", "there is no option --res"),
        ("--frobnicate=1 --gpu 1", "there is no option --frobnicate"),
        ("-g 1", "there is no option -g"),
        ("--gpu 1 x = 2", "the code begins in the line below"),
    ],
)
def test_a_wrong_line_says_what_would_be_right(line, hint):
    with pytest.raises(BadRequest) as refused:
        parse_cell(line)

    assert hint in str(refused.value)


def test_a_verb_with_names_and_the_options_of_its_worker():
    verb, line, names = parse_verb("pull a,b c --gpu 1")

    assert (verb, line.target.options, names) == ("pull", resources(gpus=1), ("a", "b", "c"))


def test_a_wrong_verb_says_which_is_nearest():
    with pytest.raises(BadRequest, match=r"there is no %pounce stats; did you mean status\?"):
        parse_verb("stats")


def test_each_verb_that_is_understood_does_something():
    assert set(verbs.VERBS) == set(options_line.VERBS)


def test_the_help_page_of_the_magic_has_each_option_with_what_it_is_for():
    page = " ".join(PounceMagics.cell.__doc__.split())

    assert "%%pounce [options] Runs this cell on a worker" in page and "See also %pounce vars | pull x,y" in page
    missing = [option.word for option in options_line.OPTIONS.values() if option.help and f"{option.help}" not in page]
    assert missing == [] and "--gpu <N|TYPE> how many GPUs" in page and "--nodes" not in page


@pytest.mark.parametrize("option", [option for option in options_line.OPTIONS.values() if option.value], ids=lambda option: option.word)
def test_the_example_of_each_option_is_one(option):
    parse_cell(f"{option.word} {option.example}{' --bg' if option.word == '--name' else ''}")
