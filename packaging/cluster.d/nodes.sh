# g1, g2 …: a network namespace on the bridge, fake GPUs, a cgroup where possible, and a slurmd each.
# shellcheck shell=bash disable=SC2034

nodes_conf() {
  local node gres
  for node in "${NODES[@]}"; do
    if [[ $node == g1 ]]; then gres=gpu:a100:4; else gres=gpu:a100:2,gpu:a100_3g.20gb:2; fi  # as gres_conf has them
    echo "NodeName=$node NodeHostname=$(hostname -s) NodeAddr=$(node_address "$node") Port=$(node_port "$node")" \
      "CPUs=32 RealMemory=131072 Gres=$gres State=UNKNOWN"
  done
}

# Character devices, not files: Slurm sets CUDA_VISIBLE_DEVICES only for those. They are twins of /dev/null.
gres_conf() {
  local node
  echo "NodeName=g1 Name=gpu Type=a100 File=$D/dev/g1gpu[0-3]"
  for node in "${NODES[@]:1}"; do
    echo "NodeName=$node Name=gpu Type=a100 File=$D/dev/${node}gpu[0-1]"
    echo "NodeName=$node Name=gpu Type=a100_3g.20gb File=$D/dev/${node}gpu[2-3]"
  done
}

nodes_make_gpus() {
  local node device
  for node in "${NODES[@]}"; do
    for device in "$D/dev/${node}gpu"{0,1,2,3}; do
      [[ -c $device ]] || mknod -m 666 "$device" c 1 3
    done
  done
}

# Devices cannot be constrained (the GPUs are /dev/null's number), nor cores (fewer are there than promised).
cgroup_conf() {
  local missing
  if missing=$(cgroup_missing); then
    PROCTRACK=proctrack/linuxproc TASK_PLUGIN=task/none
    NOTE="no memory limits: $missing"
    rm -f "$D/etc/cgroup.conf"
    return
  fi
  PROCTRACK=proctrack/cgroup TASK_PLUGIN=task/cgroup
  cat >"$D/etc/cgroup.conf" <<CONF
CgroupPlugin=cgroup/v$(cgroup_version)
CgroupMountpoint=/sys/fs/cgroup
$(if [[ $(cgroup_version) == 2 ]]; then echo IgnoreSystemd=yes; fi)
ConstrainRAMSpace=yes
ConstrainSwapSpace=no
ConstrainDevices=no
ConstrainCores=no
CONF
}

# Of both at once (a "unified" folder beside those of version 1) Slurm takes the first.
cgroup_version() { if [[ $(stat -f -c %T /sys/fs/cgroup) == cgroup2fs ]]; then echo 2; else echo 1; fi; }

cgroup_missing() { # prints why cgroups cannot be used; fails when they can
  local controller probe
  if [[ $(cgroup_version) == 2 ]]; then
    if cgroup_prepare_slice 2>/dev/null; then return 1; fi
    echo "the cgroup controllers (version 2) cannot be enabled"
    return 0
  fi
  for controller in freezer memory; do
    probe=/sys/fs/cgroup/$controller/pounce_probe_$$
    if ! mkdir "$probe" 2>/dev/null; then
      echo "the $controller cgroup (version 1) is not there or not writable"
      return 0
    fi
    rmdir "$probe"
  done
  return 1
}

# Of version 2: slurmd makes its folders in systemd's slice and takes the controllers that are enabled there; 22.05 does not see the last.
SYSTEM_SLICE=/sys/fs/cgroup/system.slice

cgroup_prepare_slice() {
  local folder
  mkdir -p "$SYSTEM_SLICE" || return
  for folder in /sys/fs/cgroup "$SYSTEM_SLICE"; do
    echo "+cpuset +cpu +memory +pids" >"$folder/cgroup.subtree_control" || return
  done
}

nodes_connect() {
  local node
  bridge_up
  nodes_make_gpus
  for node in "${NODES[@]}"; do
    node_is_connected "$node" || { node_disconnect "$node" && node_connect "$node"; }
  done
}

# An address of its own: a bridge without one has its ports' lowest, and when that port goes all others look for a host
# that is no more, for half a minute.
bridge_up() {
  if ! ip link show "$BRIDGE" >/dev/null 2>&1; then
    ip link add "$BRIDGE" address "$BRIDGE_HARDWARE" type bridge
    ip address add "$HOST_ADDRESS/24" dev "$BRIDGE"
  fi
  ip link set "$BRIDGE" up
}

