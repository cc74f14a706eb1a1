# ./dev fmt: clang-format over the C++ sources, ruff over the Python ones, Prettier over those of the web interface.
source .ci/dev/packages.sh
source .ci/dev/web.sh

dev_fmt() {
  local status=0
  ensure_packages
  python3 tests/tidy/formatting.py --fix || status=1
  ensure_python ruff
  python3 tests/tidy/python.py --fix || status=1
  format_web || status=1
  return $status
}
