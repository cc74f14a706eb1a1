# ./dev test: every runner, one total.
source .ci/dev/build.sh
source .ci/dev/python.sh
source .ci/dev/clients.sh
source .ci/dev/java.sh
source .ci/dev/fuzz.sh
source .ci/dev/pgbouncer.sh
source .ci/dev/package.sh

HELM_VERSION=v3.19.0

test_usage() {
  cat <<'TEXT'
usage: ./dev test [--ci] [--long] [--asan] [--clients] [--packages] [filter]

  filter   only ctest programs whose name matches this regular expression, and pytest tests by `-k filter`;
           a filter that no ctest program matches is taken as part of GoogleTest case names (Suite.Name)
  --ci     every test that CI runs on a change, some 5 minutes more: also core under sanitizers, failover, and tests that
           show once more, with other faults, clients, stores or documents, what a test that always runs shows already;
           with a filter these run anyway
  --long   all that, and the long tests (sets TARN_TEST_LONG=1), those of one server again over two that take turns, and
           each fuzz target and guided requests for FUZZ_SECONDS (60)
  --clients
           also the heavy S3 clients and the clients in other languages (Java, from Maven Central)
  --packages
           also the packages in a fresh Debian with its own systemd, the image and the recipes for proxies (as root)
  --asan   only the address and undefined-behaviour sanitizer build of core

Results stay in build/results and build-asan/results. The last line is "N passed, N failed, N skipped".
TEXT
}

# Each phase writes its results as XML and leaves its exit status to the sum; a phase that could not run at all
# (a compile error, a missing tool) is noted as one failed test named after it.
PHASE_TIMES=()
PHASE_FAILURES=()
PHASES_LEFT=()

# phase NAME COMMAND...
phase() {
  local name=$1 started=$SECONDS status=0
  shift
  step "$name"
  "$@" || status=$?
  PHASE_TIMES+=("$(printf '%4ds  %s' $((SECONDS - started)) "$name")")
  return $status
}

must() {
  local name=$1
  phase "$@" || { PHASE_FAILURES+=("$name"); return 1; }
}

# Programs at once. Three on two cores take 153 s, with 250 s of processor time. Four take 142, but once in four runs one of
# them waited more than 5 s for a connection to PostgreSQL.
CTEST_PROCESSES=${TARN_CTEST_PROCESSES:-3}

# Maximum number of failed tests or programs of a phase that are run once more, alone. Their results are in results/again, and
# the sum compares them. More failures are not bad luck.
AGAIN_MAX=8

# run_ctest DIR [ctest options]: never fails by itself; the sum reads the results.
run_ctest() {
  local dir=$1
  shift
  rm -rf "$dir/results"
  mkdir -p "$dir/results"
  ctest --test-dir "$dir" "-j$CTEST_PROCESSES" --output-on-failure --no-tests=ignore \
    --output-junit "$ROOT/$dir/results/ctest.junit" "$@" >&2 || run_ctest_again "$dir"
  [ -s "$dir/results/ctest.junit" ]
}

