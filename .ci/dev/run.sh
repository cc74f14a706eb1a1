# ./dev run: serve until ^C, on what ./dev demo left or on a new directory.
source .ci/dev/build.sh

dev_run() {
  case "${1:-}" in
    -h | --help)
      cat <<'TEXT'
usage: ./dev run [-- tarnd options]

Builds, then serves at http://127.0.0.1:8000 until ^C. Data lie where ./dev demo puts them, so its repository is there
to look at; on a new directory the administrator's keys are printed once.
TEXT
      return
      ;;
    --) shift ;;
  esac
  build_programs
  local data
  data=$(scratch_dir demo)/tarnd/data
  mkdir -p "$data"
  exec build/bin/tarnd --listen 127.0.0.1:8000 --data "$data" "$@"
}
