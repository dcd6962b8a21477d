"""The page of the past: its figures are the tally's, its file loads and runs nothing, and what users wrote stays text."""

from __future__ import annotations

import base64
import csv
import dataclasses
import hashlib
import io
import re
import stat
import urllib.parse
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from insight_past import DAY, END, FakeAccounting, past, truths
from pounce.errors import BadRequest
from pounce.insight.collector import Collector
from pounce.insight.jobs import Job
from pounce.insight.page.contents import page_of
from pounce.insight.page.document import html
from pounce.insight.page.sums import read
from pounce.insight.projects import project_rule
from pounce.insight.store import create

FROM = END - 6 * DAY
NASTY = ["<script>alert(1)</script>", "=cmd|'calc'!A1", "a\nb\tc", '"><img src=x onerror=alert(1)>', "\x1b[2J\x00\u202egnp.", "]]>&amp;", "@SUM(1)"]
XHTML = "{http://www.w3.org/1999/xhtml}"


def stored(folder, rows, **facts):
    store = create(folder / "usage.sqlite", "UTC")
    Collector(store, FakeAccounting(rows, **facts)).run(END - 9 * DAY)
    return store


@pytest.fixture(scope="module")
def rows():
    return past(300, days=9, seed=7)


@pytest.fixture(scope="module")
def store(rows, tmp_path_factory):
    store = stored(tmp_path_factory.mktemp("page"), rows)
    yield store
    store.close()


def page(store, from_s=FROM, to_s=END, **more) -> str:
    return html(page_of(read(store, project_rule(""), from_s, to_s, **more), END))


@pytest.fixture(scope="module")
def text(store):
    return page(store)


def tables(text: str) -> dict[str, list[list[str]]]:
    """The CSV of each picture, with its head."""
    links = re.findall(r'download="([^"]+)\.csv" href="data:text/csv;charset=utf-8,([^"]*)"', text)
    return {name: list(csv.reader(io.StringIO(urllib.parse.unquote(data)))) for name, data in links}


def column(table: list[list[str]], name: str) -> list[float]:
    return [float(row[table[0].index(name)]) for row in table[1:]]


# ---- figures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["project", "user", "gpu", "partition", "node", "class"])
def test_each_table_has_what_was_held_to_the_second(key, text, rows):
    table = tables(text)[f"by-{key}"]
    found = {row[0].lstrip("'"): float(row[2]) for row in table[1:]}
    expected = {"" if group == ("",) else group[0]: truth.gpu_s for group, truth in truths(rows, (key,), FROM, END).items() if truth.gpu_s}
    assert {name.replace("(not recorded)", ""): value for name, value in found.items()} == expected
    assert abs(sum(column(table, "gpu_busy_s")) - sum(truth.busy_s for truth in truths(rows, (key,), FROM, END).values())) < 1


def test_the_days_by_mode_and_the_outcomes_add_up_to_the_whole(text, rows):
    whole = truths(rows, (), FROM, END)[()]
    days = truths(rows, ("day", "mode"), FROM, END)
    table = tables(text)["over-time"]
    assert {(row[0], row[1]): float(row[3]) for row in table[1:]} == {key: truth.gpu_s for key, truth in days.items()}
    outcomes = tables(text)["outcomes"]
    assert sum(column(outcomes, "gpu_s")) == whole.gpu_s and sum(column(outcomes, "jobs")) == whole.jobs
    known = tables(text)["known"]
    assert sum(column(known, "gpu_said_s")) == whole.said_s and sum(column(known, "gpu_measured_s")) == whole.known_s - whole.said_s
    assert sum(column(known, "gpu_unknown_s")) == whole.gpu_s - whole.known_s


def test_a_total_stands_in_the_page_with_its_seconds(text, rows):
    total = truths(rows, (), FROM, END)[()].gpu_s
    feet = re.findall(r"<tfoot>.*?</tfoot>", text)
    assert sum(f'<data value="{total:.15g}">' in foot for foot in feet) >= 6


