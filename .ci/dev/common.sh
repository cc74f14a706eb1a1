# Shared by all commands of ./dev: paths, caches, messages. Sourced, with ROOT set and as the working directory.

TARN_CACHE=${TARN_CACHE:-${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/tarn}
export TARN_CACHE

# Objects compiled in one checkout serve every other: paths are made relative and the directory is not hashed.
export CCACHE_DIR=${CCACHE_DIR:-$TARN_CACHE/ccache}
export CCACHE_BASEDIR=$ROOT
export CCACHE_NOHASHDIR=1
export CCACHE_COMPILERCHECK=content
# A source that includes a precompiled header is cached only with these.
export CCACHE_SLOPPINESS=pch_defines,time_macros
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-5G}

say() { printf '%s\n' "$*" >&2; }

# step TEXT: the heading of a phase, bold on a terminal.
step() {
  if [ -t 2 ] && [ -z "${NO_COLOR:-}" ]; then
    printf '\033[1m== %s\033[0m\n' "$*" >&2
  else
    printf '== %s\n' "$*" >&2
  fi
}

# die STATUS TEXT
die() {
  local status=$1
  shift
  printf 'dev: %s\n' "$*" >&2
  exit "$status"
}

# as_root COMMAND...: through sudo only when needed.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die 1 "needs root and there is no sudo; run as root: $*"
  fi
}

# One compiler takes up to 1 GB on the heaviest files.
job_count() {
  local cores memory_gb
  cores=$(nproc)
  memory_gb=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
  [ "$memory_gb" -lt 1 ] && memory_gb=1
  echo $((cores < memory_gb ? cores : memory_gb))
}
JOBS=${TARN_JOBS:-$(job_count)}

# A directory that the system user "postgres" can reach: not below a home with mode 0700.
scratch_dir() { printf '%s-%s' "${TARN_SCRATCH:-/var/tmp/tarn-$(id -u)}" "$1"; }
