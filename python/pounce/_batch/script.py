"""The job script of a batch run: plain bash for sbatch, which the user may change. Pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from .job_lines import pattern, quoted
from .placement import COMMAND

CHECKPOINTED = 85  # an exit code: "my state is saved, run me again"
RESTARTS = 10      # how often a run may request that before the user has to look

_HEAD = """\
#!/bin/bash
# {what}
# Written by pounce {version}. Submit it with sbatch as it is; it needs no pounce. pounce finds the run as {name}.
#SBATCH --job-name={name}
#SBATCH --chdir={directory}
#SBATCH --output={log}
#SBATCH --open-mode=append
#SBATCH --requeue
{lines}

folder={folder}
python={python}
restarts={restarts}  # so often exit code {checkpointed} ("my state is saved, run me again") \
puts the job back into the queue
"""

_BODY = """
# A command of Slurm without what its user has set to change how it answers.
plain() (unset "${!SQUEUE_@}" "${!SCONTROL_@}" SLURM_TIME_FORMAT SLURM_CLUSTERS; "$@")

end() {
  echo "$SLURM_JOB_ID $1" > "$folder/ended.new" && mv "$folder/ended.new" "$folder/ended"
  exit "$1"
}

# One job of this run at a time: two would write the same files. A job that was killed has left its lock.
if ! ln -s "$SLURM_JOB_ID" "$folder/running" 2> /dev/null; then
  other=$(readlink "$folder/running")
  if [ "$other" != "$SLURM_JOB_ID" ]; then
    if ! live=$(plain squeue --noheader --user="$(id -un)" --format=%A); then
      echo "job $other has the lock $folder/running, and squeue does not say whether it lives; \
if it is gone remove the lock" >&2
      exit 1
    fi
    if [ -n "$other" ] && grep -qx "$other" <<< "$live"; then
      echo "job $other is this run already, by its lock $folder/running; wait for it, or scancel $other" >&2
      exit 1
    fi
    # Another may take it now, too: the last one has it.
    [ "$(readlink "$folder/running")" = "$other" ] && ln -sfn "$SLURM_JOB_ID" "$folder/running"
    sleep 1
    other=$(readlink "$folder/running")
    if [ "$other" != "$SLURM_JOB_ID" ]; then
      echo "job $other is this run already, by its lock $folder/running; wait for it, or scancel $other" >&2
      exit 1
    fi
  fi
fi
unlock() {
  if [ "$(readlink "$folder/running")" = "$SLURM_JOB_ID" ]; then rm -f "$folder/running"; fi
}
trap unlock EXIT
rm -f "$folder/ended" "$folder/result.pickle"
[ "${SLURM_RESTART_COUNT:-0}" != 0 ] || rm -f "$folder/restarts"
[ "$(tail -n 1 "$folder/jobs" 2> /dev/null)" = "$SLURM_JOB_ID" ] || echo "$SLURM_JOB_ID" >> "$folder/jobs"

. "$folder/environment.sh"
"""

_THERE = """
if [ ! -x "$python" ]; then
  echo "the environment of this run is gone: there is no $python; make it again, or name another in this script" >&2
  end 1
fi"""

# Its Python may exist only inside the container.
_IN_CONTAINER = """
# The site's container
contained() {{ {command}; }}"""

_PYTHON = """
export POUNCE_BATCH=$folder
ends=$(plain squeue --noheader --jobs="$SLURM_JOB_ID" --format=%e 2> /dev/null) &&
  POUNCE_BATCH_ENDS=$(date --date="$ends" +%s 2> /dev/null)
export POUNCE_BATCH_ENDS
# Without pounce, its checkpoint, restored, steps and time_left are in a small module of that name.
{python} -c 'import sys; sys.path[:] = filter(None, sys.path); import pounce' 2> /dev/null ||
  export PYTHONPATH="$folder/without_pounce${PYTHONPATH:+:$PYTHONPATH}"

{tags}{reports}{python} -u "$folder/{program}" "$folder"
code=$?
{no_reports}"""

# Its end is told by a line, since a signal may not reach a process inside a container.
_KEEPS = """\
# What its programs report (pounce-report, pounce.report, lines into the pipe $POUNCE_REPORT) is in reports.json.
pipe=$folder/reports.pipe
rm -f "$pipe" "$pipe.open" "$folder/reports.json" "$folder/mlflow.json"
reader=
if mkfifo -m 600 "$pipe"; then
  {python} -u "$folder/keep_reports.py" "$folder" "$pipe" &
  reader=$!
  until [ -e "$pipe.open" ] || ! kill -0 "$reader" 2> /dev/null; do sleep 0.05; done
  [ -e "$pipe.open" ] && export POUNCE_REPORT=$pipe PATH="$PATH:{programs}"
