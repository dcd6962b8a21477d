# slurmctld and the configuration that every daemon and command of the cluster reads.
# shellcheck shell=bash

slurmctld_up() {
  daemon_alive slurmctld && return
  names_are_in_files
  # shellcheck disable=SC2016
  daemon_start slurmctld unshare --mount --propagation slave sh -c 'mount --bind "$0" /etc/nsswitch.conf && exec "$@"' \
    "$D/etc/nsswitch.conf" slurmctld -D -i
  daemon_wait slurmctld 30 slurmctld_answers
}

# Newer ones ask for the name of whoever connects, twice (seen with 24.11): a name server that answers only so many a second keeps
# all of slurmctld waiting, five seconds each time.
names_are_in_files() { sed 's/^hosts:.*/hosts: files/' /etc/nsswitch.conf >"$D/etc/nsswitch.conf"; }

slurmctld_answers() {
  port_open "$HOST_ADDRESS" "$SLURMCTLD_PORT" && SLURM_CONF=$CLUSTER_CONF timeout 5 scontrol ping >/dev/null 2>&1
}

# First of all steps: even sacctmgr waits a minute for a slurm.conf that is not there.
slurmctld_configure() {
  slurmctld_write_mail_program
  cgroup_conf
  gres_conf >"$D/etc/gres.conf"
  slurm_conf >"$D/etc/slurm.conf.new"
  site_apply
  mv "$D/etc/slurm.conf.new" "$CLUSTER_CONF"
}

# Slurm complains about a MailProg that does not exist: ours keeps the mail in a file.
slurmctld_write_mail_program() {
  cat >"$D/etc/mail" <<MAIL
#!/bin/sh
{ echo "mail \$*"; cat; } >>"$D/log/mail.log"
MAIL
  chmod 755 "$D/etc/mail"
}

# CPUs and memory are promised, not there (config_overrides); the waits are short because tests wait for them;
# job ids of different clusters differ because their cgroups are named by node and job.
slurm_conf() {
  cat <<CONF
ClusterName=$CLUSTER_NAME
SlurmctldHost=$(hostname -s)($HOST_ADDRESS)
SlurmctldPort=$SLURMCTLD_PORT
SlurmUser=root
$(auth_conf)
$(cred_conf)
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool/%n
SlurmctldPidFile=$D/run/slurmctld.own.pid
SlurmdPidFile=$D/run/slurmd-%n.own.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd-%n.log
MailProg=$D/etc/mail

$(accounting_conf)

ProctrackType=$PROCTRACK
TaskPlugin=$TASK_PLUGIN
$(if ! release_is_at_least 24.11; then echo JobAcctGatherType=jobacct_gather/none; fi)
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=4096
GresTypes=gpu
FirstJobId=$((1 + CLUSTER_ID * 100000))
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=5
MinJobAge=30
SlurmdTimeout=20
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
$(nodes_conf)
PartitionName=bigcats Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
  [[ -z ${POUNCE_CLUSTER_MORE_CONF:-} ]] || cat "$POUNCE_CLUSTER_MORE_CONF"
}

accounting_conf() {
  if ! has_slurmdbd; then
    echo "AccountingStorageType=accounting_storage/none"
    return
  fi
  cat <<CONF
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=$HOST_ADDRESS
AccountingStoragePort=$SLURMDBD_PORT
$(if [[ $AUTH == munge ]]; then printf '# the munge socket used towards slurmdbd\nAccountingStoragePass=%s' "$MUNGE_SOCKET"; fi)
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
AccountingStoreFlags=job_comment
PriorityType=priority/multifactor
PriorityWeightQOS=1000
PreemptType=preempt/qos
PreemptMode=REQUEUE
CONF
}

slurmctld_down() { daemon_stop slurmctld; }
