"""What a person may use now, as an object and as a table."""

from __future__ import annotations

from pounce.class_table import Amount, classes_of

LION = ("lion", True, 1440, 4, 3, -1, 5, -1, 2, -1)
PANTHER = ("panther", False, 10_080, 1, 0, -1, 0, 0, 0, -1)


def test_what_is_left_is_counted():
    classes = classes_of([LION, PANTHER], [("a100", 6, 2)], "slurm")

    assert list(classes) == ["lion", "panther"] and "lion" in classes and len(classes) == 2
    assert classes["lion"].running_jobs == Amount(4, 3) and classes["lion"].running_jobs.left == 1
    assert classes["lion"].gpus.left is None and classes["panther"].gpus.left == 0
    assert classes["lion"].default and not classes["panther"].default
    assert classes.gpus[0].free == 2


def test_nothing_is_left_of_a_limit_that_was_lowered_below_its_use():
    assert Amount(2, 3).left == 0


def test_it_shows_itself_as_two_tables():
    lines = repr(classes_of([LION, PANTHER], [("a100", 6, 2), ("", 3, 0)], "slurm")).splitlines()

    assert lines[1] == "lion (where none is named)  1 d   1 of 4 left   no limit, 2 in use"
    assert lines[2] == "panther                     7 d   1 of 1 left   none"
    assert [line.split() for line in lines[4:]] == [["GPU", "free", "all"], ["a100", "2", "6"], ["any", "0", "3"]]


def test_on_a_page_it_is_a_table_with_its_names_escaped():
    assert "<td>&lt;b&gt;</td>" in classes_of([("<b>", *LION[1:])], [], "slurm")._repr_html_().replace(" (where none is named)", "")


def test_without_slurm_it_says_so():
    assert repr(classes_of([], [], "local")) == "no classes: work runs on this machine"
    assert repr(classes_of([], [], "slurm")) == "no class is open to you"
