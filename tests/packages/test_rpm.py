"""The RPM package: what it has, and a server of it in a system that has glibc, a shell and accounts alone."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from fresh_debian import run
from test_server_wheel import inside, python_system

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a system and its namespaces"),
    pytest.mark.skipif(not shutil.which("rpmbuild"), reason="needs rpm"),
]
SERVED = r"""
set -e
su -s /bin/sh tarn -c 'exec tarnd --config /etc/tarn/tarnd.yaml' > /tmp/log 2>&1 &
for try in $(seq 300); do [ -e /var/lib/tarn/admin-credentials ] && tarnd --probe 2>/dev/null && break; sleep 0.2; done
export TARN_ACCESS_KEY=$(sed -n 's/.*access_key_id: //p' /var/lib/tarn/admin-credentials)
export TARN_SECRET_KEY=$(sed -n 's/.*secret_access_key: //p' /var/lib/tarn/admin-credentials)
export TARN_ENDPOINT=http://127.0.0.1:8000
tarn repo create tarn://first
echo hello | tarn fs upload - tarn://first/main/a.txt
tarn fs cat tarn://first/main/a.txt
ls /var/lib/tarn/pg/15/PG_VERSION
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    out = tmp_path_factory.mktemp("packages")
    run(sys.executable, ROOT / "packaging" / "packages.py", "--out", out, "--build", "1")
    (found,) = out.glob("tarn-server-*.rpm")
    return found


def asked(package, *words):
    return run("rpm", "-qp", *words, package).stdout.splitlines()


def test_it_has_what_the_debian_packages_have(package):
    files = set(asked(package, "-l"))
    assert {
        "/etc/tarn/tarnd.yaml",
        "/usr/bin/tarn",
        "/usr/lib/systemd/system/tarnd.service",
        "/usr/lib/systemd/system/tarnd.socket",
        "/usr/lib/systemd/system/tarn-backup.timer",
        "/usr/sbin/tarnd",
        "/usr/share/man/man1/tarn.1.gz",
        "/usr/share/man/man8/tarnd.8.gz",
        "/usr/share/tarn/monitoring/tarn.rules.yaml",
        "/usr/share/zsh/site-functions/_tarn",
        "/var/lib/tarn",
    } <= files
    assert any(re.fullmatch("/usr/lib/tarn-server/share/tarn/downloads/tarn_data-.*whl", path) for path in files)
    assert asked(package, "-c") == ["/etc/default/tarn-backup", "/etc/tarn/tarnd.yaml"]
    assert any(word.startswith("libc.so.6(GLIBC_2.") for word in asked(package, "--requires"))
    (version, release) = asked(package, "--queryformat", "%{VERSION}\n%{RELEASE}\n")[:2]
    assert (version, release) == ((ROOT / "VERSION").read_text().strip() + "~dev1", "1")


def test_a_server_of_it_runs_and_its_data_stay(package, tmp_path):
    root = python_system(tmp_path / "root")
    rpm = ("rpm", "--root", root, "--nodeps")  # dpkg put there what it needs
    run(*rpm, "-i", package)
    inside(root, "sh", "-c", "stat -c '%U:%G %a %n' /etc/tarn/tarnd.yaml /etc/tarn /var/lib/tarn > /tmp/owners")
    assert (root / "tmp/owners").read_text().splitlines() == [
        "root:tarn 640 /etc/tarn/tarnd.yaml",
        "root:tarn 750 /etc/tarn",
        "tarn:tarn 700 /var/lib/tarn",
    ]
    out = inside(root, "sh", "-c", SERVED).stdout
    assert "\nhello\n" in out and "PG_VERSION" in out, out + (root / "tmp/log").read_text()
    with (root / "etc/tarn/tarnd.yaml").open("a") as file:
        file.write("# mine\n")
    run(*rpm, "-e", "tarn-server")
    assert not (root / "usr/sbin/tarnd").exists()
    assert (root / "var/lib/tarn/pg/15/PG_VERSION").exists()
    assert (root / "etc/tarn/tarnd.yaml.rpmsave").read_text().endswith("# mine\n")
