# One daemon: started detached, found again and stopped by its pid file.
# shellcheck shell=bash

# A pid may be someone else's by now, so the name is looked at as well.
daemon_alive() { # daemon_alive NAME [PROGRAM]
  local comm
  daemon_running "$1" || return 1
  read -r comm <"/proc/$(daemon_pid "$1")/comm" && [[ $comm == "${2:-$1}" ]]
} 2>/dev/null

# A zombie answers kill -0 where process 1 does not reap: so the state is read from /proc.
daemon_running() { # daemon_running NAME: also true before it has become its program
  local pid state
  pid=$(daemon_pid "$1") || return 1
  state=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$pid/status") || return 1
  [[ -n $state && $state != [ZX] ]]
} 2>/dev/null

daemon_pid() { # daemon_pid NAME
  local pid
  [[ -r $D/run/$1.pid ]] && read -r pid <"$D/run/$1.pid" && [[ $pid =~ ^[0-9]+$ ]] && echo "$pid"
}

# Own session, no descriptor but its log, nothing of the caller's environment.
daemon_start() { # daemon_start NAME CMD...   (CMD stays in the foreground)
  local name=$1
  shift
  (
    daemon_close_descriptors
    cd /
    exec setsid env -i PATH="$(release_path)/usr/sbin:/usr/bin:/sbin:/bin" LANG=C.UTF-8 SLURM_CONF="$CLUSTER_CONF" \
      MYSQL_UNIX_PORT="$MYSQL_SOCKET" "$@"
  ) </dev/null >>"$D/log/$name.out" 2>&1 &
  echo $! >"$D/run/$name.pid"
  disown
}

daemon_close_descriptors() {
  local path fd
  for path in /proc/"$BASHPID"/fd/*; do
    fd=${path##*/}
    ((fd > 2)) && eval "exec $fd>&-"
  done
  return 0
}

daemon_stop() { # daemon_stop NAME [PROGRAM]
  local pid
  if daemon_alive "$@"; then
    pid=$(daemon_pid "$1")
    kill -CONT "$pid" && kill -TERM "$pid"  # a stopped process hears TERM only after CONT
    until_true 8 daemon_gone "$@" || kill -KILL "$pid" 2>/dev/null || true
  fi
  rm -f "$D/run/$1.pid"
}

daemon_gone() { ! daemon_alive "$@"; }

until_true() { # until_true SECONDS CMD...: polls CMD, fails at the deadline
  local deadline=$((${EPOCHREALTIME/./} + $1 * 1000000))
  shift
  until "$@"; do
    ((${EPOCHREALTIME/./} < deadline)) || return 1
    sleep 0.05
  done
}

# Waits until NAME answers; stops waiting, with the end of its log, when NAME has died.
daemon_wait() { # daemon_wait NAME SECONDS CMD...
  local name=$1
  until_true "$2" daemon_answers_or_died "$name" "${@:3}" || true
  # Having answered once a slurmctld that has just started (24.11, 25.11) may not answer the next moment.
  if daemon_running "$name" && until_true 10 "${@:3}"; then return; fi
  echo "$name does not answer; the end of $D/log/$name.out:" >&2
  tail -n 5 "$D/log/$name.out" >&2
  return 1
}

daemon_answers_or_died() {
  "${@:2}" || ! daemon_running "$1"
}

port_open() { # port_open ADDRESS PORT
  (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null
}
