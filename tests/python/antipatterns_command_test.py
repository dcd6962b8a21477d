"""``pouncectl antipatterns`` as people type it: who sees whom, a site's rules, from Slurm and from the store, and what is missing."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from insight_command_test import DAY, NOW, Site, job
from pounce.errors import BadRequest
from pounce.insight.antipatterns import command, hints, rows, rules
from pounce.insight.antipatterns.command import main
from pounce.insight.antipatterns.rules import KINDS, load
from pounce.insight.command import main as usage

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "antipatterns.schema.json").read_text())


def sleeper(number: int, user: str, hours: float = 10, at: int = NOW - 2 * DAY, **given) -> dict:
    return job(number, user, at, hours, **{"submit_line": "sbatch --gres=gpu:1 --wrap=sleep 36000", "name": "wrap", **given})


JOBS = [sleeper(1, "ada"), sleeper(2, "ada", 20), sleeper(3, "bob", name="\x1b[2J"),
        job(4, "carol", NOW - 2 * DAY, 9, gpu_use_permille=800, submit_line="sbatch x.sh")]


@pytest.fixture
def site(tmp_path, monkeypatch):
    site = Site(tmp_path, monkeypatch)
    site.has(JOBS)
    monkeypatch.setattr(rules, "OF_THE_SITE", tmp_path / "none.ini")
    return site


@pytest.fixture
def run(capfd):
    def run(*words: str, code: int = 0, of=main) -> str:
        assert of(list(words)) == code, capfd.readouterr()
        out, errors = capfd.readouterr()
        return errors if code else out

    return run


def as_user(monkeypatch, name: str) -> None:
    """As one who is not root."""
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.setattr(rows, "user_name", lambda: name)


def found(run, *words: str) -> dict[tuple[str, str], dict]:
    return {(one["user"], one["kind"]): one for one in json.loads(run(*words, "--json"))["findings"]}


def test_the_table_names_who_what_how_much_how_sure_and_what_to_type(site, run):
    lines = run().splitlines()
    assert lines[0] == "Cluster pounce, the last 7d"
    assert lines[1].split() == ["USER", "KIND", "JOBS", "GPU", "HOURS", "CONFIDENCE", "HINT"]
    assert re.split(r"  +", lines[2])[:5] == ["ada", "sleep-job", "2", "30.0 h", "0.90"] and "`%%pounce --gpus 1`" in lines[2]
    assert lines[3].startswith("bob ") and len(lines) == 4 and "\x1b" not in "".join(lines)


def test_json_is_as_its_schema_says(site, run):
    document = json.loads(run("--json"))
    fits(document, SCHEMA)
    (case,) = {(one["user"]): one for one in document["findings"]}["bob"]["cases"]
    assert case == {"jobs": [3], "confidence": 0.9, "evidence": {"run_hours": 10.0, "gpus": 1, "command": "sleep 36000"}, "hint": case["hint"]}
    with pytest.raises(AssertionError):
        fits({**document, "findings": [{"user": "ada"}]}, SCHEMA)


def fits(value, schema: dict) -> None:
    """The part of JSON Schema that the file uses."""
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert any(isinstance(value, kinds[name]) for name in names), (value, names)
    if "enum" in schema:
        assert value in schema["enum"]
    if isinstance(value, list):
        for one in value:
            fits(one, schema["items"])
    if isinstance(value, dict) and "properties" in schema:
        assert value.keys() == set(schema["required"]) == schema["properties"].keys()
        for name, one in value.items():
            fits(one, schema["properties"][name])


def test_the_schema_names_each_kind():
    assert SCHEMA["properties"]["findings"]["items"]["properties"]["kind"]["enum"] == list(KINDS)


def test_users_see_their_own_and_an_operator_all(site, run, monkeypatch):
    as_user(monkeypatch, "bob")
    assert set(found(run)) == set(found(run, "--user", "bob")) == {("bob", "sleep-job")}
    assert json.loads(run("--json"))["own_only"]
    assert "operators" in run("--user", "ada", code=2)
    site.has(JOBS, sees_all=True)
    assert set(found(run)) == {("ada", "sleep-job"), ("bob", "sleep-job")} and set(found(run, "--user", "ada,carol")) == {("ada", "sleep-job")}


def test_the_store_tells_the_same_as_slurm_and_what_came_after_it_from_slurm(site, run):
    before = found(run, "--from", "yesterday", "--to", "today"), found(run)
    run("collect", "--quiet", of=usage)
    assert (found(run, "--from", "yesterday", "--to", "today"), found(run)) == before
    site.has([*JOBS[1:], sleeper(9, "dan", 3, NOW - 4 * 3600)], now_s=NOW + 60)  # slurmdbd was purged, and one job is new
    run("collect", "--quiet", of=usage)
    assert found(run)["ada", "sleep-job"]["jobs"] == 2 and ("dan", "sleep-job") in found(run)
    assert set(found(run, "--store", "none")) == {("ada", "sleep-job"), ("bob", "sleep-job"), ("dan", "sleep-job")}


def test_who_may_read_the_sites_store_sees_all_and_ones_own_store_changes_nothing(site, run, monkeypatch):
    run("collect", "--quiet", of=usage)
    as_user(monkeypatch, "bob")
    assert {user for user, _ in found(run)} == {"ada", "bob"}
    monkeypatch.setattr(rows, "owner_of", lambda store: os.geteuid())
    assert {user for user, _ in found(run)} == {"bob"}


def test_without_slurmdbd_the_store_answers_and_says_what_it_lacks(site, run):
    run("collect", "--quiet", of=usage)
    site.file.unlink()
    assert "sleep-job" in run() and "Nothing is known of" in run() and "slurmdbd did not answer" in run()
    assert "slurmdbd did not answer" in run("--store", "none", code=1)


def test_a_person_who_was_taken_out_of_the_store_has_no_habits(site, run):
    run("collect", "--quiet", of=usage)
    run("forget", "ada", of=usage)
    site.file.unlink()
    assert set(found(run)) == {("bob", "sleep-job")}


def test_what_this_site_does_not_measure_is_said(site, run):
    site.has(JOBS, counts_gpu_use=False, counts_gpus=False)
    text = run()
    assert "GPU use is not measured here" in text and "Slurm does not count GPUs here" in text
    site.has([], has_database=False)
    assert "no slurmdbd" in run()


def test_nothing_found_is_a_sentence(site, run):
    assert run("--since", "1h").splitlines()[1] == "no habit was found that holds GPUs without use"


# ---- the rules of a site -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "users"), [
    ("[sleep-job]\nenabled = no", set()),
    ("[sleep-job]\nrun-hours = 15", {"ada"}),
    ("[sleep-job]\ngpu-hours = 20  # bob has ten", {"ada"}),
    ("[all]\nconfidence = 0.95", set()),
    ("[all]\nexcept-users = b*, eve", {"ada"}),
    ("[sleep-job]\nexcept-accounts = ml", set()),
    ("[sleep-job]\nexcept-partitions = debug, gpu", set()),
    ("[sleep-job]\nexcept-names = wrap", {"bob"}),
    ("[idle-notebook]\nenabled = no", {"ada", "bob"}),
])
def test_a_sites_file_overrides_thresholds_switches_off_and_makes_exceptions(site, run, tmp_path, text, users):
    (tmp_path / "site.ini").write_text(text)
    assert {user for user, _ in found(run, "--rules", str(tmp_path / "site.ini"))} == users


def test_the_sites_file_holds_without_being_named(tmp_path):
    (tmp_path / "site.ini").write_text("[walltime-hopping]\njobs = 7\n[gpus]\nx9 = 12, 30")
    own = load(of_the_site=tmp_path / "site.ini")
    assert own["walltime-hopping"]["jobs"] == 7 and own.gpus["x9"] == (12, 30) and own.gpus["a100"] == load(of_the_site=tmp_path / "no").gpus["a100"]


def test_the_pages_example_is_a_file_of_rules(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "insight.md").read_text()
    (example,) = [block for block in re.findall(r"```ini\n(.*?)```", page, re.S) if "[sleep-job]" in block]
    (tmp_path / "site.ini").write_text(example)
    own = load(str(tmp_path / "site.ini"))
    assert not own["gpu-too-large"].enabled and own["sleep-job"]["run-hours"] == 2 and own["idle-notebook"]["confidence"] == 0.8


@pytest.mark.parametrize(("text", "words"), [
    ("[sleep-jobs]\nrun-hours = 1", "did you mean sleep-job?"), ("[sleep-job]\nrun-hour = 1", "did you mean run-hours?"),
    ("[sleep-job]\nrun-hours = long", "takes a number"), ("[sleep-job]\nrun-hours = nan", "takes a number"), ("[all]\nconfidence = 70", "from 0 to 1"),
    ("[sleep-job]\nenabled = maybe", "yes or no"), ("run-hours = 1", "no file of rules"), ("[gpus]\na100 = 40", "teraflops"), (None, "cannot be read")])
def test_a_file_with_a_mistake_is_refused_with_what_to_write(tmp_path, text, words):
    if text is not None:
        (tmp_path / "site.ini").write_text(text)
    with pytest.raises(BadRequest, match=re.escape(words)):
        load(str(tmp_path / "site.ini"))


def test_the_shipped_rules_are_printed_to_copy_from(site, run, tmp_path):
    (tmp_path / "site.ini").write_text(run("rules"))
    assert load(str(tmp_path / "site.ini")) == load(of_the_site=tmp_path / "none")


def test_every_kind_has_its_section_and_no_section_is_of_a_kind_that_is_not():
    text = rules.SHIPPED.read_text()
    assert {name for name in re.findall(r"^\[(.*)\]$", text, re.M)} == {"all", "gpus", *KINDS}


# ---- wrong words ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "said"), [
    (["--kind", "sleep"], "did you mean sleep-job?"), (["--usr", "x"], "did you mean --user?"), (["show"], "there is no `pouncectl antipatterns show`"),
    (["--from", "2026-02-30"], "there is no day"), (["--to", "today"], "--to needs --from"), (["--since", "soon"], "no span of time")])
def test_wrong_words_are_refused_with_what_there_is(site, run, words, said):
    assert said in run(*words, code=2)


def test_what_the_page_shows_works(site, run):
    page = (Path(__file__).parents[2] / "docs" / "insight.md").read_text()
    lines = re.findall(r"^pouncectl antipatterns.*$", page, re.M)
    assert len(lines) >= 2 and all(run(*line.split()[2:]) for line in lines)


def test_help_names_every_option_and_kind(site, run):
    page = run("--help")
    assert all(word in page for word in ("--since", "--from", "--to", "--user", "--kind", "--rules", "--json", "--store", *KINDS))


# ---- the hint of the day -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(site, monkeypatch, tmp_path):
    """Days that pass; ada is at the keyboard."""
    clock = [float(NOW)]
    monkeypatch.setattr(command.time, "time", lambda: clock[0])
    monkeypatch.setattr(command, "user_name", lambda: "ada")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return clock


def test_a_hint_is_ones_own_and_comes_once_a_day_and_never_twice_for_the_same(site, run, clock):
    said = run("hint")
    assert "job 2 held a GPU for 20.0 h" in said and "`pouncectl antipatterns hint --off`" in said  # bob's are not ada's matter
    assert len(said.splitlines()) == 2
    assert run("hint") == ""
    site.has([*JOBS, sleeper(9, "ada", 3, NOW + 3600)], now_s=NOW + 9 * 3600)
    clock[0] += 9 * 3600
    assert run("hint") == ""  # the same day
    clock[0] += 16 * 3600
    site.has([*JOBS, sleeper(9, "ada", 3, NOW + 3600)], now_s=NOW + DAY + 3600)
    assert "job 9 held" in run("hint")
    clock[0] += DAY
    assert run("hint") == ""  # another day, and nothing new


def test_slurm_is_asked_once_a_day_also_where_there_is_nothing_to_say(site, run, clock):
    site.has([])
    assert run("hint") == ""
    site.file.unlink()
    assert run("hint") == ""  # slurmdbd is away, which is not noticed
    clock[0] += DAY
    assert "slurmdbd did not answer" in run("hint", code=1)


def test_hints_are_switched_off_and_on(site, run, clock):
    assert run("hint", "--off") == run("hint") == ""
    run("hint", "--on")
    assert "job 2 held" in run("hint")
    assert "opposites" in run("hint", "--on", "--off", code=2)


def test_a_damaged_file_of_hints_has_told_nothing(site, run, clock):
    place = hints.default_place()
    place.parent.mkdir(parents=True)
    place.write_text('{"is_off": true, "kinds": 7}')
    assert "job 2 held" in run("hint")
    assert hints.read(place).kinds == {"sleep-job": NOW}


def test_a_clock_that_was_wrong_silences_no_hints(site, run, clock):
    hints.write(hints.default_place(), hints.Told(looked_s=NOW + 900 * DAY))
    assert "job 2 held" in run("hint")
