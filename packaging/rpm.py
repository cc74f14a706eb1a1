"""The RPM package: what the Debian packages have, with the libraries and the PostgreSQL of the wheel of a server."""

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
MACROS = {
    "_buildhost": "tarn",
    "_build_id_links": "none",
    "_binary_payload": "w10.zstdio",
    "__os_install_post": "%{nil}",
    "debug_package": "%{nil}",
    "use_source_date_epoch_as_buildtime": "1",
    "clamp_mtime_to_source_date_epoch": "1",
}


def copy(source, target):
    """A file or a directory, with symbolic links as they are."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)


def lay_out(server, command, wheel, tree):
    """`server` and `command` are the unpacked Debian packages, `wheel` that of a server."""
    copy(server / "etc", tree / "etc")
    copy(server / "lib/systemd/system", tree / "usr/lib/systemd/system")
    for name in ("man", "tarn/monitoring", "doc/tarn-server/examples"):
        copy(server / "usr/share" / name, tree / "usr/share" / name)
    for name in ("man", "bash-completion", "fish"):
        copy(command / "usr/share" / name, tree / "usr/share" / name)
    copy(command / "usr/share/zsh/vendor-completions/_tarn", tree / "usr/share/zsh/site-functions/_tarn")
    copy(
        command / "usr/share/doc/tarn/examples/tarn-runner.service",
        tree / "usr/share/doc/tarn-server/examples/tarn-runner.service",
    )
    (licenses,) = wheel.glob("*.dist-info/licenses")
    copy(licenses, tree / "usr/share/licenses/tarn-server")
    for name in ("lib", "share"):
        copy(wheel / "tarn_server" / name, tree / "usr/lib/tarn-server" / name)
    for link, name in (("usr/sbin/tarnd", "tarnd"), ("usr/bin/tarn", "tarn")):
        (tree / link).parent.mkdir(parents=True)
        (tree / link).symlink_to(f"../lib/tarn-server/lib/tarn/{name}")
    (tree / "var/lib/tarn").mkdir(parents=True)


def build(place, out, version, epoch, glibc):
    """`place` has the trees of the Debian packages and of the wheel, which needs this glibc."""
    tree, top = place / "rpm-tree", place / "rpmbuild"
    lay_out(place / "tarn-server", place / "tarn", place / "tarn-server-wheel", tree)
    macros = {**MACROS, "_topdir": top, "tarn_version": version, "tree": tree, "glibc": ".".join(map(str, glibc))}
    subprocess.run(
        ["rpmbuild", "-bb", "--quiet"]
        + [word for macro, value in macros.items() for word in ("--define", f"{macro} {value}")]
        + [HERE / "rpm" / "tarn-server.spec"],
        check=True,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
        stdout=subprocess.DEVNULL,
    )
    (made,) = (top / "RPMS").rglob("*.rpm")
    shutil.move(made, out / made.name)
