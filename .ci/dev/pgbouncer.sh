# A PgBouncer that keeps prepared statements in transaction mode (1.21 or newer; Debian 12 has 1.18), for the tests.

PGBOUNCER_SUITE=trixie

# ensure_pgbouncer: sets PGBOUNCER to the program, built once from the source package of a later Debian.
ensure_pgbouncer() {
  PGBOUNCER=$TARN_CACHE/bin/pgbouncer-$PGBOUNCER_SUITE
  export PGBOUNCER
  [ -x "$PGBOUNCER" ] && return
  step "building PgBouncer for the tests (once)"
  packages_are_there libevent-dev || install_packages libevent-dev || return
  local dir status=0
  dir=$(mktemp -d) || return
  build_pgbouncer "$dir" >&2 || status=$?
  rm -rf "$dir"
  return $status
}

# build_pgbouncer DIR: with package lists of its own in DIR, so that the machine's stay as they are.
build_pgbouncer() {
  local dir=$1 site apt
  site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Codename: bookworm' | head -1)
  [ -n "$site" ] || return
  mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/source" "$TARN_CACHE/bin"
  echo "deb-src $site $PGBOUNCER_SUITE main" >"$dir/sources.list"
  apt=(apt-get -q -o "Dir::Etc::SourceList=$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$dir/lists"
    -o "Dir::Cache=$dir/cache" -o APT::Sandbox::User=root)
  "${apt[@]}" update || return
  (cd "$dir" && "${apt[@]}" source --download-only pgbouncer) || return
  tar -xzf "$dir"/pgbouncer_*.orig.tar.gz -C "$dir/source" --strip-components=1 || return
  (cd "$dir/source" && ./configure -q --without-openssl --without-cares --without-systemd && make -s -j"$JOBS" pgbouncer) || return
  install -m 0755 "$dir/source/pgbouncer" "$PGBOUNCER"
}
