"""How the page draws and counts, without a store: sizes of bars, round numbers, pauses between leases, GPUs in use."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from pounce.insight.page import drawing
from pounce.insight.page.drawing import Part
from pounce.insight.page.leases import PAUSE_S, Leases, pauses, peaks
from pounce.insight.page.waits import BUCKETS, bucket_of, quantile
from pounce.insight.spans import Calendar

SVG = "{http://www.w3.org/2000/svg}"
DAY = 86400
NOON = 20_000 * DAY + DAY // 2


def boxes(svg: str) -> list[tuple[str, float, float, float, float]]:
    return [(box.get("class"), *(float(box.get(name)) for name in ("x", "y", "width", "height"))) for box in ET.fromstring(svg).iter(f"{SVG}rect")]


@pytest.mark.parametrize(
    ("top", "expected"),
    [(0, [0, 1]), (1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (93, [0, 20, 40, 60, 80, 100]), (100, [0, 20, 40, 60, 80, 100]), (101, [0, 50, 100, 150]), (0.003, [0, 0.001, 0.002, 0.003])],
)
def test_an_axis_has_round_numbers(top, expected):
    assert drawing.ticks(top) == pytest.approx(expected)


@pytest.mark.parametrize("top", [0.017, 1.3, 7, 49.9, 123_456, 3e9])
def test_an_axis_has_few_numbers_and_reaches_the_top(top):
    marks = drawing.ticks(top)
    assert len(marks) <= 7 and marks[-1] >= top > marks[-2]


def test_parts_of_a_row_are_as_wide_as_they_are_large():
    first, second, third = boxes(drawing.rows(["a", "b"], [Part("x", "busy", [30, 10]), Part("y", "idle", [10, 0])], ["", ""], "h"))
    assert (first[0], second[0], third[0]) == ("busy", "idle", "busy")
    assert first[3] == pytest.approx(3 * second[3], abs=0.2) and first[3] == pytest.approx(3 * third[3], abs=0.2)
    assert second[1] == pytest.approx(first[1] + first[3], abs=0.2) and third[2] > first[2]


def test_parts_over_time_stand_on_one_another_and_on_the_ground():
    drawn = boxes(drawing.over_time(["1", "2"], [Part("x", "busy", [3, 1]), Part("y", "idle", [1, 0])], "h"))
    (below, _, above) = drawn
    assert above[2] + above[4] == pytest.approx(below[2], abs=0.2) and below[4] == pytest.approx(3 * above[4], abs=0.2)
    assert len({round(box[2] + box[4]) for box in drawn if box[0] == "busy"}) == 1


@pytest.mark.parametrize("count", [1, 7, 62, 63, 366])
def test_bars_and_their_labels_stay_within_the_picture(count):
    svg = drawing.over_time([f"10-{place:02}" for place in range(count)], [Part("x", "busy", [place + 1 for place in range(count)])], "h")
    drawn = boxes(svg)
    assert len(drawn) == count and all(box[1] >= 0 and box[1] + box[3] <= drawing.WIDTH + 0.5 for box in drawn)
    feet = [float(text.get("x")) for text in ET.fromstring(svg).iter(f"{SVG}text") if text.get("class") == "foot"]
    assert feet and all(later - earlier >= 40 for earlier, later in zip(feet, feet[1:], strict=False)) and feet[-1] <= drawing.WIDTH - 15


def test_a_picture_of_nothing_is_one():
    for svg in (drawing.rows([], [], [], "h"), drawing.over_time([], [], "h"), drawing.grid([], [], [])):
        assert ET.fromstring(svg).tag == f"{SVG}svg"


def test_a_grid_has_a_box_for_each_place_and_its_words():
    svg = drawing.grid(["0", "1"], ["Mon"], [[("q0", "a < b"), ("none", "")]])
    assert [box[0] for box in boxes(svg)] == ["q0", "none"] and "a &lt; b" in svg


@pytest.mark.parametrize("text", ["<b>", "a\x00b", "\ud800", "\u202ereversed", "\x1b[2J", "\u2028", '"&\'', "\uffff"])
def test_what_stands_in_a_picture_is_text(text):
    root = ET.fromstring(drawing.rows([text], [Part(text, "busy", [1])], [text], text))
    assert {box.tag for box in root.iter()} == {f"{SVG}svg", f"{SVG}rect", f"{SVG}text", f"{SVG}title"}


# ---- counting ----------------------------------------------------------------------------------------------------------


def test_a_pause_is_between_a_persons_own_leases_and_short():
    held = [("a", 1, 0, 100), ("b", 2, 120, 130), ("a", 2, 150, 300), ("a", 1, 200, 400), ("a", 1, 400, 500), ("a", 1, 500 + PAUSE_S, 9000), ("a", 1, 9001 + PAUSE_S, 99_999)]
    assert sorted(pauses(held)) == [(1, 100, 150), (1, 500, 500 + PAUSE_S)]


def test_what_was_given_back_is_cut_at_midnight_and_at_the_span():
    leases = Leases()
    for start, end in ((NOON, NOON + 12 * 3600 - 600), (NOON + 12 * 3600 + 300, NOON + 13 * 3600)):
        leases.add("a", "offload", 2, start, end)
    leases.finish(Calendar(), "day", NOON, NOON + 12 * 3600 + 100)
    assert list(leases.given_back_s.values()) == [2 * 600, 2 * 100]


def test_gpus_in_use_are_the_most_at_one_moment_of_each_day():
    held = [("a", 2, 0, DAY + 10), ("b", 1, 5, 10), ("c", 4, 10, 20), ("d", 8, DAY, DAY + 1)]
    assert peaks(held, [0, DAY, 2 * DAY, 3 * DAY]) == {0: 6, DAY: 10, 2 * DAY: 0}


def test_a_seat_counts_for_the_starts_that_came_in_time():
    leases = Leases()
    leases.add("a", "offload", 1, NOON, NOON + 50)
    leases.add("b", "offload", 1, NOON + 60, NOON + 90)
    for user, waited_s in (("a", 60), ("a", 61), ("b", 0)):
        leases.add_start(user, "offload", NOON - DAY // 2, waited_s)
    leases.finish(Calendar(), "day", NOON - DAY // 2, NOON + DAY // 2)
    seats = leases.seats["offload"]
    assert (seats.days, seats.people, seats.served, seats.gpus, seats.per_gpu) == (1, 2, 1.5, 1, 1.5)


def test_waits_fall_into_buckets_and_quantiles():
    assert [bucket_of(seconds) for seconds in (0, 1, 2, 60, 61, 10**9)] == [0, 0, 1, 2, 3, len(BUCKETS) - 1]
    assert quantile([], 0.5) == 0 and quantile([5], 0.95) == 5 and quantile([4, 1, 3, 2], 0.5) == 2 and quantile(range(1, 101), 0.95) == 95
