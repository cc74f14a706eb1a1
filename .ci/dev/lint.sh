# ./dev lint: the tidy tests, the rules of the web interface, and clang-tidy over the sources that differ from a commit.
source .ci/dev/build.sh
source .ci/dev/python.sh

dev_lint() {
  local since=HEAD files=() status=0
  case "${1:-}" in
    -h | --help)
      echo "usage: ./dev lint [--all | COMMIT]      clang-tidy over all sources, or those changed since COMMIT (HEAD)"
      return
      ;;
    --all) mapfile -t files < <(git ls-files 'core/*.cc' 'server/*.cc' 's3gateway/*.cc' 'cli/*.cc') ;;
    *)
      since=${1:-HEAD}
      mapfile -t files < <({ git diff --name-only --diff-filter=d "$since" -- '*.cc' && git ls-files -o --exclude-standard '*.cc'; } | sort -u)
      ;;
  esac
  ensure_packages
  ensure_python ruff
  ensure_clang
  command -v clang-tidy-14 >/dev/null || install_packages clang-tidy-14
  configure dev build
  configure tidy build-tidy
  local check
  for check in aborts actions clocks formatting images layers left_to_ci limits links literals migrations promises python queries reasons settings troubleshooting types wording; do
    python3 "tests/tidy/$check.py" || status=1
  done
  lint_web || status=1
  python3 tests/tidy/clang.py threads || status=1
  [ ${#files[@]} -eq 0 ] || python3 tests/tidy/clang.py tidy "${files[@]}" || status=1
  return $status
}
