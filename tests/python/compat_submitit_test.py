"""``pounce.compat.submitit`` as submitit's users write it."""

from __future__ import annotations

import concurrent.futures

from pounce.compat.submitit.job import Job


def test_a_job_returns_prints_fails_and_is_found_by_a_later_kernel(home):
    run = home.run("""
        import sys
        # import submitit
        from pounce.compat import submitit
        executor = submitit.AutoExecutor(folder="~/submitit_logs")
        executor.update_parameters(timeout_min=30, mem_gb=128, cpus_per_task=16, slurm_partition="BigCats", slurm_additional_parameters={"gres": "gpu:1"})
        def client_test(input1, input2, error=False, test=False):
            assert not error
            if test: print("printed there"); print("and there", file=sys.stderr)
            return input1, input2, submitit.JobEnvironment().job_id
        job = executor.submit(client_test, "input1", "input2", test=True)
        report(result=job.result(), results=len(job.results()), done=job.done(), state=job.state, error=job.exception() is None)
        report(id=job.job_id, out=job.stdout(), err=job.stderr(), files=sorted(os.listdir(os.path.expanduser("~/submitit_logs"))))
        failed = executor.submit(client_test, 1, 2, error=True)
        report(raised=error_of(failed.result)["type"], exception=type(failed.exception()).__name__, failed=failed.state)
        slow = executor.submit(time.sleep, 1000)
        slow.cancel()
        report(cancelled=error_of(slow.result)["type"], cancel_state=slow.state, outside=error_of(submitit.JobEnvironment)["text"])
    """)
    later = home.run(f"""
        from pounce.compat import submitit
        job = submitit.SlurmJob("~/submitit_logs", {run.reports["id"]!r})
        report(result=job.result(), out=job.stdout())
        report(none=error_of(lambda: submitit.Job("~/submitit_logs", "no-such-job"))["type"])
    """)

    reports = run.reports
    assert reports["result"] == ["input1", "input2", reports["id"]] and reports["results"] == 1
    assert (reports["done"], reports["state"], reports["error"]) == (True, "COMPLETED", True)
    assert (reports["out"], reports["err"]) == ("printed there\n", "and there\n") and "printed there" in run.stdout
    assert run.stderr.count("slurm_partition='BigCats' is not passed on") == 1
    assert reports["files"] == [f"{reports['id']}_0_log.err", f"{reports['id']}_0_log.out"]
    assert reports["raised"] == reports["exception"] == "AssertionError" and reports["failed"] == "FAILED"
    assert (reports["cancelled"], reports["cancel_state"]) == ("Cancelled", "CANCELLED") and "inside the function" in reports["outside"]
    assert later.reports == {"result": reports["result"], "out": "printed there\n", "none": "NoSuchName"}


def test_the_jobs_of_an_array_run_so_many_at_a_time(home):
    run = home.run("""
        import contextlib
        from pounce.compat import submitit
        executor = submitit.AutoExecutor(folder="logs", cluster="local")
        executor.update_parameters(name="my array", slurm_array_parallelism=2, stderr_to_stdout=True)
        mark = os.path.abspath("mark")
        def seen(n):
            with open(mark, "a") as file: file.write("+")
            text = open(mark).read()
            with open(mark, "a") as file: file.write("-")
            return n, text.count("+") - text.count("-")
        jobs = executor.map_array(seen, range(4))
        values = [job.result() for job in submitit.helpers.as_completed(jobs, timeout=60)]
        report(values=sorted(n for n, _ in values), most=max(k for _, k in values), ids=all(job.job_id.startswith("my-array-") for job in jobs))
        with executor.batch():
            inside = executor.submit(pow, 2, 3)
            report(inside=error_of(inside.result)["text"], state=inside.state)
        report(after=inside.result())
        with contextlib.suppress(KeyError):
            with executor.batch():
                never = executor.submit(pow, 2, 3)
                raise KeyError
        report(never=error_of(never.result)["text"])
        command = submitit.helpers.CommandFunction(["sh", "-c", "echo $0 $1; exit $2"])
        report(command=executor.submit(command, "a", "b", 0).result(), code=error_of(lambda: executor.submit(command, "a", "b", 3).result())["type"])
    """)

    reports = run.reports
    assert reports["values"] == [0, 1, 2, 3] and reports["most"] <= 2 and reports["ids"]
    assert "with executor.batch()" in reports["inside"] and reports["state"] == "PENDING" and reports["after"] == 8
    assert "not submitted" in reports["never"] and reports["command"] == "a b" and reports["code"] == "CalledProcessError"


def test_a_job_that_is_cancelled_while_it_is_submitted_does_not_run():
    future, job = concurrent.futures.Future(), Job("logs", "job-1", _waits=True)

    def submit():
        job.cancel()
        return future

    job.start(submit)

    assert future.cancelled() and job.state == "CANCELLED" and isinstance(job.exception(), concurrent.futures.CancelledError)


def test_a_kernel_that_ends_before_its_array_is_submitted_says_how_many_jobs_are_lost(home):
    run = home.run("""
        from pounce.compat import submitit
        executor = submitit.AutoExecutor(folder="logs", cluster="local")
        executor.update_parameters(slurm_array_parallelism=1)
        executor.map_array(time.sleep, [1000] * 4)[1].cancel()
    """)

    assert "pounce: 2 jobs of submitit arrays were not submitted" in run.stderr


def test_a_checkpointable_goes_on_where_its_time_was_over(home):
    """Its first run may be killed with a line open: the next run ends that, or the report here would stand on it."""
    run = home.run("""
        from pounce.compat import submitit
        class Train(submitit.helpers.Checkpointable):
            def __init__(self): self.epoch, self.kept = 0, 0
            def __call__(self, epochs):
                if self.kept: return "went on at", self.epoch, epochs
                self.epoch = 3
                pounce.time_left = lambda: 5.0  # the end comes near
                while not self.kept: time.sleep(0.05)
                os.kill(os.getpid(), 9)
            def checkpoint(self, epochs):
                self.kept = 1
                return super().checkpoint(epochs)
        executor = submitit.AutoExecutor(folder="logs")
        executor.update_parameters(slurm_signal_delay_s=20)
        report(result=executor.submit(Train(), 10).result())
    """)

    assert run.reports == {"result": ["went on at", 3, 10]}


def test_a_function_that_ends_as_its_time_does_leaves_its_worker_alive(home):
    run = home.run("""
        import threading
        from pounce.compat.submitit import helpers, on_worker
        class Train(helpers.Checkpointable): pass
        first, looked, ended = iter([100.0]), threading.Event(), threading.Event()
        def time_left():  # the second look is still under way when the function has ended
            for seconds in first: return seconds
            looked.set()
            ended.wait()
            return 0.0
        pounce.time_left, on_worker._LOOK_S = time_left, 0.001
        with on_worker._checkpoint_in_time(helpers.DelayedSubmission(Train()), 20):
            (watcher,) = [thread for thread in threading.enumerate() if thread.name == "pounce-checkpoint"]
            looked.wait()
        ended.set()
        watcher.join()
        report(alive=True)
    """)

    assert run.reports == {"alive": True}
