# The S3 clients of tests/e2e/clients: Debian's, one Python environment for each requirements-NAME.txt there, mc.

S3_PACKAGES=(awscli rclone s3fs s3cmd fuse3 nginx-light openssl)
# The environments of clients that only `./dev test --clients` runs.
HEAVY_ENVIRONMENTS=()

# client_environment NAME: made once; keyed by its file and the version of Python, as tests/support/client_matrix.py expects.
client_environment() {
  local file=tests/e2e/clients/requirements-$1.txt key dir
  key=$( (cat "$file"; "$PYTHON" --version) | sha256sum | cut -c1-16)
  dir=$TARN_CACHE/client-$1-$key
  [ -f "$dir/.complete" ] && return
  step "installing the S3 client \"$1\" for the tests (once)"
  rm -rf "$dir" &&
    python3 -m venv "$dir" >&2 &&
    "$dir/bin/pip" install --quiet --disable-pip-version-check -r "$file" >&2 &&
    touch "$dir/.complete"
}

# ensure_s3_clients light|heavy
ensure_s3_clients() {
  local file name kind
  if [ "$(dpkg-query -W -f '${db:Status-Status}\n' "${S3_PACKAGES[@]}" 2>/dev/null | grep -cx installed)" != ${#S3_PACKAGES[@]} ]; then
    install_packages "${S3_PACKAGES[@]}" || return
  fi
  for file in tests/e2e/clients/requirements-*.txt; do
    name=${file##*/requirements-}
    name=${name%.txt}
    kind=light
    [[ " ${HEAVY_ENVIRONMENTS[*]} " == *" $name "* ]] && kind=heavy
    [ "$kind" != "$1" ] || client_environment "$name" || return
  done
}
