# Who is who: munged, or from 23.11 on a key that only Slurm's daemons read.
# shellcheck shell=bash

auth_up() {
  if [[ $AUTH == munge ]]; then munge_up; else auth_make_key; fi
}

# Beside slurm.conf is where Slurm looks for it.
auth_make_key() {
  [[ -s $D/etc/slurm.key ]] || (umask 077 && head -c 1024 /dev/urandom >"$D/etc/slurm.key")
}

# For slurm.conf and slurmdbd.conf.
auth_conf() {
  echo "AuthType=auth/$AUTH"
  if [[ $AUTH == munge ]]; then echo "AuthInfo=socket=$MUNGE_SOCKET"; else echo "CredType=cred/slurm"; fi
}
