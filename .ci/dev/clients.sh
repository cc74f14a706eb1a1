# The S3 clients of tests/e2e/clients: Debian's, and an environment for each list of pinned packages there.

S3_PACKAGES=(awscli rclone s3fs s3cmd fuse3 nginx-light openssl)
# The environments of clients, and of the server MinIO, that only `./dev test --clients` runs.
HEAVY_ENVIRONMENTS=(analytics tables js mlflow tensorflow torch spark minio
  airflow dagster datasets dbt documents dvc great_expectations icechunk kedro prefect ray)

# client_environment NAME: makes it once from the files NAME.KIND of tests/e2e/clients, keyed by them and the version of
# Python, as tests/support/client_matrix.py expects.
client_environment() {
  local name=$1 of=tests/e2e/clients/$1 key dir
  key=$( (client_files "$name" | xargs cat; "$PYTHON" --version) | sha256sum | cut -c1-16)
  dir=$TARN_CACHE/client-$name-$key
  # Of the machine, so even where the cache has the rest.
  if [ -f "$of.debian.txt" ]; then client_packages "$of.debian.txt" || return; fi
  if [ -f "$of.pom.xml" ]; then ensure_jdk || return; fi
  [ -f "$dir/.complete" ] && return
  step "installing the S3 client \"$name\" for the tests (once)"
  rm -rf "$dir" && mkdir -p "$dir" || return
  if [ -f "$of.requirements.txt" ]; then client_in_python "$of" "$dir" || return; fi
  if [ -f "$of.go.txt" ]; then client_in_go "$dir/bin" "$(cat "$of.go.txt")" || return; fi
  if [ -f "$of.package.json" ]; then client_in_node "$of.package.json" "$dir" || return; fi
  if [ -f "$of.pom.xml" ]; then client_in_java "$of.pom.xml" "$dir/jars" || return; fi
  touch "$dir/.complete"
}

# client_files NAME: what an environment is made of, in the order of the key.
client_files() {
  local kind
  for kind in requirements.txt no-deps.txt debian.txt go.txt package.json pom.xml; do
    [ ! -f "tests/e2e/clients/$1.$kind" ] || printf '%s\n' "tests/e2e/clients/$1.$kind"
  done
}

# A name without version a line; a machine that has them is left alone.
client_packages() {
  local names
  mapfile -t names <"$1"
  packages_are_there "${names[@]}" || install_packages "${names[@]}"
}

packages_are_there() {
  [ "$(dpkg-query -W -f '${db:Status-Status}\n' "$@" 2>/dev/null | grep -cx installed)" = $# ]
}

# client_in_python FILES DIR: if there are packages of Debian, its Python, which sees them; those of no-deps.txt bring
# nothing along.
client_in_python() {
  local pip=("$2/bin/pip" install --quiet --disable-pip-version-check) venv=(python3 -m venv)
  [ ! -f "$1.debian.txt" ] || venv=(/usr/bin/python3 -m venv --system-site-packages)
  "${venv[@]}" "$2" >&2 && "${pip[@]}" -r "$1.requirements.txt" >&2 || return
  [ ! -f "$1.no-deps.txt" ] || "${pip[@]}" --no-deps -r "$1.no-deps.txt" >&2
}

client_in_node() {
  cp "$1" "$2/package.json" && npm install --loglevel error --no-audit --no-fund --prefix "$2" >&2
}

client_in_java() {
  mvn -q -B -f "$1" dependency:copy-dependencies "-DoutputDirectory=$2" >&2
}

client_in_go() {
  local go
  go=$(go_command) && mkdir -p "$1" && GOBIN=$1 GOFLAGS=-mod=mod "$go" install "$2" >&2
}

# ensure_s3_clients light|heavy
ensure_s3_clients() {
  local file name kind
  packages_are_there "${S3_PACKAGES[@]}" || install_packages "${S3_PACKAGES[@]}" || return
  for file in tests/e2e/clients/*.{requirements.txt,go.txt,package.json}; do
    [ -e "$file" ] || continue
    name=${file##*/}
    name=${name%%.[rgp]*}
    kind=light
    [[ " ${HEAVY_ENVIRONMENTS[*]} " == *" $name "* ]] && kind=heavy
    [ "$kind" != "$1" ] || client_environment "$name" || return
  done
}
