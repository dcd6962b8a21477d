# Is everything there, and does it answer?
# shellcheck shell=bash

DAEMONS=(slurmctld)
if has_slurmdbd; then DAEMONS=(mariadbd slurmdbd "${DAEMONS[@]}"); fi
if [[ $AUTH == munge ]]; then DAEMONS=(munged "${DAEMONS[@]}"); fi
DAEMONS+=("${NODES[@]/#/slurmd-}")

cluster_status() {
  case ${1:-} in
    "") status_print ;;
    --json) status_json ;;
    *) fail "status: unknown option $1; the only option is --json." ;;
  esac
  status_all_up
}

status_all_up() {
  local name
  for name in "${DAEMONS[@]}"; do
    daemon_alive "$name" "${name%-g*}" || return 1
  done
  if has_slurmdbd && [[ ! -e $D/state/gpus_limited ]]; then return 1; fi
  nodes_answer
}

status_print() {
  local name
  for name in "${DAEMONS[@]}"; do
    printf '%-10s %s\n' "$name" "$(status_of "$name")"
  done
  SLURM_CONF=$CLUSTER_CONF timeout 10 sinfo --Node --format='%8N %10T %5c %8m %G' 2>/dev/null || echo "no answer from slurmctld"
  echo "export SLURM_CONF=$CLUSTER_CONF"
}

status_of() {
  if daemon_alive "$1" "${1%-g*}"; then echo "running, pid $(daemon_pid "$1")"; else echo "not running"; fi
}

status_json() {
  local up=false
  status_all_up && up=true
  printf '{"up": %s, "dir": "%s", "slurm_conf": "%s", "host_address": "%s", "bridge": "%s",\n "daemons": {%s},\n "nodes": {%s}}\n' \
    "$up" "$D" "$CLUSTER_CONF" "$HOST_ADDRESS" "$BRIDGE" "$(status_json_daemons)" "$(status_json_nodes)"
}

status_json_daemons() {
  local name separator=
  for name in "${DAEMONS[@]}"; do
    printf '%s"%s": %s' "$separator" "$name" "$(daemon_alive "$name" "${name%-g*}" && daemon_pid "$name" || echo null)"
    separator=", "
  done
}

status_json_nodes() {
  local node separator= states
  states=$(node_states)
  for node in "${NODES[@]}"; do
    printf '%s"%s": {"address": "%s", "namespace": "%s", "state": "%s"}' "$separator" "$node" "$(node_address "$node")" \
      "$(node_namespace "$node")" "$(awk -v node="$node" '$1 == node { print $2; exit }' <<<"$states")"
    separator=", "
  done
}
