# Which Slurm the cluster is of: Debian's, or another release built once from its sources and kept; and all that differs.
# shellcheck shell=bash disable=SC2034

release_read() { # again by who has waited for another that starts the same cluster
  RELEASE='' AUTH=munge
  if [[ -r $RELEASE_FILE ]]; then read -r RELEASE <"$RELEASE_FILE"; fi
  if [[ -r $AUTH_FILE ]]; then read -r AUTH <"$AUTH_FILE"; fi
}
release_read

release_cache() { echo "${POUNCE_BUILD_CACHE:-/var/cache/pounce-build}"; }
release_prefix() { echo "$(release_cache)/slurm-$RELEASE"; }
release_sources() { echo "${POUNCE_SLURM_SOURCES:-$(dirname "$REPOSITORY")/shared/slurm-sources}"; }

# Its commands and daemons are found before the system's.
release_path() { if [[ -n $RELEASE ]]; then echo "$(release_prefix)/bin:$(release_prefix)/sbin:"; fi; }

release_use() { PATH=$(release_path)$PATH; }  # by this program itself
release_use

# What a release is asked for that it refuses, or had not yet, is left out here and nowhere else.
release_is_at_least() { # release_is_at_least 23.11
  local release=${RELEASE:-22.05}
  [[ ! $release < $1 ]]
}

release_check() { # release_check RELEASE AUTH
  [[ -z $1 || $1 =~ ^[0-9][0-9]\.[0-9][0-9]$ ]] || fail "up: --slurm takes a release as 25.11, not \"$1\"."
  case $2 in
    munge) ;;
    slurm) [[ -n $1 && ! $1 < 23.11 ]] || fail "up: Slurm has auth/slurm from 23.11 on; name such a release with --slurm." ;;
    *) fail "up: --auth takes munge or slurm, not \"$2\"." ;;
  esac
}

release_wanted() { # release_wanted RELEASE AUTH: by `up`, before anything is there
  release_check "$@"
  if [[ -d $D/etc && ($1 != "$RELEASE" || $2 != "$AUTH") ]]; then
    fail "the cluster in $D has Slurm ${RELEASE:-of this machine} with auth/$AUTH; end it first with: $0 down"
  fi
  RELEASE=$1 AUTH=$2
  release_use
}

release_remember() {
  if [[ -n $RELEASE ]]; then echo "$RELEASE" >"$RELEASE_FILE"; fi
  if [[ $AUTH != munge ]]; then echo "$AUTH" >"$AUTH_FILE"; fi
}

# ---- built once ----

release_archive() { # the newest of the release
  local archives
  mapfile -t archives < <(find "$(release_sources)" -maxdepth 1 -name "slurm-${RELEASE/./-}-*.tar.xz" 2>/dev/null | sort -V)
  if ((${#archives[@]})); then echo "${archives[-1]}"; fi
}

# By what it was built from, this file's words included: another archive or other options make another build.
release_fingerprint() { cat "$(release_archive)" "$CLUSTER_PARTS/release_build.sh" | sha256sum | cut -d' ' -f1; }

release_is_built() { # without the archive what is there is taken for what it was
  local stamp
  stamp=$(release_prefix)/built-from
  [[ -r $stamp ]] && [[ -z $(release_archive) || $(<"$stamp") == "$(release_fingerprint)" ]]
}

release_need_sources() {
  [[ -n $RELEASE ]] || return 0
  release_is_built || [[ -n $(release_archive) ]] || fail "the sources of Slurm $RELEASE are not in $(release_sources); put its" \
    "slurm-${RELEASE/./-}-*.tar.xz there (an archive of Slurm's tag of that name), or name another folder with POUNCE_SLURM_SOURCES."
}

# Another cluster may be waiting for the same build, so two take turns; what is in use is never changed in place.
release_build() {
  if release_is_built; then NOTE="built before"; return; fi
  local log
  log=$(release_prefix).log
  mkdir -p "$(release_cache)"
  exec 8>"$(release_prefix).lock"
  flock 8
  release_is_built || "$CLUSTER_PARTS/release_build.sh" "$(release_archive)" "$(release_prefix)" "$(release_fingerprint)" >"$log" 2>&1 ||
    fail "Slurm $RELEASE could not be built; the whole output is in $log: $(tail -n 1 "$log")"
  exec 8>&-
}
