# ./dev package: Debian packages, an RPM package, the wheels of the Python package and of a server, an SBOM; with --image an OCI image of them; with --release all of a
# version, signed.
source .ci/dev/build.sh
source .ci/dev/python.sh

PACKAGE_TOOLS=(dpkg-dev lintian patchelf rpm xz-utils)
IMAGE_TOOLS=(mmdebstrap umoci skopeo)
# Of tests/packages. The last run the image and try the proxies of docs/proxy.md.
PACKAGE_TEST_TOOLS=("${PACKAGE_TOOLS[@]}" "${IMAGE_TOOLS[@]}" iproute2 minisign systemd runc nginx-light haproxy caddy openssl)

dev_package() {
  local image='' key=''
  while [ $# -gt 0 ]; do
    case "$1" in
      --image) image=1 ;;
      --release)
        image=1
        key=${2:-}
        [ -r "$key" ] || die 2 "--release takes the file of a minisign key: minisign -G -W -s FILE makes one"
        shift
        ;;
      *)
        cat <<'TEXT'
usage: ./dev package [--image] [--release KEY]

Builds, then writes to build/packages: tarn-server_VERSION_ARCH.deb, tarn_VERSION_ARCH.deb,
tarn-server-VERSION-1.ARCH.rpm with both, the wheels of the Python package and of a server with PostgreSQL, an SBOM (CycloneDX) and SHA256SUMS. --image also makes an OCI image, build/packages/tarn-VERSION-image.tar.
--release makes all of it for a commit that is tagged vVERSION, adds the provenance, and signs SHA256SUMS with a key of minisign
(docs/releasing.md).
SOURCE_DATE_EPOCH is the time of the commit unless set.
TEXT
        [[ $1 == -h || $1 == --help ]] && return
        return 2
        ;;
    esac
    shift
  done
  build_programs
  packages_installed "${PACKAGE_TOOLS[@]}" || install_packages "${PACKAGE_TOOLS[@]}"
  ensure_python
  step "making packages"
  "$PYTHON" packaging/packages.py
  step "lintian"
  lintian --allow-root --fail-on error,warning --tag-display-limit 0 build/packages/*.deb
  [ -n "$image" ] || return 0
  packages_installed "${IMAGE_TOOLS[@]}" || install_packages "${IMAGE_TOOLS[@]}"
  step "making the image"
  as_root python3 packaging/image.py
  [ -n "$key" ] || return 0
  packages_installed minisign || install_packages minisign
  step "signing"
  python3 packaging/release.py --key "$key"
}

packages_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}\n' "$@" 2>/dev/null | grep -cx installed)" = $# ]
}
