# Debian packages: which are needed, and installing those that are missing.

BUILD_PACKAGES=(
  g++ cmake ninja-build ccache pkg-config git ca-certificates
  libpq-dev postgresql-15 libboost1.81-dev libcurl4-openssl-dev libssl-dev nlohmann-json3-dev
  libcpp-httplib-dev libzstd-dev libxxhash-dev libyaml-cpp-dev libcli11-dev libspdlog-dev
  prometheus-cpp-dev liblua5.4-dev libre2-dev libcap-ng-dev librocksdb-dev
  libroaring-dev libutf8proc-dev libjemalloc-dev libgtest-dev libgmock-dev libbenchmark-dev clang-format
  python3-venv bubblewrap
)

# Prints the needed packages that are not installed, one a line.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${BUILD_PACKAGES[@]}" 2>/dev/null |
    awk '$1 == "installed" {print $2}' || true)
  printf '%s\n' "${BUILD_PACKAGES[@]}" | grep -vxF -e "$installed" || true
}

# Installing postgresql-15 would create and start a cluster on port 5432. Tarn runs its own, so tell Debian not to;
# where a PostgreSQL is installed already, its owner has decided and nothing is written.
forbid_system_cluster() {
  local conf=/etc/postgresql-common/createcluster.d/tarn.conf
  if dpkg-query -W -f '${db:Status-Status}\n' 'postgresql-[0-9]*' 2>/dev/null | grep -qx installed; then
    return
  fi
  [ -e "$conf" ] && return
  as_root mkdir -p "$(dirname "$conf")"
  printf 'create_main_cluster = false\n' | as_root tee "$conf" >/dev/null
}

ensure_packages() {
  command -v dpkg-query >/dev/null || die 1 "this is not Debian: install ${BUILD_PACKAGES[*]} or their like yourself"
  local missing
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -eq 0 ] && return
  step "installing ${#missing[@]} Debian packages: ${missing[*]}"
  case " ${missing[*]} " in *" postgresql-15 "*) forbid_system_cluster ;; esac
  apt_install "${missing[@]}"
}

# install_packages PACKAGE...: for what only some commands need.
install_packages() {
  command -v apt-get >/dev/null || die 1 "this is not Debian: install $* or their like yourself"
  step "installing Debian packages: $*"
  apt_install "$@"
}

# The second compiler: its checks of locks, and the fuzzer's.
ensure_clang() { command -v clang++-14 >/dev/null || install_packages clang-14; }

apt_install() {
  local options=(-y -q --no-install-recommends -o Dpkg::Use-Pty=0)
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update >&2 &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install "${options[@]}" "$@" >&2
}
