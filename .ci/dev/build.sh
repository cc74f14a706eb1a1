# ./dev build, and the configure and build steps that the other commands use.
source .ci/dev/packages.sh
source .ci/dev/web.sh

FLIT_VERSION=3.12.0

# configure PRESET DIR: makes DIR's build.ninja unless it is there and belongs to this checkout.
# Later changes of CMakeLists.txt are ninja's to notice.
configure() {
  local preset=$1 dir=$2 home
  if [ -f "$dir/CMakeCache.txt" ]; then
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt")
    [ "$home" = "$ROOT" ] || rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles" "$dir/build.ninja"
  fi
  [ -f "$dir/build.ninja" ] && [ "$dir/build.ninja" -nt CMakePresets.json ] && return
  step "configuring $dir"
  local log
  if ! log=$(cmake --preset "$preset" -B "$dir" 2>&1); then
    printf '%s\n' "$log" >&2
    return 1
  fi
}

# build_targets DIR TARGET...: ninja's own status line is the progress display.
build_targets() {
  local dir=$1
  shift
  NINJA_STATUS='[%f/%t, %es] ' ninja -C "$dir" -j "$JOBS" "$@" >&2
}

# build_downloads: the wheel of clients/python, which a server from build/bin hands out at /downloads/. flit, which makes it, is
# fetched once; where it cannot be, the server has no such file and its page no such line.
build_downloads() {
  local place=build/share/tarn/downloads flit=$TARN_CACHE/flit-$FLIT_VERSION wheel
  wheel=$(echo "$place"/tarn_data-*.whl)
  [ -f "$wheel" ] && [ -z "$(find clients/python -type f -not -name '*.pyc' -newer "$wheel" -print -quit)" ] && return
  step "making the Python package that the server hands out"
  if ! {
    { [ -f "$flit/.complete" ] || { python3 -m venv "$flit" &&
      "$flit/bin/pip" install --quiet --disable-pip-version-check "flit_core==$FLIT_VERSION" && touch "$flit/.complete"; }; } &&
      rm -rf "$place" && mkdir -p "$place" && "$flit/bin/python" -m flit_core.wheel --outdir "$place" clients/python &&
      chmod a+r "$place"/*
  } >&2; then
    say "it was not made: /downloads/ is empty"
  fi
}

build_programs() {
  ensure_packages
  build_web
  build_downloads
  configure dev build
  build_targets build tarnd tarn
}

dev_build() {
  case "${1:-}" in
    -h | --help)
      echo "usage: ./dev build [target ...]      default: tarnd tarn (build/bin/); 'all' for tests too"
      return
      ;;
  esac
  [ $# -gt 0 ] || set -- tarnd tarn
  ensure_packages
  case " $* " in *' tarnd '* | *' all '*) build_web && build_downloads ;; esac
  configure dev build
  build_targets build "$@"
}
