"""Alice's processes, as the kernel shows them to others: pounced, the supervisor of a worker, and its interpreter."""

from __future__ import annotations

from attacks.table import BOB, MALLORY, TASK, Attack, denied, done, says_nothing_of

EITHER = (MALLORY, BOB)
OF = ("pounced", "supervisor", "interpreter")
FILES = ("environ", "mem", "maps", "auxv", "stack", "syscall")
CALLS = {"trace": "attaches a debugger", "peek": "reads the memory", "take_descriptor": "takes a descriptor", "signal": "sends SIGTERM",
         "renice": "slows it down", "limit": "takes its descriptors away by a limit", "pin": "moves it to another processor"}


def each(it, question: str, **fields) -> dict:
    """At each of alice's processes; the worst outcome."""
    outcomes = [it.ask(question, pid=pid, **fields) for pid in it.alices_pids().values()]
    return next((outcome for outcome in outcomes if not denied(outcome)), outcomes[0])


def files(it, name: str) -> dict:
    outcomes = [it.ask("read", path=f"/proc/{pid}/{name}") for pid in it.alices_pids().values()]
    return next((outcome for outcome in outcomes if not denied(outcome)), outcomes[0])


def arguments(it) -> dict:
    """Words of alice's command lines that look like a secret: of keys only pounced's public one, of hex only ids."""
    public = {it.alice.endpoint["key"], it.alice.worker["lease"], it.alice.endpoint["instance"]}
    lines = it.run("ps", "-o", "args=", "-ww", "-p", ",".join(map(str, it.alices_pids().values())))["output"].split()
    assert public & set(lines), "the keys that everybody may see are seen"
    long = [word for word in lines if len(word) >= 32 and not word.startswith(("/", "-", "ipc:", "tcp:", "pounce"))]
    return {"secrets": [word for word in long if word not in public]}


ATTACKS = [
    *(Attack(f"proc_{name}", EITHER, f"reads /proc/PID/{name} of each process", lambda it, name=name: files(it, name),
             denied) for name in FILES),
    *(Attack("proc_" + name.split("/")[0], EITHER, f"lists /proc/PID/{name} of each process", lambda it, name=name: each_listed(it, name),
             denied) for name in ("fd", "cwd/", "root/tmp")),
    *(Attack(call, EITHER, f"{what} of each process", lambda it, call=call: each(it, call), denied) for call, what in CALLS.items()),
    Attack("a_key_in_the_arguments", EITHER, "looks for keys in the command lines", arguments, lambda outcome: outcome["secrets"] == []),
    *(Attack(f"a_task_reads_the_{what}_of_pounce", TASK, f"reads the {what} of the processes that hold keys",
             lambda it, question=question, of=of: at(it, ("pounced", "supervisor"), question, of), denied,
             lambda it, question=question, of=of: at(it, ("interpreter",), question, of), done)
      for what, question, of in (("environment", "read", "environ"), ("memory", "read", "maps"), ("descriptors", "listed", "fd"))),
    Attack("a_debugger_of_a_task", TASK, "attaches a debugger to the processes that hold keys",
           lambda it: at(it, ("pounced", "supervisor"), "trace", ""), denied),
    Attack("the_environment_of_a_task", TASK, "looks for pounce's and Slurm's words in the environment that tasks have",
           lambda it: {"environ": bytes.fromhex(it.ask("read", path=f"/proc/{it.alices_pids()['interpreter']}/environ")["read"]).decode()},
           says_nothing_of("SLURM_STEP", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_SUBMIT", "POUNCE_KEY", "MUNGE")),
]


def each_listed(it, name: str) -> dict:
    outcomes = [it.ask("listed", path=f"/proc/{pid}/{name}") for pid in it.alices_pids().values()]
    return next((outcome for outcome in outcomes if not denied(outcome)), outcomes[0])


def at(it, names: tuple[str, ...], question: str, of: str) -> dict:
    outcomes = [it.ask(question, pid=it.alices_pids()[name], path=f"/proc/{it.alices_pids()[name]}/{of}") for name in names]
    return next((outcome for outcome in outcomes if not denied(outcome)), outcomes[0])
