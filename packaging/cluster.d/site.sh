# A cluster that is configured as some site is: other lines of slurm.conf, another gres.conf, scripts beside them.
# shellcheck shell=bash

site_take() { # site_take DIRECTORY: kept, so that the next start has it too
  [[ -r $1/slurm.conf ]] || fail "up: --site $1: there is no slurm.conf in it"
  rm -rf "$SITE"
  mkdir -p "$SITE"
  cp "$1"/* "$SITE"
}

# slurm.conf in it: a line takes the place of all lines of its key; `Key=` alone removes them. Other files lie beside slurm.conf.
site_apply() {
  local file
  [[ -d $SITE ]] || return 0
  for file in "$SITE"/*; do
    [[ ${file##*/} == slurm.conf ]] || cp "$file" "$D/etc/"
  done
  awk -F= 'NR == FNR { given[$1]; if ($0 !~ /^[^=]+=$/) lines = lines $0 "\n"; next } !($1 in given); END { printf "%s", lines }' \
    "$SITE/slurm.conf" "$D/etc/slurm.conf.new" >"$D/etc/slurm.conf.site"
  mv "$D/etc/slurm.conf.site" "$D/etc/slurm.conf.new"
}
