# pounce-slurm for a Slurm that is not the system's, where programs of the cluster's users find it.
# shellcheck shell=bash

helper_folder() { echo "$REPOSITORY/build/slurm-$RELEASE"; }

# Only that program, in a folder of its own; the rest of pounce does not know which Slurm it is. Clusters that start side by side
# take turns.
helper_build() {
  local folder log
  folder=$(helper_folder) log=$(helper_folder).log
  mkdir -p "$folder"
  exec 8>"$folder.lock"
  flock 8
  {
    CCACHE_DIR=${CCACHE_DIR:-$(release_cache)/ccache} CCACHE_BASEDIR=$REPOSITORY cmake -S "$REPOSITORY" -B "$folder" -G Ninja \
      -DCMAKE_BUILD_TYPE=Release -DPOUNCE_PYTHON=OFF -DPOUNCE_SLURM_PREFIX="$(release_prefix)" &&
      CCACHE_DIR=${CCACHE_DIR:-$(release_cache)/ccache} CCACHE_BASEDIR=$REPOSITORY ninja -C "$folder" pounce-slurm
  } >"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "pounce-slurm could not be built for Slurm $RELEASE; the whole output is in $log"; }
  exec 8>&-
}

# Laid out as src/slurm/helper_process.h says.
helper_put() {
  local version library folder
  version=$(sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' "$REPOSITORY/include/pounce/version.h")
  library=$(find "$(release_prefix)/lib" -maxdepth 1 -name 'libslurm.so.*' -type l)
  folder=$HELPER_HOME/pounce/pounce-slurm/$version/${library##*/}
  mkdir -p "$folder"
  cp "$(helper_folder)/pounce-slurm" "$folder/pounce-slurm.new"
  mv "$folder/pounce-slurm.new" "$folder/pounce-slurm"
  ln -sfn "$library" "$folder/libslurm"
  ln -sfn "$(release_prefix)/lib/slurm/libslurmfull.so" "$folder/libslurmfull.so"
  chmod -R a+rX "$HELPER_HOME"
}
