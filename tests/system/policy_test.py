"""pouncectl policy check, which needs no Slurm: the policies that we ship, and the mistakes of others."""

from __future__ import annotations

import json
import os
import pwd
import re
import shlex
import shutil
import subprocess
import sys
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


# ---- apply before a pounce-slurm of our own -------------------------------------------------------------------------------

# Answers what there is from a file beside it, and changes it; a file "dies" there ends it in the middle of a change.
HELPER = """#!{python}
import json, pathlib, socket, struct, sys
here = pathlib.Path(__file__).parent
pipe = socket.socket(fileno=3)
def take(count):
    data = b""
    while len(data) < count:
        data += pipe.recv(count - len(data)) or sys.exit(0)
    return data
while True:
    request = json.loads(take(struct.unpack(">I", take(4))[0]))
    facts = json.loads((here / "facts.json").read_text())
    written = request["of"].get("qos", [])
    for qos in written:
        facts["qos"] = [one for one in facts["qos"] if one["name"] != qos["name"]] + [qos]
    (here / "facts.json").write_text(json.dumps(facts))
    if written and (here / "dies").exists():
        sys.exit(1)
    answer = json.dumps(dict(id=request["id"], answer=facts)).encode()
    pipe.sendall(struct.pack(">I", len(answer)) + answer)
"""
LION = {"name": "lion", "priority": 0, "preempts": [], "grace_s": 0, "deny_on_limit": False, "walltime_min": 60}
FACTS = {"cluster": "zoo", "has_database": True, "enforces_limits": True, "enforces_qos": True, "counts_gpus": True,
         "preempts_by_qos": True, "user": "root", "may_write": True, "partitions": [], "qos": [LION]}


class Bench:
    """A folder with pouncectl and such a helper."""

    def __init__(self, folder: Path):
        self.folder, self.state = folder, folder / "state"
        shutil.copy(program("pouncectl"), folder)
        helper = folder / "pounce-slurm"
        helper.write_text(HELPER.format(python=sys.executable))
        helper.chmod(0o755)
        self.facts(**FACTS)
        (folder / "site.json").write_text('{"classes": {"lion": {"walltime": "2h"}}}')

    def facts(self, **facts) -> None:
        (self.folder / "facts.json").write_text(json.dumps({**FACTS, **facts}))

    def walltime_min(self) -> int:
        (lion,) = json.loads((self.folder / "facts.json").read_text())["qos"]
        return lion["walltime_min"]

    def policy(self, *words: str, code: int = 0) -> str:
        done = subprocess.run([str(self.folder / "pouncectl"), "policy", *words, "--state", str(self.state)],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout + done.stderr


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_an_apply_that_was_cut_off_can_be_rolled_back(bench):
    (bench.folder / "dies").touch()
    told = bench.policy("apply", str(bench.folder / "site.json"), code=1)
    assert "pounce-slurm ended" in told and "000001.json has the state before" in told
    assert bench.walltime_min() == 120

    (bench.folder / "dies").unlink()
    bench.policy("rollback")
    assert bench.walltime_min() == 60
    assert "nothing to roll back" in bench.policy("rollback", code=1)


def test_a_plain_user_leaves_no_record_and_changes_nothing(bench):
    bench.facts(user="alice", may_write=False)
    assert "alice is none" in bench.policy("apply", str(bench.folder / "site.json"), code=1)
    assert bench.walltime_min() == 60 and not bench.state.exists()


def test_two_applies_are_undone_one_after_the_other(bench):
    for hours in (2, 3):
        (bench.folder / "site.json").write_text(json.dumps({"classes": {"lion": {"walltime": f"{hours}h"}}}))
        bench.policy("apply", str(bench.folder / "site.json"), "--note", f"{hours} hours")
    assert bench.walltime_min() == 180
    bench.policy("rollback")
    assert bench.walltime_min() == 120
    bench.policy("rollback")
    assert bench.walltime_min() == 60


def explain(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([program("pouncectl"), "policy", "explain", *words], capture_output=True, text=True, timeout=DEADLINE_S,
                          cwd=ROOT)


def test_the_page_shows_what_explain_prints():
    page = (ROOT / "docs" / "policy.md").read_text()
    command, shown = re.search(r"^```sh\npouncectl policy explain (.*)\n```\n```\n(.*?)```", page, flags=re.M | re.S).groups()

    done = explain(*shlex.split(command))

    assert (done.returncode, done.stdout) == (0, shown)


def test_a_request_that_no_class_gives_is_explained_class_by_class():
    done = explain("--request", '{"gpus": 1, "time": "8d"}', "examples/policies/mlerp-docs.json", "--json")

    error = json.loads(done.stdout)["error"]
    assert done.returncode == 1 and error["code"] == "unsatisfiable"
    assert "class cheetah gives at most 30min" in error["text"] and "class panther gives" in error["text"]


def test_what_the_site_runs_workers_in_is_told_in_words_with_the_user_s_name_and_home(tmp_path):
    file, user = tmp_path / "site.json", pwd.getpwuid(os.geteuid()).pw_name
    file.write_text(json.dumps({"interpreter": "{home}/{user}/python", "container": "run 'a box of {user}' {command} --end"}))

    told = json.loads(explain("--request", "{}", str(file), "--json").stdout)
    plain = json.loads(explain("--request", "{}", "examples/policies/mlerp-docs.json", "--json").stdout)

    assert told["interpreter"] == f"{os.environ['HOME']}/{user}/python"
    assert told["container"] == ["run", f"a box of {user}", "{command}", "--end"]
    assert (plain["interpreter"], plain["container"]) == ("", ["{command}"])


@pytest.mark.parametrize(("request_", "told"), [('{"gpu": 1}', 'did you mean "gpus"?'), ('{"time": 20}', 'the request\'s "time" cannot be 20'),
                                                ("gpus=1", "the request is no JSON object")])
def test_a_request_that_is_none_is_told(request_, told):
    done = explain("--request", request_, "examples/policies/mlerp-docs.json")

    assert done.returncode == 1 and told in done.stderr
