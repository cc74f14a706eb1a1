#!/usr/bin/env python3
"""Makes an OCI image of the packages without a daemon: mmdebstrap unpacks, umoci packs. Needs root.

usage: image.py [--packages DIR]

The image has the programs, the libraries they load, PostgreSQL 15 for the embedded database, and no package manager.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from packages import MAINTAINER, ROOT, output_of

SUITE = "bookworm"
MIRRORS = [f"deb http://deb.debian.org/debian {SUITE} main", f"deb http://deb.debian.org/debian-security {SUITE}-security main"]
USER = 10001  # above those that systems give to people and services
# Of the dependencies of postgresql-15: what only its wrappers, compiler and documentation need.
UNUSED = """
  usr/lib/postgresql/15/lib/bitcode usr/lib/postgresql/15/lib/llvmjit.so usr/lib/postgresql/15/lib/llvmjit_types.bc
  usr/lib/*/libLLVM-14.so* usr/lib/llvm-14 usr/lib/*/libz3.so* usr/lib/*/libedit.so*
  usr/share/postgresql/15/man usr/share/doc usr/share/man usr/share/info usr/share/locale usr/share/lintian usr/share/perl
  usr/share/perl5 usr/lib/*/perl usr/lib/*/perl-base usr/lib/*/perl5 usr/bin/perl* usr/lib/*/libperl.so* usr/share/bash-completion
  usr/share/zsh usr/share/fish usr/lib/*/gconv usr/lib/*/systemd usr/lib/systemd lib/systemd usr/share/postgresql-common
  etc/postgresql-common var/lib/apt var/cache var/log usr/lib/*/security usr/share/debconf usr/share/i18n
  usr/lib/postgresql/15/bin/pg_dump* usr/lib/postgresql/15/bin/pgbench usr/lib/postgresql/15/bin/vacuumlo
  usr/lib/postgresql/15/bin/oid2name usr/lib/postgresql/15/bin/pg_upgrade usr/lib/postgresql/15/bin/ecpg
