# munged: who is who, for Slurm and for pounce. Its socket is a path, so it is one for all namespaces.
# shellcheck shell=bash

munge_up() {
  daemon_alive munged && return
  munge_make_key
  daemon_start munged munged --foreground --force --socket="$MUNGE_SOCKET" --key-file="$D/etc/munge.key" \
    --pid-file="$D/run/munged.own.pid" --log-file="$D/log/munged.log" --seed-file="$D/state/munge.seed"
  daemon_wait munged 10 munge_answers
}

munge_make_key() {
  [[ -s $D/etc/munge.key ]] || (umask 077 && head -c 1024 /dev/urandom >"$D/etc/munge.key" && chmod 400 "$D/etc/munge.key")
}

munge_answers() {
  [[ -S $MUNGE_SOCKET ]] && munge --socket="$MUNGE_SOCKET" --no-input >/dev/null 2>&1
}

munge_down() { daemon_stop munged; }
