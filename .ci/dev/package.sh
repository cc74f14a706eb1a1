# ./dev package: Debian packages, the wheels of the Python package and of a server, an SBOM; with --image an OCI image of them.
source .ci/dev/build.sh
source .ci/dev/python.sh

PACKAGE_TOOLS=(dpkg-dev lintian patchelf xz-utils)
IMAGE_TOOLS=(mmdebstrap umoci skopeo)
# Of tests/packages. The last run the image and try the proxies of docs/proxy.md.
PACKAGE_TEST_TOOLS=("${PACKAGE_TOOLS[@]}" "${IMAGE_TOOLS[@]}" iproute2 systemd runc nginx-light haproxy caddy openssl)

dev_package() {
  local image='' option
  for option in "$@"; do
    case "$option" in
      --image) image=1 ;;
      *)
        cat <<'TEXT'
usage: ./dev package [--image]

Builds, then writes to build/packages: tarn-server_VERSION_ARCH.deb, tarn_VERSION_ARCH.deb, the wheels of the
Python package and of a server with PostgreSQL, an SBOM (CycloneDX) and SHA256SUMS. --image also makes an OCI image, build/packages/tarn-VERSION-image.tar.
SOURCE_DATE_EPOCH is the time of the commit unless set.
TEXT
        [[ $option == -h || $option == --help ]] && return
        return 2
        ;;
    esac
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
}

packages_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}\n' "$@" 2>/dev/null | grep -cx installed)" = $# ]
}
