# slurmdbd: accounts, associations and QoS, kept in the database.
# shellcheck shell=bash

slurmdbd_up() {
  daemon_alive slurmdbd && return
  slurmdbd_configure
  daemon_start slurmdbd slurmdbd -D
  daemon_wait slurmdbd 20 port_open "$HOST_ADDRESS" "$SLURMDBD_PORT"
}

# It refuses a configuration that others can read. StorageHost=localhost means the socket in MYSQL_UNIX_PORT.
slurmdbd_configure() {
  (umask 077 && cat >"$D/etc/slurmdbd.conf") <<CONF
$(auth_conf)
DbdHost=localhost
DbdAddr=$HOST_ADDRESS
DbdPort=$SLURMDBD_PORT
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct
LogFile=$D/log/slurmdbd.log
PidFile=$D/run/slurmdbd.own.pid
CONF
}

slurmdbd_down() { daemon_stop slurmdbd; }
