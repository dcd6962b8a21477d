# Where the cluster lives and what it is called: every name and number that two parts share.
# shellcheck shell=bash disable=SC2034

CLUSTER_ID=${POUNCE_CLUSTER_ID:-0}
[[ $CLUSTER_ID =~ ^[0-9]+$ && $CLUSTER_ID -lt 200 ]] || { echo "cluster: POUNCE_CLUSTER_ID must be 0..199" >&2; exit 2; }

# /opt and not /run: /run is often mounted nodev and noexec, and the fake GPUs are device nodes.
# The path is short because a Unix socket's path has at most 107 bytes.
if [[ $CLUSTER_ID == 0 ]]; then default_dir=/opt/pounce-cluster; else default_dir=/opt/pounce-cluster-$CLUSTER_ID; fi
D=${POUNCE_CLUSTER_DIR:-$default_dir}
D=${D%/}
[[ $D == /?* && ${#D} -le 80 ]] || { echo "cluster: POUNCE_CLUSTER_DIR must be an absolute path of at most 80 characters" >&2; exit 2; }

ENVIRONMENT=${POUNCE_ENVIRONMENT:-/opt/pounce-demo}
CLUSTER_NAME=pounce$CLUSTER_ID
CLUSTER_CONF=$D/etc/slurm.conf
HELPER_HOME=$D/share  # of a pounce-slurm that was built for this cluster's Slurm, as `pouncectl setup --user` puts one in a home
MUNGE_SOCKET=$D/run/munge.sock
MYSQL_SOCKET=$D/run/mysql.sock

NO_SLURMDBD=$D/etc/no-slurmdbd  # a file: this cluster keeps no accounts
RELEASE_FILE=$D/etc/slurm-release  # of a Slurm that was built for this cluster; absent: the system's
SITE=$D/etc/site  # a copy of what --site named: this cluster is configured as some site is
AUTH_FILE=$D/etc/auth  # how the daemons and users prove who they are; absent: munge

# The number of nodes is the only thing to say; a cluster that is there keeps the number that it was started with.
NODE_COUNT_FILE=$D/etc/node-count
NODE_COUNT=${POUNCE_CLUSTER_NODES:-2}
if [[ -r $NODE_COUNT_FILE ]]; then read -r NODE_COUNT <"$NODE_COUNT_FILE"; fi
[[ $NODE_COUNT =~ ^[1-9][0-9]?$ && $NODE_COUNT -le 50 ]] || { echo "cluster: POUNCE_CLUSTER_NODES must be 1..50" >&2; exit 2; }
NODES=()
for ((number = 1; number <= NODE_COUNT; number++)); do NODES+=("g$number"); done
USERS=(alice bob mallory)
NETWORK=10.77.$CLUSTER_ID
HOST_ADDRESS=$NETWORK.254
BRIDGE=pounce$CLUSTER_ID
BRIDGE_HARDWARE=$(printf '02:77:00:%02x:01:fe' "$CLUSTER_ID")
LOCK=/run/lock/$CLUSTER_NAME.lock  # named by the id, as bridge and ports are; never removed: others may wait on it
PORT_BASE=$((17000 + CLUSTER_ID * 100))
SLURMCTLD_PORT=$((PORT_BASE + 17))
SLURMDBD_PORT=$((PORT_BASE + 19))

node_address() { echo "$NETWORK.${1#g}"; }
node_port() { echo $((PORT_BASE + 30 + ${1#g})); }
node_namespace() { echo "$BRIDGE-$1"; }

has_slurmdbd() { [[ ! -e $NO_SLURMDBD ]]; }

# 755 throughout: job users traverse it. What is secret has its own mode.
make_directories() {
  local spools=("${NODES[@]/#/$D/spool/}")
  mkdir -p "$D"/{etc,run,log,state,dev} "${spools[@]}"
  # slurmd runs job scripts from the spool and slurmstepd enters it as the user.
  chmod 755 "$D" "$D"/{etc,run,log,state,dev,spool} "${spools[@]}"
}
