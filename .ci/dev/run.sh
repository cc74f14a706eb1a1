# ./dev run: serve until ^C, on what ./dev demo left or on a new directory.
source .ci/dev/build.sh

dev_run() {
  case "${1:-}" in
    -h | --help)
      cat <<'TEXT'
usage: ./dev run [-- tarnd options]

Builds, then serves at http://127.0.0.1:8000 until ^C. Data lie where ./dev demo puts them, so its repository is there
to look at; on a new directory the administrator's keys are printed once. Files below the directory "import" beside
the data can be imported by reference.
TEXT
      return
      ;;
    --) shift ;;
  esac
  build_programs
  local place
  place=$(scratch_dir demo)/tarnd
  mkdir -p "$place/data" "$place/import"
  # In the environment, so that options of the caller count. The repository of the demo refers to images in import.
  export TARN_LISTEN=${TARN_LISTEN:-127.0.0.1:8000} TARN_DATA=${TARN_DATA:-$place/data}
  export TARN_STORE_LOCAL_IMPORT_ROOTS=${TARN_STORE_LOCAL_IMPORT_ROOTS:-$place/import}
  exec build/bin/tarnd "$@"
}
