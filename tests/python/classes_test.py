"""What a user may use now, as an object and as a table."""

from __future__ import annotations

from pounce import _core
from pounce._tables.classes import Amount, Classes
from pounce._tables.classes import classes_of as classes_of_answer

LION = _core.ClassUse("lion", preset=True, time_min=1440, jobs_most=4, jobs_used=3, submits_used=5, gpus_used=2)
PANTHER = _core.ClassUse("panther", time_min=10_080, jobs_most=1, gpus_most=0)
A100 = _core.GpuUse("a100", 6, 2)


def classes_of(classes: list, gpus: list, launcher: str) -> Classes:
    return classes_of_answer(_core.ClassesIs(classes=classes, gpus=gpus, launcher=launcher))


def test_what_is_left_is_counted():
    classes = classes_of([LION, PANTHER], [A100], "slurm")

    assert list(classes) == ["lion", "panther"] and "lion" in classes and len(classes) == 2
    assert classes["lion"].running_jobs == Amount(4, 3) and classes["lion"].running_jobs.left == 1
    assert classes["lion"].gpus.left is None and classes["panther"].gpus.left == 0
    assert classes["lion"].default and not classes["panther"].default
    assert classes.gpus[0].free == 2


def test_nothing_is_left_of_a_limit_that_was_lowered_below_its_use():
    assert Amount(2, 3).left == 0


def test_it_shows_itself_as_two_tables():
    lines = repr(classes_of([LION, PANTHER], [A100, _core.GpuUse("", 3, 0)], "slurm")).splitlines()

    assert lines[1] == "lion (where none is named)  1 d   1 of 4 left   no limit, 2 in use"
    assert lines[2] == "panther                     7 d   1 of 1 left   none"
    assert [line.split() for line in lines[4:]] == [["GPU", "free", "all"], ["a100", "2", "6"], ["any", "0", "3"]]


def test_on_a_page_it_is_a_table_with_its_names_escaped():
    assert "<td>&lt;b&gt;</td>" in classes_of([LION._replace(class_="<b>")], [], "slurm")._repr_html_().replace(" (where none is named)", "")


def test_without_slurm_it_says_so():
    assert repr(classes_of([], [], "local")) == "no classes: work runs on this machine"
    assert repr(classes_of([], [], "slurm")) == "no class is open to you"


def row(name, minutes, default=False):
    return _core.ClassUse(name, preset=default, time_min=minutes)


# It used to be the class "cheetah", which other sites do not have.
def test_a_try_goes_to_the_class_with_the_shortest_time_that_is_enough():
    classes = classes_of([row("day", 1440), row("debug", 15), row("free", -1, True), row("hour", 60)], [], "slurm")

    assert classes.shortest() == "debug"
    assert classes.shortest(30) == "hour"
    assert classes.shortest(2000) == ""


def test_of_classes_with_the_same_time_a_try_goes_to_the_one_that_is_taken_anyway():
    assert classes_of([row("a", 60), row("b", 60, True), row("c", 60)], [], "slurm").shortest() == "b"


def test_without_classes_or_their_times_a_try_names_none():
    assert classes_of([], [], "local").shortest() == ""
    assert classes_of([row("free", -1, True)], [], "slurm").shortest() == ""
