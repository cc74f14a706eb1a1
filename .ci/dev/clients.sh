# The S3 clients of tests/e2e/clients: Debian's, and an environment for each list of pinned packages there.

S3_PACKAGES=(awscli rclone s3fs s3cmd fuse3 nginx-light openssl)
# The environments of clients that only `./dev test --clients` runs.
HEAVY_ENVIRONMENTS=(analytics tables js)

# client_environment FILE: makes NAME of tests/e2e/clients/NAME.KIND once, keyed by the file and the version of Python, as
# tests/support/client_matrix.py expects.
client_environment() {
  local name=${1##*/} key dir
  name=${name%%.[rgp]*}
  key=$( (cat "$1"; "$PYTHON" --version) | sha256sum | cut -c1-16)
  dir=$TARN_CACHE/client-$name-$key
  [ -f "$dir/.complete" ] && return
  step "installing the S3 client \"$name\" for the tests (once)"
  rm -rf "$dir" && mkdir -p "$dir" || return
  case $1 in
    *.requirements.txt)
      python3 -m venv "$dir" >&2 && "$dir/bin/pip" install --quiet --disable-pip-version-check -r "$1" >&2 ;;
    *.go.txt) client_in_go "$dir/bin" "$(cat "$1")" ;;
    *.package.json) cp "$1" "$dir/package.json" && npm install --loglevel error --no-audit --no-fund --prefix "$dir" >&2 ;;
  esac && touch "$dir/.complete"
}

client_in_go() {
  local go
  go=$(go_command) && mkdir -p "$1" && GOBIN=$1 GOFLAGS=-mod=mod "$go" install "$2" >&2
}

# ensure_s3_clients light|heavy
ensure_s3_clients() {
  local file name kind
  if [ "$(dpkg-query -W -f '${db:Status-Status}\n' "${S3_PACKAGES[@]}" 2>/dev/null | grep -cx installed)" != ${#S3_PACKAGES[@]} ]; then
    install_packages "${S3_PACKAGES[@]}" || return
  fi
  for file in tests/e2e/clients/*.{requirements.txt,go.txt,package.json}; do
    [ -e "$file" ] || continue
    name=${file##*/}
    kind=light
    [[ " ${HEAVY_ENVIRONMENTS[*]} " == *" ${name%%.[rgp]*} "* ]] && kind=heavy
    [ "$kind" != "$1" ] || client_environment "$file" || return
  done
}
