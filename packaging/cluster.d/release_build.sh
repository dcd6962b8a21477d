#!/usr/bin/env bash
# Builds one release of Slurm for a disposable cluster, with what that cluster uses and nothing else:
#   release_build.sh ARCHIVE PREFIX FINGERPRINT     the last is kept in PREFIX/built-from
set -euo pipefail
umask 022
archive=$1 prefix=$2 fingerprint=$3
work=$prefix.work

# Of its sources, and of their plugins; a release that has one of them not is built without. The daemons, the commands that tests give, and
# of the plugins those that slurm.conf names or that every daemon loads.
parts="api bcast common conmgr curl database interfaces lua plugins sacct sacctmgr sackd salloc sbatch scancel scontrol sdiag sinfo
  slurmctld slurmd slurmdbd squeue srun sshare stepmgr"
plugins="accounting_storage auth certgen certmgr cgroup compress cred gpu gres hash http_auth http_parser job_submit jobacct_gather mpi
  preempt prep priority proctrack sched select serializer switch task tls topology url_parser"

build_only() { # build_only FOLDER NAME...: a later assignment to a variable of make's is the one that counts
  local folder=$1 name there=()
  shift
  for name in "$@"; do
    if [[ -d $work/source/$folder/$name ]]; then there+=("$name"); fi
  done
  echo "SUBDIRS = ${there[*]}" >>"$folder/Makefile"
}

# The compiler's cache is the build's own where there is one; by relative paths, so that the folder's name does not count.
export CCACHE_DIR=${CCACHE_DIR:-$(dirname "$prefix")/ccache} CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
compiler=gcc
if command -v ccache >/dev/null; then compiler="ccache gcc"; fi

rm -rf "$work" "$prefix.new"
mkdir -p "$work/source" "$work/build"
tar -C "$work/source" --strip-components=1 -xf "$archive"
cd "$work/build"
"$work/source/configure" --quiet --prefix="$prefix" --sysconfdir=/etc/slurm --disable-dependency-tracking --disable-static --disable-x11 \
  --disable-sview --disable-slurmrestd --disable-debug --enable-multiple-slurmd CC="$compiler" CFLAGS="-O1 -g0 -w"
# shellcheck disable=SC2086
build_only src $parts
# shellcheck disable=SC2086
build_only "src/"plugins $plugins
make -s -j"${POUNCE_BUILD_JOBS:-$(nproc)}" LIBTOOLFLAGS=--silent -C src
make -s LIBTOOLFLAGS=--silent -C src install DESTDIR="$prefix.new"
make -s install-pkgincludeHEADERS DESTDIR="$prefix.new"
echo "$fingerprint" >"$prefix.new$prefix/built-from"
rm -rf "$prefix"
mv "$prefix.new$prefix" "$prefix"
rm -rf "$prefix.new" "$work"
