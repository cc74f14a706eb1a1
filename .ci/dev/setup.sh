# ./dev setup: everything that the other commands would install on first use.
source .ci/dev/packages.sh
source .ci/dev/python.sh

dev_setup() {
  ensure_packages
  ensure_python
  ensure_versitygw
  ensure_sstable_reader
  say "all there; caches are in $TARN_CACHE"
}
