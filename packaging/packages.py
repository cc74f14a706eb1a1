#!/usr/bin/env python3
"""Makes Debian packages, an RPM package, two wheels, an SBOM and checksums from programs that were built.

usage: packages.py [--programs DIR] [--out DIR] [--build N]
"""

import argparse
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import bill
import manual
import rpm
import server_wheel

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PROGRAMS = ("tarnd", "tarn-lua", "tarn")
MAINTAINER = "The Tarn authors <tarn@packages.tarn.dev>"

DESCRIPTIONS = {
    "tarn-server": (
        "git-like branches for object storage: the server",
        """\
Tarn gives object storage branches, commits, merges and tags. It speaks the
REST format of lakeFS and S3. Commits and manifests are in PostgreSQL, the
bytes of objects in a local directory or an S3-compatible store.
.
This package has the server tarnd and its service. Without a database of its
own in the configuration it runs a private cluster of postgresql-15.""",
    ),
    "tarn": (
        "git-like branches for object storage: the command",
        """\
Tarn gives object storage branches, commits, merges and tags.
.
This package has the command tarn, which uses a server over the network, its
manual and completions for bash, zsh and fish.""",
    ),
}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, text=True, **options)


def output_of(*command):
    return run(*command, capture_output=True, cwd=ROOT).stdout.strip()


class Source:
    """The source that is packaged, read once: everything that is made has the same version, time and commit."""

    def __init__(self, programs, build):
        self.programs = programs
        self.commit, self.made_of = self.look()
        given = os.environ.get("SOURCE_DATE_EPOCH")
        if not given and not self.commit:
            raise SystemExit("the source has no history: set SOURCE_DATE_EPOCH to the time of its version, in seconds since 1970")
        self.epoch = int(given) if given else int(output_of("git", "log", "-1", "--format=%ct", self.commit))
        self.version = self.version_of(build)

    def look(self):
        """(commit, a digest of the changes since, sizes and times of the programs); "" and "" without history."""
        try:
            commit, changes = output_of("git", "rev-parse", "HEAD"), output_of("git", "diff", "HEAD")
        except (OSError, subprocess.CalledProcessError):
            commit, changes = "", ""
        built = [(name, (self.programs / name).stat().st_size, (self.programs / name).stat().st_mtime_ns) for name in PROGRAMS]
        return commit, (hashlib.sha256(changes.encode()).hexdigest() if changes else "", built)

    def version_of(self, build):
        """VERSION for the commit that is tagged so, otherwise a version that comes before it and after earlier builds."""
        version = (ROOT / "VERSION").read_text().strip()
        if not self.commit:
            return version
        if build is None and f"v{version}" in output_of("git", "tag", "--points-at", self.commit).split():
            return version
        return f"{version}~dev{output_of('git', 'rev-list', '--count', self.commit) if build is None else build}"

    def name(self):
        """The commit, with a mark if files differ from it; "" without history."""
        return self.commit + ("+changes" if self.made_of[0] else "")

    def check_unchanged(self):
        commit, made_of = self.look()
        if commit != self.commit:
            raise SystemExit(
                f"commit {commit} took the place of {self.commit} while it was packaged: package again, or in a clone "
                "where nobody commits (git clone --shared)"
            )
        if made_of != self.made_of:
            raise SystemExit(
                f"files or programs of commit {commit} changed while they were packaged: package again when nobody edits "
                "or builds here"
            )


class Package:
    """Files of one Debian package in a directory of its own."""

    def __init__(self, name, place, version, epoch):
        self.name, self.root, self.version, self.epoch = name, place / name, version, epoch
        self.conffiles = []

    def add(self, path, content, mode=0o644):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            shutil.copyfile(content, target)
        else:
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)
        if path.startswith("etc/"):
            self.conffiles.append("/" + path)

    def add_program(self, path, program):
        self.add(path, program, 0o755)
        run("strip", "--strip-unneeded", "--remove-section=.comment", "--remove-section=.note", self.root / path)

    def add_compressed(self, path, text):
        self.add(path + ".gz", gzip.compress(text.encode(), 9, mtime=0))

    def add_manual(self, page, text):
        self.add_compressed(f"usr/share/man/man{page.rsplit('.', 1)[1]}/{page}", text)

    def add_documents(self):
        self.add(f"usr/share/doc/{self.name}/copyright", HERE / "debian" / "copyright")
        date = datetime.fromtimestamp(self.epoch, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
        self.add_compressed(
            f"usr/share/doc/{self.name}/changelog",
            f"tarn ({self.version}) unstable; urgency=medium\n\n  * CHANGELOG.md of the source has the changes.\n\n"
            f" -- {MAINTAINER}  {date}\n",
        )

    def build(self, out, fields):
        control = self.root / "DEBIAN"
        control.mkdir()
        control.chmod(0o755)
        for script in ("preinst", "postinst", "prerm", "postrm"):
            source = HERE / "debian" / f"{self.name}.{script}"
            if source.exists():
                shutil.copyfile(source, control / script)
                (control / script).chmod(0o755)
        if self.conffiles:
            (control / "conffiles").write_text("".join(f"{path}\n" for path in sorted(self.conffiles)))
        files = sorted(
            path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink() and control not in path.parents
        )
        (control / "md5sums").write_text(
            "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(self.root)}\n" for path in files)
        )
        size = sum(path.stat().st_size for path in files) // 1024
        summary, text = DESCRIPTIONS[self.name]
        (control / "control").write_text(
            f"Package: {self.name}\nSource: tarn\nVersion: {self.version}\nArchitecture: {output_of('dpkg', '--print-architecture')}\n"
            f"Maintainer: {MAINTAINER}\nInstalled-Size: {size}\n{fields}Section: database\nPriority: optional\n"
            f"Description: {summary}\n" + "".join(f" {line}\n" for line in text.splitlines())
        )
        for path in [self.root, *self.root.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
            os.utime(path, (self.epoch, self.epoch), follow_symlinks=False)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(self.epoch)}
        run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", self.root, out, env=environment, stdout=subprocess.DEVNULL)


