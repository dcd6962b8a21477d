# A command as one of the cluster's users, as if just logged in.
# shellcheck shell=bash

cluster_run() {
  local user=root node='' words=''
  while (($#)); do
    case $1 in
      --as) user=${2:?--as needs a user}; shift 2 ;;
      --in) node=${2:?--in needs a node}; shift 2 ;;
      --words) words=yes; shift ;;
      --) shift; break ;;
      -*) fail "run: unknown option $1; the options are --as USER, --in NODE and --words." ;;
      *) break ;;
    esac
  done
  (($#)) || [[ -n $words ]] || fail "run: no command given; for example: run --as alice -- squeue"
  [[ -r $CLUSTER_CONF ]] || fail "the cluster is not up; start it with: $0 up"
  run_in_place "$node" "$user"
  if [[ -n $words ]]; then printf '%s\0' "${place[@]}"; else exec "${place[@]}" "$@"; fi
}

run_in_place() { # run_in_place NODE USER     sets `place`: the words that a command stands behind
  local enter=()
  if [[ -n $1 ]]; then
    [[ -e /run/netns/$(node_namespace "$1") ]] || fail "run: no node $1; the nodes are ${NODES[*]}."
    enter=(nsenter --net="/run/netns/$(node_namespace "$1")")
  fi
  run_as "$2"
}

# The environment of a login, nothing of the caller's: SLURM_* of an outer job would change an inner one. All nodes share
# this machine's processors, so threads of OpenMP (torch has them) that wait for each other shall not occupy them.
run_as() { # run_as USER   (uses `enter` of run_in_place)
  local user=$1 home become=() own=()
  if [[ -n $RELEASE ]]; then own=(XDG_DATA_HOME="$HELPER_HOME"); fi
  home=$(getent passwd "$user" | cut -d: -f6)
  [[ -n $home ]] || fail "run: no user $user on this machine; the cluster's users are ${USERS[*]}."
  if [[ $user != "$(id -un)" ]]; then
    [[ $EUID == 0 ]] || fail "run: only root can become $user; run it with sudo."
    become=(setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups)
  fi
  [[ -d $home ]] || fail "run: there is no folder $home of $user."
  place=("${enter[@]}" "${become[@]}" env -i --chdir="$home" HOME="$home" USER="$user" LOGNAME="$user" SHELL=/bin/bash \
    LANG=C.UTF-8 TERM="${TERM:-dumb}" PATH="$ENVIRONMENT/bin:$(release_path)/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" \
    SLURM_CONF="$CLUSTER_CONF" OMP_WAIT_POLICY=PASSIVE "${own[@]}")
}
