"""Cancelling on a real Slurm: what does not stop keeps its lease, what waits in the queue leaves it."""

from __future__ import annotations

STUBBORN = """
    import pounce
    def stubborn():
        print("in C", flush=True)
        return sum(range(10**13))
    client = pounce.Client(cancel_grace=0.5)
    first = client.submit(os.getpid).result(90)
    job = client.submit(os.environ.get, "SLURM_JOB_ID").result(60)
    future = client.submit(stubborn)
    while not future.running():
        time.sleep(0.02)
    client.cancel(future)
    try:
        future.result(60)
    except Exception as e:
        report(error=error(e))
    report(new=client.submit(os.getpid).result(60) != first, same_job=client.submit(os.environ.get, "SLURM_JOB_ID").result(60) == job)
    client.close()
"""

PENDING = """
    import pounce
    client = pounce.Client()
    tabby = client.options(class_="tabby")  # one running job a user, and nobody else here asks for it
    busy = tabby.submit(time.sleep, 1000)
    while not busy.running():
        time.sleep(0.02)
    one, two = (tabby.options(cpus=2).submit(pow, 2, n) for n in (1, 2))
    def pending():
        return sum(row.state == "PENDING" and row.class_ == "tabby" for row in client.queue())
    while not pending():
        time.sleep(0.1)
    report(first=one.cancel(), wanted=pending())
    report(second=two.cancel())
    deadline = time.monotonic() + 60
    while pending() and time.monotonic() < deadline:
        time.sleep(0.1)
    report(withdrawn=not pending(), busy=busy.running())
    client.close()
"""


def test_a_task_that_does_not_stop_loses_its_python_and_not_its_job(make_user):
    run = make_user().python(STUBBORN).ended(150)

    assert run.reported("error")["type"] == "Cancelled"
    assert run.reported("new") and run.reported("same_job")


def test_the_request_of_a_cancelled_task_leaves_the_queue_when_nothing_else_needs_it(make_user):
    run = make_user().python(PENDING).ended(150)

    assert run.reported("first") and run.reported("wanted") == 1, "the other task still needs it"
    assert run.reported("second") and run.reported("withdrawn") and run.reported("busy")
