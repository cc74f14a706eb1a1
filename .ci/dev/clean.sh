# ./dev clean: forget what was built here.
dev_clean() { rm -rf build build-asan build-fuzz build-tidy build-tsan; }
