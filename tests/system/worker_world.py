"""One daemon and one client of plain pyzmq (fake_daemon.py) around the real pounce-worker with a real interpreter."""

from __future__ import annotations

from pathlib import Path

from fake_daemon import LEASE, FakeClient, FakeDaemon, RealWorker, pack

SLURM = {"SLURM_JOB_ID": "77", "SLURM_RESTART_COUNT": "2", "SLURMD_NODENAME": "g9", "SLURM_JOB_GPUS": "0,1",
         "SLURM_NTASKS": "2", "CUDA_VISIBLE_DEVICES": "0,1"}
MIB = 1 << 20


class World:
    """One daemon, one worker, one attached client."""

    def __init__(self, folder: Path, *options: str, **more):
        (folder / "state").mkdir()
        self.daemon = FakeDaemon(folder / "state")
        self.worker = RealWorker(self.daemon, folder, *options, **more)
        try:
            up = self.daemon.ready()
            self.data_socket = up["endpoint"], up["key"]
            self.client = FakeClient(self.daemon).connect(*self.data_socket)
        except BaseException:
            self.close()
            raise

    def again(self, epoch: int) -> FakeClient:
        up = self.daemon.ready(epoch)
        self.client = FakeClient(self.daemon).connect(up["endpoint"], up["key"])
        return self.client

    def end(self):
        self.daemon.say(pack("end_worker", lease=LEASE, cause={"code": "idle"}))
        self.daemon.wait(lambda: self.worker.process.poll() is not None, "the end of the worker")
        assert self.worker.process.returncode == 0

    def close(self):
        try:
            self.worker.stop()
        finally:
            self.daemon.close()
