# ./dev fmt: clang-format over every C++ source of the tree, ruff over every Python source.
source .ci/dev/packages.sh
source .ci/dev/python.sh

dev_fmt() {
  ensure_packages
  python3 tests/tidy/formatting.py --fix
  ensure_python ruff
  python3 tests/tidy/python.py --fix
}
