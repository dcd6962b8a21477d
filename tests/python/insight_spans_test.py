"""Local days, weeks and hours as unix seconds, and the spans that people write."""

from __future__ import annotations

import datetime

import pytest
from pounce.errors import BadRequest
from pounce.insight.spans import DAY_S, HOUR_S, Calendar, finest, local_zone, span_of_days, span_since

MELBOURNE = Calendar("Australia/Melbourne")


def at(text: str, calendar: Calendar = MELBOURNE) -> int:
    return int(datetime.datetime.fromisoformat(text).replace(tzinfo=calendar._zone).timestamp())


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [("Australia/Melbourne", "2026-10-04", 23), ("Australia/Melbourne", "2026-04-05", 25), ("Australia/Melbourne", "2026-07-01", 24),
     ("Europe/Berlin", "2026-03-29", 23), ("UTC", "2026-10-04", 24), ("America/Santiago", "2026-09-06", 23),  # it has no midnight
     ("Australia/Lord_Howe", "2026-10-04", 23.5), ("Asia/Kathmandu", "2026-10-04", 24)],
)
def test_a_day_in_which_the_clocks_change_has_23_or_25_hours(zone, day, hours):
    calendar, date = Calendar(zone), datetime.date.fromisoformat(day)
    start, following = calendar.start_of(date), calendar.start_of(date + datetime.timedelta(days=1))

    assert following - start == hours * HOUR_S
    assert {calendar.day_of(moment) for moment in (start, start + 1, following - 1)} == {start}
    assert calendar.days(start, following) == [start] and calendar.days(start - 1, following + 1)[1:] == [start, following]
    assert calendar.label("day", start) == calendar.label("day", following - 1) == day
    assert len(calendar.starts("hour", start, following)) == -(-hours // 1)
    first, last, moved = span_of_days(day, day, calendar, following + 9), following, span_of_days(day, "", calendar, following + 9)
    assert first == (start, last) and moved == (start, following + 9)


def test_the_hour_that_comes_twice_is_two_hours_with_one_name():
    starts = MELBOURNE.starts("hour", at("2026-04-05T01:30"), at("2026-04-05T04:30"))
    assert [MELBOURNE.label("hour", start) for start in starts] == ["01", "02", "02", "03", "04"]


def test_weeks_begin_on_monday_and_bear_the_year_that_has_most_of_them():
    monday = at("2026-12-28T00:00")
    assert MELBOURNE.start_of_unit("week", at("2027-01-02T13:00")) == monday
    assert MELBOURNE.label("week", monday) == "2026-W53" and MELBOURNE.label("weekday", monday) == "Mon"
    assert MELBOURNE.starts("week", monday - 1, monday + 7 * DAY_S) == [at("2026-12-21T00:00"), monday]


def test_empty_spans_have_no_days():
    assert MELBOURNE.days(5, 5) == MELBOURNE.starts("hour", 9, 4) == MELBOURNE.starts("week", 5, 5) == []


@pytest.mark.parametrize("keys, unit", [(["day", "hour"], "hour"), (["weekday"], "day"), (["week", "weekday"], "day"), (["week"], "week"), (["user"], "")])
def test_the_finest_time_decides_what_a_period_is(keys, unit):
    assert finest(keys) == unit


NOW = at("2026-11-10T12:00")


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [("2026-02-30", "", "there is no day '2026-02-30'"), ("2026-11-03", "2026-11-31", "there is no day '2026-11-31'"),
     ("2026-11-05", "2026-11-03", "2026-11-05 comes after 2026-11-03"), ("2026-11-11", "", "2026-11-11 has not begun"),
     ("tomorrow", "", "there is no day 'tomorrow'"), ("1812-06-24", "", "in Slurm's time"), ("", "", "there is no day ''"), ("9999-12-31", "", "in Slurm's time")],
)
def test_days_that_do_not_exist_are_refused(first, last, words):
    with pytest.raises(BadRequest, match=words) as refused:
        span_of_days(first, last, MELBOURNE, NOW)
    assert refused.value.remedy


def test_a_span_of_days_has_both_and_ends_now():
    assert span_of_days("2026-11-02", "2026-11-03", MELBOURNE, NOW) == (at("2026-11-02T00:00"), at("2026-11-04T00:00"))
    assert span_of_days("yesterday", "today", MELBOURNE, NOW) == (at("2026-11-09T00:00"), NOW)
    assert span_of_days("2026-11-02", "2026-12-24", MELBOURNE, NOW) == (at("2026-11-02T00:00"), NOW)


def test_a_span_until_now_is_a_number_and_a_unit():
    assert span_since("90min", NOW) == (NOW - 5400, NOW)
    for text in ("yesterday", "0d", "-3d", "", "7 parsecs"):
        with pytest.raises(BadRequest, match="no span of time"):
            span_since(text, NOW)


def test_the_zone_is_that_of_the_machine_or_of_TZ(monkeypatch):
    monkeypatch.setenv("TZ", ":Europe/Berlin")
    assert local_zone() == "Europe/Berlin"
    monkeypatch.delenv("TZ")
    assert Calendar(local_zone()).day_of(NOW) <= NOW
    with pytest.raises(BadRequest, match="does not know the time zone Mars/Olympus"):
        Calendar("Mars/Olympus")
