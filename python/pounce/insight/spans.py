"""Local days, weeks and hours as unix seconds. A day begins at the first second of its local date, so one in which the
clocks change has 23 or 25 hours; an hour is one of 3600 seconds counted from there."""

from __future__ import annotations

import bisect
import datetime
import os
import zoneinfo
from pathlib import Path

from .._engine.durations import seconds_of
from ..errors import BadRequest

HOUR_S, DAY_S = 3600, 86400
UNITS = ("hour", "day", "week", "weekday")  # the keys that are times
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_ZONES = Path("/usr/share/zoneinfo")


def local_zone() -> str:
    """The name of this machine's time zone: "Australia/Melbourne"; "UTC" where it has none."""
    name = os.environ.get("TZ", "").lstrip(":")
    if not name:
        place = Path("/etc/localtime").resolve()
        name = str(place.relative_to(_ZONES)) if place.is_relative_to(_ZONES) else "UTC"
    return name


class Calendar:
    """The days of one time zone."""

    def __init__(self, zone: str = "UTC"):
        self.zone = zone
        try:
            self._zone: datetime.tzinfo = datetime.timezone.utc if zone == "UTC" else zoneinfo.ZoneInfo(zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            raise BadRequest(f"this machine does not know the time zone {zone}",
                             "Install tzdata, or set TZ to a name such as Europe/Berlin.") from None
        self._days: list[int] = []  # the beginnings of days in a row, as far as they were needed

    def date_of(self, moment: int) -> datetime.date:
        return datetime.datetime.fromtimestamp(moment, self._zone).date()

    def start_of(self, date: datetime.date) -> int:
        """The first second of that local day."""
        midnight = datetime.datetime.combine(date, datetime.time(), self._zone)
        return int(midnight.timestamp())

    def day_of(self, moment: int) -> int:
        """The beginning of the day that has `moment`."""
        if not self._days or not self._days[0] <= moment < self._days[-1]:
            self._extend(moment)
        return self._days[bisect.bisect_right(self._days, moment) - 1]

    def days(self, from_s: int, to_s: int) -> list[int]:
        """The beginnings of all days that have a second of [from_s, to_s)."""
        if to_s <= from_s:
            return []
        first, last = self.day_of(from_s), self.day_of(to_s - 1)
        return self._days[bisect.bisect_left(self._days, first):bisect.bisect_right(self._days, last)]

    def _extend(self, moment: int) -> None:
        margin = datetime.timedelta(days=40)
        first, last = self.date_of(moment) - margin, self.date_of(moment) + margin
        if self._days:
            first, last = min(first, self.date_of(self._days[0])), max(last, self.date_of(self._days[-1]))
        dates = (first + datetime.timedelta(days=number) for number in range((last - first).days + 1))
        self._days = [self.start_of(date) for date in dates]

    def start_of_unit(self, unit: str, moment: int) -> int:
        """The beginning of the hour, day, week (from Monday on) or month that has `moment`."""
        day = self.day_of(moment)
        if unit == "hour":
            return day + (moment - day) // HOUR_S * HOUR_S
        if unit in ("week", "month"):
            date = self.date_of(day)
            earlier = date.weekday() if unit == "week" else date.day - 1
            return self.start_of(date - datetime.timedelta(days=earlier))
        return day

    def starts(self, unit: str, from_s: int, to_s: int) -> list[int]:
        """The beginnings of all hours, days, weeks or months that have a second of [from_s, to_s)."""
        days = self.days(from_s, to_s)
        if unit in ("week", "month"):
            return sorted({self.start_of_unit(unit, day) for day in days})
        if unit != "hour":
            return days
        ends = [*days[1:], self.day_of(days[-1] + 26 * HOUR_S)] if days else []
        hours = [hour for day, end in zip(days, ends, strict=True) for hour in range(day, end, HOUR_S)]
        return [hour for hour in hours if hour < to_s and hour > from_s - HOUR_S]

    def label(self, unit: str, moment: int) -> str:
        """"2026-11-03", "2026-W45", "Tue", "14": how a time is written as a key."""
        local = datetime.datetime.fromtimestamp(moment, self._zone)
        if unit == "day":
            return local.date().isoformat()
        if unit == "week":
            year, week, _ = local.isocalendar()
            return f"{year}-W{week:02}"
        return _WEEKDAYS[local.weekday()] if unit == "weekday" else f"{local.hour:02}"

    def shown(self, moment: int) -> str:
        return datetime.datetime.fromtimestamp(moment, self._zone).strftime("%Y-%m-%d %H:%M")


def label_order(unit: str, label: str) -> tuple[int, str]:
    """Sorts labels as time goes: Mon before Tue."""
    return (_WEEKDAYS.index(label) if unit == "weekday" else 0, label)


def finest(units: list[str]) -> str:
    """The unit whose periods lie within those of the others; "": none of them is a time."""
    return next((unit for unit, names in (("hour", ("hour",)), ("day", ("day", "weekday")), ("week", ("week",)))
                 if any(name in units for name in names)), "")


def span_since(text: str, now_s: int) -> tuple[int, int]:
    """The span of time until now that a person writes as "7d", "12h" or "90min"."""
    seconds = seconds_of(text)
    if seconds is None or seconds <= 0:
        raise BadRequest(f"{text!r} is no span of time", "Write a number and a unit: 7d, 12h, 90min.")
    return now_s - int(seconds), now_s


def span_of_days(first: str, last: str, calendar: Calendar, now_s: int) -> tuple[int, int]:
    """From the beginning of one local day to the end of another, or to now; last="": today."""
    today = calendar.date_of(now_s)
    begin = _date(first, today)
    end = _date(last, today) if last else today
    if begin > today:
        raise BadRequest(f"{begin} has not begun", f"Today is {today}.")
    if begin > end:
        raise BadRequest(f"{begin} comes after {end}", "Give the earlier day to --from.")
    past_end = calendar.start_of(end + datetime.timedelta(days=1))
    return calendar.start_of(begin), min(past_end, now_s)


def _date(text: str, today: datetime.date) -> datetime.date:
    if text in ("today", "yesterday"):
        return today - datetime.timedelta(days=text == "yesterday")
    try:
        date = datetime.date.fromisoformat(text)
    except ValueError:
        raise BadRequest(f"there is no day {text!r}", "Write it as 2026-11-03; or today, yesterday.") from None
    if not 1971 <= date.year <= 9000:
        raise BadRequest(f"there is no day {text!r} in Slurm's time", "Write it as 2026-11-03.")
    return date
