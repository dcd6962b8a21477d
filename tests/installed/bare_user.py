"""An ordinary user on a machine that has none of the libraries that pounce is built with: their files are hidden from it, and from
nobody else. Needs root, to make such a view."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = Path(f"/usr/lib/{os.uname().machine}-linux-gnu")
USER = "nobody"

# What even a bare Debian with Python has: pounce's wheel may use none of it, but other programs need it.
BARE = ("python3", "python3-venv", "util-linux", "bash", "coreutils", "libstdc++6")

# Written for sh: $1 is a folder for what is hidden, $2 a file with the names, $3 where a Python lies in root's home, or nothing; then
# the user's command. Of that home it sees this Python alone, under its own path, which is in the Python itself.
_HIDE = f"""
scratch=$1; names=$2; python=$3; shift 3
if [ -n "$python" ]; then
  mount --bind "$python" /mnt
  mount -t tmpfs -o mode=0755 none {Path.home()}
  mkdir -p "$python"
  mount --bind /mnt "$python"
fi
mkdir -p "$scratch/upper" "$scratch/work"
mount -t overlay overlay -o "lowerdir={LIBRARIES},upperdir=$scratch/upper,workdir=$scratch/work" {LIBRARIES}
(cd {LIBRARIES} && xargs rm -rf) <"$names"
for folder in /usr/include /opt/pounce-demo {ROOT}; do [ ! -d $folder ] || mount -t tmpfs none $folder; done
cd /
exec setpriv --reuid={USER} --regid=nogroup --clear-groups -- "$@"
"""


def build_packages() -> list[str]:
    rows = (line.split() for line in (ROOT / "packaging" / "system-packages").read_text().splitlines() if line and line[0] != "#")
    return [row[0] for row in rows if row[1] in ("build", "slurm") and row[0].endswith("-dev") and not row[0].startswith("python3")]


def with_all_they_need(packages) -> set[str]:
    """Installed packages, and those that they depend on."""
    found: set[str] = set()
    more = list(packages)
    while more:
        name = more.pop()
        if name in found:
            continue
        found.add(name)
        asked = subprocess.run(["dpkg-query", "--show", "--showformat=${Depends},${Pre-Depends}", name], capture_output=True, text=True)
        more += [word for part in re.split(r"[,|]", asked.stdout) if (word := part.split("(")[0].split(":")[0].strip())]
    return found


@functools.cache
def hidden_libraries() -> list[str]:
    """Names in LIBRARIES of what comes with the build's packages and is on no bare machine."""
    packages = with_all_they_need(build_packages()) - with_all_they_need(BARE)
    listed = subprocess.run(["dpkg-query", "--listfiles", *sorted(packages)], capture_output=True, text=True).stdout
    names = {Path(line).name for line in listed.splitlines() if re.search(r"/lib[^/]*\.(so|a)\b[^/]*$", line)}
    return sorted(name for name in names if os.path.lexists(LIBRARIES / name))


def command(scratch: Path, python_prefix: str, *words: str) -> list[str]:
    """The command that runs `words` so; python_prefix: of a Python in root's home, else empty."""
    names = scratch / "names"
    names.write_text("\n".join(hidden_libraries()))
    return ["unshare", "--mount", "sh", "-e", "-c", _HIDE, "hide", str(scratch), str(names), python_prefix, *words]
