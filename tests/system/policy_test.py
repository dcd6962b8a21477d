"""pouncectl policy check, which needs no Slurm: the policies that we ship, and the mistakes of others."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest
from daemon_world import DEADLINE_S, program

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted((ROOT / "examples" / "policies").glob("*.json"))
SCHEMA = json.loads((ROOT / "docs" / "policy.schema.json").read_text())


def check(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([program("pouncectl"), "policy", "check", *words], capture_output=True, text=True, timeout=DEADLINE_S)


def without_comments(text: str) -> dict:
    return json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.M))


def test_the_two_published_policies_of_one_site_differ():
    assert {path.stem for path in SHIPPED} == {"chtc-like", "mlerp-docs", "mlerp-slides", "small-lab"}
    slides, docs = (without_comments((ROOT / "examples" / "policies" / f"mlerp-{name}.json").read_text())["classes"]
                    for name in ("slides", "docs"))
    assert {name for name in slides if slides[name] != docs[name]} == {"panther", "tabby"}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_policy_is_one_and_fits_the_schema(path):
    done = check(str(path), "--json")
    assert done.returncode == 0, done.stdout
    document = without_comments(path.read_text())
    assert json.loads(done.stdout)["classes"] == sorted(document["classes"])
    jsonschema.Draft202012Validator(SCHEMA).validate(document)


@pytest.mark.parametrize("policy", [{"clases": {}}, {"classes": {"a": {"walltime": 24}}}, {"classes": {"a": {"priority": -1}}},
                                    {"leasing": {"keep": "1s"}}, {"gpu_types": {"a100": "40"}}, {"ports": "many"}])
def test_what_the_program_refuses_the_schema_refuses_too(tmp_path, policy):
    file = tmp_path / "site.json"
    file.write_text(json.dumps(policy))
    assert check(str(file)).returncode == 1
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(policy)


def test_a_mistake_is_told_with_its_file_its_place_and_the_nearest_key(tmp_path):
    file = tmp_path / "site.json"
    file.write_text('{"classes": {"lion": {"waltime": "1h"}}}')
    done = check(str(file))
    assert done.returncode == 1 and done.stdout == ""
    assert f'{file}: unknown key "waltime" in classes.lion; did you mean "walltime"?' in done.stderr


def test_a_file_that_is_not_there_is_told_and_no_file_is_wrong_usage():
    missing = check("/nowhere/site.json", "--json")
    assert missing.returncode == 1 and "/nowhere/site.json" in json.loads(missing.stdout)["error"]["text"]
    assert check().returncode == 2