run_ctest_again() {
  local dir=$1 program failed
  mapfile -t failed < <(sed 's/^[0-9]*://' "$dir/Testing/Temporary/LastTestsFailed.log")
  [ ${#failed[@]} -le "$AGAIN_MAX" ] || return 0
  step "once more, alone: ${failed[*]}"
  mkdir -p "$dir/results/again" "$dir/results/first"
  for program in "${failed[@]}"; do
    [ ! -f "$dir/results/$program.xml" ] || mv "$dir/results/$program.xml" "$dir/results/first"
  done
  ctest --test-dir "$dir" --rerun-failed --output-on-failure --output-junit "$ROOT/$dir/results/again/ctest.junit" >&2 || true
}

# Shells that the completion tests type into; a test whose shell is not there says so.
ensure_shells() {
  local shell missing=()
  for shell in zsh fish; do command -v "$shell" >/dev/null || missing+=("$shell"); done
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
}

# Proxies between tarnd and PostgreSQL. Tests of failover and of poolers skip, with the reason, where they are missing.
ensure_database_proxies() {
  local proxy missing=()
  for proxy in haproxy pgbouncer; do [ -x "/usr/sbin/$proxy" ] || missing+=("$proxy"); done
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
  ensure_pgbouncer
}

# Of pytest, each with servers of its own; three for each of the two cores of the usual machine, as tests wait for more
# than half of their time.
E2E_PROCESSES=${TARN_E2E_PROCESSES:-6}
# Browsers keep their processors busy: on two of them three processes are the fastest.
WEB_PROCESSES=${TARN_E2E_PROCESSES:-3}

# Asks how many seconds a failover takes, which other tests on the same cores would decide.
FAILOVER_E2E=tests/e2e/durability/test_failover.py

# run_e2e NAME PATH [pytest options]
run_e2e() {
  local status=0 cache=$ROOT/build/results/cache/$1 options=(-q -ra --timeout 300 -n "$E2E_PROCESSES" "${@:3}")
  [ -n "$FILTER" ] && options+=(-k "$FILTER")
  # Compiled once: each process of each run would compile all tests, for 35 s of processor time.
  local pytest=(env -u PYTHONDONTWRITEBYTECODE "$PYTHON" -m pytest "${options[@]}" -o addopts= -o "cache_dir=$cache" "$2")
  "${pytest[@]}" "--junitxml=build/results/$1.junit" >&2 || status=$?
  if [ $status = 1 ] && [ "$(grep -c : "$cache/v/cache/lastfailed")" -le "$AGAIN_MAX" ]; then
    step "once more, alone: what failed"
    "${pytest[@]}" -n 0 --last-failed --last-failed-no-failures none "--junitxml=build/results/again/$1.junit" >&2 || true
  fi
  # 1 = tests failed, which the results tell; 5 = the filter chose none.
  case $status in 0 | 1) ;; 5) [ -n "$FILTER" ] ;; *) return "$status" ;; esac
}

# Names of the ctest programs of DIR that carry LABELS (a regular expression).
labelled_programs() { ctest --test-dir "$1" -N -L "$2" | sed -n 's/^ *Test *#[0-9]*: //p'; }

# The names of programs below are those of the build as it is now, also in a directory that is configured already.
configure_again() { configure "$@" && build_targets "$2" build.ninja; }

# Builds with sanitizers take what the tests of the other build leave idle. In a session of its own, as Linux weighs sessions
# against each other before it looks at the policies of their processes: within this one the servers of the tests waited for it.
AHEAD=''
build_asan_ahead() {
  local programs
  [ -z "${TARN_TEST_LEAVE_TO_CI:-}$FILTER" ] || return 0
  configure_again asan build-asan || return 0
  mapfile -t programs < <(labelled_programs build-asan 'unit|contract')
  setsid bash -c 'echo 19 >/proc/self/autogroup; exec chrt --idle 0 "$@"' ahead \
    ninja -C build-asan -j1 "${programs[@]}" >build-asan/ahead.log 2>&1 &
  AHEAD=$!
  trap end_build_ahead EXIT
}

end_build_ahead() {
  [ -n "$AHEAD" ] || return 0
  kill "$AHEAD" 2>/dev/null || true
  wait "$AHEAD" || true
  AHEAD=''
}

asan_phases() {
  local programs
  end_build_ahead
  if [ -n "${TARN_TEST_LEAVE_TO_CI:-}" ]; then
    PHASES_LEFT+=("core under address and undefined-behaviour sanitizers")
    return
  fi
  must "configure the sanitizer build" configure_again asan build-asan || return 0
  mapfile -t programs < <(labelled_programs build-asan 'unit|contract')
  must "build core with sanitizers" build_targets build-asan "${programs[@]}" || return 0
  must "core under address and undefined-behaviour sanitizers" \
    run_ctest build-asan -L 'unit|contract' "${CTEST_FILTER[@]}" || true
}

