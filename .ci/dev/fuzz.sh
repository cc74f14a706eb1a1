# ./dev fuzz: libFuzzer over tests/fuzz, built with clang and the address and undefined-behaviour sanitizers.
source .ci/dev/build.sh

FUZZ_PACKAGES=(clang-14 libclang-rt-14-dev)
# Every program of tests/fuzz but the one that goes over the kept inputs.
mapfile -t FUZZ_TARGETS < <(basename -s .cc tests/fuzz/*.cc | grep -vx corpus_test)

fuzz_usage() {
  cat <<TEXT
usage: ./dev fuzz [--seconds N] [--keep] [target ...]      all targets unless named:
  ${FUZZ_TARGETS[*]}

  --seconds N  how long each target runs (60)
  --keep       afterwards add to tests/fuzz/corpus what reaches code that the kept inputs do not

Each run goes on from tests/fuzz/corpus and from what earlier runs left in TARN_CACHE/fuzz. An input that broke
something stays in build-fuzz/TARGET-crash-*.
TEXT
}

ensure_fuzzer() {
  command -v clang++-14 >/dev/null && compgen -G '/usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a' >/dev/null ||
    install_packages "${FUZZ_PACKAGES[@]}"
}

build_fuzz() {
  ensure_fuzzer && configure fuzz build-fuzz && build_targets build-fuzz "$@"
}

# fuzz_one TARGET SECONDS
fuzz_one() {
  local found=$TARN_CACHE/fuzz/$1
  mkdir -p "$found"
  "build-fuzz/bin/fuzz_$1" "-max_total_time=$2" -timeout=10 -rss_limit_mb=2048 -max_len=4096 -verbosity=0 \
    -print_final_stats=1 "-artifact_prefix=build-fuzz/$1-" "$found" "tests/fuzz/corpus/$1" >&2
}

dev_fuzz() {
  local seconds=60 keep='' targets=() target status=0
  while [ $# -gt 0 ]; do
    case "$1" in
      --seconds) seconds=${2:?--seconds wants a number} && shift ;;
      --keep) keep=1 ;;
      -h | --help) fuzz_usage; return ;;
      -*) fuzz_usage >&2; die 2 "unknown option: $1" ;;
      *) targets+=("$1") ;;
    esac
    shift
  done
  [ ${#targets[@]} -gt 0 ] || targets=("${FUZZ_TARGETS[@]}")
  for target in "${targets[@]}"; do
    [ -f "tests/fuzz/$target.cc" ] || die 2 "no fuzz target is called $target; there are: ${FUZZ_TARGETS[*]}"
  done
  ensure_packages
  build_fuzz "${targets[@]/#/fuzz_}"
  for target in "${targets[@]}"; do
    step "fuzzing $target for $seconds s"
    fuzz_one "$target" "$seconds" || status=1
    [ -z "$keep" ] ||
      "build-fuzz/bin/fuzz_$target" -set_cover_merge=1 -use_counters=0 -verbosity=0 "tests/fuzz/corpus/$target" "$TARN_CACHE/fuzz/$target" >&2
  done
  return $status
}
