# ./dev bench: bench/, one line of JSON per result; or this checkout against another commit.
source .ci/dev/build.sh
source .ci/dev/python.sh

bench_usage() {
  cat <<'TEXT'
usage: ./dev bench [filter]
       ./dev bench --compare REF [--rounds N] [--seconds N] [--bound PERCENT] [--output FILE]

  filter          a regular expression of tree benchmarks; then no load runs
  --compare REF   builds that commit in build/compare and measures it and this checkout in turn; prints the ratio of
                  each row, and exits with 1 if one is slower than the bound permits by more than the spread
  --rounds N      in which each of the two is measured once (11, at least 3): some 40 seconds each
  --seconds N     of each row in each round (1)
  --bound P       percent of the speed that may be lost (5)
  --output FILE   also keep the rows there, as JSON: bench/results/ has such files
TEXT
}

# build_other COMMIT: its tarnd and tree_bench, in a worktree that later comparisons use again.
build_other() {
  local commit=$1 source=build/compare/source
  git worktree prune
  if [ -e "$source/.git" ]; then
    git -C "$source" checkout --quiet --force --detach "$commit"
  else
    rm -rf "$source" && mkdir -p build/compare && git worktree add --quiet --force --detach "$source" "$commit"
  fi
  step "building $(git log -1 --format='%h %s' "$commit") in $source"
  (cd "$source" && ./dev build tarnd tree_bench)
}

bench_compare() {
  local ref=${1:-} commit options=("${@:2}")
  case "$ref" in '' | -*) bench_usage >&2; die 2 "--compare wants a commit, a branch or a tag" ;; esac
  commit=$(git rev-parse --verify --quiet "$ref^{commit}") || die 2 "--compare $ref: no such commit here"
  # Wrong options must not cost two builds.
  ensure_python && "$PYTHON" bench/load/pair.py --check before after "${options[@]}" || return
  ensure_packages
  build_other "$commit" || return
  configure dev build
  build_web
  build_targets build tarnd tree_bench load_bench || return
  step "measuring ${ref} and this checkout in turn; use an idle machine"
  PYTHONDONTWRITEBYTECODE=1 "$PYTHON" bench/load/pair.py build/compare/source/build/bin/tarnd build/bin/tarnd \
    --label "$(git rev-parse --short "$commit") and $(git describe --always --dirty)" "${options[@]}"
}

dev_bench() {
  case "${1:-}" in
    -h | --help) bench_usage; return ;;
    --compare) bench_compare "${@:2}"; return ;;
    -*) bench_usage >&2; die 2 "unknown option: $1" ;;
  esac
  ensure_packages
  configure dev build
  build_targets build tarnd tree_bench load_bench
  build/bin/tree_bench --benchmark_format=console "--benchmark_filter=${1:-.}" >&2
  [ -n "${1:-}" ] || { ensure_python && "$PYTHON" bench/load/run.py; }
}