node_is_connected() { # its last step is the default route
  ip -n "$(node_namespace "$1")" route show default 2>/dev/null | grep -q "via $HOST_ADDRESS"
}

node_connect() {
  local namespace link
  namespace=$(node_namespace "$1") link=$BRIDGE$1
  ip netns add "$namespace"
  ip link add "$link" type veth peer name eth0 netns "$namespace"
  ip link set "$link" master "$BRIDGE" up
  ip -n "$namespace" link set lo up
  ip -n "$namespace" address add "$(node_address "$1")/24" dev eth0
  ip -n "$namespace" link set eth0 up
  names_fail_at_once "$namespace"
  ip -n "$namespace" route add default via "$HOST_ADDRESS"
}

# From 25.11 on slurmd asks for the name of whoever connects to it: no name server is reached from here, and an answer that does
# not come would be waited for, 20 s each time.
names_fail_at_once() { # names_fail_at_once NAMESPACE
  local word address
  while read -r word address _; do
    if [[ $word == nameserver && $address =~ ^[0-9.]+$ && $address != 127.* ]]; then
      ip -n "$1" route replace unreachable "$address"
    fi
  done </etc/resolv.conf
}

# nsenter, not `ip netns exec`: the latter remounts /sys, where the cgroups are, and slurmd would die.
nodes_up() {
  local node
  for node in "${NODES[@]}"; do
    node_is_of_a_cloud "$node" || node_start "$node"
  done
  until_true 30 nodes_answer
}

node_is_of_a_cloud() { grep -q "^NodeName=$1 .*State=CLOUD" "$CLUSTER_CONF"; }  # Slurm's ResumeProgram starts it

node_start() {
  local just_booted=()
  if node_is_of_a_cloud "$1"; then just_booted=(-b); fi  # the machine has not: slurmctld would take it for a node from before
  daemon_alive "slurmd-$1" slurmd && return
  daemon_start "slurmd-$1" nsenter --net="/run/netns/$(node_namespace "$1")" slurmd -D -N "$1" "${just_booted[@]}"
  until_true 5 daemon_alive "slurmd-$1" slurmd  # when slurmctld's script has ended, 26.05 kills what is still of its process group
}

# "g1 idle", a line each (sinfo has one for each of its partitions), of those that have a slurmd. A crowd of jobs keeps slurmctld from
# answering for seconds: that is not down.
node_states() {
  SLURM_CONF=$CLUSTER_CONF timeout 20 sinfo --noheader --Node --nodes="$(IFS=,; echo "${NODES[*]}")" --format='%N %T' 2>/dev/null | sort -u
}

# "completing", "allocated+": up, and a job is just ending; "idle~": switched off until it is needed; "mixed-": planned for another job.
nodes_answer() {
  local states
  states=$(node_states) || return 1
  [[ $(grep -cE ' (idle|mixed|allocated|completing|planned)[-+~]?$' <<<"$states") == "${#NODES[@]}" ]]
}

# A node is its namespace: whatever runs in it, the job steps included, ends with it.
nodes_down() {
  local node
  for node in "${NODES[@]}"; do
    node_end_processes "$node"
    daemon_stop "slurmd-$node" slurmd  # gone by now, unless its namespace lost its name
    node_remove_cgroups "$node"
  done
}

# Named after the node alone, so a second cluster beside this one shares them: the last one out removes them.
node_remove_cgroups() {
  pgrep -fx "slurmd -D -N $1" >/dev/null && return
  find /sys/fs/cgroup/*/"slurm_$1" "$SYSTEM_SLICE/$1_slurmstepd.scope" -depth -type d -exec rmdir {} \; 2>/dev/null || true
}

node_end_processes() {
  [[ -e /run/netns/$(node_namespace "$1") ]] || return 0
  until_true 5 node_is_empty "$1" || fail "processes in $(node_namespace "$1") do not end"
}

node_is_empty() {
  local pids
  pids=$(ip netns pids "$(node_namespace "$1")" 2>/dev/null) || true
  [[ -z $pids ]] && return 0
  # shellcheck disable=SC2086
  kill -KILL $pids 2>/dev/null
  return 1
}

# The link by its own name: a closing connection can hold a namespace, and so its link, for minutes after its deletion.
node_disconnect() {
  ip link delete "$BRIDGE$1" 2>/dev/null || true
  ip netns delete "$(node_namespace "$1")" 2>/dev/null || true
}

nodes_disconnect() {
  local node
  for node in "${NODES[@]}"; do node_disconnect "$node"; done
  ip link delete "$BRIDGE" 2>/dev/null || true
}
