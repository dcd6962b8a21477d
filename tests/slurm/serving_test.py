"""An endpoint on the real cluster: its GPU comes with the first request, stays between requests, and goes back."""

from __future__ import annotations

import re

from login_node import GPU_IN_SQUEUE, wait_until

SERVED = """
import http.client
import pounce
def ask(endpoint, value):
    kept = http.client.HTTPConnection("127.0.0.1", int(endpoint.url.rsplit(":", 1)[1]), timeout=120)
    kept.request("POST", "/invocations", json.dumps(value), endpoint.headers)
    return json.loads(kept.getresponse().read())
def where(value):
    return [os.environ["SLURMD_NODENAME"], os.environ["SLURM_JOB_ID"], value]
with pounce.serve(where, gpus=1, time="10min", idle="1h") as endpoint:
    first = ask(endpoint, 1)
    with pounce.Client(cpus=1) as other:  # the idle time of a lease passes
        other.submit(pow, 2, 2).result()
        while other.leases():
            time.sleep(0.05)
    report(first=first, second=ask(endpoint, 2))
    while not os.path.exists({flag!r}):
        time.sleep(0.05)
report(closed=True)
"""


def test_the_gpu_of_an_endpoint_comes_with_a_request_and_goes_with_the_endpoint(make_user):
    alice = make_user(idle_release_s=1)
    flag = alice.folder / "flag"
    run = alice.python(SERVED.replace("{flag!r}", repr(str(flag))))
    node, job, _ = run.reported("first", 180)

    assert run.reported("second", 120) == [node, job, 2] and re.fullmatch(r"g\d+", node)
    gres = alice.run("squeue", "--noheader", "--jobs", job, "--format=%b").strip()
    flag.touch()
    run.reported("closed", 120)

    assert gres == f"{GPU_IN_SQUEUE}:1"
    instance = alice.endpoint()["instance"]
    wait_until(lambda: not alice.jobs(instance), 60, "it was given back")
    comment = lambda: alice.run("sacct", "-n", "-X", "-P", "-j", job, "-o", "comment").strip()
    held = wait_until(lambda: "busy=" in (said := comment()) and said, 60, "the accounting has the comment of the job's end")
    assert " held " in held, "between requests nothing ran, and no one else could use it"
