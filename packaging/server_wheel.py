"""The wheel tarn-server: the programs of a server, PostgreSQL, and every library that they load but those of glibc."""

import base64
import hashlib
import platform
import re
import shutil
import subprocess
import time
import zipfile
from pathlib import Path

import bill

HERE = Path(__file__).resolve().parent
POSTGRES = "postgresql/15"
POSTGRES_PACKAGE = "postgresql-15"
# Files of PostgreSQL in the wheel: the server. JIT, extensions other than PL/pgSQL, and manuals are left out.
POSTGRES_FILES = {
    "lib": ["bin/postgres", "bin/initdb", "lib/*_and_*.so", "lib/dict_snowball.so", "lib/plpgsql.so", "lib/pgoutput.so"],
    "share": ["*.bki", "*.sql", "*.sample", "*.txt", "timezonesets/*", "tsearch_data/*", "extension/plpgsql*"],
}
C_LIBRARY = "libc6"


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def is_program(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def glibc_of(files):
    """The oldest glibc that has every symbol that the files need, as (2, 36)."""
    needed = [version for path in files for version in re.findall(r"\(GLIBC_(\d+)\.(\d+)[.)]", run("objdump", "-T", path))]
    return max((int(major), int(minor)) for major, minor in needed)


def sha256(path):
    return hashlib.sha256(path.read_bytes()).digest()


def strip(path):
    run("strip", "--strip-unneeded", "--remove-section=.comment", "--remove-section=.note", path)


def lay_out(programs, package):
    """Fills the directory of the package; returns the programs and libraries in it, and the Debian packages they are of."""
    sources = []
    for name in ("tarnd", "tarn-lua", "tarn"):
        place(programs / name, package / "lib" / "tarn" / name)
        strip(package / "lib" / "tarn" / name)
        sources.append(programs / name)
    for top, patterns in POSTGRES_FILES.items():
        home = Path("/usr") / top / POSTGRES
        for pattern in patterns:
            for path in sorted(path for path in home.glob(pattern) if path.is_file()):
                place(path, package / top / POSTGRES / path.relative_to(home))
                sources += [path] if is_program(path) else []
    libraries = {path: owner for path, owner in bill.libraries_of(sources).items() if owner != C_LIBRARY}
    bundled = package / "lib" / "bundled"
    for path in libraries:
        place(Path(path), bundled / Path(path).name)
    files = [path for path in package.rglob("*") if path.is_file() and is_program(path)]
    for path in files:
        # Libraries are found by the path of the program, unless they bring one of their own.
        if path.parent.name in ("tarn", "bin"):
            up = "../" * len(path.parent.relative_to(package / "lib").parts)
            run("patchelf", "--force-rpath", "--set-rpath", f"$ORIGIN/{up}bundled", path)
        elif "RUNPATH" in run("readelf", "-d", path):
            run("patchelf", "--remove-rpath", path)
    return files, sources, sorted({*libraries.values(), POSTGRES_PACKAGE})


def place(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)  # of a symbolic link what it leads to
    target.chmod(0o755 if is_program(target) else 0o644)


def metadata(version):
    return f"""\
Metadata-Version: 2.4
Name: tarn-server
Version: {version}
Summary: git-like branches for object storage: a server with its database, in one package
License-Expression: Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{(HERE / "wheel" / "README.md").read_text()}"""


def write(out, root, epoch):
    """A zip archive of the files below `root`, in the order and with the times that make the same bytes of the same files."""
    when = time.gmtime(epoch)[:6]
    record = next(root.glob("*.dist-info")) / "RECORD"
    lines = []
    files = sorted(path for path in root.rglob("*") if path.is_file())
    for path in files:
        digest = base64.urlsafe_b64encode(sha256(path)).rstrip(b"=").decode()
        lines.append(f"{path.relative_to(root)},sha256={digest},{path.stat().st_size}\n")
    record.write_text("".join(lines) + f"{record.relative_to(root)},,\n")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in [*files, record]:
            entry = zipfile.ZipInfo(str(path.relative_to(root)), when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | (path.stat().st_mode & 0o755)) << 16
            archive.writestr(entry, path.read_bytes())


def build(programs, place_, out, version, epoch, lock_file, commit, downloads):
    version = version.replace("~dev", ".dev")
    root = place_ / "tarn-server-wheel"
    package = root / "tarn_server"
    files, sources, owners = lay_out(programs, package)
    shutil.copyfile(HERE / "wheel" / "__init__.py", package / "__init__.py")
    for path in downloads:
        place(path, package / "share" / "tarn" / "downloads" / path.name)
    contents = [f"{path.relative_to(package)} {sha256(path).hex()}" for path in sorted(package.rglob("*")) if path.is_file()]
    (package / "digest").write_text(hashlib.sha256("\n".join(contents).encode()).hexdigest()[:16] + "\n")
    glibc = glibc_of(files)
    tag = "py3-none-manylinux_{}_{}_{}".format(*glibc, platform.machine())
    info = root / f"tarn_server-{version}.dist-info"
    for owner in owners:
        place(Path("/usr/share/doc") / owner / "copyright", info / "licenses" / owner / "copyright")
    place(HERE.parent / "LICENSE", info / "licenses" / "LICENSE")
    (info / "sboms").mkdir()
    (info / "sboms" / "tarn-server.cdx.json").write_text(
        bill.bill(version, sources, epoch, lock_file, commit, [POSTGRES_PACKAGE])
    )
    (info / "METADATA").write_text(metadata(version))
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tarn\nRoot-Is-Purelib: false\nTag: {tag}\n")
    (info / "entry_points.txt").write_text(
        "[console_scripts]\ntarn = tarn_server:tarn\ntarn-server = tarn_server:tarn_server\ntarnd = tarn_server:tarnd\n"
    )
    write(out / f"tarn_server-{version}-{tag}.whl", root, epoch)
    return glibc
