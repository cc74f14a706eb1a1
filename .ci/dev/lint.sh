# ./dev lint: the tidy tests alone; they need no build.
source .ci/dev/packages.sh

dev_lint() {
  ensure_packages
  local status=0
  python3 tests/tidy/layers.py || status=1
  python3 tests/tidy/formatting.py || status=1
  python3 tests/tidy/wording.py || status=1
  return $status
}