def depends_of(programs):
    """The packages that dpkg-shlibdeps finds for the libraries of the programs."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "debian").mkdir()
        (Path(place) / "debian" / "control").write_text("Source: tarn\n\nPackage: tarn\nArchitecture: any\n")
        found = run("dpkg-shlibdeps", "-O", *programs, cwd=place, capture_output=True).stdout
    return re.search(r"shlibs:Depends=(.*)", found).group(1)


def build_server(programs, place, out, version, epoch, downloads):
    package = Package("tarn-server", place, version, epoch)
    for name in ("tarnd", "tarn-lua"):  # side by side: tarnd starts the other
        package.add_program(f"usr/lib/tarn/{name}", programs / name)
    (package.root / "usr/sbin").mkdir()
    (package.root / "usr/sbin/tarnd").symlink_to("../lib/tarn/tarnd")
    package.add("etc/tarn/tarnd.yaml", HERE / "debian" / "tarnd.yaml")
    package.add("etc/default/tarn-backup", HERE / "debian" / "tarn-backup.default")
    for unit in ("tarnd.service", "tarnd.socket", "tarn-backup.service", "tarn-backup.timer"):
        package.add(f"lib/systemd/system/{unit}", HERE / "systemd" / unit)
    for name in ("tarn.rules.yaml", "tarn.dashboard.json"):
        package.add(f"usr/share/tarn/monitoring/{name}", HERE / "monitoring" / name)
    for path in downloads:
        package.add(f"usr/share/tarn/downloads/{path.name}", path)
    package.add("usr/share/doc/tarn-server/examples/tarnd.yaml", ROOT / "server" / "tarn.sample.yaml")
    for name in ("Caddyfile", "haproxy.cfg", "nginx.conf"):
        package.add(f"usr/share/doc/tarn-server/examples/{name}", HERE / "proxies" / name)
    date = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d")
    for page, text in manual.pages_of_the_server(programs / "tarnd", version, date).items():
        package.add_manual(page, text)
    package.add_documents()
    depends = depends_of([package.root / "usr/lib/tarn" / name for name in ("tarnd", "tarn-lua")])
    package.build(out, f"Depends: adduser, init-system-helpers (>= 1.54~), {depends}\nRecommends: postgresql-15, tarn\n")


def build_command(programs, place, out, version, epoch):
    package = Package("tarn", place, version, epoch)
    package.add_program("usr/bin/tarn", programs / "tarn")
    for shell, path in {
        "bash": "usr/share/bash-completion/completions/tarn",
        "zsh": "usr/share/zsh/vendor-completions/_tarn",
        "fish": "usr/share/fish/vendor_completions.d/tarn.fish",
    }.items():
        package.add(path, manual.output_of(programs / "tarn", "completion", shell))
    date = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d")
    package.add("usr/share/doc/tarn/examples/tarn-runner.service", HERE / "systemd" / "tarn-runner.service")
    for page, text in manual.pages_of_the_command(programs / "tarn", version, date).items():
        package.add_manual(page, text)
    package.add_documents()
    package.build(out, f"Depends: {depends_of([package.root / 'usr/bin/tarn'])}\nSuggests: tarn-server, bubblewrap\n")


def build_wheel(out, epoch):
    source = ROOT / "clients" / "python"
    version = (ROOT / "VERSION").read_text().strip()
    found = re.search(r'^version = "(.*)"$', (source / "pyproject.toml").read_text(), re.MULTILINE).group(1)
    if found != version:
        raise SystemExit(f"clients/python/pyproject.toml has version {found}, VERSION has {version}")
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--wheel-dir",
        out,
        source,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
    )


def main():
    parser = argparse.ArgumentParser(description="Makes packages from programs that were built.")
    parser.add_argument("--programs", type=Path, default=ROOT / "build" / "bin")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "packages")
    parser.add_argument("--build", help="number of the build, instead of the number of commits")
    given = parser.parse_args()
    programs, out = given.programs.resolve(), given.out.resolve()
    source = Source(programs, given.build)
    version, epoch = source.version, source.epoch
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="tarn-packages-") as place:
        build_command(programs, Path(place), out, version, epoch)
        build_wheel(out, epoch)
        downloads = sorted(out.iterdir())  # each server hands them out
        build_server(programs, Path(place), out, version, epoch, downloads)
        stripped = [
            Path(place) / path
            for path in ("tarn-server/usr/lib/tarn/tarnd", "tarn-server/usr/lib/tarn/tarn-lua", "tarn/usr/bin/tarn")
        ]
        (out / f"tarn_{version}.cdx.json").write_text(
            bill.bill(version, stripped, epoch, ROOT / "web" / "package-lock.json", source.name())
        )
        lock_file = ROOT / "web" / "package-lock.json"
        glibc = server_wheel.build(programs, Path(place), out, version, epoch, lock_file, source.name(), downloads)
        rpm.build(Path(place), out, version, epoch, glibc)
    source.check_unchanged()
    files = sorted(path for path in out.iterdir())
    (out / "SHA256SUMS").write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files))
    print(f"commit {source.name() or 'unknown'}, version {version}")
    for path in files:
        print(f"{path.stat().st_size:>10}  {path}")


if __name__ == "__main__":
    main()