def test_waits_are_those_of_the_jobs_with_gpus_that_started(text, rows):
    started = [job for job in rows if job.gpus and FROM <= job.start_s < END and (job.end_s or END) > job.start_s]
    waited = {name: sorted(job.waited_s for job in started if job.class_name == name) for name in ("cheetah", "lion")}
    table = tables(text)["waits"]
    for row in table[1:]:
        waits, values = waited.pop(row[0]), dict(zip(table[0], row, strict=True))
        assert int(values["jobs"]) == len(waits) and float(values["p50_s"]) == waits[(len(waits) + 1) // 2 - 1]
        assert int(values["jobs_up_to_1_min"]) == sum(10 < each <= 60 for each in waits)
    assert not waited and sum(column(tables(text)["when"], "jobs")) == len(started)


def test_a_person_sees_their_own_jobs_alone(store, rows):
    alone = page(store, users=frozenset({"alice"}))
    table = tables(alone)["by-user"]
    assert [row[0] for row in table[1:]] == ["alice"]
    own = truths([job for job in rows if job.user == "alice"], (), FROM, END)[()]
    assert column(table, "gpu_s") == [own.gpu_s] and sum(column(tables(alone)["outcomes"], "gpu_s")) == own.gpu_s
    assert "bob" not in alone and "only alice" in alone


def test_a_person_of_whom_the_store_knows_nothing_sees_nothing(store):
    text = page(store, users=frozenset({"mallory"}))
    assert tables(text)["by-user"][1:] == [] and tables(text)["outcomes"][1:] == [] and "alice" not in text
    ET.fromstring(text)


def test_a_long_span_goes_by_weeks(tmp_path):
    rows = past(60, days=200, seed=2)
    store = create(tmp_path / "usage.sqlite", "UTC")
    Collector(store, FakeAccounting(rows)).run(END - 190 * DAY)
    table = tables(page(store, END - 180 * DAY))["over-time"]
    store.close()
    assert table[0][0] == "week" and re.fullmatch(r"2026-W\d\d", table[1][0])
    assert sum(column(table, "gpu_s")) == truths(rows, (), END - 180 * DAY, END)[()].gpu_s


def test_the_page_says_where_the_store_begins_and_ends(store):
    text = page(store, END - 20 * DAY, END + 3 * DAY)
    assert "The store begins here" in text and "The store ends here" in text
    with pytest.raises(BadRequest, match="nothing of this span"):
        page(store, END + DAY, END + 2 * DAY)


@pytest.mark.parametrize("rows", [[], [Job(job=1, submit_s=FROM, eligible_s=FROM, start_s=FROM, end_s=FROM + 60, user="u", state="COMPLETED", cpus=1)]])
def test_a_span_without_gpus_is_a_page_too(rows, tmp_path):
    store = stored(tmp_path, rows)
    text = page(store)
    store.close()
    ET.fromstring(text)
    assert "No GPU time in this span." in text and "pounce leased nothing" in text


# ---- the file ----------------------------------------------------------------------------------------------------------


class Balanced(HTMLParser):
    """Notes what does not close."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.trouble: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append((tag, dict(attributes)))

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.trouble.append(tag)


def test_every_tag_closes_for_html_and_for_xml(text):
    found = Balanced(text)
    assert found.open == [] and found.trouble == []
    assert ET.fromstring(text).tag == f"{XHTML}html"


def test_the_file_loads_nothing_and_runs_nothing(text):
    for tag, attributes in Balanced(text).tags:
        assert tag not in ("script", "link", "iframe", "object", "embed", "img", "form", "base", "use", "image")
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style", "srcset", "xlink:href")]
        assert attributes.get("href", "data:text/csv;").startswith("data:text/csv;")
    assert "@import" not in text and "url(" not in text
    assert set(re.findall(r"https?://[^\"' <]+", text)) == {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"}


def test_its_policy_allows_its_own_style_alone(text):
    document = ET.fromstring(text)
    (policy,) = [meta.get("content") for meta in document.iter(f"{XHTML}meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    (css,) = [style.text for style in document.iter(f"{XHTML}style")]
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_every_colour_of_a_picture_is_in_the_style_for_light_dark_and_print(text):
    classes = {attributes["class"] for tag, attributes in Balanced(text).tags if tag == "rect"}
    css = re.search(r"<style>(.*?)</style>", text, re.S)[1]
    light, dark, printed = (css[css.index(begin):][:1400] for begin in (":root {", "prefers-color-scheme: dark", "@media print"))
    for name in classes - {"none"}:
        assert f".{name} {{ fill: var(--{name})" in css, name
        assert all(f"--{name}: #" in part for part in (light, dark, printed)), name


def test_each_picture_has_its_table_its_csv_and_its_definition(text):
    document = ET.fromstring(text)
    figures = list(document.iter(f"{XHTML}figure"))
    assert len(figures) >= 12 and len({figure.get("id") for figure in figures}) == len(figures)
    for figure in figures:
        assert figure.find("{http://www.w3.org/2000/svg}svg") is not None
        kinds = {each.get("class") for each in figure.iter(f"{XHTML}p")}
        assert {"finding", "definition"} <= kinds and len(list(figure.iter(f"{XHTML}table"))) == 1
        assert [link.get("download") for link in figure.iter(f"{XHTML}a")] == [f"{figure.get('id')}.csv"]


def test_what_users_wrote_stays_text(tmp_path, rows):
    named = [dataclasses.replace(job, user=NASTY[place % 7], account=NASTY[place % 5], partition=NASTY[place % 3], class_name=NASTY[place % 4],
                                 nodes=f"g{place % 3}", gpu_types={NASTY[0]: 1} if job.gpus else {}, name=NASTY[0]) for place, job in enumerate(rows)]
    store = stored(tmp_path, named, cluster="<b>x")
    text = page(store)
    store.close()
    test_every_tag_closes_for_html_and_for_xml(text)
    test_the_file_loads_nothing_and_runs_nothing(text)
    assert "&lt;script&gt;alert(1)" in text and "GPUs of &lt;b&gt;x" in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", text)
    cells = [cell for table in tables(text).values() for row in table for cell in row]
    assert "'=cmd|'calc'!A1" in cells and "'@SUM(1)" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@")) and cell != "-"]


def test_a_file_is_its_owners_alone_and_keeps_the_mode_that_it_had(tmp_path):
    from pounce.insight.page.command import _write

    path = tmp_path / "usage.html"
    _write(path, "one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    _write(path, "two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644 and path.read_text() == "two" and list(tmp_path.iterdir()) == [path]
