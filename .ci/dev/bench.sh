# ./dev bench: bench/, one line of JSON per result.
source .ci/dev/build.sh
source .ci/dev/python.sh

dev_bench() {
  case "${1:-}" in
    -h | --help)
      echo "usage: ./dev bench [filter]      filter: a regular expression of tree benchmarks; then no load runs"
      return
      ;;
  esac
  ensure_packages
  configure dev build
  build_targets build tarnd tree_bench load_bench
  build/bin/tree_bench --benchmark_format=console "--benchmark_filter=${1:-.}" >&2
  [ -n "${1:-}" ] || { ensure_python && "$PYTHON" bench/load/run.py; }
}
