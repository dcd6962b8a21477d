"""A notebook under chaos: a real kernel whose cells run with %%pounce until it is told to stop; a killed kernel is started again.

    notebook.py LIFE.json
"""

import inspect
import json
import os
import queue
import sys
import time

from client import LONGEST_S, Stream, work
from jupyter_client.manager import start_new_kernel

CELL = "%%pounce --gpu 1\n{work}\nwork({history!r}, {task!r}, {seconds!r})"


class Notebook(Stream):
    def run(self):
        kernel, talk = self.started()
        while not os.path.exists(self.life["stop"]):
            if not kernel.is_alive():
                self.note("gone", client=self.kernel)
                kernel, talk = self.started()
            self.one_cell(kernel, talk)
            time.sleep(self.random.uniform(0, 1))
        self.executed(kernel, talk, "%pounce release", lambda _: None)
        self.note("closed", client=self.kernel)
        kernel.shutdown_kernel()

    def started(self):
        kernel, talk = start_new_kernel()
        self.executed(kernel, talk, "import pounce", lambda _: None)
        self.count += 1
        self.kernel = f"{self.name}.{self.count}"
        self.note("client", client=self.kernel, pid=kernel.provisioner.pid, login=self.life["login"], kernel=True)
        return kernel, talk

    def one_cell(self, kernel, talk):
        self.count += 1
        task, shown = f"{self.name}.{self.count}", []
        source = CELL.format(work=inspect.getsource(work), history=self.life["history"], task=task, seconds=self.random.choice([0.2, 1, 3]))
        self.note("asked", client=self.kernel, task=task, kind="cell", retries=0, parts=1)
        if not self.executed(kernel, talk, source, shown.append):
            return
        errors = [message["content"] for message in shown if message["msg_type"] == "error"]
        values = [message["content"]["data"]["text/plain"] for message in shown if message["msg_type"] == "execute_result"]
        if errors:
            self.note("told", client=self.kernel, task=task, error=errors[0]["ename"], ours=True, text=errors[0]["evalue"][:1500], context={})
        else:
            self.note("told", client=self.kernel, task=task, value=[task, 0] if values[-1:] == [repr([task, 0])] else values)

    def executed(self, kernel, talk, source, show):
        """False: the kernel died, or the cell does not end."""
        cell, deadline = talk.execute(source), time.monotonic() + LONGEST_S
        while time.monotonic() < deadline:
            try:
                message = talk.get_iopub_msg(timeout=1)
            except queue.Empty:
                if not kernel.is_alive():
                    return False
                continue
            if message["parent_header"].get("msg_id") == cell:
                show(message)
                if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                    return True
        return False


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        Notebook(json.load(file), 0).run()
