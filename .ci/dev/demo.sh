# ./dev demo: tests/demo against a server of its own.
source .ci/dev/build.sh
source .ci/dev/python.sh

# Of tests/requirements.txt, those that tests/demo imports.
DEMO_PACKAGES=(lakefs lakefs-sdk boto3 s3fs requests scikit-learn pillow)

dev_demo() {
  local options=()
  case "${1:-}" in
    "") ;;
    --s3) options+=(--s3) ;;
    *)
      cat <<'TEXT'
usage: ./dev demo [--s3]

Builds, then runs a whole experiment on the digits images that scikit-learn ships: import by reference, three branches
trained at once, commit, compare, promote the best through a gate, predict with @champion, a refused promotion, a
rollback. --s3 keeps source and objects in a real S3 server (versitygw).
TEXT
      [[ $1 == -h || $1 == --help ]] && return
      return 2
      ;;
  esac
  build_programs
  ensure_python "${DEMO_PACKAGES[@]}"
  [ ${#options[@]} -eq 0 ] || ensure_versitygw
  "$PYTHON" tests/demo/digits_demo.py --directory "$(scratch_dir "demo${1:+-s3}")" "${options[@]}"
}