dev_phases() {
  must "configure" configure dev build || return 0
  must "web interface" build_web || return 0
  must "build" build_targets build all || return 0
  choose_filter
  must "unit, contract, database, integration and tidy tests" run_ctest build "${CTEST_FILTER[@]}" || true
  (ensure_shells) || true
  (ensure_database_proxies) || true
  must "S3 clients" ensure_s3_clients light || return 0
  build_asan_ahead
  must "unit tests of the web interface" web_unit_tests || true
  must "formatting and rules of the web interface" web_lint || true
  must "web interface in a browser" web_browser_tests || true
  must "Python package" run_e2e python clients/python/tests || true
  must "end to end" run_e2e e2e tests/e2e "--ignore=$FAILOVER_E2E" || true
  end_build_ahead
  must "failover of the database" run_e2e e2e-failover "$FAILOVER_E2E" -n 0 || true
  [ -z "${TARN_TEST_LONG:-}" ] || must "end to end, two servers taking turns" run_e2e e2e-turns tests/e2e --servers 2 || true
  [ -z "$with_clients" ] || heavy_client_phases
  [ -z "$with_packages" ] || package_phases
}

web_unit_tests() {
  [ -z "$FILTER" ] || return 0
  ensure_node && ensure_web_modules || return
  check_web --reporter=default --reporter=junit --outputFile=../build/results/web-unit.junit || [ -s build/results/web-unit.junit ]
}

web_lint() { [ -n "$FILTER" ] || lint_web; }

web_browser_tests() { ensure_node && ensure_web_modules && ensure_browser && run_e2e web tests/web -n "$WEB_PROCESSES"; }

heavy_client_phases() {
  { must "heavy S3 clients, fetched" ensure_s3_clients heavy &&
    TARN_TEST_LEAVE_TO_CI='' must "heavy S3 clients" run_e2e e2e-clients tests/e2e/clients --clients heavy; } || true
  { must "Java clients, fetched" ensure_java && must "Java clients" run_java; } || true
}

package_phases() {
  must "tools for packages" ensure_package_tools || return 0
  must "packages, image, proxies" run_e2e packages tests/packages -n 0 --timeout 1200 || true
}

# Debian's package, only unpacked: installing it would start a server. Tests that need it skip where it is missing.
ensure_prometheus() {
  TARN_PROMETHEUS=$TARN_CACHE/prometheus/usr/bin
  export TARN_PROMETHEUS
  [ -x "$TARN_PROMETHEUS/promtool" ] && return
  step "fetching Prometheus for the tests (once)"
  local dir status=0
  dir=$(mktemp -d) || return
  { as_root apt-get -q update && (cd "$dir" && apt-get -q -o APT::Sandbox::User=root download prometheus) &&
    dpkg-deb -x "$dir"/prometheus_*.deb "$TARN_CACHE/prometheus"; } >&2 || status=$?
  rm -rf "$dir"
  return $status
}

# helm itself, of the Go module proxy. Tests that need it skip where it is missing.
ensure_helm() {
  TARN_HELM=$TARN_CACHE/helm-$HELM_VERSION/helm
  export TARN_HELM
  [ -x "$TARN_HELM" ] && return
  step "building helm $HELM_VERSION for the tests (once)"
  local go
  go=$(go_command) && GOBIN=$(dirname "$TARN_HELM") GOFLAGS=-mod=mod "$go" install "helm.sh/helm/v3/cmd/helm@$HELM_VERSION" >&2 ||
    { unset TARN_HELM; return 1; }
}

