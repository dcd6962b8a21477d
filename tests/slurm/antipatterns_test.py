"""What people typed, as a real Slurm hands it to its accounting, and who sees whose habits: pouncectl antipatterns."""

from __future__ import annotations

import json

import pytest
from login_node import wait_until

RULES = r"[all]\ngpu-hours = 0\n[sleep-job]\nrun-hours = 0\n"  # a test has no half hour


def habits(admin, user: str, *words: str) -> set[tuple[str, str, int]]:
    """(user, kind, job) of all cases that `user` is shown."""
    line = f"printf '{RULES}' > ~/rules.ini && exec pouncectl antipatterns --since 1h --rules ~/rules.ini --json {' '.join(words)}"
    found = json.loads(admin("bash", "-c", line, user=user))["findings"]
    return {(one["user"], one["kind"], job) for one in found for case in one["cases"] for job in case["jobs"]}


def test_a_sleeper_is_found_by_its_line_and_each_user_sees_their_own(admin):
    gpu = ("--gres=gpu:1", "--mem=50M")
    asleep = int(admin("sbatch", "--wait", "--parsable", *gpu, "--output=/dev/null", "--wrap", "hostname; sleep 2", "--time=5", user="alice"))
    admin("sbatch", "--wait", "--parsable", *gpu, "--output=/dev/null", "--wrap", "sleep 1; python3 -c 'print(1)'", user="alice")
    admin("srun", "--job-name=other", *gpu, "sleep", "2", user="bob")

    wait_until(lambda: {user for user, _, _ in habits(admin, "root")} == {"alice", "bob"}, 60, "both are in the accounting")
    assert {(user, kind) for user, kind, _ in habits(admin, "root")} == {("alice", "sleep-job"), ("bob", "sleep-job")}
    assert habits(admin, "root", "--user", "alice") == habits(admin, "alice") == {("alice", "sleep-job", asleep)}
    with pytest.raises(AssertionError, match="others' habits are shown to operators"):
        habits(admin, "bob", "--user", "alice")
