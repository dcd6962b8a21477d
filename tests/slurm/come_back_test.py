"""A cell that goes on without its kernel, on a real Slurm: kernel and pounced are killed, and a terminal attaches."""

from __future__ import annotations

import json
import uuid

from login_node import wait_until

START = """
    from IPython.core.interactiveshell import InteractiveShell
    from pounce.kept import records
    from pounce.kept.attached import found_root
    shell = InteractiveShell.instance()
    shell.run_cell("%load_ext pounce")
    shell.run_cell('''%%pounce --cpus 1 --bg --name {name}
    import os, time
    print("begun", flush=True)
    while not os.path.exists({flag!r}) and os.path.isdir(os.path.dirname({flag!r})):
        time.sleep(0.05)
    made = [20, 22]
    sum(made)
    ''')
    record = records.find(found_root(), {name!r})
    while not record.beat():
        time.sleep(0.05)
    report(kernel=os.getpid())
    time.sleep(1000)
"""

LATER = """
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.run_cell("%load_ext pounce")
    value = shell.run_cell("%pounce attach {name}").result
    shell.run_cell("%%pounce --cpus 1 --out made\\nmade.append(0)")
    report(value=repr(value), made=shell.user_ns["made"])
    shell.run_cell("%pounce release")
"""


def test_a_cell_goes_on_without_its_kernel_and_without_pounced(make_user):
    alice = make_user("alice", idle_release_s=300, orphan_grace_s=15, heartbeat_ms=1000)
    name, flag = f"goes_on_{uuid.uuid4().hex[:8]}", alice.folder / "flag"
    kernel = alice.python(START.format(name=name, flag=str(flag)))
    pid, endpoint = kernel.reported("kernel", 90), alice.endpoint()
    wait_until(lambda: len(alice.jobs(endpoint["instance"])) == 1, 60, "no other job of this user's is left")
    (job,) = alice.jobs(endpoint["instance"])

    alice.run("kill", "-9", str(pid))
    wait_until(lambda: json.loads(alice.run("pouncectl", "status", "--json"))["sessions"] == [], 90, "pounced gives its session up")
    alice.run("kill", "-9", str(endpoint["pid"]))
    terminal = alice.start(["pouncectl", "attach", name])
    wait_until(lambda: "begun" in terminal.output, 90, "the terminal shows what was printed before")
    assert [one["id"] for one in alice.jobs(endpoint["instance"])] == [job["id"]]
    flag.touch()

    assert terminal.ended(90).output.splitlines() == ["begun", "42"]
    later = alice.python(LATER.format(name=name)).ended(150)
    assert later.reported("value") == "42" and later.reported("made") == [20, 22, 0]
    wait_until(lambda: not alice.jobs(endpoint["instance"]), 60, "the job has ended")
