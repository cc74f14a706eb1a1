# ./dev fmt: clang-format over every C++ source of the tree.
source .ci/dev/packages.sh

dev_fmt() {
  ensure_packages
  python3 tests/tidy/formatting.py --fix
}
