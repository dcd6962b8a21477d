"""What several scenarios begin with: workers that meet, so that each task is known to have one of its own."""

MEET = """
    import pounce
    def meet(folder, everybody):
        import os, pathlib, time
        here = pathlib.Path(folder)
        here.mkdir(exist_ok=True)
        (here / str(os.getpid())).touch()
        deadline = time.monotonic() + 90
        while len(list(here.iterdir())) < everybody:
            assert time.monotonic() < deadline, "the others did not come"
            time.sleep(0.02)
        return os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES", "")
    import tempfile
    folder = tempfile.mkdtemp()
"""