ensure_package_tools() {
  packages_installed "${PACKAGE_TEST_TOOLS[@]}" || install_packages "${PACKAGE_TEST_TOOLS[@]}" || return
  ensure_node || return
  ensure_prometheus || true
  ensure_helm || true
  local of=tests/packages key
  key=$(cat "$of/requirements.txt" "$of/package.json" | sha256sum | cut -c1-16)
  TARN_PACKAGE_CHECKS=$TARN_CACHE/package-checks-$key
  export TARN_PACKAGE_CHECKS
  [ -f "$TARN_PACKAGE_CHECKS/.complete" ] && return
  step "installing the schemas of Kubernetes and compose files (once)"
  rm -rf "$TARN_PACKAGE_CHECKS" && python3 -m venv "$TARN_PACKAGE_CHECKS" >&2 &&
    "$TARN_PACKAGE_CHECKS/bin/pip" install --quiet --disable-pip-version-check -r "$of/requirements.txt" >&2 &&
    cp "$of/package.json" "$TARN_PACKAGE_CHECKS" &&
    "${NPM[@]}" install --loglevel error --no-audit --no-fund --prefix "$TARN_PACKAGE_CHECKS" >&2 && touch "$TARN_PACKAGE_CHECKS/.complete"
}

# Scripts run in the interpreter of the other build: a sanitizer needs more memory than they may have.
guided_requests() {
  mkdir -p build-fuzz/guided && cp build-fuzz/bin/tarnd build/bin/tarn-lua build-fuzz/guided &&
    TARN_BIN=$ROOT/build-fuzz/guided run_e2e e2e-guided tests/e2e/rest/test_random_requests.py -n 0
}

fuzz_phases() {
  local target
  must "build the fuzz targets" build_fuzz tarnd "${FUZZ_TARGETS[@]/#/fuzz_}" || return 0
  must "random requests, guided" guided_requests || true
  for target in "${FUZZ_TARGETS[@]}"; do
    must "fuzzing $target" fuzz_one "$target" "${FUZZ_SECONDS:-60}" || true
  done
}

# A filter that names no program is a filter of GoogleTest cases.
choose_filter() {
  [ -n "$FILTER" ] || return 0
  if ctest --test-dir build -N -R "$FILTER" | grep -q '^Total Tests: 0$'; then
    export GTEST_FILTER="*$FILTER*"
  else
    CTEST_FILTER=(-R "$FILTER")
  fi
}

dev_test() {
  local only_asan='' with_ci='' with_clients='' with_packages='' option
  FILTER=''
  CTEST_FILTER=()
  for option in "$@"; do
    case "$option" in
      --ci) with_ci=1 ;;
      --long) with_ci=1 && export TARN_TEST_LONG=1 ;;
      --asan) only_asan=1 ;;
      --clients) with_clients=1 ;;
      --packages) with_packages=1 ;;
      -h | --help) test_usage; return ;;
      -*) test_usage >&2; die 2 "unknown option: $option" ;;
      *) FILTER=$option ;;
    esac
  done
  # A filter chooses tests by name, which may be any.
  unset TARN_TEST_LEAVE_TO_CI
  [ -n "$with_ci$only_asan$FILTER${TARN_TEST_LONG:-}" ] || export TARN_TEST_LEAVE_TO_CI=1
  local started=$SECONDS
  rm -rf build/results build-asan/results
  if must "packages, Python clients, versitygw" test_needs; then
    [ -n "$only_asan" ] || dev_phases
    { [ -n "$FILTER" ] && [ -z "$only_asan" ]; } || asan_phases
    [ -z "${TARN_TEST_LONG:-}" ] || [ -n "$FILTER$only_asan" ] || fuzz_phases
  fi
  printf '\n' >&2
  printf '%s\n' "${PHASE_TIMES[@]}" "$(printf '%4ds  in all' $((SECONDS - started)))" >&2
  { printf 'failed %s\n' "${PHASE_FAILURES[@]}" && printf 'left %s\n' "${PHASES_LEFT[@]}"; } |
    python3 .ci/dev/sum_results.py build build-asan
}

test_needs() {
  # Called as a condition, where set -e is off: each step is checked by hand.
  ensure_packages && ensure_clang && ensure_python && ensure_versitygw && ensure_sstable_reader
}
