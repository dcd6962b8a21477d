# Ordinary users, their account, and the service classes with the limits of the founding documents.
# shellcheck shell=bash

users_create() {
  local user
  for user in "${USERS[@]}"; do
    id "$user" >/dev/null 2>&1 || useradd --create-home --key HOME_MODE=0700 --shell /bin/bash "$user"
    chmod 700 "/home/$user"
  done
}

# One sacctmgr for everything: each start of it costs a third of a second.
# mallory is a user of the machine and of nothing else.
users_account() {
  users_accounted && return
  sacctmgr_run <<COMMANDS || true # it also fails where something is there already; what counts is the result
add cluster $CLUSTER_NAME
add qos cheetah,lion,panther,tabby
modify qos cheetah set MaxWall=00:30:00 MaxJobsPerUser=20 Priority=20
modify qos lion set MaxWall=1-00:00:00 MaxJobsPerUser=4 Priority=10
modify qos panther set MaxWall=7-00:00:00 MaxJobsPerUser=1 Priority=10
modify qos tabby set MaxWall=12:00:00 MaxJobsPerUser=1 Priority=10
add account ml
add user alice,bob,root account=ml qos=cheetah,lion,panther,tabby defaultqos=cheetah
modify user root set defaultaccount=ml
COMMANDS
  users_accounted
}

users_accounted() {
  [[ -e $D/state/accounted ]] && return
  [[ $(users_sacctmgr --noheader --parsable2 list associations user=alice format=account,defaultqos 2>/dev/null) == "ml|cheetah" ]] &&
    touch "$D/state/accounted"
}

# panther is for CPUs only. The limit can be set once the controller has announced that gres/gpu is counted.
users_limit_gpus() {
  [[ -e $D/state/gpus_limited ]] && return
  sacctmgr_run <<<"modify qos panther set MaxTRESPerUser=gres/gpu=0"
  touch "$D/state/gpus_limited"
}

users_sacctmgr() { SLURM_CONF=$CLUSTER_CONF sacctmgr "$@"; }

sacctmgr_run() { users_sacctmgr --immediate >>"$D/log/sacctmgr.out" 2>&1; }

# What `run` started keeps SLURM_CONF of this cluster: a daemon of a user that outlives its command, for one.
users_end_leftovers() {
  local user pid
  for user in "${USERS[@]}"; do
    for pid in $(pgrep -u "$user" || true); do
      if user_process_is_ours "$pid"; then kill -KILL "$pid" || true; fi
    done
  done
} 2>/dev/null  # processes end while they are looked at

user_process_is_ours() { tr '\0' '\n' <"/proc/$1/environ" | grep -qxF "SLURM_CONF=$CLUSTER_CONF"; }
