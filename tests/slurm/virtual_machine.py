"""A virtual machine with a kernel of Debian's, control groups of version 2 alone, and this machine's files under an overlay in its memory:
what it writes is gone with it. Its processor is emulated, so everything takes some ten times as long.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from pathlib import Path

PATH = "/usr/sbin:/sbin:/usr/bin:/bin"  # root's: some of these are not on a user's
PROGRAMS = ("qemu-system-x86_64", "modprobe", "depmod", "cpio", "busybox")
INSTALL = "packaging/install-system --only machine"
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "bridge", "veth")

# Its first program, of busybox alone.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
for module in $(cat /modules); do insmod $module; done
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose files /files
mount -t tmpfs -o size=3g none /changes; mkdir /changes/new /changes/work
mount -t overlay -o lowerdir=/files,upperdir=/changes/new,workdir=/changes/work none /root
cd /root
mount -t proc none proc; mount -t sysfs none sys; mount --move /dev dev; mkdir -p dev/pts dev/shm; mount -t devpts none dev/pts
for folder in dev/shm run tmp var/tmp; do mount -t tmpfs -o mode=1777 none $folder; done
mkdir -p run/lock run/netns; ln -s /proc/self/fd dev/fd
mount -t cgroup2 none sys/fs/cgroup
hostname machine; ifconfig lo up
cp /script run/script
PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot /root /bin/bash /run/script
echo "EXIT CODE $?"
poweroff -f
"""


def what_is_missing() -> str:
    """Empty: a machine can be started."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    return f"{', '.join(missing)} is not here: {INSTALL}" if missing else ""


def output_of(*words: str, **more):
    """What it prints, bytes or with `text=True` a text; ends with an error where it does."""
    return subprocess.run(words, stdout=subprocess.PIPE, check=True, env={**os.environ, "PATH": PATH}, **more).stdout


def kernel(folder: Path) -> Path:
    """The files of Debian's newest kernel package, unpacked; nothing is installed."""
    name = output_of("apt-cache", "depends", "linux-image-amd64", text=True).split("Depends: ")[1].split()[0]
    output_of("apt-get", "download", "-q", name, cwd=folder, stderr=subprocess.DEVNULL)
    (package,) = folder.glob("linux-image-*.deb")
    output_of("dpkg-deb", "-x", str(package), str(folder / "kernel"))
    return folder / "kernel"


def first_files(folder: Path, files: Path, script: str) -> Path:
    """What the kernel starts with (an initramfs): busybox, the modules in their order, INIT, the script."""
    first, (release,) = folder / "first", (path.name for path in (files / "lib/modules").iterdir())
    for name in ("bin", "proc", "sys", "dev", "files", "changes", "root"):
        (first / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox", path=PATH), first / "bin")
    output_of("depmod", "-b", str(files), release)
    said = [output_of("modprobe", "-d", str(files), "-S", release, "--show-depends", name, text=True) for name in MODULES]
    modules = dict.fromkeys(line.split()[1].removeprefix(str(files)) for lines in said for line in lines.splitlines() if line.startswith("insmod"))
    for name in modules:
        (first / name[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(files / name[1:], first / name[1:])
    (first / "modules").write_text("\n".join(modules))
    (first / "script").write_text(script)
    (first / "init").write_text(INIT)
    (first / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(first)) for path in sorted(first.rglob("*")))
    packed = output_of("cpio", "--quiet", "-o", "-H", "newc", cwd=first, input=names.encode())
    (folder / "first.gz").write_bytes(gzip.compress(packed, 1))
    return folder / "first.gz"


def run(folder: Path, script: str, seconds: float) -> str:
    """What a shell script prints as root of such a machine; an end by error is the caller's to see ("EXIT CODE 1")."""
    files = kernel(folder)
    (image,) = (files / "boot").glob("vmlinuz-*")
    words = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "6144", "-nographic", "-no-reboot",
             "-kernel", str(image), "-initrd", str(first_files(folder, files, script)), "-append", "console=ttyS0 quiet panic=-1",
             "-virtfs", "local,path=/,mount_tag=files,security_model=none,readonly=on,multidevs=remap"]
    return output_of(*words, stdin=subprocess.DEVNULL, timeout=seconds).decode(errors="replace")
