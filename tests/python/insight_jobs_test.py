"""One run of a job: its nodes, its GPU model, what of it computed, and from when to when it held its GPUs."""

from __future__ import annotations

import pytest
from pounce.insight.jobs import Job, complete, job_of, node_names


@pytest.mark.parametrize(
    ("text", "names"),
    [("g1", ["g1"]), ("g[1-3]", ["g1", "g2", "g3"]), ("g[1,07-09],h2", ["g1", "g07", "g08", "g09", "h2"]), ("", []),
     ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]), ("g[1-2]-ib", ["g1-ib", "g2-ib"]), ("g[1-", ["g[1-"]), ("g[3-1]", []), ("None", ["None"])],
)
def test_a_list_of_nodes_is_written_out(text, names):
    assert list(node_names(text)) == names


def never_down(node: str, after_s: int) -> None:
    return None


def job(**values) -> Job:
    return complete(job_of({"job": 7, "submit_s": 100, "gpus": 2, **values}), 10_000, {"g1": "a100", "g2": "v100"}, never_down)


def test_a_row_becomes_a_job_and_what_is_unknown_in_it_is_left_out():
    row = job(**{"class": "lion", "from_a_later_release": [1]})
    assert (row.class_name, row.job, row.until_s) == ("lion", 7, 0)
    with pytest.raises(TypeError):
        job_of({"user": "alice"})


@pytest.mark.parametrize(
    ("values", "until"),
    [({}, 0), ({"end_s": 900}, 0),  # cancelled while it waited
     ({"start_s": 200, "end_s": 900}, 900), ({"start_s": 200}, 10_000), ({"start_s": 200, "end_s": 150}, 200),  # the clock went back
     ({"start_s": 200, "end_s": 900, "suspended_s": 300}, 900), ({"start_s": 200, "limit_s": 60}, 10_000), ({"start_s": 200, "limit_s": 60, "lost": True}, 260),
     ({"start_s": 200, "lost": True}, 200), ({"start_s": 200, "limit_s": 99_999, "lost": True}, 10_000)],
)
def test_a_job_holds_from_its_start_to_its_end_or_to_now(values, until):
    assert job(**values).until_s == until


def test_a_lost_job_ended_at_the_latest_when_a_node_of_it_went_down():
    def down(node: str, after_s: int) -> int | None:
        return 700 if node == "g2" and after_s < 700 else None

    lost = {"start_s": 200, "limit_s": 5000, "lost": True, "nodes": "g[1-2]"}
    assert complete(job_of({"job": 7, "submit_s": 100, **lost}), 10_000, {}, down).until_s == 700


@pytest.mark.parametrize(
    ("values", "model"),
    [({"gpu_types": {"h100": 2}, "nodes": "g1"}, "h100"), ({"gpu_types": {"v100": 1, "a100": 1}}, "a100+v100"), ({"nodes": "g1"}, "a100"),
     ({"nodes": "g[1-2]"}, "a100+v100"), ({"nodes": "g9"}, ""), ({"gpus": 0, "nodes": "g1"}, "")],
)
def test_the_model_is_that_of_the_job_else_that_of_its_nodes(values, model):
    assert job(**values).gpu == model


@pytest.mark.parametrize(
    ("values", "use", "said"),
    [({"busy_s": 30, "idle_s": 10}, 750_000, True), ({"busy_s": 0, "idle_s": 10, "gpu_use_permille": 900}, 0, True),
     ({"gpu_use_permille": 250}, 250_000, False), ({"gpu_use_permille": 0}, 0, False), ({"busy_s": 0, "idle_s": 0}, -1, False)],
)
def test_the_use_is_what_the_lease_said_else_what_slurm_measured(values, use, said):
    assert (job(**values).use_ppm, job(**values).use_is_said) == (use, said)


def test_a_job_waited_from_when_it_could_have_started():
    assert job(start_s=500, eligible_s=300).waited_s == 200 and job(start_s=500).waited_s == 400
    assert job(eligible_s=300).waited_s == 0 and job(start_s=500, eligible_s=600).waited_s == 0
