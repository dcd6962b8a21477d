# Who is who: munged, or from 23.11 on a key that only Slurm's daemons read.
# shellcheck shell=bash

auth_up() {
  if [[ $AUTH == munge ]]; then munge_up; else auth_make_key; fi
}

# Beside slurm.conf is where Slurm looks for it.
auth_make_key() {
  [[ -s $D/etc/slurm.key ]] || (umask 077 && head -c 1024 /dev/urandom >"$D/etc/slurm.key")
}

# Its sockets are the machine's, so there is one such cluster at a time; a daemon that ends leaves them.
auth_down() {
  if [[ $AUTH == munge ]]; then
    munge_down
  else
    rm -f /run/slurm/sack.socket /run/slurmctld/sack.socket /run/slurmdbd/sack.socket
  fi
}

# For slurm.conf and slurmdbd.conf.
auth_conf() {
  echo "AuthType=auth/$AUTH"
  if [[ $AUTH == munge ]]; then echo "AuthInfo=socket=$MUNGE_SOCKET"; fi
}

# Which credentials of jobs the nodes accept; MUNGE's alone had to be named, once.
cred_conf() {
  if [[ $AUTH == slurm ]]; then echo "CredType=cred/slurm"; elif ! release_is_at_least 23.11; then echo "CredType=cred/munge"; fi
}
