"""What several tests' programs begin with: workers that meet, so that each task is known to have one of its own."""

TOGETHER = """
def meet(folder, everybody):
    "Waits until so many tasks are in here at the same time."
    import os, pathlib, time
    here = pathlib.Path(folder)
    here.mkdir(exist_ok=True)
    (here / str(os.getpid())).touch()
    deadline = time.monotonic() + 120
    while len(list(here.iterdir())) < everybody:
        assert time.monotonic() < deadline, "the others did not come"
        time.sleep(0.01)
    return os.getpid()
"""