""".split()


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, text=True, **options)


def only(directory, pattern):
    (found,) = directory.glob(pattern)
    return found


def epoch_of(packages):
    """The time of the packages, which the source may have left behind by now."""
    made = json.loads(only(packages, "*.cdx.json").read_text())["metadata"]["timestamp"]
    return int(datetime.fromisoformat(made.replace("Z", "+00:00")).timestamp())


def depends_of(package):
    text = run("dpkg-deb", "-f", package, "Depends", capture_output=True).stdout
    return {re.split(r"[ (|]", part.strip())[0] for part in text.split(",") if part.strip()}


def make_root(root, packages):
    """The files of the packages and of all that they need, unpacked and not configured."""
    server, command = only(packages, "tarn-server_*.deb"), only(packages, "tarn_*.deb")
    needed = (depends_of(server) | depends_of(command)) - {"adduser", "init-system-helpers"} | {
        "base-files",
        "ca-certificates",
        "dash",
        "libc-bin",
        "postgresql-15",
        "tzdata",
    }
    run(
        "mmdebstrap",
        "--variant=extract",
        "--aptopt=APT::Install-Recommends false",
        f"--include={','.join(sorted(needed))}",
        SUITE,
        root,
        *MIRRORS,
        stdout=subprocess.DEVNULL,
    )
    for package in (server, command):
        run("dpkg-deb", "-x", package, root)


def certificates(root):
    """The bundle that configuring ca-certificates would make."""
    bundle = "".join(path.read_text() for path in sorted((root / "usr/share/ca-certificates/mozilla").glob("*.crt")))
    (root / "etc/ssl/certs").mkdir(parents=True, exist_ok=True)
    (root / "etc/ssl/certs/ca-certificates.crt").write_text(bundle)


def libraries_of(root):
    """Names of the shared libraries that a program in use loads, by the dynamic sections."""
    programs = [root / "usr/lib/tarn/tarnd", root / "usr/lib/tarn/tarn-lua", root / "usr/bin/tarn"]
    programs += [
        path
        for path in (root / "usr/lib/postgresql/15").rglob("*")
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"
    ]
    programs += list((root / "usr/lib").glob("*/libnss_*")) + list((root / "lib").glob("*/libnss_*"))
    places = {}
    for directory in ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu"):
        for path in (root / directory).glob("*.so*"):
            places.setdefault(path.name, path)
    kept, waiting = set(), list(programs)
    while waiting:
        dynamic = subprocess.run(["readelf", "-d", waiting.pop()], capture_output=True, text=True, check=False).stdout
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
            if name in places and name not in kept:
                kept.add(name)
                waiting.append(places[name])
    return kept


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def slim(root):
    for pattern in UNUSED:
        for path in root.glob(pattern):
            remove(path)
    kept = libraries_of(root)
    real = {
        os.path.realpath(path)
        for directory in ("usr/lib", "lib")
        for name in kept
        for path in (root / directory).glob(f"*/{name}")
    }
    for directory in ("usr/lib", "lib"):
        for path in list((root / directory).glob("*-linux-gnu*/*.so*")):
            loader = path.name.startswith(("ld-linux", "libnss_"))
            if (
                path.name not in kept
                and os.path.realpath(path) not in real
                and not loader
                and (path.is_file() or path.is_symlink())
            ):
                path.unlink()
    # Of Debian's programs a shell, with which initdb starts postgres, and the list of locales.
    for directory in ("usr/bin", "bin", "usr/sbin", "sbin"):
        for path in list((root / directory).glob("*")):
            if path.name not in ("sh", "dash", "locale", "tarn", "tarnd"):
                remove(path)
    if not (root / "bin/sh").exists():
        (root / "bin/sh").symlink_to("dash")


def prepare(root, version):
    (root / "etc/passwd").write_text(
        f"root:x:0:0:root:/:/usr/sbin/nologin\ntarn:x:{USER}:{USER}:Tarn server:/var/lib/tarn:/usr/sbin/nologin\n"
    )
    (root / "etc/group").write_text(f"root:x:0:\ntarn:x:{USER}:\n")
    for name in ("shadow", "gshadow"):
        (root / "etc" / name).unlink(missing_ok=True)
    shutil.rmtree(root / "etc/tarn")
    data = root / "var/lib/tarn"
    data.mkdir(parents=True, exist_ok=True)
    os.chown(data, USER, USER)
    data.chmod(0o700)
    (root / "tmp").mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    (root / "usr/share/tarn").mkdir(parents=True, exist_ok=True)
    (root / "usr/share/tarn/version").write_text(version + "\n")


def pack(root, out, version, epoch):
    when = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    with tempfile.TemporaryDirectory(prefix="tarn-image-") as place:
        layout, archive = Path(place) / "layout", Path(place) / "root.tar"
        run("tar", "-C", root, "--sort=name", "--numeric-owner", f"--mtime=@{epoch}", "--clamp-mtime", "-cf", archive, ".")
        run("umoci", "init", "--layout", layout)
        run("umoci", "new", "--image", f"{layout}:{version}")
        run("umoci", "raw", "add-layer", "--image", f"{layout}:{version}", "--history.created", when, archive)
        run(
            "umoci",
            "config",
            "--image",
            f"{layout}:{version}",
            "--created",
            when,
            "--history.created",
            when,
            "--author",
            MAINTAINER,
            "--config.user",
            f"{USER}:{USER}",
            "--config.workingdir",
            "/var/lib/tarn",
            "--config.volume",
            "/var/lib/tarn",
            "--config.exposedports",
            "8000/tcp",
            "--config.entrypoint",
            "/usr/sbin/tarnd",
            "--config.env",
            "TARN_LISTEN=0.0.0.0:8000",
            "--config.env",
            "TARN_DATA=/var/lib/tarn",
            "--config.env",
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            "--config.stopsignal",
            "SIGTERM",
            "--config.label",
            "org.opencontainers.image.title=tarn",
            "--config.label",
            f"org.opencontainers.image.version={version}",
            "--config.label",
            "org.opencontainers.image.licenses=Apache-2.0",
            "--os",
            "linux",
            "--architecture",
            output_of("dpkg", "--print-architecture"),
        )
        run("umoci", "gc", "--layout", layout)
        out.unlink(missing_ok=True)
        # With Docker's own health check, which OCI's format has no place for.
        add_health_check(layout)
        run("tar", "-C", layout, "--sort=name", "--owner=0", "--group=0", "--numeric-owner", f"--mtime=@{epoch}", "-cf", out, ".")


def add_health_check(layout):
    """Docker and podman read it from the configuration of an image; the digests change with it."""
    index = json.loads((layout / "index.json").read_text())

    def blob(digest):
        return layout / "blobs" / digest.replace(":", "/")

    def rewritten(descriptor, content):
        data = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        blob(descriptor["digest"]).unlink()
        blob(digest).write_bytes(data)
        descriptor.update(digest=digest, size=len(data))

    descriptor = index["manifests"][0]
    manifest = json.loads(blob(descriptor["digest"]).read_text())
    config = json.loads(blob(manifest["config"]["digest"]).read_text())
    second = 1_000_000_000
    config["config"]["Healthcheck"] = {
        "Test": ["CMD", "/usr/sbin/tarnd", "--probe"],
        "Interval": 10 * second,
        "Timeout": 12 * second,
        "StartPeriod": 60 * second,
        "Retries": 3,
    }
    rewritten(manifest["config"], config)
    rewritten(descriptor, manifest)
    (layout / "index.json").write_text(json.dumps(index, sort_keys=True, separators=(",", ":")))


def main():
    parser = argparse.ArgumentParser(description="Makes an OCI image of the packages.")
    parser.add_argument("--packages", type=Path, default=ROOT / "build" / "packages")
    packages = parser.parse_args().packages.resolve()
    version = re.search(r"tarn-server_(.*)_[^_]*\.deb", only(packages, "tarn-server_*.deb").name).group(1).replace("~", "-")
    out = packages / f"tarn-{version}-image.tar"
    with tempfile.TemporaryDirectory(prefix="tarn-root-", dir="/var/tmp") as place:
        root = Path(place) / "root"
        make_root(root, packages)
        certificates(root)
        slim(root)
        prepare(root, version)
        size = int(run("du", "-sb", root, capture_output=True).stdout.split()[0])
        print(f"{size // 1_000_000} MB unpacked")
        pack(root, out, version, epoch_of(packages))
    print(f"{out.stat().st_size // 1_000_000} MB {out}")


if __name__ == "__main__":
    main()
