# ./dev setup: everything that the other commands would install on first use.
source tools/dev/packages.sh
source tools/dev/python.sh

dev_setup() {
  ensure_packages
  ensure_python
  ensure_versitygw
  say "all there; caches are in $TARN_CACHE"
}
