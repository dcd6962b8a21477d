"""The words of ``options()`` and what they become."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pounce import BadRequest, Client
from pounce.options import Options


@pytest.mark.parametrize(
    ("value", "gpus", "kind"),
    [(0, 0, ""), (2, 2, ""), ("1", 1, ""), ("a100", 1, "a100"), ("a100:2", 2, "a100"), ("a100_3g.20gb", 1, "a100_3g.20gb")],
)
def test_gpus(value, gpus, kind):
    options = Options().changed(gpus=value)

    assert (options.gpus, options.gpu_type) == (gpus, kind)


@pytest.mark.parametrize(
    ("value", "mib"),
    [("8GB", 8192), ("8 GiB", 8192), ("8g", 8192), ("300MB", 300), ("1.5G", 1536), ("1T", 2**20), (2**30, 1024), ("512K", 1)],
)
def test_memory(value, mib):
    assert Options().changed(memory=value).memory_mib == mib


@pytest.mark.parametrize(
    ("value", "minutes"),
    [("20min", 20), ("2h", 120), (90, 2), (timedelta(hours=1), 60), ("00:20:00", 20), ("1-12:00:00", 2160), ("30 s", 1), ("1 day", 1440)],
)
def test_time_is_rounded_up_to_slurms_minutes(value, minutes):
    assert Options().changed(time=value).time_min == minutes


def test_a_class_has_a_name():
    assert Options().changed(class_="cheetah").class_name == "cheetah"


@pytest.mark.parametrize(
    "words",
    [dict(workers=0), dict(workers=257), dict(workers="8"), dict(workers=True), dict(gpus=""), dict(gpus=-1), dict(gpus=True), dict(gpus="a100:x"), dict(cpus=0), dict(cpus="4"), dict(memory="lots"),
     dict(memory=0), dict(time="soon"), dict(time=0), dict(time="12:30"), dict(class_=""), dict(class_=3)],
)
def test_a_value_that_means_nothing_is_refused_with_examples(words):
    (name,) = words

    with pytest.raises(BadRequest, match=name):
        Options().changed(**words)


def test_an_unknown_name_lists_the_valid_ones():
    with pytest.raises(BadRequest, match=r"workers=, gpus=, cpus=, memory=, time=, class_="):
        Options().changed(colour="red")


def test_qos_is_answered_with_class():
    with pytest.raises(BadRequest, match="use class_= instead"):
        Options().changed(qos="cheetah")


def test_views_add_up():
    options = Options().changed(gpus="a100:2", memory="1GB").changed(gpus=1)

    assert options.as_tuple() == ("", 1, "", 0, 1024, 0, 1)


def test_a_clients_own_options_are_what_its_tasks_ask_for():
    with pytest.raises(BadRequest, match="there is no option gpu=; use gpus= instead"):
        Client(launcher="local", gpu=1)  # before any daemon is started