fi

"""
_KEEPS_NO_MORE = """\
if [ -n "$reader" ] && kill -0 "$reader" 2> /dev/null; then
  timeout 10 bash -c 'echo "end of reports" > "$1"' - "$pipe" && wait "$reader"
fi
rm -f "$pipe" "$pipe.open"
"""

# MLflow finds pounce_batch_tags.py there, in each Python that the program starts.
_TAGS = 'export PYTHONPATH="$folder/tags${PYTHONPATH:+:$PYTHONPATH}"  # runs of MLflow get the tags of this run\n'

# A shell that ignored SIGTERM would pass that on to the program; one that handles it waits for the program's end.
_REPORTS = "\ntrap : TERM  # where Slurm sends it to this shell, too: the program says how it ends\n"

# Undoes shell settings that the site's lines may have changed and the rest relies on.
_BEHIND_SITE = "set +eu\ntrap unlock EXIT\n"

_END = """
# Counted here: Slurm's own count has those after a lost node or a preemption, too.
if [ $code = {checkpointed} ] && [ "$(cat "$folder/restarts" 2> /dev/null | wc -l)" -lt "$restarts" ]; then
  echo "$SLURM_JOB_ID" >> "$folder/restarts"
  echo "exit code {checkpointed}: job $SLURM_JOB_ID goes back into the queue, and on from its last checkpoint" >&2
  plain scontrol requeue "$SLURM_JOB_ID" && exit {checkpointed}
fi
[ $code = 0 ] && rm -f "$folder/checkpoint"
end $code
"""


@dataclass(frozen=True)
class Script:
    name: str
    what: str          # in words, one line
    version: str
    folder: Path
    directory: str     # where it runs
    python: str
    program: str       # the name of the program beside it
    lines: tuple[str, ...]
    prologue: str = ""
    container: tuple[str, ...] = (COMMAND,)
    reports: bool = False  # the program itself tells of its end, also if Slurm ends it
    has_tags: bool = False  # for the runs of MLflow that it begins
    programs: str = ""  # the folder of pounce-report, as the shell reads it between double quotes

    def text(self) -> str:
        head = _HEAD.format(
            what=" ".join(self.what.split()), version=self.version, name=self.name, directory=quoted(self.directory),
            log=quoted(pattern(str(self.folder / "job.log"))), lines="\n".join(self.lines),
            folder=shlex.quote(str(self.folder)), python=shlex.quote(self.python), restarts=RESTARTS,
            checkpointed=CHECKPOINTED)
        site = f"# The site's own lines\n{self.prologue.strip()}\n{_BEHIND_SITE}" if self.prologue.strip() else ""
        contained = self.container != (COMMAND,)
        before = _IN_CONTAINER.format(command=in_shell(self.container)) if contained else _THERE
        command = 'contained "$python"' if contained else '"$python"'
        keeps = "" if self.reports else _KEEPS.replace("{programs}", self.programs)
        python = _PYTHON.replace("{reports}", keeps).replace("{no_reports}", "" if self.reports else _KEEPS_NO_MORE)
        python = python.replace("{program}", self.program).replace("{python}", command)
        python = python.replace("{tags}", _TAGS if self.has_tags else "")
        before += _REPORTS if self.reports else ""
        return head + _BODY + site + before + python + _END.replace("{checkpointed}", str(CHECKPOINTED))


def in_shell(container: tuple[str, ...]) -> str:
    """The container's words for the shell, with "$@" where the command belongs."""
    return " ".join('"$@"' if word == COMMAND else shlex.quote(word) for word in container)


_NEEDS_A_COMMAND = """\
if [ $# = 0 ]; then
  echo "no command is given: say it behind the script's name, sbatch SCRIPT COMMAND" >&2
  exit 2
fi
"""


def for_a_command(what: str, version: str, lines: tuple[str, ...], variables: str, prologue: str = "",
                  container: tuple[str, ...] = (COMMAND,)) -> str:
    """The script of a lease, which has resources but no work: the command follows the script's name."""
    site = f"\n# The site's own lines\n{prologue.strip()}\nset +eu\n" if prologue.strip() else ""
    return (f"#!/bin/bash\n# {what}\n"
            f"# Written by pounce {version}. Say behind its name what it runs: sbatch SCRIPT COMMAND\n"
            + "\n".join(lines) + f'\n\n{_NEEDS_A_COMMAND}\n{variables}{site}\nexec {in_shell(container)}\n')
